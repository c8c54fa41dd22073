//! Whose turn it is with a switch, where an application wants to be alone with it.
//!
//! Several workers may serve one switch: its connection is let go of as soon as it is chopped, and it may have auxiliary
//! connections. An exclusive application is given its slot on the switch to be changed; so a batch needs the switch's turn,
//! from its reading to its landing. Who finds it taken leaves word, does something else, and is announced.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::conn::ConnId;

/// The turn of one switch.
#[derive(Debug, Default)]
pub(crate) struct Turn(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    is_taken: bool,
    /// Those who asked in vain.
    waiting: Vec<ConnId>,
}

impl Turn {
    /// Takes the turn, if nobody has it.
    #[must_use]
    pub(crate) fn take(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_taken, true)
    }

    /// Takes the turn, or sees to it that the connection is called when it is free.
    #[must_use]
    pub(crate) fn take_or_wait(&self, conn: ConnId) -> bool {
        let mut taken = self.lock();
        if taken.is_taken && !taken.waiting.contains(&conn) {
            taken.waiting.push(conn);
        }
        !std::mem::replace(&mut taken.is_taken, true)
    }

    /// Gives it back. These have to be called.
    #[must_use]
    pub(crate) fn give_back(&self) -> Vec<ConnId> {
        let mut taken = self.lock();
        taken.is_taken = false;
        std::mem::take(&mut taken.waiting)
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // Nothing between lock and unlock panics half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_in_vain_is_called_once() {
        let turn = Turn::default();
        assert!(turn.take_or_wait(ConnId(1)));
        assert!(!turn.take_or_wait(ConnId(2)) && !turn.take_or_wait(ConnId(2)) && !turn.take());
        assert_eq!(turn.give_back(), [ConnId(2)]);
        assert!(turn.take());
        assert!(turn.give_back().is_empty());
    }
}
