//! Counters, one set a worker, on cache lines of their own. A worker alone writes its set, so that no addition is an
//! atomic one; anyone may read.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread counts and others read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `more`. Only the owning thread may call it: two callers would lose counts.
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one worker counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    /// Flow requests handed to the applications.
    pub requests: Count,
    /// Runs of the applications over a batch of them.
    pub batches: Count,
    /// Socket reads, empty ones included.
    pub reads: Count,
    /// Bytes received.
    pub bytes_in: Count,
    /// Ends of a visit with something to send.
    pub writes: Count,
    /// Bytes that were to be sent.
    pub bytes_out: Count,
    /// Connections adopted.
    pub connections: Count,
    /// Connections dropped because the switch did not read.
    pub evictions: Count,
}
