//! The time of a call: what the thread spends on it. A thread that the machine makes wait, because
//! others use its processor, does not use up the time of the application that it runs.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::limits::WAITING_FACTOR;

/// The time of the call in hand.
///
/// The clock of a thread costs a system call: of a call that has long it is read only when half of
/// that has passed.
///
/// That clock also runs during a part of the time for which a virtual machine's processor is taken
/// away: 7 ms of 16 in 25 gaps of up to 4.5 ms that a busy loop saw. No application can help that.
/// So a call that has 2 ms or more is over at the second look at the earliest, and what is counted
/// between two looks is a quarter more than the time until the later one at the most.
pub(super) struct CallTime {
    begun: Instant,
    allowed: Duration,
    /// What is left, since the clock of the thread is read.
    counted: Option<Counted>,
}

/// What a thread may still spend.
struct Counted {
    since: Instant,
    left: Duration,
    /// What the thread had spent at the last look, and when the next one was to come.
    seen: Duration,
    asked: Duration,
}

impl Counted {
    fn from(since: Instant, left: Duration, seen: Duration, ask_in: u64) -> Counted {
        Counted { since, left, seen, asked: Duration::from_millis(ask_in) }
    }

    /// The milliseconds until the next look; none where less is left than is worth one.
    fn look(&mut self, spent: Duration, little: Duration) -> Option<u64> {
        let had = spent.saturating_sub(self.seen).min(self.asked * 5 / 4);
        (self.seen, self.left) = (spent, self.left.saturating_sub(had));
        let ask_in = (self.left > little).then(|| whole_ms(self.left))?;
        self.asked = Duration::from_millis(ask_in);
        Some(ask_in)
    }
}

/// Milliseconds of a call below which its thread's clock is read from the beginning: half of it is
/// about as long as the time between two looks.
const SHORT_MS: u64 = 5;

impl CallTime {
    pub(super) fn new() -> CallTime {
        CallTime { begun: Instant::now(), allowed: Duration::ZERO, counted: None }
    }

    /// A call begins; the milliseconds after which [`CallTime::passed`] is to be asked. It may be
    /// asked earlier.
    pub(super) fn begin(&mut self, allowed_ms: u64) -> u64 {
        self.begin_at(Instant::now(), allowed_ms, spent)
    }

    fn begin_at(&mut self, now: Instant, allowed_ms: u64, spent: impl FnOnce() -> Duration) -> u64 {
        let is_short = allowed_ms < SHORT_MS;
        let ask_in = if is_short { (allowed_ms / 2).max(1) } else { allowed_ms.div_ceil(2) };
        let allowed = Duration::from_millis(allowed_ms);
        let counted = is_short.then(|| Counted::from(now, allowed, spent(), ask_in));
        *self = CallTime { begun: now, allowed, counted };
        ask_in
    }

    /// The milliseconds after which it is to be asked again; none where the time is over.
    pub(super) fn passed(&mut self) -> Option<u64> {
        self.passed_at(Instant::now(), spent)
    }

    fn passed_at(&mut self, now: Instant, spent: impl FnOnce() -> Duration) -> Option<u64> {
        let Some(counted) = &mut self.counted else {
            let rest = self.allowed / 2;
            let left = (self.allowed - rest).saturating_sub(now.duration_since(self.begun));
            if !left.is_zero() {
                return Some(whole_ms(left));
            }
            let ask_in = whole_ms(rest);
            self.counted = Some(Counted::from(now, rest, spent(), ask_in));
            return Some(ask_in);
        };
        let has_waited = now.duration_since(counted.since);
        let ask_in = counted.look(spent(), Duration::from_millis(1).min(self.allowed / 4));
        ask_in.filter(|_| has_waited <= self.allowed * WAITING_FACTOR)
    }

    /// How long it is since the call began.
    pub(super) fn since_begun(&self) -> Duration {
        self.begun.elapsed()
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
        assert_eq!(time.begin_at(now, 50, || unreachable!()), 25);
        assert_eq!(time.passed_at(now + 25 * MS, || 125 * MS), Some(25));
        assert_eq!(time.passed_at(now + 50 * MS, || 150 * MS), None);
        // The next one has all of it.
        assert_eq!(time.begin_at(now, 5, || unreachable!()), 3);
        assert_eq!(time.passed_at(now + 3 * MS, || 3 * MS), Some(2));
        assert_eq!(time.passed_at(now + 5 * MS, || 5 * MS), None);
    }

    #[test]
    fn a_short_call_is_over_when_it_spent_its_time_and_not_at_an_earlier_look() {
        let (mut time, now) = (CallTime::new(), Instant::now());
        assert_eq!(time.begin_at(now, 2, || 7 * MS), 1);
        assert_eq!(time.passed_at(now + MS / 2, || 7 * MS + MS / 2), Some(1));
        assert_eq!(time.passed_at(now + MS, || 8 * MS), Some(1));
        assert_eq!(time.passed_at(now + 2 * MS, || 9 * MS), None);
        // It waits for a processor.
        assert_eq!(time.begin_at(now, 2, || MS), 1);
        assert_eq!(time.passed_at(now + 9 * MS, || MS + MS / 10), Some(1));
        assert_eq!(time.passed_at(now + 10 * MS, || 2 * MS), Some(1));
        assert_eq!(time.passed_at(now + 11 * MS, || 3 * MS), None);
        time.begin_at(now, 2, || MS);
        assert_eq!(time.passed_at(now + 2 * MS * (WAITING_FACTOR + 1), || MS), None);
        assert_eq!(time.begin_at(now, 1, || MS), 1);
        assert_eq!(time.passed_at(now + MS, || 2 * MS), None);
    }

    #[test]
    fn a_processor_that_is_taken_away_ends_no_call_at_once() {
        let (mut time, now) = (CallTime::new(), Instant::now());
        for allowed in [2, 3, 4, 8, 50] {
            let ask_in = u32::try_from(time.begin_at(now, allowed, || MS)).unwrap();
            let mut looks = (1..).map(|look| {
                let (at, spent) = (ask_in * look * MS, MS + (ask_in * look + 20) * MS);
                time.passed_at(now + at, || spent)
            });
            assert!(looks.next().unwrap().is_some(), "{allowed}");
            assert!(looks.take(2).any(|again| again.is_none()), "{allowed}");
        }
    }

    #[test]
    fn a_call_that_is_asked_before_half_of_its_time_goes_on_and_reads_no_clock_of_the_thread() {
        let (mut time, now) = (CallTime::new(), Instant::now());
        time.begin_at(now, 50, || unreachable!());
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
        time.begin_at(now, 50, || unreachable!());
        now += 25 * MS;
        time.passed_at(now, || Duration::ZERO);
        now += 60 * MS;
        assert_eq!(time.passed_at(now, || 5 * MS), Some(20));
        now += 60 * MS;
        assert_eq!(time.passed_at(now, || 20 * MS), Some(5));
        assert_eq!(time.passed_at(now, || 25 * MS), None);
        time.begin_at(now, 50, || unreachable!());
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
