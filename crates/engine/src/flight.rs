//! Flow requests on their way: taken from a connection, not yet answered.
//!
//! A worker lets go of a connection as soon as it has chopped what it read, so that another may read on while the
//! applications run. A fence has to wait until all that came before it is answered: whoever meets it leaves a note in
//! this word and lets go, and the worker that lands last announces the connection.

use std::sync::atomic::AtomicU32;

use crate::machine::Word;

const WAITED_FOR: u32 = 1 << 31;
const LAST_WAITED_FOR: u32 = WAITED_FOR | 1;

/// How many visits of a connection are not answered yet, and whether a fence waits for them.
#[derive(Debug, Default)]
pub(crate) struct Flight<A = AtomicU32>(A);

impl<A: Word> Flight<A> {
    /// Requests are taken. Only the claimant takes off. Returns how many visits are on their way, this one included.
    #[inline]
    pub(crate) fn take_off(&self) -> u32 {
        (self.0.update(|word| word + 1) & !WAITED_FOR) + 1
    }

    /// Their answers are out. Returns whether the caller has to announce the connection, because nothing else is on its
    /// way and a fence waits: said once, for who is called may be kept from looking by something else, and comes again for that.
    #[inline]
    #[must_use]
    pub(crate) fn land(&self) -> bool {
        self.0.update(|word| if word == LAST_WAITED_FOR { 0 } else { word - 1 }) == LAST_WAITED_FOR
    }

    /// Whether nothing is on its way but the claimant's `own` visits. If something is, it will be announced when the last
    /// of it has landed, those of the claimant included.
    #[must_use]
    pub(crate) fn is_clear(&self, own: u32) -> bool {
        let clear = |word: u32| word & !WAITED_FOR <= own;
        let before =
            self.0.update(|word| if clear(word) { word & !WAITED_FOR } else { word | WAITED_FOR });
        clear(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_fence_waits_for_the_last_to_land() {
        let flight = Flight::<AtomicU32>::default();
        assert_eq!(flight.take_off(), 1);
        assert!(flight.is_clear(1));
        assert_eq!(flight.take_off(), 2);
        assert!(!flight.is_clear(1));
        assert!(!flight.land());
        assert!(flight.land());
        assert!(flight.is_clear(0));
    }

    /// Who is called, and cannot look whether all have landed yet, is not called again for that.
    #[test]
    fn a_fence_is_announced_once() {
        let flight = Flight::<AtomicU32>::default();
        flight.take_off();
        assert!(!flight.is_clear(0));
        assert!(flight.land());
        flight.take_off();
        assert!(!flight.land());
        assert!(flight.is_clear(0));
    }

    /// The fence passes at once, or it is announced: never neither.
    #[test]
    fn a_fence_is_never_forgotten() {
        loom::model(|| {
            let flight = Arc::new(Flight::<loom::sync::atomic::AtomicU32>::default());
            let announced = Arc::new(AtomicBool::new(false));
            flight.take_off();
            flight.take_off();
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let (flight, announced) = (Arc::clone(&flight), Arc::clone(&announced));
                    loom::thread::spawn(move || {
                        if flight.land() {
                            announced.store(true, Ordering::Release);
                        }
                    })
                })
                .collect();
            let passed = flight.is_clear(0);
            others.into_iter().for_each(|other| other.join().unwrap());
            assert!(passed != announced.load(Ordering::Acquire));
        });
    }
}
