//! Neighbour Discovery proxy: as [`crate::arp_proxy`], for IPv6 (RFC 4861).
//!
//! What differs: a message has to be whole (§7.1), and an answer says whether the target is a
//! router. A wrong word there takes a network's default route away (§7.2.5), so the proxy answers
//! for a host only if the host said which of both it is; else the question goes to the host alone.

use core::net::{IpAddr, Ipv6Addr};

use aldis_control::app::Slots;
use aldis_control::world::PartId;
use aldis_control::{App, Batch, EventKind, Output, SwitchPort, Time};
use aldis_packet::{
    Ethernet, Icmpv6, Ipv6, Neighbour, ethertype, icmpv6, ipv6, neighbour, protocol,
};
use aldis_wire::MacAddr;

use crate::arp_proxy::SPEAK_FOR;
use crate::hosts::Hosts;
use crate::proxy::{DropReason, ProxyDecision, answer, front, is_for_one};

/// The hop limit that no router has let pass.
const HOPS: u8 = 255;

/// What becomes of a frame that came in at `at`, a port that is no link between switches.
pub fn decide(now: Time, frame: &[u8], at: SwitchPort, hosts: &Hosts) -> ProxyDecision {
    let Some(frame) = Ethernet::new(frame) else { return ProxyDecision::Pass };
    let Some((ip, bytes)) = discovery(&frame) else { return ProxyDecision::Pass };
    let Some(said) = Icmpv6::new(bytes).and_then(|message| message.neighbour()) else {
        return ProxyDecision::Drop(DropReason::Malformed);
    };
    if !is_whole(&ip, bytes, &said) {
        return ProxyDecision::Drop(DropReason::Malformed);
    }
    if is_spoofed(&frame, &ip, &said, at, hosts) {
        return ProxyDecision::Drop(DropReason::Spoofed);
    }
    match is_for_one(&frame) {
        true => ProxyDecision::Pass,
        false if said.is_advertisement() => ProxyDecision::Flood,
        false => question(now, (&frame, &ip, &said), at, hosts),
    }
}

/// The message of Neighbour Discovery that a frame carries, with its IPv6 header.
fn discovery<'a>(frame: &Ethernet<'a>) -> Option<(Ipv6<'a>, &'a [u8])> {
    if frame.ethertype() != ethertype::IPV6 {
        return None;
    }
    let ip = Ipv6::new(frame.payload())?;
    let (protocol::ICMPV6, bytes) = ip.transport()? else { return None };
    let kind = Icmpv6::new(bytes)?.kind();
    matches!(kind, icmpv6::NEIGHBOUR_SOLICITATION | icmpv6::NEIGHBOUR_ADVERTISEMENT)
        .then_some((ip, bytes))
}

/// Whether a message is one that hosts have to believe (§7.1).
fn is_whole(ip: &Ipv6<'_>, bytes: &[u8], said: &Neighbour<'_>) -> bool {
    let is_sound = icmpv6::checksum(ip.source(), ip.destination(), bytes) == 0;
    // Duplicate address detection has no source, says no link-layer address, and asks a group.
    let looks = !ip.source().is_unspecified()
        || !said.is_advertisement()
            && said.source_link_layer().is_none()
            && ip.destination().is_multicast();
    is_sound && looks && ip.hop_limit() == HOPS && !said.target().is_multicast()
}

fn is_spoofed(
    frame: &Ethernet<'_>,
    ip: &Ipv6<'_>,
    said: &Neighbour<'_>,
    at: SwitchPort,
    hosts: &Hosts,
) -> bool {
    let (mac, vlan) = (MacAddr(frame.source()), frame.vlan().unwrap_or(0));
    let is_anothers = |ip: Ipv6Addr| {
        let owner = hosts.by_ip(IpAddr::V6(ip), vlan);
        owner.is_some_and(|owner| owner.mac() != mac && !owner.is_nowhere())
    };
    let says_other = |said: Option<[u8; 6]>| said.is_some_and(|said| said != mac.0);
    let is_elsewhere = hosts.by_mac(mac, vlan).is_some_and(|host| host.is_elsewhere(at));
    mac.is_group()
        || is_elsewhere
        || is_anothers(ip.source())
        || said.is_advertisement() && is_anothers(said.target())
        || says_other(said.source_link_layer())
        || says_other(said.target_link_layer())
}

