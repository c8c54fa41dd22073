//! Which port is probed next, and not before when.
//!
//! Where more probes are due than may leave, switches take turns: one that announces thousands of
//! ports waits for itself, and a port of another is probed as soon as each switch had one turn.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

/// Probes that may leave at once when none left for a while: those of a round
/// ([`super::search::ROUND`]) at the default pace, and some more.
const BURST: u32 = 512;

/// The ports, by when their next probe is due, and the pace of all probes together.
#[derive(Debug)]
pub(super) struct Schedule {
    switches: BTreeMap<DatapathId, ProbeQueue>,
    /// Switches of which no probe was due when they were looked at last, by when the first one is.
    later: BTreeSet<(Time, DatapathId)>,
    /// The others, in the order of their turns.
    turns: BTreeMap<u64, DatapathId>,
    turn: u64,
    gap: Duration,
    ready: Time,
}

/// The ports of one switch, by when their next probe is due.
#[derive(Debug)]
struct ProbeQueue {
    due: BTreeSet<(Time, PortNo)>,
    place: Position,
}

/// Where a switch stands.
#[derive(Clone, Copy, Debug)]
enum Position {
    Later(Time),
    Turn(u64),
}

impl Schedule {
    /// Nothing is due; at most so many probes a second, one at least.
    pub(super) fn new(probes_per_s_max: u32) -> Schedule {
        Schedule {
            switches: BTreeMap::new(),
            later: BTreeSet::new(),
            turns: BTreeMap::new(),
            turn: 0,
            gap: Duration::from_secs(1) / probes_per_s_max.max(1),
            ready: Time::START,
        }
    }

    /// A port's probe is due then.
    pub(super) fn add(&mut self, due: Time, port: SwitchPort) {
        let Schedule { switches, later, .. } = self;
        let queue = switches.entry(port.dpid).or_insert_with(|| {
            later.insert((due, port.dpid));
            ProbeQueue { due: BTreeSet::new(), place: Position::Later(due) }
        });
        queue.due.insert((due, port.port));
        if let Position::Later(first) = queue.place
            && due < first
        {
            self.put_off(port.dpid, due);
        }
    }

    /// No probe of the port is due then any more.
    pub(super) fn remove(&mut self, due: Time, port: SwitchPort) {
        let Some(queue) = self.switches.get_mut(&port.dpid) else { return };
        queue.due.remove(&(due, port.port));
        match (queue.due.first().copied(), queue.place) {
            (None, _) => {
                self.take_out(port.dpid);
                self.switches.remove(&port.dpid);
            }
            (Some((first, _)), Position::Later(was)) if first != was => {
                self.put_off(port.dpid, first);
            }
            _ => {}
        }
    }

    /// When [`Schedule::pop`] has a port, or looks for one.
    pub(super) fn next(&self) -> Option<Time> {
        match self.turns.is_empty() {
            false => Some(self.ready),
            true => self.later.first().map(|(due, _)| self.ready.max(*due)),
        }
    }

    /// The port that is to be probed now.
    pub(super) fn pop(&mut self, now: Time) -> Option<SwitchPort> {
        self.next().filter(|&next| next <= now)?;
        while let Some((_, dpid)) = self.later.first().copied().filter(|(due, _)| *due <= now) {
            self.line_up(dpid);
        }
        while let Some((_, dpid)) = self.turns.pop_first() {
            let Some(queue) = self.switches.get_mut(&dpid) else { continue };
            let first = queue.due.first().copied().filter(|(due, _)| *due <= now);
            if first.is_some() {
                queue.due.pop_first();
            }
            match queue.due.first().copied() {
                None => drop(self.switches.remove(&dpid)),
                Some((due, _)) if due <= now => self.line_up(dpid),
                Some((due, _)) => self.put_off(dpid, due),
            }
            if let Some((_, port)) = first {
                self.ready = self.ready.max(now - self.gap * BURST) + self.gap;
                return Some(SwitchPort::of(dpid, port));
            }
        }
        None
    }

