//! The common round: the one that all workers are in.
//!
//! ```text
//!   lock a home:      home.round ← common round, before anything else is done with it
//!   nothing is left:  round ← common round │ each home in turn: is anything left of it? │
//!                     round → next, unless another worker was quicker
//! ```
//!
//! A home that was found at its end stays there until it follows the next round: what is served
//! comes back in a later one. Only a connection that was idle, or was being visited when the round
//! began, may still come into it. So no worker begins a round while a switch that waited has not
//! had its turn in the one before. Modelled with loom.

use std::sync::atomic::AtomicU64;

use aldis_control::fair::Rounds;

use crate::sync::Atomic;

/// What came of an attempt to turn the round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turned {
    /// No connection waits, in this round or a later one.
    Idle,
    /// This one is not over, or another worker turned it.
    Not,
    /// It turned, by so many rounds.
    By(u64),
}

/// The number of the round. Rounds themselves are behind the locks of their homes.
#[derive(Debug, Default)]
pub(super) struct CommonRound<A = AtomicU64>(A);

impl<A: Atomic<u64>> CommonRound<A> {
    /// Brings a home, which the caller has locked, to the round that all are in.
    #[inline]
    pub(super) fn follow(&self, home: &mut Rounds, quantum: impl FnOnce() -> u32) {
        let round = self.0.load();
        if home.round() < round {
            home.set_quantum(quantum());
            home.turn_to(round);
        }
    }

    /// Begins the next round, where all homes have come to the end of this one. `look` says of a
    /// home, which followed, how many are left of the round that runs, and which is the next that a
    /// connection waits for.
    pub(super) fn turn(
        &self,
        homes: usize,
        mut look: impl FnMut(usize) -> (usize, Option<u64>),
    ) -> Turned {
        let round = self.0.load();
        let mut next = u64::MAX;
        for home in 0..homes {
            let (left, soonest) = look(home);
            if left > 0 {
                return Turned::Not;
            }
            next = next.min(soonest.unwrap_or(u64::MAX));
        }
        if next == u64::MAX {
            Turned::Idle
        } else if self.0.replace(round, next).is_ok() {
            Turned::By(next - round)
        } else {
            Turned::Not
        }
    }
}

#[cfg(test)]
mod model;