fn question(
    now: Time,
    (frame, ip, said): (&Ethernet<'_>, &Ipv6<'_>, &Neighbour<'_>),
    at: SwitchPort,
    hosts: &Hosts,
) -> ProxyDecision {
    let vlan = frame.vlan().unwrap_or(0);
    let Some(host) = hosts.by_ip(IpAddr::V6(said.target()), vlan) else {
        return ProxyDecision::Flood;
    };
    let Some(place) = host.place() else { return ProxyDecision::Flood };
    if place == at || host.mac().0 == frame.source() {
        return ProxyDecision::Drop(DropReason::Heard);
    }
    let looks = ip.source().is_unspecified();
    match host.is_router() {
        Some(router) if !looks && host.was_seen_within(SPEAK_FOR, now) => {
            let (from, to, mac) = (said.target(), ip.source(), host.mac().0);
            let advertises = Some((router, true, true));
            let message =
                neighbour::NeighbourMessage { advertises, target: from, mac }.to_bytes(from, to);
            let head = ipv6::header(neighbour::LEN as u16, protocol::ICMPV6, HOPS, (from, to));
            ProxyDecision::Answer(answer(frame, mac, &[&head, &message]))
        }
        _ => ProxyDecision::send_to(place),
    }
}

/// The application, which answers neighbour questions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NdProxy;

impl App for NdProxy {
    type Slot = ();

    const NAME: &'static str = "nd-proxy";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];
    const READS: &'static [PartId] = front::READS;

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        // Nearly all frames are seen by their ethertype to be none.
        let is_ours = |frame: &Ethernet<'_>| {
            frame.ethertype() == ethertype::IPV6 && discovery(frame).is_some()
        };
        front::serve(batch, out, is_ours, decide);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::testing::{at_s, host_ipv6, host_mac, network, network_without, place};
    use aldis_packet::ethernet;
    use proptest::prelude::*;
    use smoltcp::phy::ChecksumCapabilities;
    use smoltcp::wire::{
        EthernetFrame, Icmpv6Packet, Icmpv6Repr, Ipv6Packet, NdiscNeighborFlags, NdiscRepr,
    };

    const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);

    fn framed(host: u64, hops: u8, (from, to): (Ipv6Addr, Ipv6Addr), message: &[u8]) -> Vec<u8> {
        let head = ethernet::header([0x33, 0x33, 0xff, 0, 0, 2], host_mac(host).0, ethertype::IPV6);
        let ip = ipv6::header(message.len() as u16, protocol::ICMPV6, hops, (from, to));
        [&head[..], &ip, message].concat()
    }

    fn asks(host: u64, from: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
        let message =
            neighbour::NeighbourMessage { advertises: None, target, mac: host_mac(host).0 };
        framed(host, HOPS, (from, GROUP), &message.to_bytes(from, GROUP))
    }

    fn decided(frame: &[u8], host: u64) -> ProxyDecision {
        decide(at_s(10), frame, place(host), &network())
    }

    #[test]
    fn who_said_what_it_is_is_spoken_for_and_others_are_asked() {
        // Hosts of even numbers said that they are no routers, the last that it is one; the others
        // said nothing.
        assert!(matches!(
            decided(&asks(1, host_ipv6(1), host_ipv6(2)), 1),
            ProxyDecision::Answer(_)
        ));
        assert_eq!(
            decided(&asks(1, host_ipv6(1), host_ipv6(3)), 1),
            ProxyDecision::send_to(place(3))
        );
        let later = decide(at_s(100), &asks(1, host_ipv6(1), host_ipv6(2)), place(1), &network());
        assert_eq!(later, ProxyDecision::send_to(place(2)));
        assert_eq!(decided(&asks(1, host_ipv6(1), host_ipv6(99)), 1), ProxyDecision::Flood);
    }

    #[test]
    fn for_who_is_nowhere_nobody_speaks_and_nothing_is_sent() {
        let hosts = network_without(place(2));
        let decided = |frame: &[u8], at: u64| decide(at_s(10), frame, place(at), &hosts);
        assert_eq!(decided(&asks(1, host_ipv6(1), host_ipv6(2)), 1), ProxyDecision::Flood);
        // It comes back elsewhere, and another takes its address.
        assert!(matches!(
            decided(&asks(2, host_ipv6(2), host_ipv6(4)), 1),
            ProxyDecision::Answer(_)
        ));
        assert!(matches!(
            decided(&asks(1, host_ipv6(2), host_ipv6(4)), 1),
            ProxyDecision::Answer(_)
        ));
    }

    #[test]
    fn who_looks_whether_an_address_is_free_hears_from_its_owner() {
        let nobody = Ipv6Addr::UNSPECIFIED;
        let mut message = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &host_ipv6(2).octets()].concat();
        let sum = icmpv6::checksum(nobody, GROUP, &message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let looks = framed(1, HOPS, (nobody, GROUP), &message);
        assert_eq!(decided(&looks, 1), ProxyDecision::send_to(place(2)));
        assert_eq!(
            decided(&asks(1, nobody, host_ipv6(2)), 1),
            ProxyDecision::Drop(DropReason::Malformed)
        );
    }

    #[test]
    fn what_came_through_a_router_or_was_damaged_is_dropped() {
        let whole = asks(1, host_ipv6(1), host_ipv6(2));
        for at in [21, 22 + 15, 54 + 3, 54 + 12, whole.len() - 1] {
            let mut bad = whole.clone();
            bad[at] ^= 1;
            assert_eq!(decided(&bad, 1), ProxyDecision::Drop(DropReason::Malformed), "byte {at}");
        }
    }

    #[test]
    fn liars_are_not_heard() {
        let spoofed = ProxyDecision::Drop(DropReason::Spoofed);
        assert_eq!(decided(&asks(1, host_ipv6(3), host_ipv6(2)), 1), spoofed);
        assert_eq!(decided(&asks(1, host_ipv6(1), host_ipv6(2)), 3), spoofed);
        let says = |host: u64, target| {
            let (from, to) = (host_ipv6(host), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));
            let advertises = Some((false, false, true));
            let message = neighbour::NeighbourMessage { advertises, target, mac: host_mac(host).0 };
            framed(host, HOPS, (from, to), &message.to_bytes(from, to))
        };
        assert_eq!(decided(&says(1, host_ipv6(2)), 1), spoofed);
        assert_eq!(decided(&says(1, host_ipv6(1)), 1), ProxyDecision::Flood);
    }

    proptest! {
        /// smoltcp reads the answer, checksum and all, as one to its question.
        #[test]
        fn an_answer_is_read_by_smoltcp(asking in 0u64..8, target in 0u64..8) {
            let frame = match decided(&asks(asking, host_ipv6(asking), host_ipv6(target)), asking) {
                ProxyDecision::Answer(frame) => frame,
                ProxyDecision::SendTo(_) => {
                    prop_assert!(target % 2 == 1 && target != 7);
                    return Ok(());
                }
                other => {
                    prop_assert_eq!((other, place(asking)), (ProxyDecision::Drop(DropReason::Heard), place(target)));
                    return Ok(());
                }
            };
            let frame = EthernetFrame::new_checked(&frame[..]).unwrap();
            prop_assert_eq!((frame.dst_addr().0, frame.src_addr().0), (host_mac(asking).0, host_mac(target).0));
            let ip = Ipv6Packet::new_checked(frame.payload()).unwrap();
            prop_assert_eq!((ip.src_addr(), ip.dst_addr(), ip.hop_limit()), (host_ipv6(target), host_ipv6(asking), 255));
            let icmp = Icmpv6Packet::new_checked(ip.payload()).unwrap();
            let read = Icmpv6Repr::parse(&ip.src_addr(), &ip.dst_addr(), &icmp, &ChecksumCapabilities::default()).unwrap();
            let router = if target == 7 { NdiscNeighborFlags::ROUTER } else { NdiscNeighborFlags::empty() };
            prop_assert_eq!(read, Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert {
                flags: router | NdiscNeighborFlags::SOLICITED | NdiscNeighborFlags::OVERRIDE,
                target_addr: host_ipv6(target),
                lladdr: Some(frame.src_addr().into()),
            }));
        }

        /// No bytes do harm, and only the sender of a request is answered.
        #[test]
        fn any_bytes_are_harmless(keep in 0usize..86, bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let frame = [&asks(1, host_ipv6(1), host_ipv6(2))[..keep], &bytes].concat();
            if let ProxyDecision::Answer(answer) = decided(&frame, 1) {
                prop_assert_eq!(&answer[..6], &frame[6..12]);
            }
        }
    }
}
