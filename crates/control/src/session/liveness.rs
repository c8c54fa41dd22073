//! Whether the switch is still there: it is asked when it was silent for a while, and when another connection claims its
//! name.

use core::time::Duration;

use crate::time::Time;

/// When the switch was heard, and whether it was asked since.
#[derive(Debug)]
pub(super) struct Liveness {
    heard: Time,
    /// When the switch was asked, if it said nothing since.
    asked: Option<Time>,
}

/// What is to be done about a silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Silence {
    /// It is short.
    Short,
    /// Ask the switch for an echo.
    Ask,
    /// The switch was asked and said nothing.
    TooLong,
}

impl Liveness {
    pub(super) fn new(now: Time) -> Self {
        Liveness { heard: now, asked: None }
    }

    /// The switch said something, whatever it was.
    #[inline]
    pub(super) fn heard(&mut self, now: Time) {
        self.heard = now;
        self.asked = None;
    }

    /// What to do at `now` about a silence of `every`, with `within` to break it when asked.
    pub(super) fn tick(&mut self, now: Time, every: Duration, within: Duration) -> Silence {
        match self.asked {
            _ if now < self.deadline(every, within) => Silence::Short,
            None => {
                self.asked = Some(now);
                Silence::Ask
            }
            Some(_) => Silence::TooLong,
        }
    }

    /// When something is to be done next.
    pub(super) fn deadline(&self, every: Duration, within: Duration) -> Time {
        match self.asked {
            None => self.heard + every,
            Some(asked) => asked + within,
        }
    }
}

/// A question that only the echo reply with its transaction id answers: what the switch sent before it lost power may
/// still arrive, and proves nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) xid: u32,
    pub(super) by: Time,
}
