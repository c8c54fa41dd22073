//! The timer of a connection: when it has to be visited though no event comes.
//!
//! ```text
//!   claimant:  is the deadline sooner? │ timer ← deadline │ home adds a heap entry │ release
//!   home:      a heap entry expires: is it the timer's? │ timer ← never │ announce
//! ```
//!
//! Both write the one word, and either may overwrite what the other wrote. That does no harm: an
//! announced connection is visited once more, and that visit sets the timer again. A heap entry
//! that is not the timer's any more expires without effect. Modelled with loom.

use std::sync::atomic::AtomicU64;

use aldis_control::Time;

use crate::sync::Atomic;

/// The earliest deadline of a connection, in nanoseconds; [`Time::NEVER`] where it has none.
#[derive(Debug)]
pub(crate) struct ConnTimer<A = AtomicU64>(A);

impl<A: Atomic<u64>> ConnTimer<A> {
    /// No deadline.
    pub(crate) fn new() -> Self {
        ConnTimer(Time::NEVER.0.into())
    }

    /// The deadline.
    pub(crate) fn at(&self) -> Time {
        Time(self.0.load())
    }

    /// The claimant sets a deadline. Returns whether the home needs a new heap entry for it.
    #[inline]
    #[must_use]
    pub(crate) fn set(&self, by: Time) -> bool {
        let sooner = by < self.at();
        if sooner {
            self.0.store(by.0);
        }
        sooner
    }

    /// The home's heap entry for `at` expires. Returns whether the home has to announce the
    /// connection.
    #[must_use]
    pub(crate) fn expire(&self, at: Time) -> bool {
        let is_set = self.at() == at;
        if is_set {
            self.cancel();
        }
        is_set
    }

    /// The claimant moves the connection to another home, which has no heap entry for it yet.
    pub(crate) fn cancel(&self) {
        self.0.store(Time::NEVER.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::claim::{Claim, Events};
    use loom::sync::atomic::{AtomicU32 as Watched, AtomicU64 as Moment};
    use loom::sync::{Arc, Mutex};

    const LATE: Time = Time(9);
    const DEADLINE: Time = Time(5);

    struct Shared {
        timer: ConnTimer<Moment>,
        claim: Claim<Watched>,
        /// How often the home was asked to keep a timer.
        notes: Mutex<usize>,
    }

    impl Shared {
        /// Events come: the worker that queues the connection serves it and sets its deadline.
        fn come(&self, events: Events) {
            let mut queued = self.claim.announce(events);
            while queued && self.claim.claim().is_some() {
                if self.timer.set(DEADLINE) {
                    *self.notes.lock().unwrap() += 1;
                }
                queued = self.claim.release(false);
            }
        }
    }

    /// Whatever expires beside a visit, in the end there is a heap entry for the deadline.
    #[test]
    fn a_deadline_is_never_without_its_timer() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let (timer, claim) = (ConnTimer::new(), Claim::default());
            assert!(timer.set(LATE));
            let shared = Arc::new(Shared { timer, claim, notes: Mutex::default() });
            let mut timers = vec![LATE];
            let others = [0; 2].map(|_| {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || shared.come(Events::READABLE))
            });
            for at in std::mem::take(&mut timers) {
                if shared.timer.expire(at) {
                    shared.come(Events::SIGNALLED);
                } else {
                    timers.push(at);
                }
            }
            others.into_iter().for_each(|other| other.join().unwrap());
            let notes = *shared.notes.lock().unwrap();
            timers.extend((0..notes).map(|_| shared.timer.at()));
            assert_eq!(shared.timer.at(), DEADLINE);
            assert!(timers.contains(&DEADLINE));
        });
    }
}
