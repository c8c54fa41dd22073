//! An emulated host: one port, one address of each kind, and the little that a host does by itself.
//!
//! It answers ARP requests, Neighbour Solicitations and pings, asks for the address of the host
//! that it is to ping, and counts copies of broadcasts. Frames in, frames out; time comes as an
//! argument.

use super::frame::{self, Address, Stamp};
use aldis_packet::{
    Arp, Ethernet, Icmp, Icmpv6, Ipv4, Ipv6, Udp, arp, ethertype, icmp, icmpv6, protocol,
};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Most neighbours that a host remembers; one more, and it forgets them all, which costs it a
/// question each.
const NEIGHBOURS_MAX: usize = 10_000;

/// Most pings that wait for the address of their target; the next are not sent.
const WAITING_MAX: usize = 64;

/// How long a question goes unanswered before it is asked again (RFC 4861 §10, RETRANS_TIMER; Linux
/// does so for ARP). Then twice as long each time: where a question goes to a thousand switches,
/// hosts that all ask every second would keep a network busy that is late with its answers because
/// it is busy.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A host.
pub(super) struct EmulatedHost {
    pub(super) address: Address,
    neighbours: HashMap<IpAddr, [u8; 6]>,
    waiting: Vec<WaitingPing>,
}

/// A ping that cannot be sent yet.
struct WaitingPing {
    target: IpAddr,
    number: u32,
    asked_at: Duration,
    ask_at: Duration,
}

/// What a frame told a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// Nothing that is counted.
    Nothing,
    /// The ping with this number was answered.
    Pong(u32),
    /// A copy of the broadcast with this number.
    Broadcast(u32),
    /// A packet of the offered load.
    Load(Stamp),
    /// A packet whose checksum is wrong.
    Spoilt,
}

