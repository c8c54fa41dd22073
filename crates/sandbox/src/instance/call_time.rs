//! The time of a call: what the thread spends on it. A thread that the machine makes wait, because
//! others use its processor, does not use up the time of the application that it runs.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::limits::WAITING_FACTOR;

/// The time of the call in hand.
///
/// The clock of a thread costs a system call: it is read only when half of the time has passed.
pub(super) struct CallTime {
    begun: Instant,
    allowed: Duration,
    /// When half of the time had passed, and what the thread had spent then.
    half: Option<(Instant, Duration)>,
}

impl CallTime {
    pub(super) fn new() -> CallTime {
        CallTime { begun: Instant::now(), allowed: Duration::ZERO, half: None }
    }

    /// A call begins; the milliseconds after which [`CallTime::passed`] is to be asked. It may be
    /// asked earlier.
    pub(super) fn begin(&mut self, allowed_ms: u64) -> u64 {
        self.begin_at(Instant::now(), allowed_ms)
    }

    fn begin_at(&mut self, now: Instant, allowed_ms: u64) -> u64 {
        let allowed = Duration::from_millis(allowed_ms);
        *self = CallTime { begun: now, allowed, half: None };
        allowed_ms.div_ceil(2)
    }

    /// The milliseconds after which it is to be asked again; none where the time is over.
    pub(super) fn passed(&mut self) -> Option<u64> {
        self.passed_at(Instant::now(), spent)
    }

    fn passed_at(&mut self, now: Instant, spent: impl FnOnce() -> Duration) -> Option<u64> {
        let rest = self.allowed / 2;
        let Some((since, before)) = self.half else {
            let left = (self.allowed - rest).saturating_sub(now.duration_since(self.begun));
            if !left.is_zero() {
                return Some(whole_ms(left));
            }
            self.half = Some((now, spent()));
            return Some(whole_ms(rest));
        };
        let left = rest.saturating_sub(spent().saturating_sub(before));
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
        assert_eq!(time.begin_at(now, 50), 25);
        assert_eq!(time.passed_at(now + 25 * MS, || 125 * MS), Some(25));
        assert_eq!(time.passed_at(now + 50 * MS, || 150 * MS), None);
        // The next one has all of it.
        assert_eq!(time.begin_at(now, 1), 1);
        assert_eq!(time.passed_at(now + MS, || MS), Some(1));
        assert_eq!(time.passed_at(now + 2 * MS, || 2 * MS), None);
    }

    #[test]
    fn a_call_that_is_asked_before_half_of_its_time_goes_on_and_reads_no_clock_of_the_thread() {
        let (mut time, now) = (CallTime::new(), Instant::now());
        time.begin_at(now, 50);
        assert_eq!(time.passed_at(now, || unreachable!()), Some(25));
        assert_eq!(time.passed_at(now + 20 * MS, || unreachable!()), Some(5));
        assert_eq!(time.passed_at(now + 24 * MS + MS / 2, || unreachable!()), Some(1));
        assert_eq!(time.passed_at(now + 25 * MS, || 25 * MS), Some(25));
        assert_eq!(time.passed_at(now + 40 * MS, || 40 * MS), Some(10));
        assert_eq!(time.passed_at(now + 50 * MS, || 50 * MS), None);
    }

    #[test]
    fn a_call_whose_thread_waits_has_its_time_and_not_for_ever() {
        let (mut time, mut now) = (CallTime::new(), Instant::now());
        time.begin_at(now, 50);
        now += 25 * MS;
        time.passed_at(now, || Duration::ZERO);
        now += 60 * MS;
        assert_eq!(time.passed_at(now, || 5 * MS), Some(20));
        now += 60 * MS;
        assert_eq!(time.passed_at(now, || 20 * MS), Some(5));
        assert_eq!(time.passed_at(now, || 25 * MS), None);
        time.begin_at(now, 50);
        now += 25 * MS;
        time.passed_at(now, || Duration::ZERO);
        let longest = 50 * MS * WAITING_FACTOR;
        assert_eq!(time.passed_at(now + longest, || Duration::ZERO), Some(25));
        assert_eq!(time.passed_at(now + longest + MS, || Duration::ZERO), None);
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
