//! When a batch is large enough (Maestro §3.3).
//!
//! A worker gathers requests, from one socket or many, until they are as many as its *input
//! batching threshold* (IBT), and then runs the applications once over all of them. A large batch
//! spreads the fixed cost of a run; one that is too large outgrows the caches and keeps its first
//! request waiting for its last.
//!
//! There are three designs, and a file for each:
//!
//! 1. [`Fixed`] — the operator says how large (figure 9 compares such settings);
//! 2. [`Adaptive`] — the worker finds out, within the operator's *batching delay upper bound* (BDU)
//!    (figure 4);
//! 3. [`PerRead`] — whatever one read brings is a batch (NOX, Beacon).
//!
//! Each worker has its own; nothing here is shared.

mod adaptive;
mod fixed;
mod per_read;

use core::fmt;
use core::time::Duration;

use crate::limits::{BDU_MAX, IBT_MAX};

pub use adaptive::Adaptive;
pub use fixed::Fixed;
pub use per_read::PerRead;

/// The smallest threshold, in requests, that an operator may choose (figures 7 and 9 begin there).
pub const IBT_MIN: usize = 1;

/// A batch that a worker ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ran {
    /// Its requests.
    pub requests: usize,
    /// From its first read until the applications began.
    pub gathered: Duration,
    /// From its first read to its last write: the batching delay.
    pub took: Duration,
    /// No socket had pending bytes when it was closed.
    pub drained: bool,
}

/// How a worker decides that a batch is large enough.
pub trait Batching {
    /// The IBT: with so many requests gathered, or more, the batch is closed and run. A worker that
    /// finds no bytes pending at any socket runs what it has, however little.
    fn threshold(&self) -> usize;

    /// Whether a batch below the threshold has to run now all the same, so that it ends within the
    /// BDU: so many `requests`, the first of which was read as long ago as `gathered` says.
    #[inline]
    fn is_due(&self, requests: usize, gathered: Duration) -> bool {
        let _ = (requests, gathered);
        false
    }

    /// A batch ran.
    #[inline]
    fn ran(&mut self, batch: Ran) {
        let _ = batch;
    }

    /// The operator changed the threshold. A design that finds its own takes no notice.
    fn set_ibt(&mut self, ibt: Ibt) {
        let _ = ibt;
    }

    /// The operator changed the batching delay upper bound. A design without one takes no notice.
    fn set_bdu(&mut self, bdu: Bdu) {
        let _ = bdu;
    }
}

/// An input batching threshold that an operator may choose: [`IBT_MIN`] to [`IBT_MAX`] requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ibt(usize);

impl Ibt {
    /// A threshold of so many requests.
    ///
    /// # Errors
    /// It is out of range.
    pub const fn new(requests: usize) -> Result<Ibt, Refused> {
        match requests {
            0..IBT_MIN => Err(Refused::IbtTooSmall(requests)),
            IBT_MIN..=IBT_MAX => Ok(Ibt(requests)),
            _ => Err(Refused::IbtTooLarge(requests)),
        }
    }

    /// Its requests.
    pub const fn requests(self) -> usize {
        self.0
    }
}

/// A batching delay upper bound: the longest time that one batch may take, from its first read to
/// its last write. More than nothing, [`BDU_MAX`] at most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bdu(Duration);

impl Bdu {
    /// A bound of that length.
    ///
    /// # Errors
    /// It is out of range.
    pub const fn new(longest: Duration) -> Result<Bdu, Refused> {
        match longest.as_nanos() {
            0 => Err(Refused::BduZero),
            nanos if nanos > BDU_MAX.as_nanos() => Err(Refused::BduTooLong(longest)),
            _ => Ok(Bdu(longest)),
        }
    }

    /// Its length.
    pub const fn longest(self) -> Duration {
        self.0
    }
}

/// Why a setting is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// An IBT below [`IBT_MIN`].
    IbtTooSmall(usize),
    /// An IBT above [`IBT_MAX`].
    IbtTooLarge(usize),
    /// A BDU of nothing.
    BduZero,
    /// A BDU above [`BDU_MAX`].
    BduTooLong(Duration),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::IbtTooSmall(requests) => write!(
                f,
                "a batching threshold of {requests} is too small: give {IBT_MIN} request or more"
            ),
            Refused::IbtTooLarge(requests) => write!(
                f,
                "a batching threshold of {requests} is too large: give {IBT_MAX} requests or fewer"
            ),
            Refused::BduZero => f.write_str(
                "a batching delay bound of 0 leaves no time for any batch: give the longest time that one may take, \
                 for example 150 µs",
            ),
            Refused::BduTooLong(longest) => write!(
                f,
                "a batching delay bound of {longest:?} is too long: give {BDU_MAX:?} or less, or choose a fixed threshold"
            ),
        }
    }
}

impl core::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn what_makes_no_sense_is_refused_with_a_reason() {
        assert_eq!(Ibt::new(0), Err(Refused::IbtTooSmall(0)));
        assert_eq!(Ibt::new(1).unwrap().requests(), 1);
        assert_eq!(Ibt::new(IBT_MAX + 1), Err(Refused::IbtTooLarge(IBT_MAX + 1)));
        assert_eq!(Bdu::new(Duration::ZERO), Err(Refused::BduZero));
        assert!(Bdu::new(BDU_MAX).is_ok());
        let too_long = Bdu::new(BDU_MAX * 2).unwrap_err().to_string();
        assert_eq!(
            too_long,
            "a batching delay bound of 2s is too long: give 1s or less, or choose a fixed threshold"
        );
    }
}
