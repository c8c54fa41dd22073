//! No gathering: what one read brings is run before the next read.

use super::Batching;

/// Every read is a batch (NOX; Beacon §5.2, run-to-completion). How large a batch grows is then up
/// to the read size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerRead;

impl Batching for PerRead {
    #[inline]
    fn threshold(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ran;
    use super::*;
    use core::time::Duration;

    #[test]
    fn one_request_is_enough() {
        let mut per_read = PerRead;
        let took = Duration::from_millis(1);
        per_read.ran(Ran { requests: 800, gathered: took, took, drained: false });
        assert_eq!(per_read.threshold(), 1);
    }
}
