//! Which request of a switch is being timed: one at most, so that timing costs a comparison an answer.

use super::outstanding::Outstanding;
use super::packet_in::NO_BUFFER;
use std::time::{Duration, Instant};

/// The number when no request is being timed: `NO_BUFFER` is no request's number.
const NONE: u32 = NO_BUFFER;

/// The request being timed.
pub(super) struct Timing {
    number: u32,
    since: Instant,
    /// One request in so many is timed, at most.
    every: u32,
    /// Requests sent since the last one was chosen.
    passed: u32,
}

impl Timing {
    pub(super) fn new(every: u32) -> Timing {
        Timing { number: NONE, since: Instant::now(), every, passed: 0 }
    }

    /// Chooses one of the `count` requests about to be sent, if it is time for one. Which one changes, so that neither
    /// the first nor the last of a write is preferred.
    #[inline]
    pub(super) fn choose(&mut self, outstanding: &Outstanding, count: u32) {
        self.passed = self.passed.saturating_add(count);
        if self.passed < self.every || self.is_waiting(outstanding) {
            return;
        }
        self.passed = 0;
        let next = outstanding.next();
        let place = (u64::from(next.wrapping_mul(0x9e37_79b1)) * u64::from(count)) >> 32;
        self.number = Outstanding::later(next, place as u32);
        self.since = Instant::now();
    }

    /// Forgets a choice that was not sent after all.
    pub(super) fn forget_unsent(&mut self, outstanding: &Outstanding) {
        if !self.is_waiting(outstanding) {
            self.number = NONE;
        }
    }

    /// Request `number` was answered; whether it was the one.
    #[inline]
    pub(super) fn answered(&mut self, number: u32) -> bool {
        let was = number == self.number;
        if was {
            self.number = NONE;
        }
        was
    }

    /// The time since the last choice was sent.
    pub(super) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn is_waiting(&self, outstanding: &Outstanding) -> bool {
        self.number != NONE && outstanding.contains(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_is_timed_and_one_at_a_time() {
        let mut outstanding = Outstanding::new(1024);
        let mut timing = Timing::new(64);
        let mut timed = 0;
        for _ in 0..100 {
            let first = outstanding.next();
            timing.choose(&outstanding, 32);
            outstanding.sent(32);
            let hits = (0..32).filter(|&ahead| {
                let number = Outstanding::later(first, ahead);
                outstanding.answer(number) && timing.answered(number)
            });
            timed += hits.count();
        }
        assert_eq!(timed, 50);
    }

    #[test]
    fn a_choice_that_was_not_sent_is_forgotten() {
        let outstanding = Outstanding::new(64);
        let mut timing = Timing::new(1);
        timing.choose(&outstanding, 1);
        timing.forget_unsent(&outstanding);
        assert!(!timing.answered(outstanding.next()));
    }
}
