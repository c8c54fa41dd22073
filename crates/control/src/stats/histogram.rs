//! A histogram that one thread records into while others read it.
//!
//! Its buckets are log-linear: each power of two is divided into [`PARTS`] of equal width, so that
//! a bucket is never wider than a sixteenth of what is in it, and values below 32 have a bucket
//! each. The size is fixed, 4.7 KB, and recording is a shift and four counters; where that is too
//! large, a sum and a [`Max`] do.

use core::fmt;

use super::{Counter, Distribution, Max};
use crate::limits::RECORDED_MAX;

/// Buckets of each power of two.
const PARTS: u64 = 1 << PARTS_BITS;
const PARTS_BITS: u32 = 4;

/// Buckets in all: the last is that of [`RECORDED_MAX`].
pub(super) const BUCKETS: usize = bucket(RECORDED_MAX) + 1;

/// How often each value came, values taken together that differ by less than a sixteenth. Unit: the
/// recorder's.
pub struct Histogram {
    sum: Counter,
    /// The complement of the smallest value, so that 0 says that there is none.
    min: Max,
    max: Max,
    buckets: [Counter; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            sum: Counter::new(),
            min: Max::default(),
            max: Max::default(),
            buckets: [const { Counter::new() }; BUCKETS],
        }
    }
}

impl Histogram {
    /// Counts a value; one above [`RECORDED_MAX`] counts as that. Only the owner may call it.
    #[inline]
    pub fn record(&self, value: u64) {
        let value = value.min(RECORDED_MAX);
        self.buckets[bucket(value)].add(1);
        self.sum.add(value);
        self.min.raise(!value);
        self.max.raise(value);
    }

    /// What was recorded so far. What is recorded meanwhile may be in one of the numbers and not
    /// yet in another.
    pub fn read(&self) -> Distribution {
        let counts = self.buckets.iter().map(Counter::get).collect();
        Distribution::new(counts, self.sum.get(), !self.min.get(), self.max.get())
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}

/// The bucket of a value up to [`RECORDED_MAX`].
#[inline]
pub(super) const fn bucket(value: u64) -> usize {
    let shift = (value | PARTS).ilog2() - PARTS_BITS;
    (shift as u64 * PARTS + (value >> shift)) as usize
}

/// The least value of a bucket.
pub(super) const fn lower(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PARTS { bucket } else { (PARTS + bucket % PARTS) << (bucket / PARTS - 1) }
}

/// The greatest value of a bucket.
pub(super) const fn upper(bucket: usize) -> u64 {
    lower(bucket + 1) - 1
}
