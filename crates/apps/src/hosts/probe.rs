//! A probe asks a host whether it is still where it was, by the address that it is known to have.

use core::net::{IpAddr, Ipv6Addr};

use aldis_control::SwitchPort;
use aldis_packet::{arp, ethernet, ethertype, ipv6, neighbour, protocol};
use aldis_wire::MacAddr;

use super::host::Identity;

/// The sender of a probe: an address of no host. What is sent to it comes to the controller, for no
/// flow leads there.
pub const PROBER: MacAddr = MacAddr([0x02, 0xa1, 0xd1, 0x50, 0x00, 0x01]);

/// The same in IPv6: the link-local address made of [`PROBER`] (RFC 4291 appendix A).
const PROBER_IPV6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0x00a1, 0xd1ff, 0xfe50, 0x0001);

/// A probe to be sent out of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostProbe {
    /// The port.
    pub at: SwitchPort,
    /// The host that was last seen there.
    pub id: Identity,
    /// An address that it has.
    pub ip: IpAddr,
}

impl HostProbe {
    /// The frame: an ARP probe (RFC 5227 §2.1.1), which leaves no trace in any cache, or a
    /// neighbour solicitation, to the host alone.
    pub fn frame(&self) -> Vec<u8> {
        let mut frame = [&self.id.mac.0[..], &PROBER.0].concat();
        if self.id.vlan != 0 {
            frame.extend(ethertype::VLAN.to_be_bytes());
            frame.extend(self.id.vlan.to_be_bytes());
        }
        match self.ip {
            IpAddr::V4(ip) => {
                frame.extend(ethertype::ARP.to_be_bytes());
                frame.extend(arp::ArpMessage::request(PROBER.0, [0; 4].into(), ip).to_bytes());
            }
            IpAddr::V6(target) => {
                let message =
                    neighbour::NeighbourMessage { advertises: None, target, mac: PROBER.0 };
                let between = (PROBER_IPV6, target);
                frame.extend(ethertype::IPV6.to_be_bytes());
                frame.extend(ipv6::header(neighbour::LEN as u16, protocol::ICMPV6, 255, between));
                frame.extend(message.to_bytes(PROBER_IPV6, target));
            }
        }
        frame.resize(frame.len().max(ethernet::MIN_LEN), 0);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_packet::{Arp, Ethernet, Icmpv6, Ipv6};

    #[test]
    fn a_host_is_asked_in_its_vlan_by_arp_or_neighbour_discovery() {
        let id = Identity { mac: MacAddr::from_u64(0x0200_0000_0007), vlan: 42 };
        let probe = |ip| HostProbe { at: SwitchPort::new(1, 1), id, ip }.frame();
        let bytes = probe([10, 0, 0, 7].into());
        let frame = Ethernet::new(&bytes).unwrap();
        assert_eq!(
            (frame.destination(), frame.source(), frame.vlan()),
            (id.mac.0, PROBER.0, Some(42))
        );
        let arp = Arp::new(frame.payload()).unwrap();
        assert_eq!((arp.operation(), arp.sender_ip().to_bits()), (arp::REQUEST, 0));
        assert_eq!((arp.target_ip(), bytes.len()), ([10, 0, 0, 7].into(), 60));

        let bytes = probe([0xfe80, 0, 0, 0, 0, 0, 0, 7].into());
        let ip = Ipv6::new(Ethernet::new(&bytes).unwrap().payload()).unwrap();
        assert_eq!(
            (ip.hop_limit(), ip.source(), ip.destination()),
            (255, PROBER_IPV6, ip.destination())
        );
        let request = Icmpv6::new(ip.transport().unwrap().1).unwrap().neighbour().unwrap();
        assert_eq!(
            (request.target(), request.source_link_layer()),
            (ip.destination(), Some(PROBER.0))
        );
    }
}
