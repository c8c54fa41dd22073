//! Numbers that one thread writes and others read.
//!
//! Writing is a load and a store, both relaxed: two threads that wrote at once would lose what one
//! of them wrote. The right to write may go from one thread to another where that goes by a release
//! and an acquire, as a claim does.

use core::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, until it wraps. Counts of several sets add up.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Nothing counted yet.
    pub const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// Adds `more`. Only the owner may call it.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.store(self.get().wrapping_add(more), Ordering::Relaxed);
    }

    /// What was counted so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down. Levels of several sets add up.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Says what it is from now on. Only the owner may call it.
    #[inline]
    pub fn set(&self, level: u64) {
        self.0.store(level, Ordering::Relaxed);
    }

    /// What it is.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The highest value met; 0 before the first. Of several sets, the highest counts.
#[derive(Debug, Default)]
pub struct Max(AtomicU64);

impl Max {
    /// Takes a value into account. Only the owner may call it.
    #[inline]
    pub fn raise(&self, value: u64) {
        if value > self.get() {
            self.0.store(value, Ordering::Relaxed);
        }
    }

    /// The highest so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
