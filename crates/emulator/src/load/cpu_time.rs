//! How a thread spends its time: it runs, waits for a processor, or has nothing to do.

use super::generator::{schedstat, thread_cpu};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// Where the calling thread stands at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuTime {
    at: Instant,
    cpu: Duration,
    delayed: Duration,
}

impl CpuTime {
    pub(crate) fn now() -> CpuTime {
        let [_, delayed, _] = schedstat();
        CpuTime { at: Instant::now(), cpu: thread_cpu(), delayed: Duration::from_nanos(delayed) }
    }

    /// What the same thread has spent since then.
    pub(crate) fn spent(&self) -> Spent {
        let now = CpuTime::now();
        Spent {
            elapsed: now.at - self.at,
            cpu: now.cpu.saturating_sub(self.cpu),
            delayed: now.delayed.saturating_sub(self.delayed),
        }
    }
}

/// Some of a thread's time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spent {
    pub(crate) elapsed: Duration,
    /// CPU time, user and system.
    pub(crate) cpu: Duration,
    /// How long it waited for a processor.
    pub(crate) delayed: Duration,
}

impl Spent {
    /// The share of it, 0 to 1, in which there was nothing to do; 1 of no time at all.
    pub(crate) fn idle(&self) -> f64 {
        let busy = (self.cpu + self.delayed).as_secs_f64();
        (1.0 - busy / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)).max(0.0)
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.elapsed += other.elapsed;
        self.cpu += other.cpu;
        self.delayed += other.delayed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_or_waits_for_a_processor_is_not_idle() {
        let ms = Duration::from_millis;
        let spent = |cpu, delayed| Spent { elapsed: ms(1000), cpu: ms(cpu), delayed: ms(delayed) };
        let mut sum = spent(250, 250);
        assert_eq!(sum.idle(), 0.5);
        sum += spent(1000, 500);
        assert_eq!((sum.idle(), spent(1000, 9).idle()), (0.0, 0.0));
        assert_eq!(Spent::default().idle(), 1.0);
    }

    #[test]
    fn a_thread_that_does_something_is_seen_to() {
        let began = CpuTime::now();
        while began.spent().cpu < Duration::from_millis(20) {}
        let spent = began.spent();
        assert!(
            spent.elapsed + Duration::from_millis(1) >= spent.cpu && spent.idle() < 1.0,
            "{spent:?}"
        );
    }
}
