//! Visits in flight: their requests are taken from a connection and not yet answered.
//!
//! A worker releases the claim of a connection as soon as it has chopped what it read, so that
//! another may read on while the applications run. A fence (any message but a flow request) waits
//! until all visits before it are answered. The claimant that meets a fence too early sets a bit in
//! this word and releases the claim. The worker that finishes the last visit then announces the
//! connection. Modelled with loom.

use std::sync::atomic::AtomicU32;

use crate::sync::Atomic;

const WAITED_FOR: u32 = 1 << 31;
const LAST_WAITED_FOR: u32 = WAITED_FOR | 1;

/// How many visits of a connection are in flight, and whether a fence waits for them.
#[derive(Debug, Default)]
pub(crate) struct InFlight<A = AtomicU32>(A);

impl<A: Atomic> InFlight<A> {
    /// The claimant starts a visit. Returns how many are in flight, this one included.
    #[inline]
    pub(crate) fn start(&self) -> u32 {
        let before = self.0.update(|word| word + 1);
        check(before);
        (before & !WAITED_FOR) + 1
    }

    /// The replies of a visit are out. Returns whether the caller has to announce the connection,
    /// because it was the last visit and a fence waits. That is returned once: a claimant that is
    /// kept from looking by something else waits again.
    #[inline]
    #[must_use]
    pub(crate) fn finish(&self) -> bool {
        let before = self.0.update(|word| if word == LAST_WAITED_FOR { 0 } else { word - 1 });
        check(before);
        debug_assert!(before & !WAITED_FOR > 0, "a visit finishes that did not start");
        before == LAST_WAITED_FOR
    }

    /// Whether nothing is in flight but the claimant's `own` visits. If something is, the
    /// connection is announced when the last visit has finished, those of the claimant included.
    #[must_use]
    pub(crate) fn is_clear(&self, own: u32) -> bool {
        let clear = |word: u32| word & !WAITED_FOR <= own;
        let before =
            self.0.update(|word| if clear(word) { word & !WAITED_FOR } else { word | WAITED_FOR });
        check(before);
        clear(before)
    }
}

/// The invariant of the word: a fence waits only for visits that are in flight.
#[inline]
fn check(word: u32) {
    debug_assert!(word != WAITED_FOR, "a fence waits for no visit");
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_fence_waits_for_the_last_visit() {
        let in_flight = InFlight::<AtomicU32>::default();
        assert_eq!(in_flight.start(), 1);
        assert!(in_flight.is_clear(1));
        assert_eq!(in_flight.start(), 2);
        assert!(!in_flight.is_clear(1));
        assert!(!in_flight.finish());
        assert!(in_flight.finish());
        assert!(in_flight.is_clear(0));
    }

    /// A claimant that is signalled, and cannot look yet, is not signalled again for the same
    /// visits.
    #[test]
    fn a_fence_is_announced_once() {
        let in_flight = InFlight::<AtomicU32>::default();
        in_flight.start();
        assert!(!in_flight.is_clear(0));
        assert!(in_flight.finish());
        in_flight.start();
        assert!(!in_flight.finish());
        assert!(in_flight.is_clear(0));
    }

    /// The fence passes at once, or it is announced: never neither.
    #[test]
    fn a_fence_is_never_forgotten() {
        loom::model(|| {
            let in_flight = Arc::new(InFlight::<loom::sync::atomic::AtomicU32>::default());
            let announced = Arc::new(AtomicBool::new(false));
            in_flight.start();
            in_flight.start();
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let (in_flight, announced) = (Arc::clone(&in_flight), Arc::clone(&announced));
                    loom::thread::spawn(move || {
                        if in_flight.finish() {
                            announced.store(true, Ordering::Release);
                        }
                    })
                })
                .collect();
            let passed = in_flight.is_clear(0);
            others.into_iter().for_each(|other| other.join().unwrap());
            assert!(passed != announced.load(Ordering::Acquire));
        });
    }
}
