//! Which requests of a switch are being timed, and since when.
//!
//! Of a switch that offers many, one at a time, so that timing costs a comparison an answer; of one
//! that probes, every one, also those that it sends while earlier ones still wait: leaving them out
//! would hide the longest delays.

use super::outstanding::Outstanding;
use super::packet_in::NO_BUFFER;
use hdrhistogram::Histogram;
use std::time::Instant;

/// The number when no request is being timed: `NO_BUFFER` is no request's number.
const NONE: u32 = NO_BUFFER;

/// The requests being timed.
pub(super) enum Timing {
    /// One at a time.
    Sample(TimedRequest),
    /// All of them.
    Each(SendTimes),
    /// None.
    Off,
}

/// The one request being timed.
pub(super) struct TimedRequest {
    number: u32,
    since: Instant,
    /// One request in so many is timed, at most.
    every: u32,
    /// Requests sent since the last one was chosen.
    passed: u32,
}

/// When each outstanding request was sent.
pub(super) struct SendTimes {
    /// By number, modulo the length: a power of two, no less than there can be outstanding.
    since: Vec<Instant>,
    /// When those were sent that have been answered and are not recorded yet.
    answered: Vec<Instant>,
}

impl Timing {
    /// At most one request in `every`.
    pub(super) fn sample(every: u32) -> Timing {
        Timing::Sample(TimedRequest { number: NONE, since: Instant::now(), every, passed: 0 })
    }

    /// Every request, as long as no more than `outstanding` wait: 1 or more.
    pub(super) fn each(outstanding: u32) -> Timing {
        let since = vec![Instant::now(); outstanding.next_power_of_two() as usize];
        Timing::Each(SendTimes { since, answered: Vec::new() })
    }

    /// Looks at the `count` requests about to be sent, whether any of them is to be timed.
    #[inline]
    pub(super) fn choose(&mut self, outstanding: &Outstanding, count: u32) {
        match self {
            Timing::Sample(sample) => sample.choose(outstanding, count),
            Timing::Each(each) => each.choose(outstanding.next(), count),
            Timing::Off => {}
        }
    }

    /// Forgets what was chosen and not sent after all.
    pub(super) fn forget_unsent(&mut self, outstanding: &Outstanding) {
        if let Timing::Sample(sample) = self
            && !sample.is_waiting(outstanding)
        {
            sample.number = NONE;
        }
    }

    /// Request `number`, which waited for it, was answered; whether there is a delay to
    /// [`Timing::record`].
    #[inline]
    pub(super) fn answered(&mut self, number: u32) -> bool {
        match self {
            Timing::Sample(sample) => {
                let was = number == sample.number;
                if was {
                    sample.number = NONE;
                }
                was
            }
            Timing::Each(each) => {
                each.answered.push(each.since[each.place(number)]);
                true
            }
            Timing::Off => false,
        }
    }

    /// Records the delays of the requests that a read has brought answers to, in nanoseconds.
    pub(super) fn record(&mut self, delays: &mut Histogram<u64>) {
        let mut record = |since: Instant| {
            let delay = since.elapsed().as_nanos();
            delays.saturating_record(u64::try_from(delay).unwrap_or(u64::MAX));
        };
        match self {
            Timing::Sample(sample) => record(sample.since),
            Timing::Each(each) => each.answered.drain(..).for_each(record),
            Timing::Off => {}
        }
    }
}

impl TimedRequest {
    /// Chooses one of the requests if it is time for one. Which one changes, so that neither the
    /// first nor the last of a write is preferred.
    #[inline]
    fn choose(&mut self, outstanding: &Outstanding, count: u32) {
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

    fn is_waiting(&self, outstanding: &Outstanding) -> bool {
        self.number != NONE && outstanding.contains(self.number)
    }
}

impl SendTimes {
    fn choose(&mut self, first: u32, count: u32) {
        let now = Instant::now();
        for ahead in 0..count {
            let place = self.place(Outstanding::later(first, ahead));
            self.since[place] = now;
        }
    }

    fn place(&self, number: u32) -> usize {
        number as usize & (self.since.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::delays;
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_in_so_many_is_timed_and_one_at_a_time() {
        let mut outstanding = Outstanding::new(1024);
        let mut timing = Timing::sample(64);
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
        let mut timing = Timing::sample(1);
        timing.choose(&outstanding, 1);
        timing.forget_unsent(&outstanding);
        assert!(!timing.answered(outstanding.next()));
    }

    #[test]
    fn a_probe_times_what_it_sends_while_another_waits() {
        let mut outstanding = Outstanding::new(64);
        let mut timing = Timing::each(64);
        let first = outstanding.next();
        let begun = Instant::now();
        for _ in 0..3 {
            timing.choose(&outstanding, 1);
            outstanding.sent(1);
        }
        std::hint::black_box(vec![0u8; 1 << 16]);
        for ahead in [2, 0, 1] {
            assert!(timing.answered(Outstanding::later(first, ahead)));
        }
        let mut recorded = delays();
        timing.record(&mut recorded);
        timing.record(&mut recorded);
        assert_eq!(recorded.len(), 3);
        assert!(Duration::from_nanos(recorded.min()) <= begun.elapsed());
    }
}
