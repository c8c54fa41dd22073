//! One claimant per connection, and no wake-up lost.
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
//! Whoever moves a connection to QUEUED puts it where workers look for work, once. Whoever wins it to CLAIMED alone reads
//! from it, chops, and advances its session. What is announced meanwhile is kept in the same word, so that letting go
//! cannot pass it by.

use std::sync::atomic::AtomicU32;

use crate::machine::Word;

const STATE: u32 = 0b11;
const IDLE: u32 = 0;
const QUEUED: u32 = 1;
const CLAIMED: u32 = 2;
const MORE: u32 = 0b100;
const SIGNS_AT: u32 = 3;

/// What is announced about a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Signs(u32);

impl Signs {
    /// There may be something to read.
    pub(crate) const READABLE: Signs = Signs(1);
    /// There may be room to write.
    pub(crate) const WRITABLE: Signs = Signs(2);
    /// The peer sends nothing behind what the socket holds.
    pub(crate) const ENDED: Signs = Signs(4);
    /// Somebody has left word, or a moment came that the connection waits for.
    pub(crate) const CALLED: Signs = Signs(8);

    pub(crate) fn with(self, more: Signs) -> Signs {
        Signs(self.0 | more.0)
    }

    pub(crate) fn has(self, sign: Signs) -> bool {
        self.0 & sign.0 != 0
    }
}

/// The one atomic of a connection.
#[derive(Debug, Default)]
pub(crate) struct Claim<A = AtomicU32>(A);

impl<A: Word> Claim<A> {
    /// Something came up. Returns whether the caller has to queue the connection.
    #[inline]
    #[must_use]
    pub(crate) fn announce(&self, signs: Signs) -> bool {
        let signs = signs.0 << SIGNS_AT;
        let before = self.0.update(|word| match word & STATE {
            IDLE => (word | signs) + QUEUED,
            CLAIMED => word | signs | MORE,
            _ => word | signs,
        });
        before & STATE == IDLE
    }

    /// Tries to become the claimant of a queued connection. Returns what was announced since the last one.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Signs> {
        let mut word = self.0.load();
        while word & STATE == QUEUED {
            match self.0.replace(word, CLAIMED) {
                Ok(()) => return Some(Signs(word >> SIGNS_AT)),
                Err(other) => word = other,
            }
        }
        None
    }

    /// Whether somebody is the claimant.
    pub(crate) fn is_claimed(&self) -> bool {
        self.0.load() & STATE == CLAIMED
    }

    /// Whether it waits for a claimant.
    pub(crate) fn is_queued(&self) -> bool {
        self.0.load() & STATE == QUEUED
    }

    /// Becomes the claimant of a connection that nobody else knows yet.
    pub(crate) fn begin(&self) {
        let before = self.0.update(|word| word & !STATE | CLAIMED);
        debug_assert_eq!(before & STATE, IDLE, "a new connection is idle");
    }

    /// The claimant lets go. Returns whether it has to queue the connection, because there is `more` to do or because
    /// something was announced meanwhile.
    #[inline]
    #[must_use]
    pub(crate) fn release(&self, more: bool) -> bool {
        let again = |word: u32| more || word & MORE != 0;
        let before = self.0.update(|word| {
            let state = if again(word) { QUEUED } else { IDLE };
            word & !(STATE | MORE) | state
        });
        again(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_queued_once_and_claimed_once() {
        let claim = Claim::<AtomicU32>::default();
        assert_eq!(claim.claim(), None);
        assert!(claim.announce(Signs::READABLE));
        assert!(!claim.announce(Signs::WRITABLE));
        assert_eq!(claim.claim(), Some(Signs::READABLE.with(Signs::WRITABLE)));
        assert_eq!(claim.claim(), None);
        assert!(!claim.release(false));
    }

    #[test]
    fn what_comes_during_a_visit_is_kept() {
        let claim = Claim::<AtomicU32>::default();
        assert!(claim.announce(Signs::READABLE));
        claim.claim().unwrap();
        assert!(!claim.announce(Signs::ENDED));
        assert!(claim.release(false));
        assert_eq!(claim.claim(), Some(Signs::ENDED));
        assert!(claim.release(true));
        assert_eq!(claim.claim(), Some(Signs::default()));
    }
}

#[cfg(test)]
mod model;
