//! Pending observations, which cannot be judged yet: by an unknown port, or, of a host that is
//! elsewhere, by one of which it is not known what it leads to. They wait until it is. A host that
//! moves may say so once, and before its switch could say that the port is up.

use std::collections::BTreeMap;
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::DatapathId;

use super::publisher::HostReport;

/// How long one waits at most: what a port leads to is known two seconds after it came up, or a
/// little later in a network of thousands of links.
const PENDING_FOR: Duration = Duration::from_secs(5);

/// Observations that wait: each is looked at again when some port goes down.
const PENDING_MAX: usize = 4096;

/// Of which so many are of one switch, so that one that makes up ports leaves room for others.
const SWITCH_PENDING_MAX: usize = 256;

/// And so many of one port: the virtual machines that one computer takes over.
const PORT_PENDING_MAX: usize = 64;

/// Between two times that all are looked through for those that waited too long: a full list is no
/// reason to do it for each observation.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

/// The observations that wait, by switch.
#[derive(Debug, Default)]
pub(super) struct Pending {
    of: BTreeMap<DatapathId, Vec<HostReport>>,
    len: usize,
    sweep_at: Time,
}

impl Pending {
    /// Keeps an observation, where there is room. A second one of a host at a port stands in for
    /// the first.
    pub(super) fn keep(&mut self, now: Time, seen: HostReport) {
        if self.len >= PENDING_MAX && now >= self.sweep_at {
            self.sweep(now);
        }
        let (id, at) = (seen.observation.id, seen.observation.at);
        let of_switch = self.of.entry(at.dpid).or_default();
        let before = of_switch.len();
        of_switch.retain(|pending| {
            is_fresh(now, pending) && (pending.observation.id, pending.observation.at) != (id, at)
        });
        let of_port = of_switch.iter().filter(|pending| pending.observation.at == at).count();
        let others = self.len - before;
        if of_port < PORT_PENDING_MAX
            && of_switch.len() < SWITCH_PENDING_MAX
            && others + of_switch.len() < PENDING_MAX
        {
            of_switch.push(seen);
        }
        self.len = others + of_switch.len();
        if of_switch.is_empty() {
            self.of.remove(&at.dpid);
        }
    }

    /// Takes those of a port.
    pub(super) fn take_port(&mut self, at: SwitchPort, taken: &mut Vec<HostReport>) {
        let Some(of_switch) = self.of.get_mut(&at.dpid) else { return };
        let before = taken.len();
        taken.extend(of_switch.extract_if(.., |pending| pending.observation.at == at));
        self.len -= taken.len() - before;
        if of_switch.is_empty() {
            self.of.remove(&at.dpid);
        }
    }

    /// Takes all.
    pub(super) fn take_all(&mut self, taken: &mut Vec<HostReport>) {
        self.len = 0;
        taken.extend(std::mem::take(&mut self.of).into_values().flatten());
    }

    fn sweep(&mut self, now: Time) {
        self.sweep_at = now + SWEEP_EVERY;
        self.of.retain(|_, of_switch| {
            of_switch.retain(|pending| is_fresh(now, pending));
            !of_switch.is_empty()
        });
        self.len = self.of.values().map(Vec::len).sum();
    }
}

/// Whether it may still count.
pub(super) fn is_fresh(now: Time, pending: &HostReport) -> bool {
    now.since(pending.now) <= PENDING_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::testing::host_mac;
    use crate::hosts::{Identity, Observation};

    fn seen(ms: u64, host: u64, at: SwitchPort) -> HostReport {
        let id = Identity { mac: host_mac(host), vlan: 0 };
        let now = Time::START + Duration::from_millis(ms);
        HostReport { now, observation: Observation { id, at, ip: None, router: None } }
    }

    fn keep(pending: &mut Pending, ms: u64, host: u64, at: SwitchPort) {
        pending.keep(Time::START + Duration::from_millis(ms), seen(ms, host, at));
    }

    #[test]
    fn of_a_host_at_a_port_the_last_observation_is_kept_until_it_is_taken() {
        let (mut pending, mut taken) = (Pending::default(), Vec::new());
        let [one, other] = [SwitchPort::new(1, 1), SwitchPort::new(1, 2)];
        keep(&mut pending, 0, 1, one);
        keep(&mut pending, 10, 1, one);
        keep(&mut pending, 10, 1, other);
        pending.take_port(one, &mut taken);
        assert_eq!((&taken[..], pending.len), (&[seen(10, 1, one)][..], 1));
        pending.take_port(one, &mut taken);
        pending.take_all(&mut taken);
        assert_eq!(taken[1..], [seen(10, 1, other)]);
        assert!(pending.of.is_empty() && pending.len == 0);
    }

    #[test]
    fn ports_and_switches_that_are_made_up_leave_room_for_others() {
        let mut pending = Pending::default();
        (0..1000).for_each(|host| keep(&mut pending, 0, host, SwitchPort::new(1, 1)));
        assert_eq!(pending.len, PORT_PENDING_MAX);
        (0..1000).for_each(|host| keep(&mut pending, 0, host, SwitchPort::new(1, host as u32)));
        assert_eq!(pending.len, SWITCH_PENDING_MAX);
        for host in 0..100_000 {
            keep(&mut pending, 0, host, SwitchPort::new(2 + host % 1000, 1));
        }
        assert_eq!(pending.len, PENDING_MAX);
        // Those that waited too long make room.
        keep(&mut pending, 6000, 1, SwitchPort::new(5000, 1));
        assert_eq!(pending.len, 1);
    }
}
