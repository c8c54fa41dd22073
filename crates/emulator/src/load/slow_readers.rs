//! Switches that read slowly or not at all, to see what a controller does about what it cannot send
//! to them.

use super::Load;
use super::roles::SwitchRole;
use std::time::{Duration, Instant};

/// What a switch that reads badly may keep in its socket, in bytes: little, so that the controller
/// soon feels it.
pub(super) const RECEIVE_BUFFER: usize = 64 * 1024;

/// What it may have said that has not arrived, in bytes. With the kernel's own bound, of megabytes,
/// a thousand of them hold some gigabytes, about what TCP may use on the whole machine.
pub(super) const SEND_BUFFER: usize = 64 * 1024;

/// How often one that reads slowly reads.
pub(super) const TRICKLE: Duration = Duration::from_millis(10);

/// For how long what it has not read is made up for, in seconds.
const BURST_S: f64 = 0.1;

/// How a switch reads badly, from when offering begins.
pub(super) struct SlowReader {
    /// Bytes a second; 0 for one that never reads.
    rate: f64,
    /// Bytes that it may read now, and since when it has been so.
    allowance: f64,
    since: Instant,
    began: Instant,
    /// How long it lasted, once the controller has disconnected it.
    evicted_after: Option<Duration>,
}

impl SlowReader {
    /// How a switch with this role does it, if it does.
    pub(super) fn new(load: &Load, role: SwitchRole) -> Option<SlowReader> {
        let now = Instant::now();
        let slow_reader =
            |rate| SlowReader { rate, allowance: 0.0, since: now, began: now, evicted_after: None };
        match role {
            SwitchRole::Slow => Some(slow_reader(load.slow_rate as f64)),
            SwitchRole::Dead => Some(slow_reader(0.0)),
            SwitchRole::Normal | SwitchRole::Storm | SwitchRole::Probe => None,
        }
    }

    /// Offering begins, and reading well ends.
    pub(super) fn begin(&mut self) {
        let now = Instant::now();
        (self.since, self.began) = (now, now);
    }

    /// How many bytes it may read now, all of which are taken.
    pub(super) fn allowance(&mut self, now: Instant) -> usize {
        let passed = now.duration_since(self.since).as_secs_f64();
        self.since = now;
        let most = (self.rate * BURST_S).max(1.0);
        self.allowance = (self.allowance + self.rate * passed).min(most);
        let whole = self.allowance.floor();
        self.allowance -= whole;
        whole as usize
    }

    pub(super) fn evicted(&mut self) {
        self.evicted_after = Some(self.began.elapsed());
    }

    pub(super) fn evicted_after(&self) -> Option<Duration> {
        self.evicted_after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_pauses_are_hardly_made_up_for() {
        let load = Load { slow_rate: 1050, ..Load::new("127.0.0.1:1".parse().unwrap()) };
        let mut slow = SlowReader::new(&load, SwitchRole::Slow).unwrap();
        slow.begin();
        let start = slow.since;
        let read: usize =
            (1..=100).map(|step| slow.allowance(start + Duration::from_millis(10 * step))).sum();
        assert!((1049..=1050).contains(&read), "{read}");
        assert_eq!(slow.allowance(start + Duration::from_secs(60)), 105);
        let mut dead = SlowReader::new(&load, SwitchRole::Dead).unwrap();
        assert_eq!(dead.allowance(start + Duration::from_secs(60)), 0);
        assert!(SlowReader::new(&load, SwitchRole::Storm).is_none());
    }
}
