//! A switch that applications hold back while it joins: which of them still do.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Member;

/// The switch, and its holders.
#[derive(Debug)]
pub(crate) struct HeldSwitch {
    pub(crate) member: Member,
    /// The applications that hold it back, by the numbers of their places.
    holders: Mutex<Vec<usize>>,
}

impl HeldSwitch {
    pub(super) fn new(member: Member, holders: Vec<usize>) -> HeldSwitch {
        HeldSwitch { member, holders: Mutex::new(holders) }
    }

    /// These applications hold it back no more, wherever they were called. Returns whether they
    /// were the last: true once.
    #[must_use]
    pub(crate) fn release(&self, places: &[usize]) -> bool {
        let mut holders = self.lock();
        let held = !holders.is_empty();
        holders.retain(|holder| !places.contains(holder));
        held && holders.is_empty()
    }

    /// Those that still hold it back.
    pub(crate) fn holders(&self) -> Vec<usize> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
