//! Absent hosts, whose switches are gone: they are forgotten, and probed where their switch comes
//! back soon.
//!
//! A control channel that breaks changes nothing about the hosts behind it, and those that are
//! silent would stay unknown until they speak. But what connects under the same name may be a
//! switch of another network. So a host is not believed to be there again: once it is known that
//! its port, with the same number and address, leads to no switch, it is asked, and its answer is a
//! observation like any other.
//!
//! Not here: hosts that never told an address. They are known again when they speak.

use std::collections::BTreeMap;
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::MacAddr;

use super::probe::HostProbe;

/// A switch that is away for longer is another one. Open vSwitch tries again every eight seconds at
/// the least.
const RETURNS_WITHIN: Duration = Duration::from_secs(60);

/// Hosts that are probed; further ones are known again when they speak. As many probes leave at
/// once where all of their switches come back together.
const ABSENT_MAX: usize = 4096;

/// Probes of hosts, by the ports where they were.
#[derive(Debug, Default)]
pub(super) struct Absent {
    ports: BTreeMap<SwitchPort, AbsentPort>,
    hosts: usize,
}

#[derive(Debug)]
struct AbsentPort {
    mac: MacAddr,
    since: Time,
    probes: Vec<HostProbe>,
}

impl Absent {
    /// A switch is gone, with these hosts, each behind a port with this address.
    pub(super) fn leave(&mut self, now: Time, hosts: impl Iterator<Item = (MacAddr, HostProbe)>) {
        if self.hosts >= ABSENT_MAX {
            self.ports.retain(|_, port| now.since(port.since) < RETURNS_WITHIN);
            self.hosts = self.ports.values().map(|port| port.probes.len()).sum();
        }
        for (mac, probe) in hosts.take(ABSENT_MAX.saturating_sub(self.hosts)) {
            let anew = || AbsentPort { mac, since: now, probes: Vec::new() };
            let port = self.ports.entry(probe.at).or_insert_with(anew);
            if (port.mac, port.since) != (mac, now) {
                self.hosts -= port.probes.len();
                *port = anew();
            }
            port.probes.push(probe);
            self.hosts += 1;
        }
    }

    /// It is known what a port with this address leads to; where that is no switch of ours, the
    /// hosts that may be there again are to be asked.
    pub(super) fn back(&mut self, now: Time, at: SwitchPort, mac: MacAddr) -> Vec<HostProbe> {
        let Some(port) = self.ports.remove(&at) else { return Vec::new() };
        self.hosts -= port.probes.len();
        let is_same = port.mac == mac && now.since(port.since) < RETURNS_WITHIN;
        if is_same { port.probes } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Identity;

    const MAC: MacAddr = MacAddr([6, 0, 0, 0, 0, 1]);

    fn probe(port: u32, host: u64) -> HostProbe {
        let id = Identity { mac: MacAddr::from_u64(host), vlan: 0 };
        HostProbe { at: SwitchPort::new(1, port), id, ip: [10, 0, 0, 1].into() }
    }

    fn back(absent: &mut Absent, now: Time, port: u32, mac: MacAddr) -> usize {
        absent.back(now, SwitchPort::new(1, port), mac).len()
    }

    #[test]
    fn hosts_are_asked_for_once_and_behind_the_same_port_only() {
        let mut absent = Absent::default();
        let hosts = (1..5).flat_map(|port| [1, 2].map(|host| (MAC, probe(port, host))));
        absent.leave(Time(5), hosts);
        assert_eq!(absent.back(Time(6), SwitchPort::new(1, 1), MAC), [probe(1, 1), probe(1, 2)]);
        assert_eq!(back(&mut absent, Time(6), 1, MAC), 0);
        assert_eq!(back(&mut absent, Time(6), 2, MacAddr([6, 0, 0, 0, 0, 2])), 0);
        assert_eq!(back(&mut absent, Time(5) + RETURNS_WITHIN, 3, MAC), 0);
        // It left again meanwhile, with another host.
        absent.leave(Time(7), [(MAC, probe(4, 9))].into_iter());
        assert_eq!(absent.back(Time(8), SwitchPort::new(1, 4), MAC), [probe(4, 9)]);
        assert_eq!((absent.hosts, absent.ports.len()), (0, 0));
    }

    #[test]
    fn so_many_are_asked_for_and_those_of_old_make_room() {
        let mut absent = Absent::default();
        let many = |first: u32| (first..).map(|port| (MAC, probe(port, 1)));
        absent.leave(Time(5), many(0).take(2 * ABSENT_MAX));
        absent.leave(Time(6), many(9_999_999).take(1));
        assert_eq!((absent.hosts, absent.ports.len()), (ABSENT_MAX, ABSENT_MAX));
        absent.leave(Time(5) + RETURNS_WITHIN, many(9_999_999).take(1));
        assert_eq!((absent.hosts, absent.ports.len()), (1, 1));
    }
}
