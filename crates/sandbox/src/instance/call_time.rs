//! The time of a call: what the thread spends on it. A thread that the machine makes wait, because
//! others use its processor, does not use up the time of the application that it runs.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::limits::WAITING_FACTOR;

/// The time of the call in hand.
///
/// The clock of a thread costs a system call: it is read only when half of the time has passed.
pub(super) struct CallTime {
    allowed: Duration,
    /// When the call began, and what the thread had spent when half of the time had passed.
    half: Option<(Instant, Duration)>,
}

impl CallTime {
    pub(super) fn new() -> CallTime {
        CallTime { allowed: Duration::ZERO, half: None }
    }

    /// A call begins; the milliseconds after which [`CallTime::passed`] is to be asked.
    pub(super) fn begin(&mut self, allowed_ms: u64) -> u64 {
        (self.allowed, self.half) = (Duration::from_millis(allowed_ms), None);
        allowed_ms.div_ceil(2)
    }

    /// The milliseconds after which it is to be asked again; none where the time is over.
    pub(super) fn passed(&mut self) -> Option<u64> {
        self.passed_at(Instant::now(), spent())
    }

    fn passed_at(&mut self, now: Instant, spent: Duration) -> Option<u64> {
        // Half of it, in whole milliseconds, has passed before.
        let rest = self.allowed / 2;
        let Some((since, before)) = self.half else {
            self.half = Some((now, spent));
            return Some(whole_ms(rest));
        };
        let left = rest.saturating_sub(spent.saturating_sub(before));
        let has_waited = now.duration_since(since);
        let is_over = left < Duration::from_millis(1) || has_waited > self.allowed * WAITING_FACTOR;
        (!is_over).then(|| whole_ms(left))
    }
}

fn whole_ms(time: Duration) -> u64 {
    (time.as_millis() as u64).max(1)
}

/// What this thread has spent of the processor's time.
fn spent() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.max(0) as u64, spent.tv_nsec.clamp(0, 999_999_999) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_call_that_spends_its_time_is_over_then() {
        let (mut time, now) = (CallTime::new(), Instant::now());
        assert_eq!(time.begin(50), 25);
        assert_eq!(time.passed_at(now + 25 * MS, 125 * MS), Some(25));
        assert_eq!(time.passed_at(now + 50 * MS, 150 * MS), None);
        // The next one has all of it.
        assert_eq!(time.begin(1), 1);
        assert_eq!(time.passed_at(now, MS), Some(1));
        assert_eq!(time.passed_at(now + MS, 2 * MS), None);
    }

    #[test]
    fn a_call_whose_thread_waits_has_its_time_and_not_for_ever() {
        let (mut time, mut now) = (CallTime::new(), Instant::now());
        time.begin(50);
        time.passed_at(now, Duration::ZERO);
        now += 60 * MS;
        assert_eq!(time.passed_at(now, 5 * MS), Some(20));
        now += 60 * MS;
        assert_eq!(time.passed_at(now, 20 * MS), Some(5));
        assert_eq!(time.passed_at(now, 25 * MS), None);
        time.begin(50);
        time.passed_at(now, Duration::ZERO);
        assert_eq!(time.passed_at(now + 50 * MS * WAITING_FACTOR, Duration::ZERO), Some(25));
        assert_eq!(time.passed_at(now + 51 * MS * WAITING_FACTOR, Duration::ZERO), None);
    }

    #[test]
    fn the_clock_of_the_thread_runs_while_it_works() {
        let before = spent();
        while spent() < before + 2 * MS {}
        let before = spent();
        std::thread::sleep(30 * MS);
        assert!(spent() < before + 20 * MS);
    }
}
