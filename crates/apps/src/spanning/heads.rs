//! The beginnings of the PACKET_OUTs that flood: one for each switch and port of entry, encoded
//! once.
//!
//! A storm asks the same over and over: what differs from one packet to the next is its transaction
//! id, its buffer and its frame. The heads are kept in a table of fixed size, in which another
//! switch and port may take the place of one.
//!
//! A switch with more than [`OUTPUTS_MAX`] ports is sent several PACKET_OUTs for one packet.

use aldis_control::switch::SwitchInfo;
use aldis_wire::msg::{Action, PacketOutHead, Port, PortNo};

use super::app::Inlet;
use super::flood_ports::FloodPorts;

/// Outputs of one PACKET_OUT. In OpenFlow 1.3 they are 32 KB, so that a frame of nearly as much
/// fits behind them.
pub(super) const OUTPUTS_MAX: usize = 2048;

/// Places of the table, a power of two: so many switches and ports that flood at a time. Some ten
/// kilobytes; 8 MB where each of these switches has two thousand ports.
const PLACES: usize = 256;

/// Heads that were encoded for one version of the World.
#[derive(Debug, Default)]
pub(super) struct Heads {
    heads: Vec<Option<CachedHead>>,
}

#[derive(Debug)]
struct CachedHead {
    version: u64,
    at: Inlet,
    head: Head,
}

/// What is sent about packets that came in by one port.
#[derive(Debug)]
pub(super) struct Head {
    /// These flood the packet together; none where it leaves by no port.
    pub(super) floods: Vec<PacketOutHead>,
    /// Has the switch forget the packet that it keeps.
    pub(super) drop: Option<PacketOutHead>,
}

impl Heads {
    /// What is sent about a packet that came in at `at`. `version` is that of the World which has
    /// the outlets.
    #[inline]
    pub(super) fn of(
        &mut self,
        version: u64,
        at: Inlet,
        (flood_ports, switch): (&FloodPorts, &SwitchInfo),
    ) -> &Head {
        if self.heads.is_empty() {
            self.heads.resize_with(PLACES, || None);
        }
        let mixed =
            (at.dpid.0.rotate_left(32) ^ u64::from(at.port.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let cached = &mut self.heads[(mixed >> 56) as usize % PLACES];
        let is_it = |cached: &&mut CachedHead| cached.version == version && cached.at == at;
        if cached.as_mut().filter(is_it).is_none() {
            *cached = None;
        }
        let head = || CachedHead { version, at, head: Head::of(at, flood_ports, switch) };
        &cached.get_or_insert_with(head).head
    }
}

impl Head {
    fn of(at: Inlet, flood_ports: &FloodPorts, switch: &SwitchInfo) -> Head {
        let head = |ports: &[PortNo]| {
            let actions = ports.iter().copied().map(Action::output);
            PacketOutHead::new(switch.version, at.port, actions).ok()
        };
        let ports: Vec<PortNo> = ports(at, flood_ports, &switch.ports).collect();
        let floods = ports.chunks(OUTPUTS_MAX).filter_map(head).collect();
        Head { floods, drop: head(&[]) }
    }
}

/// The ports by which a switch floods a frame that came in there; none where it does not.
/// `at_first` are its ports when it joined: they count as long as the outlets do not have it.
pub(super) fn ports(
    at: Inlet,
    flood_ports: &FloodPorts,
    at_first: &[Port],
) -> impl Iterator<Item = PortNo> {
    let of_switch = flood_ports.switch(at.dpid);
    let is_up = |port: &&Port| port.is_up() && port.number.is_real();
    let first = at_first.iter().filter(is_up).map(|port| port.number);
    let first = first.filter(move |port| of_switch.is_none() && *port != at.port);
    of_switch.into_iter().flat_map(move |of_switch| of_switch.flood(at.port)).chain(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::switch::info;
    use aldis_control::Time;
    use aldis_wire::Version;
    use aldis_wire::msg::Message;

    /// The ports of each PACKET_OUT by which a switch floods a packet of port 1.
    fn flooded(ports: u32) -> Vec<Vec<PortNo>> {
        let mut info = info(Version::V13, 254);
        let like = info.ports[0];
        info.ports = (1..=ports).map(|port| Port { number: PortNo(port), ..like }).collect();
        let at = Inlet { dpid: info.dpid, joined: Time::START, port: PortNo(1) };
        let head = Head::of(at, &FloodPorts::default(), &info);
        let outputs = |head: &PacketOutHead| match Message::decode(Version::V13, head.bytes()) {
            Ok((_, Message::PacketOut(packet))) => {
                let port = |action: &Action| match action {
                    Action::Output { port, .. } => *port,
                    other => panic!("{other:?}"),
                };
                packet.actions.iter().map(port).collect()
            }
            other => panic!("{other:?}"),
        };
        head.floods.iter().map(outputs).collect()
    }

    #[test]
    fn a_switch_floods_by_each_port_once_however_many_it_has() {
        for (ports, messages) in [(1, 0), (2000, 1), (2049, 1), (2050, 2), (20_000, 10)] {
            let flooded = flooded(ports);
            assert_eq!(flooded.len(), messages, "{ports}");
            assert!(flooded.concat().into_iter().eq((2..=ports).map(PortNo)), "{ports}");
        }
    }
}
