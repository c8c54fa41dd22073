//! A threshold that the operator chose, and that stays.

use super::{Batching, Ibt};

/// Batches of a fixed size (Maestro figure 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fixed(Ibt);

impl Fixed {
    /// With this threshold.
    pub const fn new(ibt: Ibt) -> Fixed {
        Fixed(ibt)
    }
}

impl Batching for Fixed {
    #[inline]
    fn threshold(&self) -> usize {
        self.0.requests()
    }

    fn set_ibt(&mut self, ibt: Ibt) {
        self.0 = ibt;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ran;
    use super::*;
    use core::time::Duration;

    #[test]
    fn only_the_operator_changes_it() {
        let mut fixed = Fixed::new(Ibt::new(640).unwrap());
        let took = Duration::from_secs(9);
        fixed.ran(Ran { requests: 640, gathered: took, took, drained: false });
        fixed.ran(Ran { requests: 1, gathered: Duration::ZERO, took, drained: true });
        assert_eq!(fixed.threshold(), 640);
        fixed.set_ibt(Ibt::new(1200).unwrap());
        assert_eq!(fixed.threshold(), 1200);
    }
}
