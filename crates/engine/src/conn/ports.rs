//! A switch's ports, which change one at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_control::limits::PORTS_MAX;
use aldis_wire::msg::{Port, PortChange, PortChangeReason, PortNo};

/// By number. A switch may say that a port changed as often as it likes: each time costs one look,
/// however many it has.
#[derive(Debug)]
pub(super) struct Ports(BTreeMap<PortNo, Port>);

impl Ports {
    pub(super) fn new(ports: &[Port]) -> Ports {
        Ports(ports.iter().map(|port| (port.number, *port)).collect())
    }

    /// Never more than a switch may have: one more is not noted.
    pub(super) fn change(&mut self, PortChange { reason, port }: &PortChange) {
        let has_room = self.0.len() < PORTS_MAX || self.0.contains_key(&port.number);
        match reason {
            PortChangeReason::Removed => drop(self.0.remove(&port.number)),
            _ if has_room => drop(self.0.insert(port.number, *port)),
            _ => {}
        }
    }

    /// All of them, by number.
    pub(super) fn all(&self) -> Arc<[Port]> {
        self.0.values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::msg::PortDetails;
    use aldis_wire::{FixedText, MacAddr};

    fn port(number: u32, up: bool) -> Port {
        Port {
            number: PortNo(number),
            hw_addr: MacAddr::from_u64(0x0200_0000_0000 | u64::from(number)),
            name: FixedText::default(),
            admin_down: false,
            link_down: !up,
            speed_kbps: 10_000_000,
            details: PortDetails::default(),
        }
    }

    fn numbers(ports: &Ports) -> Vec<u32> {
        ports.all().iter().map(|port| port.number.0).collect()
    }

    #[test]
    fn ports_come_change_and_go_and_stay_in_order() {
        use PortChangeReason::*;
        let mut ports = Ports::new(&[port(1, true), port(3, true)]);
        ports.change(&PortChange { reason: Added, port: port(2, true) });
        assert_eq!(numbers(&ports), [1, 2, 3]);
        ports.change(&PortChange { reason: Modified, port: port(3, false) });
        assert_eq!(ports.all()[2], port(3, false));
        ports.change(&PortChange { reason: Removed, port: port(1, true) });
        ports.change(&PortChange { reason: Removed, port: port(9, true) });
        assert_eq!(numbers(&ports), [2, 3]);
    }

    #[test]
    fn there_are_never_more_than_a_switch_may_have() {
        let mut ports = Ports::new(&[]);
        for number in 1..=PORTS_MAX as u32 + 1 {
            ports.change(&PortChange { reason: PortChangeReason::Added, port: port(number, true) });
        }
        assert_eq!(ports.all().len(), PORTS_MAX);
        ports.change(&PortChange { reason: PortChangeReason::Modified, port: port(1, false) });
        assert_eq!(ports.all()[0], port(1, false));
    }
}
