//! Whether the switch is still there: it is asked when it was silent for a while, and when another
//! connection claims its name.

use core::time::Duration;

use crate::limits::PROBE_LOOKS;
use crate::time::Time;

/// Switches are asked at multiples of this: each question wakes a worker, and so does each reply;
/// those of a thousand idle switches come together, four times a second.
const MOMENTS: Duration = Duration::from_millis(250);

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
            None => (self.heard + every).rounded_up(MOMENTS),
            Some(asked) => asked + within,
        }
    }
}

/// A question that only the echo reply with its transaction id answers: what the switch sent before
/// it lost power may still arrive, and proves nothing.
///
/// What counts is not the time that passed, for the worker may not have looked, but how often the
/// socket was looked at and found empty. As long as something comes, the answer may stand behind
/// it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) xid: u32,
    /// When the next look is due.
    pub(super) due: Time,
    /// How often the socket was found empty since something came.
    empty: u32,
    seen: SocketState,
}

/// What was seen of the socket since the last look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SocketState {
    /// There was no look.
    Unknown,
    Empty,
    /// Something came.
    Bytes,
}

impl Probe {
    pub(super) fn new(xid: u32, due: Time) -> Probe {
        Probe { xid, due, empty: 0, seen: SocketState::Unknown }
    }

    /// So many bytes were read.
    pub(super) fn read(&mut self, count: usize) {
        self.seen = match self.seen {
            SocketState::Unknown | SocketState::Empty if count == 0 => SocketState::Empty,
            _ => SocketState::Bytes,
        };
    }

    /// A look is over, and the next one is due `then`. Returns whether the switch does not answer.
    pub(super) fn look(&mut self, then: Time) -> bool {
        match core::mem::replace(&mut self.seen, SocketState::Unknown) {
            SocketState::Unknown => {}
            SocketState::Empty => self.empty += 1,
            SocketState::Bytes => self.empty = 0,
        }
        self.due = then;
        self.empty >= PROBE_LOOKS
    }
}
