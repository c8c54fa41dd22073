//! An observation: what one frame says about its sender.

use core::net::IpAddr;

use aldis_control::SwitchPort;
use aldis_packet::{Arp, Ethernet, Ipv6, ethertype, icmpv6, protocol};
use aldis_wire::MacAddr;

use super::host::{Identity, PackedIdentity};
use super::probe::PROBER;

/// The hop limit that no router has let pass (RFC 4861 §7.1).
const HOPS: u8 = 255;

/// A host was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observation {
    /// The host.
    pub id: Identity,
    /// Where its frame came in.
    pub at: SwitchPort,
    /// The address that it claims: by ARP or Neighbour Discovery. The source of an IP packet is no
    /// claim, for routers send the packets of others.
    pub ip: Option<IpAddr>,
    /// Whether it says that it is a router, in a neighbour advertisement.
    pub router: Option<bool>,
}

/// Why nothing is learnt from a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObservationRefusal {
    /// It is shorter than its header.
    Short,
    /// Its source is a group of hosts, the zero address, or ours.
    Source,
    /// It claims an address for another host than its sender.
    Claim,
}

/// The sender of most frames: IPv4 packets claim no address, and neither do TCP and UDP over IPv6.
/// None of another frame. Whether it is a host's has to be looked at.
#[inline]
pub(super) fn plain_sender(frame: &Ethernet<'_>) -> PackedIdentity {
    /// Where an IPv6 header says what follows it.
    const NEXT_HEADER: usize = 6;
    let is_plain = match frame.ethertype() {
        ethertype::IPV4 => true,
        ethertype::IPV6 => {
            let next = frame.payload().get(NEXT_HEADER);
            next.is_some_and(|next| matches!(*next, protocol::TCP | protocol::UDP))
        }
        _ => false,
    };
    let sender = PackedIdentity::new(frame.addresses().1, frame.vlan().unwrap_or(0));
    if is_plain { sender } else { PackedIdentity::NONE }
}

impl Observation {
    /// What a frame says that came in at `at`. Inlined, for a caller that reads the result back
    /// waits 20 cycles: the address is written in parts, and read as a whole.
    #[inline(always)]
    pub fn of_frame(frame: &[u8], at: SwitchPort) -> Result<Observation, ObservationRefusal> {
        let frame = Ethernet::new(frame).ok_or(ObservationRefusal::Short)?;
        let mac = MacAddr(frame.source());
        if mac.is_group() || mac.to_u64() == 0 || mac == PROBER {
            return Err(ObservationRefusal::Source);
        }
        if frame.ethertype() == ethertype::IPV4 && frame.vlan().is_none() {
            // Most frames: they claim nothing.
            return Ok(Observation { id: Identity { mac, vlan: 0 }, at, ip: None, router: None });
        }
        let id = Identity { mac, vlan: frame.vlan().unwrap_or(0) };
        let (ip, router) = claim(&frame)?;
        Ok(Observation { id, at, ip, router })
    }
}

fn claim(frame: &Ethernet<'_>) -> Result<(Option<IpAddr>, Option<bool>), ObservationRefusal> {
    match frame.ethertype() {
        ethertype::ARP => arp(frame).map(|ip| (ip, None)),
        ethertype::IPV6 => neighbour(frame),
        _ => Ok((None, None)),
    }
}

fn arp(frame: &Ethernet<'_>) -> Result<Option<IpAddr>, ObservationRefusal> {
    let Some(arp) = Arp::new(frame.payload()) else { return Ok(None) };
    if arp.sender_mac() != frame.source() {
        return Err(ObservationRefusal::Claim);
    }
    Ok(Some(IpAddr::V4(arp.sender_ip())).filter(|&ip| is_host(ip)))
}

fn neighbour(frame: &Ethernet<'_>) -> Result<(Option<IpAddr>, Option<bool>), ObservationRefusal> {
    let message = Ipv6::new(frame.payload()).and_then(|ip| match ip.transport() {
        Some((protocol::ICMPV6, bytes)) => {
            icmpv6::Icmpv6::new(bytes)?.neighbour().map(|said| (ip, bytes, said))
        }
        _ => None,
    });
    let Some((ip, bytes, said)) = message else { return Ok((None, None)) };
    let is_sound = icmpv6::checksum(ip.source(), ip.destination(), bytes) == 0;
    let of_sender = |mac: Option<[u8; 6]>| mac.is_none_or(|mac| mac == frame.source());
    if ip.hop_limit() != HOPS || !is_sound {
        return Err(ObservationRefusal::Claim);
    }
    if !of_sender(said.source_link_layer()) || !of_sender(said.target_link_layer()) {
        return Err(ObservationRefusal::Claim);
    }
    let claims = if said.is_advertisement() { said.target() } else { ip.source() };
    let router = said.is_advertisement().then_some(said.from_router());
    Ok((Some(IpAddr::V6(claims)).filter(|&ip| is_host(ip)), router))
}

