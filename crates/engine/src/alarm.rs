//! When a connection has to be looked at though nothing came.
//!
//! ```text
//!   its claimant:  is the deadline sooner than the alarm? │ alarm ← deadline │ the home keeps a timer │ lets go of the claim
//!   its home:      a timer goes off: is it the alarm's? │ alarm ← never │ announces the connection
//! ```
//!
//! Both write the one word, and either may overwrite what the other wrote. That harms nobody: who is announced is visited once
//! more, and that visit sets the alarm again. Timers that are not the alarm's go off and mean nothing. Modelled with loom.

use std::sync::atomic::AtomicU64;

use aldis_control::Time;

use crate::machine::Word;

/// The moment of the one timer that counts, in nanoseconds; [`Time::NEVER`] where none does.
#[derive(Debug)]
pub(crate) struct Alarm<A = AtomicU64>(A);

impl<A: Word<u64>> Alarm<A> {
    /// No timer counts.
    pub(crate) fn new() -> Self {
        Alarm(Time::NEVER.0.into())
    }

    /// The moment that counts.
    pub(crate) fn at(&self) -> Time {
        Time(self.0.load())
    }

    /// For the claimant, who wants the connection looked at by then. Returns whether its home needs a timer for it.
    #[inline]
    #[must_use]
    pub(crate) fn set(&self, by: Time) -> bool {
        let sooner = by < self.at();
        if sooner {
            self.0.store(by.0);
        }
        sooner
    }

    /// For the home, whose timer for `at` goes off. Returns whether it has to announce the connection.
    #[must_use]
    pub(crate) fn goes_off(&self, at: Time) -> bool {
        let counts = self.at() == at;
        if counts {
            self.forget();
        }
        counts
    }

    /// For a claimant who gives the connection another home.
    pub(crate) fn forget(&self) {
        self.0.store(Time::NEVER.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Claim, Signs};
    use loom::sync::atomic::{AtomicU32 as Watched, AtomicU64 as Moment};
    use loom::sync::{Arc, Mutex};

    const LATE: Time = Time(9);
    const DEADLINE: Time = Time(5);

    struct Shared {
        alarm: Alarm<Moment>,
        claim: Claim<Watched>,
        /// How often the home was asked to keep a timer.
        notes: Mutex<usize>,
    }

    impl Shared {
        /// Something came up: whoever notices serves the connection, which wants to be looked at by its deadline.
        fn come(&self, signs: Signs) {
            let mut queued = self.claim.announce(signs);
            while queued && self.claim.claim().is_some() {
                if self.alarm.set(DEADLINE) {
                    *self.notes.lock().unwrap() += 1;
                }
                queued = self.claim.release(false);
            }
        }
    }

    /// Whatever goes off beside a visit, in the end there is a timer for the deadline.
    #[test]
    fn a_deadline_is_never_without_its_timer() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let (alarm, claim) = (Alarm::new(), Claim::default());
            assert!(alarm.set(LATE));
            let shared = Arc::new(Shared { alarm, claim, notes: Mutex::default() });
            let mut timers = vec![LATE];
            let others = [0; 2].map(|_| {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || shared.come(Signs::READABLE))
            });
            for at in std::mem::take(&mut timers) {
                if shared.alarm.goes_off(at) {
                    shared.come(Signs::CALLED);
                } else {
                    timers.push(at);
                }
            }
            others.into_iter().for_each(|other| other.join().unwrap());
            let notes = *shared.notes.lock().unwrap();
            timers.extend((0..notes).map(|_| shared.alarm.at()));
            assert_eq!(shared.alarm.at(), DEADLINE);
            assert!(timers.contains(&DEADLINE));
        });
    }
}
