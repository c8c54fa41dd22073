//! Sightings that cannot be judged yet: by a port that nobody knows, or, of a host that is
//! elsewhere, by one of which it is not known what it leads to. They wait until it is. A host that
//! moves may say so once, and before its switch could say that the port is up.

use std::collections::BTreeMap;
use std::time::Duration;

use aldis_control::Time;
use aldis_wire::DatapathId;

use aldis_control::SwitchPort;

use super::keeper::Seen;

/// How long one waits at most: what a port leads to is known two seconds after it came up, or a
/// little later in a network of thousands of links.
const HELD_FOR: Duration = Duration::from_secs(5);

/// Sightings that wait: each is looked at again when some port goes down.
const HELD_MAX: usize = 4096;

/// Of which so many are of one switch, so that one that makes up ports leaves room for others.
const SWITCH_HELD_MAX: usize = 256;

/// And so many of one port: the virtual machines that one computer takes over.
const PORT_HELD_MAX: usize = 64;

/// Between two times that all are looked through for those that waited too long: a full list is no
/// reason to do it for each sighting.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

/// The sightings that wait, by switch.
#[derive(Debug, Default)]
pub(super) struct Held {
    of: BTreeMap<DatapathId, Vec<Seen>>,
    len: usize,
    sweep_at: Time,
}

impl Held {
    /// Keeps a sighting, where there is room. A second one of a host at a port stands in for the
    /// first.
    pub(super) fn keep(&mut self, now: Time, seen: Seen) {
        if self.len >= HELD_MAX && now >= self.sweep_at {
            self.sweep(now);
        }
        let (id, at) = (seen.sighting.id, seen.sighting.at);
        let of_switch = self.of.entry(at.dpid).or_default();
        let before = of_switch.len();
        of_switch
            .retain(|held| is_fresh(now, held) && (held.sighting.id, held.sighting.at) != (id, at));
        let of_port = of_switch.iter().filter(|held| held.sighting.at == at).count();
        let others = self.len - before;
        if of_port < PORT_HELD_MAX
            && of_switch.len() < SWITCH_HELD_MAX
            && others + of_switch.len() < HELD_MAX
        {
            of_switch.push(seen);
        }
        self.len = others + of_switch.len();
        if of_switch.is_empty() {
            self.of.remove(&at.dpid);
        }
    }

    /// Takes those of a port.
    pub(super) fn take_port(&mut self, at: SwitchPort, taken: &mut Vec<Seen>) {
        let Some(of_switch) = self.of.get_mut(&at.dpid) else { return };
        let before = taken.len();
        taken.extend(of_switch.extract_if(.., |held| held.sighting.at == at));
        self.len -= taken.len() - before;
        if of_switch.is_empty() {
            self.of.remove(&at.dpid);
        }
    }

    /// Takes all.
    pub(super) fn take_all(&mut self, taken: &mut Vec<Seen>) {
        self.len = 0;
        taken.extend(std::mem::take(&mut self.of).into_values().flatten());
    }

    fn sweep(&mut self, now: Time) {
        self.sweep_at = now + SWEEP_EVERY;
        self.of.retain(|_, of_switch| {
            of_switch.retain(|held| is_fresh(now, held));
            !of_switch.is_empty()
        });
        self.len = self.of.values().map(Vec::len).sum();
    }
}

/// Whether it may still count.
pub(super) fn is_fresh(now: Time, held: &Seen) -> bool {
    now.since(held.now) <= HELD_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::testing::host_mac;
    use crate::hosts::{Identity, Sighting};

    fn seen(ms: u64, host: u64, at: SwitchPort) -> Seen {
        let id = Identity { mac: host_mac(host), vlan: 0 };
        let now = Time::START + Duration::from_millis(ms);
        Seen { now, sighting: Sighting { id, at, ip: None, router: None } }
    }

    fn keep(held: &mut Held, ms: u64, host: u64, at: SwitchPort) {
        held.keep(Time::START + Duration::from_millis(ms), seen(ms, host, at));
    }

    #[test]
    fn of_a_host_at_a_port_the_last_sighting_is_kept_until_it_is_taken() {
        let (mut held, mut taken) = (Held::default(), Vec::new());
        let [one, other] = [SwitchPort::new(1, 1), SwitchPort::new(1, 2)];
        keep(&mut held, 0, 1, one);
        keep(&mut held, 10, 1, one);
        keep(&mut held, 10, 1, other);
        held.take_port(one, &mut taken);
        assert_eq!((&taken[..], held.len), (&[seen(10, 1, one)][..], 1));
        held.take_port(one, &mut taken);
        held.take_all(&mut taken);
        assert_eq!(taken[1..], [seen(10, 1, other)]);
        assert!(held.of.is_empty() && held.len == 0);
    }

    #[test]
    fn ports_and_switches_that_are_made_up_leave_room_for_others() {
        let mut held = Held::default();
        (0..1000).for_each(|host| keep(&mut held, 0, host, SwitchPort::new(1, 1)));
        assert_eq!(held.len, PORT_HELD_MAX);
        (0..1000).for_each(|host| keep(&mut held, 0, host, SwitchPort::new(1, host as u32)));
        assert_eq!(held.len, SWITCH_HELD_MAX);
        for host in 0..100_000 {
            keep(&mut held, 0, host, SwitchPort::new(2 + host % 1000, 1));
        }
        assert_eq!(held.len, HELD_MAX);
        // Those that waited too long make room.
        keep(&mut held, 6000, 1, SwitchPort::new(5000, 1));
        assert_eq!(held.len, 1);
    }
}
