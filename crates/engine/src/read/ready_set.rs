//! The ready set: which switches are ready, as bits that all workers see.

use std::sync::atomic::AtomicU32;

use crate::sync::Atomic;

const BITS: usize = u32::BITS as usize;

/// A bit for each switch: set while it is queued, and perhaps a moment longer.
#[derive(Debug)]
pub(crate) struct ReadySet<A = AtomicU32>(Box<[A]>);

impl<A: Atomic> ReadySet<A> {
    /// Room for numbers below `numbers`.
    pub(crate) fn new(numbers: usize) -> Self {
        ReadySet((0..numbers.div_ceil(BITS)).map(|_| A::default()).collect())
    }

    /// The switch is queued.
    #[inline]
    pub(crate) fn set(&self, number: usize) {
        self.0[number / BITS].update(|word| word | 1 << (number % BITS));
    }

    /// The switch seems to be idle. Unless `is_queued` says that it is not, after all: that is
    /// asked when its bit is gone, for it may have been set between the one and the other.
    #[inline]
    pub(crate) fn clear(&self, number: usize, is_queued: impl FnOnce() -> bool) {
        self.0[number / BITS].update(|word| word & !(1 << (number % BITS)));
        if is_queued() {
            self.set(number);
        }
    }

    /// The first that is ready, of the numbers from `from` up to `numbers`.
    #[inline]
    pub(crate) fn next(&self, from: usize, numbers: usize) -> Option<usize> {
        let (mut at, mut mask) = (from / BITS, u32::MAX << (from % BITS));
        while at * BITS < numbers {
            let bits = self.0[at].load() & mask;
            if bits != 0 {
                return Some(at * BITS + bits.trailing_zeros() as usize);
            }
            (at, mask) = (at + 1, u32::MAX);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::claim::{Claim, Events};
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Watched;

    #[test]
    fn the_next_is_found_over_words() {
        let ready = ReadySet::<AtomicU32>::new(100);
        [3, 31, 32, 99].into_iter().for_each(|number| ready.set(number));
        let all: Vec<_> =
            std::iter::successors(ready.next(0, 100), |at| ready.next(at + 1, 100)).collect();
        assert_eq!(all, [3, 31, 32, 99]);
        ready.clear(31, || false);
        ready.clear(32, || true);
        assert_eq!(ready.next(4, 100), Some(32));
        assert_eq!(ready.next(33, 96), None);
    }

    /// A switch that is queued at the end has its bit, whenever another worker cleared it.
    #[test]
    fn no_queued_switch_is_forgotten() {
        loom::model(|| {
            let shared = Arc::new((Claim::<Watched>::default(), ReadySet::<Watched>::new(1)));
            let poller = Arc::clone(&shared);
            let poller = loom::thread::spawn(move || {
                for _ in 0..2 {
                    if poller.0.announce(Events::READABLE) {
                        poller.1.set(0);
                    }
                }
            });
            let (claim, ready) = &*shared;
            if ready.next(0, 1).is_some() {
                if claim.claim().is_some() && claim.release(false) {
                    ready.set(0);
                } else {
                    ready.clear(0, || claim.is_queued());
                }
            }
            poller.join().unwrap();
            assert_eq!(claim.is_queued(), ready.next(0, 1).is_some());
        });
    }
}
