//! What a histogram says at a moment: a value of its own, which can be merged, asked and written
//! down.

use alloc::vec::Vec;

use super::histogram::{lower, upper};

/// A distribution of values. Quantiles are those of the buckets' upper bounds: never below the
/// exact ones, and above them by less than a sixteenth.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Distribution {
    /// How often each bucket was hit, to the last one that was.
    counts: Vec<u64>,
    sum: u64,
    /// 0 where nothing was recorded, and so is `max`.
    min: u64,
    max: u64,
}

/// Values that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Bucket {
    /// The greatest of them.
    pub upper: u64,
    /// How many there were.
    pub count: u64,
}

impl Distribution {
    /// From numbers that were read one after the other while they changed: extremes that their own
    /// bucket does not know of yet, or not any more, are put right.
    pub(super) fn new(mut counts: Vec<u64>, sum: u64, min: u64, max: u64) -> Distribution {
        let Some(last) = counts.iter().rposition(|count| *count > 0) else {
            return Distribution::default();
        };
        counts.truncate(last + 1);
        counts.shrink_to_fit();
        let first = counts.iter().position(|count| *count > 0).unwrap_or(last);
        Distribution {
            counts,
            sum,
            min: min.clamp(lower(first), upper(first)),
            max: max.clamp(lower(last), upper(last)),
        }
    }

    /// Adds what another one says.
    pub fn merge(&mut self, other: &Distribution) {
        if other.counts.is_empty() {
            return;
        }
        self.min = if self.counts.is_empty() { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum = self.sum.wrapping_add(other.sum);
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// Values recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum, exact until it wraps.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest, exact; 0 where there is none.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// The greatest, exact; 0 where there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The value that this many thousandths of all do not exceed: 500 asks for the median, 999 for
    /// p999, 1000 or more for the greatest; 0 where there is none.
    pub fn quantile(&self, thousandths: u32) -> u64 {
        let rank = u128::from(self.count()) * u128::from(thousandths.min(1000));
        let rank = rank.div_ceil(1000).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += u128::from(*count);
            seen >= rank
        });
        reached.map_or(0, |bucket| upper(bucket).min(self.max))
    }

    /// The buckets that hold something, in order of their values.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let all = self.counts.iter().enumerate();
        all.filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| Bucket { upper: upper(bucket), count: *count })
    }
}

/// A distribution as people read it.
#[cfg(feature = "serde")]
#[derive(serde::Serialize)]
struct Summary {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    p999: u64,
    buckets: Vec<Bucket>,
}

#[cfg(feature = "serde")]
impl serde::Serialize for Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let summary = Summary {
            count: self.count(),
            sum: self.sum,
            min: self.min,
            max: self.max,
            p50: self.quantile(500),
            p90: self.quantile(900),
            p99: self.quantile(990),
            p999: self.quantile(999),
            buckets: self.buckets().collect(),
        };
        summary.serialize(serializer)
    }
}
