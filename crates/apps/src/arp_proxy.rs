//! ARP proxy: a request is answered from the table of hosts, or goes only where the host is.
//!
//! For frames from ports that are no links between switches, where the sender is known:
//!
//! 1. A frame whose sender claims another host's MAC or address is dropped.
//! 2. A request that is sent to one host goes its way: it asks whether that host is still there.
//! 3. A gratuitous ARP, which announces the sender's own address, is flooded.
//! 4. A request for a known address is answered if its host was seen lately; else it goes to that
//!    host only. So does a probe (RFC 5227), which the host itself has to answer: what is
//!    remembered might not be true any more.
//! 5. A request for an unknown address is flooded.

use core::net::IpAddr;
use core::time::Duration;

use aldis_control::app::Slots;
use aldis_control::world::PartId;
use aldis_control::{App, Batch, EventKind, Output, SwitchPort, Time};
use aldis_packet::{Arp, Ethernet, arp, ethertype};
use aldis_wire::MacAddr;

use crate::hosts::Hosts;
use crate::proxy::{DropReason, ProxyDecision, answer, front, is_for_one};

/// For so long after it was seen a host is spoken for. It is the time for which hosts believe an
/// answer without asking again (`base_reachable_time` of Linux, RFC 4861 §10, twice over).
pub const SPEAK_FOR: Duration = Duration::from_secs(60);

/// What becomes of a frame that came in at `at`, a port that is no link between switches.
pub fn decide(now: Time, frame: &[u8], at: SwitchPort, hosts: &Hosts) -> ProxyDecision {
    let Some(frame) = Ethernet::new(frame).filter(|frame| frame.ethertype() == ethertype::ARP)
    else {
        return ProxyDecision::Pass;
    };
    let Some(arp) = Arp::new(frame.payload()) else { return ProxyDecision::Pass };
    if is_spoofed(&frame, &arp, at, hosts) {
        return ProxyDecision::Drop(DropReason::Spoofed);
    }
    match arp.operation() {
        _ if is_for_one(&frame) => ProxyDecision::Pass,
        arp::REQUEST if arp.target_ip() != arp.sender_ip() => {
            question(now, &frame, &arp, at, hosts)
        }
        _ => ProxyDecision::Flood,
    }
}

fn is_spoofed(frame: &Ethernet<'_>, arp: &Arp<'_>, at: SwitchPort, hosts: &Hosts) -> bool {
    let (mac, vlan) = (MacAddr(frame.source()), frame.vlan().unwrap_or(0));
    let is_elsewhere = hosts.by_mac(mac, vlan).is_some_and(|host| host.is_elsewhere(at));
    let owner = hosts.by_ip(IpAddr::V4(arp.sender_ip()), vlan);
    let is_anothers = owner.is_some_and(|owner| owner.mac() != mac && !owner.is_nowhere());
    arp.sender_mac() != mac.0 || mac.is_group() || is_elsewhere || is_anothers
}

fn question(
    now: Time,
    frame: &Ethernet<'_>,
    arp: &Arp<'_>,
    at: SwitchPort,
    hosts: &Hosts,
) -> ProxyDecision {
    let vlan = frame.vlan().unwrap_or(0);
    let Some(host) = hosts.by_ip(IpAddr::V4(arp.target_ip()), vlan) else {
        return ProxyDecision::Flood;
    };
    let Some(place) = host.place() else { return ProxyDecision::Flood };
    if place == at || host.mac().0 == frame.source() {
        return ProxyDecision::Drop(DropReason::Heard);
    }
    let is_probe = arp.sender_ip().is_unspecified();
    if is_probe || !host.was_seen_within(SPEAK_FOR, now) {
        return ProxyDecision::send_to(place);
    }
    let reply = arp::ArpMessage::reply(arp, host.mac().0).to_bytes();
    ProxyDecision::Answer(answer(frame, host.mac().0, &[&reply]))
}

/// The application, which answers ARP questions.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArpProxy;

impl App for ArpProxy {
    type Slot = ();

    const NAME: &'static str = "arp-proxy";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];
    const READS: &'static [PartId] = front::READS;

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        front::serve(batch, out, |frame| frame.ethertype() == ethertype::ARP, decide);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::testing::{at_s, host_mac, network, network_without, place};
    use aldis_packet::ethernet;
    use proptest::prelude::*;
    use smoltcp::wire::{ArpOperation, ArpPacket, ArpRepr, EthernetFrame, EthernetProtocol};

    fn asks(host: u64, sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
        let message = arp::ArpMessage::request(host_mac(host).0, sender.into(), target.into());
        let head = ethernet::header(ethernet::BROADCAST, host_mac(host).0, ethertype::ARP);
        [&head[..], &message.to_bytes()].concat()
    }

    fn decided(host: u64, s: u64, sender: [u8; 4], target: [u8; 4]) -> ProxyDecision {
        decide(at_s(s), &asks(host, sender, target), place(host), &network())
    }

