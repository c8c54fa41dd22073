//! Which switch is served next, and how much: weighted max-min fairness (Maestro §2, §3.2).
//!
//! Every switch may use the controller as much as every other of its weight; what one does not use
//! is divided among those that want more. [`max_min()`] says what the shares *should* be, given the
//! offered rates; [`Rounds`] hands them out without knowing any rate, and [`partition`] divides the
//! switches among workers by the rates that were measured.

mod greedy;
mod max_min;
mod rounds;

use core::num::NonZeroU32;

use crate::limits::WEIGHT_MAX;

pub use greedy::{Load, partition};
pub use max_min::{Demand, max_min};
pub use rounds::{Id, Rounds, Visit};

/// How many times the share of a switch of weight 1 a switch is due: 1 to [`WEIGHT_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Weight(NonZeroU32);

impl Weight {
    /// What a switch has unless the operator says otherwise.
    pub const ONE: Weight = Weight(NonZeroU32::MIN);

    /// A weight, if it is in range.
    pub const fn new(weight: u32) -> Option<Weight> {
        match NonZeroU32::new(weight) {
            Some(weight) if weight.get() <= WEIGHT_MAX => Some(Weight(weight)),
            _ => None,
        }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0.get()
    }
}