impl EmulatedHost {
    /// The host whose addresses have this number, from 1.
    pub(super) fn new(number: u32) -> EmulatedHost {
        EmulatedHost {
            address: Address::of(number),
            neighbours: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Pings `target`: at once where its address is known, otherwise once it is.
    pub(super) fn ping(
        &mut self,
        target: IpAddr,
        number: u32,
        now: Duration,
        out: &mut Vec<Vec<u8>>,
    ) {
        if let Some(&mac) = self.neighbours.get(&target) {
            return out.push(self.address.ping(mac, target, number));
        }
        if self.waiting.len() >= WAITING_MAX {
            return;
        }
        let asked = self.waiting.iter().find(|waiting| waiting.target == target);
        let asked = asked.map(|waiting| (waiting.asked_at, waiting.ask_at));
        if asked.is_none() {
            out.push(self.address.solicit(target));
        }
        let (asked_at, ask_at) = asked.unwrap_or((now, now + ASK_AGAIN));
        self.waiting.push(WaitingPing { target, number, asked_at, ask_at });
    }

    /// The hardware address of another host, once that is known.
    pub(super) fn neighbour(&self, host: IpAddr) -> Option<[u8; 6]> {
        self.neighbours.get(&host).copied()
    }

    /// Asks again for what was asked for a while ago.
    pub(super) fn ask_again(&mut self, now: Duration, out: &mut Vec<Vec<u8>>) {
        let Some(due) = self.waiting.iter().find(|waiting| waiting.ask_at <= now) else { return };
        let (target, waited) = (due.target, due.ask_at - due.asked_at);
        out.push(self.address.solicit(target));
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.target == target) {
            (waiting.asked_at, waiting.ask_at) = (now, now + 2 * waited);
        }
    }

    /// Forgets a ping that is not waited for any longer.
    pub(super) fn give_up(&mut self, number: u32) {
        self.waiting.retain(|waiting| waiting.number != number);
    }

    /// A frame arrives.
    pub(super) fn frame(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) -> Heard {
        let Some(frame) = Ethernet::new(bytes) else { return Heard::Nothing };
        let is_mine = frame.destination() == self.address.mac || frame.destination()[0] & 1 == 1;
        if !is_mine || frame.vlan().is_some() {
            return Heard::Nothing;
        }
        let payload = frame.payload();
        let heard = match frame.ethertype() {
            ethertype::ARP => Arp::new(payload).and_then(|arp| self.arp(&arp, out)),
            ethertype::IPV4 => {
                Ipv4::new(payload).and_then(|packet| self.ipv4(&frame, &packet, out))
            }
            ethertype::IPV6 => {
                Ipv6::new(payload).and_then(|packet| self.ipv6(&frame, &packet, out))
            }
            frame::COUNTED => frame::counted(payload).map(Heard::Broadcast),
            _ => None,
        };
        heard.unwrap_or(Heard::Nothing)
    }

    fn arp(&mut self, arp: &Arp<'_>, out: &mut Vec<Vec<u8>>) -> Option<Heard> {
        let is_for_me = arp.target_ip() == self.address.ipv4;
        let sender = IpAddr::from(arp.sender_ip());
        if arp.sender_ip() == self.address.ipv4 {
            return None;
        }
        // As Linux does: a host that asks for this one is remembered, of others only what is known
        // already.
        if is_for_me || self.neighbours.contains_key(&sender) {
            self.learn(sender, arp.sender_mac(), out);
        }
        if is_for_me && arp.operation() == arp::REQUEST {
            out.push(self.address.arp_reply(arp));
        }
        None
    }

    fn learn(&mut self, neighbour: IpAddr, mac: [u8; 6], out: &mut Vec<Vec<u8>>) {
        if self.neighbours.len() >= NEIGHBOURS_MAX && !self.neighbours.contains_key(&neighbour) {
            self.neighbours.clear();
        }
        self.neighbours.insert(neighbour, mac);
        let address = self.address;
        for waiting in self.waiting.extract_if(.., |waiting| waiting.target == neighbour) {
            out.push(address.ping(mac, neighbour, waiting.number));
        }
    }

    fn ipv4(
        &mut self,
        frame: &Ethernet<'_>,
        packet: &Ipv4<'_>,
        out: &mut Vec<Vec<u8>>,
    ) -> Option<Heard> {
        if packet.destination() != self.address.ipv4 {
            return None;
        }
        let header = frame.payload().get(..usize::from(frame.payload()[0] & 0xf) * 4)?;
        let message = packet.transport()?;
        if frame::checksum(&[header]) != 0 {
            return Some(Heard::Spoilt);
        }
        match packet.protocol() {
            protocol::ICMP => {}
            protocol::UDP => {
                return udp(packet.source().into(), packet.destination().into(), message);
            }
            _ => return None,
        }
        if frame::checksum(&[message]) != 0 {
            return Some(Heard::Spoilt);
        }
        let icmp = Icmp::new(message)?;
        let (high, low) = icmp.echo()?;
        match icmp.kind() {
            icmp::ECHO_REPLY => Some(Heard::Pong(u32::from(high) << 16 | u32::from(low))),
            _ => {
                let source: Ipv4Addr = packet.source();
                out.push(self.address.pong(frame.source(), source.into(), &message[4..]));
                None
            }
        }
    }

    fn ipv6(
        &mut self,
        frame: &Ethernet<'_>,
        packet: &Ipv6<'_>,
        out: &mut Vec<Vec<u8>>,
    ) -> Option<Heard> {
        let (protocol, message) = packet.transport()?;
        let (from, to): (Ipv6Addr, Ipv6Addr) = (packet.source(), packet.destination());
        if to != self.address.ipv6 && !to.is_multicast() {
            return None;
        }
        match protocol {
            protocol::ICMPV6 => {}
            protocol::UDP => return udp(from.into(), to.into(), message),
            _ => return None,
        }
        let icmp = Icmpv6::new(message)?;
        if frame::checksum_v6(from, to, message) != 0 {
            return Some(Heard::Spoilt);
        }
        match icmp.kind() {
            icmpv6::NEIGHBOUR_SOLICITATION => {
                let question = icmp.neighbour()?;
                if question.target() == self.address.ipv6 && from != self.address.ipv6 {
                    let mac = question.source_link_layer().unwrap_or(frame.source());
                    self.learn(from.into(), mac, out);
                    out.push(self.address.advertise(mac, from));
                }
            }
            icmpv6::NEIGHBOUR_ADVERTISEMENT => {
                let answer = icmp.neighbour()?;
                let mac = answer.target_link_layer().unwrap_or(frame.source());
                if answer.target() != self.address.ipv6 {
                    self.learn(answer.target().into(), mac, out);
                }
            }
            icmpv6::ECHO_REQUEST if to == self.address.ipv6 => {
                out.push(self.address.pong(frame.source(), from.into(), &message[4..]));
            }
            icmpv6::ECHO_REPLY => {
                let (high, low) = icmp.echo()?;
                return Some(Heard::Pong(u32::from(high) << 16 | u32::from(low)));
            }
            _ => {}
        }
        None
    }
}

/// A datagram: of the offered load, or of another origin.
fn udp(from: IpAddr, to: IpAddr, message: &[u8]) -> Option<Heard> {
    let datagram = Udp::new(message)?;
    let sums = datagram.checksum() != 0 || to.is_ipv6();
    if sums && frame::checksum_over(from, to, protocol::UDP, message) != 0 {
        return Some(Heard::Spoilt);
    }
    Stamp::read(datagram.payload()).map(Heard::Load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Duration = Duration::ZERO;

    /// Two hosts on one wire: passes frames to and fro until neither has any; what each heard.
    fn talk(a: &mut EmulatedHost, b: &mut EmulatedHost, first: Vec<Vec<u8>>) -> Vec<Heard> {
        let mut heard = Vec::new();
        let (mut to_b, mut to_a) = (first, Vec::new());
        while !to_b.is_empty() {
            heard.extend(to_b.drain(..).map(|frame| b.frame(&frame, &mut to_a)));
            heard.extend(to_a.drain(..).map(|frame| a.frame(&frame, &mut to_b)));
        }
        heard.retain(|heard| *heard != Heard::Nothing);
        heard
    }

    #[test]
    fn hosts_ping_each_other_over_both_versions() {
        let (mut a, mut b) = (EmulatedHost::new(1), EmulatedHost::new(70_000));
        for (number, target) in [(7, b.address.ipv4.into()), (0xdead_beef, b.address.ipv6.into())] {
            let mut out = Vec::new();
            a.ping(target, number, NOW, &mut out);
            assert_eq!(out.len(), 1, "the question for its address");
            assert_eq!(talk(&mut a, &mut b, out), [Heard::Pong(number)]);
            let mut out = Vec::new();
            a.ping(target, number + 1, NOW, &mut out);
            assert_eq!(Ethernet::new(&out[0]).unwrap().destination(), b.address.mac);
            assert_eq!(talk(&mut a, &mut b, out), [Heard::Pong(number + 1)]);
        }
    }

    #[test]
    fn a_question_is_asked_once_for_many_pings_and_again_ever_later() {
        let (mut a, mut b) = (EmulatedHost::new(1), EmulatedHost::new(2));
        let (mut out, target) = (Vec::new(), IpAddr::from(b.address.ipv4));
        for number in 1..=3 {
            a.ping(target, number, NOW, &mut out);
        }
        assert_eq!(out.len(), 1);
        a.ask_again(ASK_AGAIN - Duration::from_millis(1), &mut out);
        assert_eq!(out.len(), 1);
        a.ask_again(ASK_AGAIN, &mut out);
        assert_eq!(out[0], out[1]);
        for (milliseconds, asked) in [(2999, 2), (3000, 3), (6999, 3), (7000, 4)] {
            a.ask_again(Duration::from_millis(milliseconds), &mut out);
            assert_eq!(out.len(), asked, "after {milliseconds} ms");
        }
        a.give_up(2);
        assert_eq!(talk(&mut a, &mut b, out), [Heard::Pong(1), Heard::Pong(3)]);
    }

    #[test]
    fn what_is_for_others_is_left_alone() {
        let (mut a, mut b, mut c) =
            (EmulatedHost::new(1), EmulatedHost::new(2), EmulatedHost::new(3));
        let mut out = Vec::new();
        a.ping(b.address.ipv4.into(), 1, NOW, &mut out);
        a.ping(b.address.ipv6.into(), 2, NOW, &mut out);
        assert!(talk(&mut a, &mut c, out).is_empty());
        let mut out = vec![a.address.ping(b.address.mac, b.address.ipv4.into(), 3)];
        assert!(talk(&mut a, &mut c, out.clone()).is_empty());
        // The right host, by an address that is not its own.
        out = vec![a.address.ping(b.address.mac, c.address.ipv4.into(), 4)];
        assert!(talk(&mut a, &mut b, out).is_empty());
    }

    #[test]
    fn a_spoilt_packet_is_noticed() {
        let (a, mut b) = (EmulatedHost::new(1), EmulatedHost::new(2));
        for target in [IpAddr::from(b.address.ipv4), b.address.ipv6.into()] {
            let good = a.address.ping(b.address.mac, target, 1);
            assert_eq!(b.frame(&good, &mut Vec::new()), Heard::Nothing);
            let mut spoilt = good;
            *spoilt.last_mut().unwrap() ^= 1;
            assert_eq!(b.frame(&spoilt, &mut Vec::new()), Heard::Spoilt);
        }
    }

    #[test]
    fn a_datagram_is_heard_with_all_that_it_says_unless_it_is_spoilt() {
        let (a, mut b) = (EmulatedHost::new(1), EmulatedHost::new(2));
        let stamp = Stamp { number: 1 << 40, sent_ns: 77, place: 9 };
        for to in [IpAddr::from(b.address.ipv4), b.address.ipv6.into()] {
            for len in [frame::LOAD_LEN_MIN, 101, frame::LOAD_LEN_MAX] {
                let good = a.address.datagram(b.address.mac, to, 4242, stamp, len);
                assert_eq!(good.len(), len);
                assert_eq!(b.frame(&good, &mut Vec::new()), Heard::Load(stamp));
                let mut spoilt = good;
                *spoilt.last_mut().unwrap() ^= 1;
                assert_eq!(b.frame(&spoilt, &mut Vec::new()), Heard::Spoilt);
            }
        }
    }

    #[test]
    fn a_host_that_moved_is_heard_of() {
        let (mut a, mut b) = (EmulatedHost::new(1), EmulatedHost::new(2));
        let mut out = Vec::new();
        a.ping(b.address.ipv4.into(), 1, NOW, &mut out);
        talk(&mut a, &mut b, out);
        b.address.mac = [2; 6];
        a.frame(&b.address.announce(), &mut Vec::new());
        let mut out = Vec::new();
        a.ping(b.address.ipv4.into(), 2, NOW, &mut out);
        assert_eq!(out[0][..6], [2; 6]);
    }

    #[test]
    fn copies_of_a_broadcast_carry_its_number() {
        let frame = EmulatedHost::new(1).address.broadcast(9);
        assert_eq!(frame.len(), 60, "the shortest that Ethernet has, without its checksum");
        assert_eq!(EmulatedHost::new(2).frame(&frame, &mut Vec::new()), Heard::Broadcast(9));
    }

    proptest! {
        #[test]
        fn no_frame_makes_a_host_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), at in 0usize..100, kind in 0usize..4) {
            let mut host = EmulatedHost::new(1);
            let mut out = Vec::new();
            host.frame(&bytes, &mut out);
            let other = EmulatedHost::new(2).address;
            let mut frame = match kind {
                0 => other.solicit(host.address.ipv4.into()),
                1 => other.solicit(host.address.ipv6.into()),
                2 => other.ping(host.address.mac, host.address.ipv4.into(), 1),
                _ => other.ping(host.address.mac, host.address.ipv6.into(), 1),
            };
            frame.truncate(at);
            host.frame(&frame, &mut out);
            let end = at.min(frame.len());
            let end_bytes = bytes.len().min(frame.len() - end.min(frame.len()));
            frame[end - end_bytes.min(end)..end].iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
            host.frame(&frame, &mut out);
            prop_assert!(out.iter().all(|frame| frame.len() < 200));
        }
    }
}
