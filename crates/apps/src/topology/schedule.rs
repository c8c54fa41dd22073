//! Which port is probed next, and not before when.

use std::collections::BTreeSet;
use std::time::Duration;

use aldis_control::Time;

use crate::place::SwitchPort;

/// Probes that may leave at once when none left for a while: those of a round ([`super::search::ROUND`]) at the default
/// pace, and some more.
const BURST: u32 = 512;

/// The ports, by when their next probe is due, and the pace of all probes together.
#[derive(Debug)]
pub(super) struct Schedule {
    due: BTreeSet<(Time, SwitchPort)>,
    gap: Duration,
    ready: Time,
}

impl Schedule {
    /// Nothing is due; at most so many probes a second, one at least.
    pub(super) fn new(probes_per_s_max: u32) -> Schedule {
        let gap = Duration::from_secs(1) / probes_per_s_max.max(1);
        Schedule { due: BTreeSet::new(), gap, ready: Time::START }
    }

    /// A port's probe is due then.
    pub(super) fn add(&mut self, due: Time, port: SwitchPort) {
        self.due.insert((due, port));
    }

    /// No probe of the port is due then any more.
    pub(super) fn remove(&mut self, due: Time, port: SwitchPort) {
        self.due.remove(&(due, port));
    }

    /// When [`Schedule::pop`] has a port.
    pub(super) fn next(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| self.ready.max(*due))
    }

    /// The port that is to be probed now.
    pub(super) fn pop(&mut self, now: Time) -> Option<SwitchPort> {
        self.next().filter(|&next| next <= now)?;
        self.ready = self.ready.max(now - self.gap * BURST) + self.gap;
        self.due.pop_first().map(|(_, port)| port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_leave_in_the_order_in_which_they_are_due_and_at_their_pace() {
        let mut schedule = Schedule::new(1000);
        let second = Time::START + Duration::from_secs(1);
        (0..2000u64).for_each(|n| schedule.add(Time(n), SwitchPort::new(n, 1)));
        schedule.remove(Time(1), SwitchPort::new(1, 1));
        let all = |schedule: &mut Schedule, now| std::iter::from_fn(|| schedule.pop(now)).count();
        assert_eq!(schedule.pop(second), Some(SwitchPort::new(0, 1)));
        assert_eq!(schedule.pop(second), Some(SwitchPort::new(2, 1)));
        assert_eq!(all(&mut schedule, second), BURST as usize - 1);
        let next = schedule.next().unwrap();
        assert!(next > second && next <= second + Duration::from_millis(1));
        let later = (1..=1000).map(|ms| all(&mut schedule, second + Duration::from_millis(ms)));
        assert_eq!(later.sum::<usize>(), 1000);
    }
}
