//! Whether a connection had nothing left to read at some time: what a design that divides switches
//! by what they offer wants to know.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a connection had nothing left to read at some time of the period: written by its
/// claimant, taken by the worker that divides.
#[derive(Debug, Default)]
pub(crate) struct Emptied(AtomicBool);

impl Emptied {
    /// At the end of a visit that left nothing.
    pub(crate) fn set(&self) {
        // It is set already but for the first time in a period: the line stays where it is.
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Whether that was so since the last time.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