    #[test]
    fn a_known_host_is_spoken_for_while_it_was_seen_lately_and_asked_itself_later() {
        assert!(matches!(decided(1, 10, [10, 0, 0, 1], [10, 0, 0, 2]), ProxyDecision::Answer(_)));
        let request = ProxyDecision::send_to(place(2));
        assert_eq!(decided(1, 100, [10, 0, 0, 1], [10, 0, 0, 2]), request);
        assert_eq!(decided(1, 10, [0; 4], [10, 0, 0, 2]), request);
    }

    #[test]
    fn what_nobody_knows_and_what_everybody_should_know_goes_to_everyone() {
        assert_eq!(decided(1, 10, [10, 0, 0, 1], [10, 0, 0, 99]), ProxyDecision::Flood);
        assert_eq!(decided(1, 10, [10, 0, 0, 1], [10, 0, 0, 1]), ProxyDecision::Flood);
        assert_eq!(decided(1, 10, [0; 4], [10, 0, 0, 1]), ProxyDecision::Drop(DropReason::Heard));
    }

    #[test]
    fn for_who_is_nowhere_nobody_speaks_and_nothing_is_sent() {
        let request = |s, sender: [u8; 4], hosts: &Hosts| {
            decide(at_s(s), &asks(1, sender, [10, 0, 0, 2]), place(1), hosts)
        };
        let hosts = network_without(place(2));
        for s in [10, 100] {
            assert_eq!(request(s, [10, 0, 0, 1], &hosts), ProxyDecision::Flood);
            assert_eq!(request(s, [0; 4], &hosts), ProxyDecision::Flood);
        }
        // It comes back elsewhere, and another takes its address.
        let announces = asks(2, [10, 0, 0, 2], [10, 0, 0, 2]);
        assert_eq!(decide(at_s(10), &announces, place(1), &hosts), ProxyDecision::Flood);
        assert_eq!(request(10, [10, 0, 0, 6], &hosts), ProxyDecision::Flood);
    }

    #[test]
    fn liars_are_not_heard() {
        let spoofed = ProxyDecision::Drop(DropReason::Spoofed);
        assert_eq!(decided(1, 10, [10, 0, 0, 2], [10, 0, 0, 3]), spoofed);
        assert_eq!(decided(1, 10, [10, 0, 0, 2], [10, 0, 0, 2]), spoofed);
        let request = asks(1, [10, 0, 0, 1], [10, 0, 0, 2]);
        assert_eq!(decide(at_s(10), &request, place(2), &network()), spoofed);
        let mut forged = request.clone();
        forged[22] ^= 4;
        assert_eq!(decide(at_s(10), &forged, place(1), &network()), spoofed);
    }

    #[test]
    fn what_is_for_one_host_or_no_arp_goes_its_way() {
        let mut request = asks(1, [10, 0, 0, 1], [10, 0, 0, 2]);
        request[..6].copy_from_slice(&host_mac(2).0);
        assert_eq!(decide(at_s(10), &request, place(1), &network()), ProxyDecision::Pass);
        request[12] = 9;
        assert_eq!(decide(at_s(10), &request, place(1), &network()), ProxyDecision::Pass);
    }

    proptest! {
        /// smoltcp reads the answer as one to its question.
        #[test]
        fn an_answer_is_read_by_smoltcp(asking in 0u64..8, target in 0u64..8) {
            let (ours, theirs) = ([10, 0, 0, asking as u8], [10, 0, 0, target as u8]);
            let ProxyDecision::Answer(frame) = decided(asking, 10, ours, theirs) else {
                prop_assert!(place(asking) == place(target));
                return Ok(());
            };
            let frame = EthernetFrame::new_checked(&frame[..]).unwrap();
            prop_assert_eq!((frame.dst_addr().0, frame.src_addr().0), (host_mac(asking).0, host_mac(target).0));
            prop_assert_eq!(frame.ethertype(), EthernetProtocol::Arp);
            let reply = ArpRepr::parse(&ArpPacket::new_checked(frame.payload()).unwrap()).unwrap();
            prop_assert_eq!(reply, ArpRepr::EthernetIpv4 {
                operation: ArpOperation::Reply,
                source_hardware_addr: frame.src_addr(),
                source_protocol_addr: theirs.into(),
                target_hardware_addr: frame.dst_addr(),
                target_protocol_addr: ours.into(),
            });
        }

        /// No bytes do harm, and only the sender of a request is answered.
        #[test]
        fn any_bytes_are_harmless(keep in 0usize..42, bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let frame = [&asks(1, [10, 0, 0, 1], [10, 0, 0, 2])[..keep], &bytes].concat();
            if let ProxyDecision::Answer(answer) = decide(at_s(10), &frame, place(1), &network()) {
                prop_assert_eq!(&answer[..6], &frame[6..12]);
            }
        }
    }
}
