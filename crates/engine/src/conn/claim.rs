//! The claim of a connection: one claimant at a time, and no event lost.
//!
//! ```text
//!              announce              claim
//!   IDLE ──────────────▶ QUEUED ──────────────▶ CLAIMED ◀──┐
//!    ▲                      ▲                      │  │    │ announce
//!    │                      │ release, if there    │  └────┴▶ CLAIMED + MORE
//!    └──────────────────────┴──────────────────────┘           │
//!          release          ▲        is more                   │ release
//!                           └──────────────────────────────────┘
//! ```
//!
//! The worker that moves a connection to QUEUED puts it into a queue of ready connections, once.
//! The worker that moves it to CLAIMED is its claimant: it alone reads from it, chops, and advances
//! its session. Events announced meanwhile are kept in the same word, so a release cannot miss
//! them.

use std::sync::atomic::AtomicU32;

use crate::sync::Atomic;

const STATE: u32 = 0b11;
const IDLE: u32 = 0;
const QUEUED: u32 = 1;
const CLAIMED: u32 = 2;
const MORE: u32 = 0b100;
const EVENTS_AT: u32 = 3;

/// What is announced about a connection: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Events(u32);

impl Events {
    /// There may be something to read.
    pub(crate) const READABLE: Events = Events(1);
    /// There may be room to write.
    pub(crate) const WRITABLE: Events = Events(2);
    /// The peer sends nothing behind what the socket holds.
    pub(crate) const ENDED: Events = Events(4);
    /// A signal was sent, or a deadline came.
    pub(crate) const SIGNALLED: Events = Events(8);

    pub(crate) fn with(self, more: Events) -> Events {
        Events(self.0 | more.0)
    }

    pub(crate) fn has(self, event: Events) -> bool {
        self.0 & event.0 != 0
    }
}

/// The claim's word.
#[derive(Debug, Default)]
pub(crate) struct Claim<A = AtomicU32>(A);

impl<A: Atomic> Claim<A> {
    /// Events came. Returns whether the caller has to queue the connection.
    #[inline]
    #[must_use]
    pub(crate) fn announce(&self, events: Events) -> bool {
        let events = events.0 << EVENTS_AT;
        let before = self.0.update(|word| match word & STATE {
            IDLE => (word | events) + QUEUED,
            CLAIMED => word | events | MORE,
            _ => word | events,
        });
        check(before);
        before & STATE == IDLE
    }

    /// Claims a queued connection. Returns the events since the last claim.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Events> {
        let mut word = self.0.load();
        while word & STATE == QUEUED {
            check(word);
            match self.0.replace(word, CLAIMED) {
                Ok(()) => return Some(Events(word >> EVENTS_AT)),
                Err(other) => word = other,
            }
        }
        None
    }

    /// Whether it has a claimant.
    pub(crate) fn is_claimed(&self) -> bool {
        self.0.load() & STATE == CLAIMED
    }

    /// Whether it waits for a claimant.
    pub(crate) fn is_queued(&self) -> bool {
        self.0.load() & STATE == QUEUED
    }

    /// Claims a new connection, which no other worker knows yet.
    pub(crate) fn begin(&self) {
        let before = self.0.update(|word| word & !STATE | CLAIMED);
        debug_assert_eq!(before & STATE, IDLE, "a new connection is idle");
    }

    /// Releases the claim. Returns whether the caller has to queue the connection: because there is
    /// `more` to do, or because an event was announced meanwhile.
    #[inline]
    #[must_use]
    pub(crate) fn release(&self, more: bool) -> bool {
        let again = |word: u32| more || word & MORE != 0;
        let before = self.0.update(|word| {
            let state = if again(word) { QUEUED } else { IDLE };
            word & !(STATE | MORE) | state
        });
        debug_assert_eq!(before & STATE, CLAIMED, "only a claimed connection is released");
        check(before);
        again(before)
    }
}

/// The invariant of the word: MORE and events go with their states.
#[inline]
fn check(word: u32) {
    let (state, more) = (word & STATE, word & MORE != 0);
    debug_assert!(state <= CLAIMED, "{word:#b} is not a state");
    debug_assert!(!more || state == CLAIMED, "{word:#b}: MORE without a claimant");
    debug_assert!(state != IDLE || word >> EVENTS_AT == 0, "{word:#b}: events without a queue");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_queued_once_and_claimed_once() {
        let claim = Claim::<AtomicU32>::default();
        assert_eq!(claim.claim(), None);
        assert!(claim.announce(Events::READABLE));
        assert!(!claim.announce(Events::WRITABLE));
        assert_eq!(claim.claim(), Some(Events::READABLE.with(Events::WRITABLE)));
        assert_eq!(claim.claim(), None);
        assert!(!claim.release(false));
    }

    #[test]
    fn what_comes_during_a_visit_is_kept() {
        let claim = Claim::<AtomicU32>::default();
        assert!(claim.announce(Events::READABLE));
        claim.claim().unwrap();
        assert!(!claim.announce(Events::ENDED));
        assert!(claim.release(false));
        assert_eq!(claim.claim(), Some(Events::ENDED));
        assert!(claim.release(true));
        assert_eq!(claim.claim(), Some(Events::default()));
    }
}

#[cfg(test)]
mod model;