    /// It stands in no line.
    fn take_out(&mut self, dpid: DatapathId) {
        match self.switches.get(&dpid).map(|queue| queue.place) {
            Some(Position::Later(due)) => drop(self.later.remove(&(due, dpid))),
            Some(Position::Turn(turn)) => drop(self.turns.remove(&turn)),
            None => {}
        }
    }

    /// It has a turn behind all others.
    fn line_up(&mut self, dpid: DatapathId) {
        self.take_out(dpid);
        self.turn += 1;
        self.turns.insert(self.turn, dpid);
        self.place(dpid, Position::Turn(self.turn));
    }

    /// Its first probe is due then.
    fn put_off(&mut self, dpid: DatapathId, due: Time) {
        self.take_out(dpid);
        self.later.insert((due, dpid));
        self.place(dpid, Position::Later(due));
    }

    fn place(&mut self, dpid: DatapathId, place: Position) {
        if let Some(queue) = self.switches.get_mut(&dpid) {
            queue.place = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(schedule: &mut Schedule, now: Time) -> usize {
        std::iter::from_fn(|| schedule.pop(now)).count()
    }

    #[test]
    fn probes_leave_in_the_order_in_which_they_are_due_and_at_their_pace() {
        let mut schedule = Schedule::new(1000);
        let second = Time::START + Duration::from_secs(1);
        (0..2000u64).for_each(|n| schedule.add(Time(n), SwitchPort::new(n, 1)));
        schedule.remove(Time(1), SwitchPort::new(1, 1));
        assert_eq!(schedule.pop(second), Some(SwitchPort::new(0, 1)));
        assert_eq!(schedule.pop(second), Some(SwitchPort::new(2, 1)));
        assert_eq!(all(&mut schedule, second), BURST as usize - 1);
        let next = schedule.next().unwrap();
        assert!(next > second && next <= second + Duration::from_millis(1));
        let later = (1..=1000).map(|ms| all(&mut schedule, second + Duration::from_millis(ms)));
        assert_eq!(later.sum::<usize>(), 1000);
    }

    /// Sixty with 8,000 ports each, all due long ago, and one with two that are due now.
    #[test]
    fn a_switch_waits_for_one_turn_of_the_others_however_many_ports_they_have() {
        let mut schedule = Schedule::new(1000);
        for dpid in 1..=60 {
            (1..=8000).for_each(|port| schedule.add(Time(0), SwitchPort::new(dpid, port)));
        }
        let mut now = Time::START + Duration::from_secs(1);
        all(&mut schedule, now);
        schedule.add(now, SwitchPort::new(99, 1));
        schedule.add(now, SwitchPort::new(99, 2));
        let mut gone = vec![];
        while gone.len() < 130 {
            now = now + Duration::from_millis(1);
            gone.extend(std::iter::from_fn(|| schedule.pop(now)));
        }
        let at = |port| gone.iter().position(|there| *there == SwitchPort::new(99, port)).unwrap();
        assert!(at(1) <= 60 && at(2) <= 121, "{} and {}", at(1), at(2));
    }

    #[test]
    fn what_is_put_in_and_taken_out_leaves_nothing_behind() {
        let mut schedule = Schedule::new(1_000_000);
        let port = |port| SwitchPort::new(1, port);
        let at = |ms| Time::START + Duration::from_millis(ms);
        schedule.add(at(50), port(1));
        schedule.add(at(20), port(2));
        assert_eq!(schedule.next(), Some(at(20)));
        schedule.remove(at(20), port(2));
        assert_eq!(schedule.next(), Some(at(50)));
        schedule.add(at(40), port(3));
        assert_eq!((schedule.pop(at(39)), schedule.pop(at(45))), (None, Some(port(3))));
        schedule.add(at(60), port(3));
        assert_eq!((schedule.pop(at(50)), schedule.pop(at(70))), (Some(port(1)), Some(port(3))));
        assert_eq!(schedule.next(), None);
        assert!(schedule.switches.is_empty() && schedule.later.is_empty());
        assert!(schedule.turns.is_empty());
    }
}