/// Whether one host can have this address.
fn is_host(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_unspecified() || ip.is_multicast() || ip.is_loopback() || is_broadcast)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_packet::{arp::ArpMessage, ethernet, ipv6, neighbour};
    use core::net::Ipv6Addr;
    use proptest::prelude::*;

    const AT: SwitchPort = SwitchPort::new(1, 2);
    const HOST: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn said(
        source: [u8; 6],
        ethertype: u16,
        payload: &[u8],
    ) -> Result<Observation, ObservationRefusal> {
        let head = ethernet::header(ethernet::BROADCAST, source, ethertype);
        Observation::of_frame(&[&head[..], payload].concat(), AT)
    }

    fn advertises(
        sender: [u8; 6],
        target_mac: [u8; 6],
        hops: u8,
    ) -> Result<Observation, ObservationRefusal> {
        let (from, to) = (Ipv6Addr::from([0xfe; 16]), Ipv6Addr::from([0xff; 16]));
        let message = neighbour::NeighbourMessage {
            advertises: Some((true, true, true)),
            target: from,
            mac: target_mac,
        };
        let head = ipv6::header(neighbour::LEN as u16, 58, hops, (from, to));
        said(sender, ethertype::IPV6, &[&head[..], &message.to_bytes(from, to)].concat())
    }

    #[test]
    fn who_sends_is_seen_and_what_is_claimed_by_arp() {
        let asks = ArpMessage::request(HOST, [10, 0, 0, 1].into(), [10, 0, 0, 2].into()).to_bytes();
        let seen = said(HOST, ethertype::ARP, &asks).unwrap();
        assert_eq!((seen.id.mac.0, seen.id.vlan, seen.at), (HOST, 0, AT));
        assert_eq!(seen.ip, Some(IpAddr::from([10, 0, 0, 1])));
        assert_eq!(said(OTHER, ethertype::ARP, &asks), Err(ObservationRefusal::Claim));
        let probes = ArpMessage::request(HOST, [0; 4].into(), [10, 0, 0, 2].into()).to_bytes();
        assert_eq!(said(HOST, ethertype::ARP, &probes).unwrap().ip, None);
        assert_eq!(said(HOST, ethertype::IPV4, &[0x45; 60]).unwrap().ip, None);
    }

    #[test]
    fn an_advertisement_is_believed_of_its_sender_and_from_nearby() {
        let seen = advertises(HOST, HOST, 255).unwrap();
        assert_eq!((seen.ip, seen.router), (Some(IpAddr::from([0xfe; 16])), Some(true)));
        assert_eq!(advertises(HOST, OTHER, 255), Err(ObservationRefusal::Claim));
        assert_eq!(advertises(HOST, HOST, 254), Err(ObservationRefusal::Claim));
    }

    #[test]
    fn groups_nobody_and_cut_frames_are_no_hosts() {
        assert_eq!(said([3, 0, 0, 0, 0, 1], ethertype::IPV4, &[]), Err(ObservationRefusal::Source));
        assert_eq!(said([0; 6], ethertype::IPV4, &[]), Err(ObservationRefusal::Source));
        assert_eq!(Observation::of_frame(&[2; 13], AT), Err(ObservationRefusal::Short));
    }

    fn some_tags() -> impl Strategy<Value = Vec<u8>> {
        let tag =
            (prop_oneof![Just(0x8100u16), Just(0x88a8)], prop_oneof![Just(0u16), any::<u16>()]);
        let bytes = |(tpid, tci): (u16, u16)| [tpid.to_be_bytes(), tci.to_be_bytes()].concat();
        prop::collection::vec(tag.prop_map(bytes), 0..6).prop_map(|tags| tags.concat())
    }

    proptest! {
        /// What is remembered of a plain sender is what would be learnt from its frame.
        #[test]
        fn a_plain_sender_is_seen_and_claims_nothing(
            source in prop_oneof![Just(HOST), Just([0; 6]), Just([1, 0, 0, 0, 0, 2]), any::<[u8; 6]>()],
            tags in some_tags(),
            kind in prop_oneof![Just(ethertype::IPV4), Just(ethertype::IPV6), Just(ethertype::ARP), any::<u16>()],
            next in prop_oneof![Just(protocol::TCP), Just(protocol::UDP), Just(protocol::ICMPV6), any::<u8>()],
            mut payload in prop::collection::vec(any::<u8>(), 0..90),
        ) {
            if kind == ethertype::IPV6 && let [first, _, _, _, _, _, place, ..] = &mut payload[..] {
                (*first, *place) = (0x60, next);
            }
            let bytes = [&OTHER[..], &source, &tags, &kind.to_be_bytes(), &payload].concat();
            let seen = Observation::of_frame(&bytes, AT);
            let sender = plain_sender(&Ethernet::new(&bytes).unwrap());
            if sender.is_host() {
                let id = sender.identity();
                prop_assert_eq!(PackedIdentity::from(id), sender);
                prop_assert_eq!(seen, Ok(Observation { id, at: AT, ip: None, router: None }));
            } else if sender != PackedIdentity::NONE {
                prop_assert_eq!(seen, Err(ObservationRefusal::Source));
            }
        }
    }

    #[test]
    fn most_frames_are_of_plain_senders() {
        let sender = |behind: &[u8]| {
            let bytes = [&OTHER[..], &HOST, behind, &[0; 60]].concat();
            plain_sender(&Ethernet::new(&bytes).unwrap())
        };
        let host = |vlan| PackedIdentity::from(Identity { mac: MacAddr(HOST), vlan });
        assert_eq!(sender(&[0x08, 0, 0x45]), host(0));
        assert_eq!(sender(&[0x81, 0, 0xe0, 42, 0x08, 0, 0x45]), host(42));
        assert_eq!(sender(&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 6]), host(0));
        assert_eq!(sender(&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 58]), PackedIdentity::NONE);
        assert_eq!(sender(&[0x08, 0x06]), PackedIdentity::NONE);
    }
}
