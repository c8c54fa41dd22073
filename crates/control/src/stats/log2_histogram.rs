//! A log2 histogram, a bucket for each power of two: small, for what there are thousands of.
//!
//! Its size is fixed, 256 bytes, and recording touches one number of it: a switch has several, and
//! its next visit finds little of them in the cache. Where that is too coarse, a
//! [`Histogram`](super::Histogram) is finer.

use super::{Bucket, Counter};

/// Buckets: one for 0, one for each power of two below 2³⁰, and one for all above.
const OCTAVES: usize = 32;

/// How often values of each power of two came. Unit: the recorder's.
#[derive(Debug, Default)]
pub struct Log2Histogram([Counter; OCTAVES]);

impl Log2Histogram {
    /// Counts a value. Only the owner may call it.
    #[inline]
    pub fn record(&self, value: u64) {
        self.0[octave(value)].add(1);
    }

    /// What was recorded so far.
    pub fn read(&self) -> Log2Distribution {
        Log2Distribution(core::array::from_fn(|octave| self.0[octave].get()))
    }
}

/// What a small histogram says at a moment. Quantiles are those of the buckets' upper bounds: never
/// below the exact ones, and less than twice as large.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Log2Distribution([u64; OCTAVES]);

impl Log2Distribution {
    /// Adds what another one says.
    pub fn merge(&mut self, other: &Log2Distribution) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.wrapping_add(more);
        }
    }

    /// Values recorded.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The value that this many thousandths of all do not exceed, 1000 or more for the greatest:
    /// the greatest of its bucket; 0 where there is none.
    pub fn quantile(&self, thousandths: u32) -> u64 {
        let rank = u128::from(self.count()) * u128::from(thousandths.min(1000));
        let rank = rank.div_ceil(1000).max(1);
        let mut seen = 0;
        let reached = self.0.iter().position(|count| {
            seen += u128::from(*count);
            seen >= rank
        });
        reached.map_or(0, upper)
    }

    /// The buckets that hold something, in order of their values.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, count)| **count > 0)
            .map(|(octave, count)| Bucket { upper: upper(octave), count: *count })
    }
}

/// The bucket of a value: how many bits it has.
#[inline]
const fn octave(value: u64) -> usize {
    let bits = (u64::BITS - value.leading_zeros()) as usize;
    if bits < OCTAVES { bits } else { OCTAVES - 1 }
}

/// The greatest value of a bucket. The last has no end.
const fn upper(octave: usize) -> u64 {
    if octave == OCTAVES - 1 { u64::MAX } else { (1 << octave) - 1 }
}

/// A distribution as people read it.
#[cfg(feature = "serde")]
#[derive(serde::Serialize)]
struct Summary {
    count: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    buckets: alloc::vec::Vec<Bucket>,
}

#[cfg(feature = "serde")]
impl serde::Serialize for Log2Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let summary = Summary {
            count: self.count(),
            p50: self.quantile(500),
            p90: self.quantile(900),
            p99: self.quantile(990),
            buckets: self.buckets().collect(),
        };
        summary.serialize(serializer)
    }
}
