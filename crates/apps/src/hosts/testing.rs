//! A small network that tests of other modules ask about.

use core::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::MacAddr;

use super::{Hosts, HostsConfig, Identity, Observation, PortState, Tracker};
use crate::learning_switch::Seed;

/// So many seconds after the start.
pub(crate) fn at_s(s: u64) -> Time {
    Time::START + Duration::from_secs(s)
}

/// The address of a host.
pub(crate) fn host_mac(host: u64) -> MacAddr {
    MacAddr::from_u64(0x0200_0000_0000 | host)
}

/// Its IPv6 address; its IPv4 address is 10.0.0.host.
pub(crate) fn host_ipv6(host: u64) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, host as u16)
}

/// Where it is: every fourth is behind the same port.
pub(crate) fn place(host: u64) -> SwitchPort {
    SwitchPort::new(host % 4, 1)
}

/// [`network`], in which a port went down.
pub(crate) fn network_without(at: SwitchPort) -> Hosts {
    let mut tracker = tracker();
    tracker.port(at_s(6), at, PortState::Down, &mut Vec::new());
    tracker.hosts().clone()
}

/// Eight hosts, seen after five seconds. Those of even numbers said that they are no routers, the
/// last that it is one.
pub(crate) fn network() -> Hosts {
    tracker().hosts().clone()
}

fn tracker() -> Tracker {
    let mut tracker = Tracker::new(HostsConfig::new(Seed::new([7; 16])));
    for host in 0..8 {
        let router = match host {
            7 => Some(true),
            host if host % 2 == 0 => Some(false),
            _ => None,
        };
        for ip in [IpAddr::from([10, 0, 0, host as u8]), IpAddr::V6(host_ipv6(host))] {
            let id = Identity { mac: host_mac(host), vlan: 0 };
            let observation = Observation { id, at: place(host), ip: Some(ip), router };
            tracker.see(at_s(5), &observation, &mut Vec::new());
        }
    }
    tracker
}
