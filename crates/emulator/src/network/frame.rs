//! The frames that emulated hosts send: ARP, pings and datagrams over IPv4 and IPv6, Neighbour
//! Discovery, and broadcasts to be counted.
//!
//! All are whole: lengths and checksums are right, so that a real host would take them.

use aldis_packet::{arp, ethernet, ethertype, icmp, icmpv6, neighbour, protocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The EtherType of broadcasts to be counted: the first for local experiments (IEEE 802, table 4).
pub(super) const COUNTED: u16 = 0x88b5;

/// What a counted broadcast begins with, before its number; and a datagram of the offered load.
const MARK: [u8; 8] = *b"aldis\0\0\0";

/// What a ping carries behind identifier and sequence number: as many bytes as `ping` sends.
const PING_PAYLOAD: [u8; 56] = [0x2a; 56];

/// Where the offered load goes to: nothing that takes it for more than bytes listens there (RFC
/// 863).
const DISCARD: u16 = 9;
/// Bytes of a header of UDP.
const UDP_LEN: usize = 8;

/// The shortest frame of the offered load, in bytes without the checksum: IPv6 with all that a
/// [`Stamp`] says.
pub(super) const LOAD_LEN_MIN: usize = 14 + 40 + UDP_LEN + Stamp::LEN;
/// The longest: what Ethernet takes.
pub(super) const LOAD_LEN_MAX: usize = 1514;

const TTL: u8 = 64;
/// What Neighbour Discovery asks for, so that no router can have passed it on (RFC 4861 §7.1).
const HOP_LIMIT_NEIGHBOUR: u8 = 255;
/// Solicited, and to be believed over what was known (RFC 4861 §4.4).
const ADVERTISEMENT_FLAGS: u32 = 0x6000_0000;

/// Where a host is in Ethernet, and in IP of both versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) mac: [u8; 6],
    pub(super) ipv4: Ipv4Addr,
    pub(super) ipv6: Ipv6Addr,
}

/// The MAC and the IPv4 address of host `number`, from 1, in a network that begins with datapath id
/// 1.
pub fn host_address(number: u32) -> ([u8; 6], Ipv4Addr) {
    let Address { mac, ipv4, .. } = Address::of(number);
    (mac, ipv4)
}

/// What a packet of the offered load says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    /// Which it is: each has a number of its own, in the order in which they were sent.
    pub(super) number: u64,
    /// When it was sent, in nanoseconds since the network began.
    pub(super) sent_ns: u64,
    /// The place of its sender's switch among those that offer.
    pub(super) place: u32,
}

impl Stamp {
    const LEN: usize = MARK.len() + 20;

    fn to_bytes(self) -> [u8; Stamp::LEN] {
        let mut bytes = [0; Stamp::LEN];
        bytes[..8].copy_from_slice(&MARK);
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.sent_ns.to_be_bytes());
        bytes[24..].copy_from_slice(&self.place.to_be_bytes());
        bytes
    }

    /// From a datagram's payload, where it has one.
    pub(super) fn read(payload: &[u8]) -> Option<Stamp> {
        let (number, rest) = payload.strip_prefix(&MARK)?.split_first_chunk()?;
        let (sent_ns, rest) = rest.split_first_chunk()?;
        let place = u32::from_be_bytes(*rest.first_chunk()?);
        let (number, sent_ns) = (u64::from_be_bytes(*number), u64::from_be_bytes(*sent_ns));
        Some(Stamp { number, sent_ns, place })
    }
}

impl Address {
    /// Those of host `number`, from 1: 00:00:00:00:00:01, 10.0.0.1 and fd00::1 for the first, as
    /// Mininet has it.
    pub(super) fn of(number: u32) -> Address {
        let [a, b, c, d] = number.to_be_bytes();
        Address {
            mac: [0, 0, a, b, c, d],
            ipv4: Ipv4Addr::from(0x0a00_0000_u32.wrapping_add(number)),
            ipv6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, (number >> 16) as u16, number as u16),
        }
    }

    /// A broadcast that carries a number.
    pub(super) fn broadcast(&self, number: u32) -> Vec<u8> {
        let head = ethernet::header(ethernet::BROADCAST, self.mac, COUNTED);
        [&head[..], &MARK, &number.to_be_bytes(), &[0; 34]].concat()
    }

    /// An ARP request, or a Neighbour Solicitation: which host has `target`?
    pub(super) fn solicit(&self, target: IpAddr) -> Vec<u8> {
        match target {
            IpAddr::V4(target) => {
                let head = ethernet::header(ethernet::BROADCAST, self.mac, ethertype::ARP);
                let question = arp::ArpMessage::request(self.mac, self.ipv4, target);
                [&head[..], &question.to_bytes()].concat()
            }
            IpAddr::V6(target) => {
                let [.., x, y, z] = target.octets();
                let group = Ipv6Addr::new(
                    0xff02,
                    0,
                    0,
                    0,
                    0,
                    1,
                    0xff00 | u16::from(x),
                    u16::from_be_bytes([y, z]),
                );
                let mut body = [0; 28];
                body[4..20].copy_from_slice(&target.octets());
                body[20..22].copy_from_slice(&[neighbour::SOURCE_LINK_LAYER, 1]);
                body[22..].copy_from_slice(&self.mac);
                let kind = icmpv6::NEIGHBOUR_SOLICITATION;
                self.icmpv6([0x33, 0x33, 0xff, x, y, z], group, HOP_LIMIT_NEIGHBOUR, kind, &body)
            }
        }
    }

    /// The answer to an ARP request.
    pub(super) fn arp_reply(&self, question: &arp::Arp<'_>) -> Vec<u8> {
        let head = ethernet::header(question.sender_mac(), self.mac, ethertype::ARP);
        [&head[..], &arp::ArpMessage::reply(question, self.mac).to_bytes()].concat()
    }

    /// The answer to a Neighbour Solicitation.
    pub(super) fn advertise(&self, mac: [u8; 6], to: Ipv6Addr) -> Vec<u8> {
        let mut body = [0; 28];
        body[..4].copy_from_slice(&ADVERTISEMENT_FLAGS.to_be_bytes());
        body[4..20].copy_from_slice(&self.ipv6.octets());
        body[20..22].copy_from_slice(&[neighbour::TARGET_LINK_LAYER, 1]);
        body[22..].copy_from_slice(&self.mac);
        self.icmpv6(mac, to, HOP_LIMIT_NEIGHBOUR, icmpv6::NEIGHBOUR_ADVERTISEMENT, &body)
    }

    /// Tells all where this host is now: an ARP request for itself (RFC 5227 §3).
    pub(super) fn announce(&self) -> Vec<u8> {
        self.solicit(self.ipv4.into())
    }

    /// A ping with this number.
    pub(super) fn ping(&self, mac: [u8; 6], to: IpAddr, number: u32) -> Vec<u8> {
        let body = [&number.to_be_bytes()[..], &PING_PAYLOAD].concat();
        match to {
            IpAddr::V4(to) => self.icmp(mac, to, icmp::ECHO_REQUEST, &body),
            IpAddr::V6(to) => self.icmpv6(mac, to, TTL, icmpv6::ECHO_REQUEST, &body),
        }
    }

    /// The answer to a ping: `body` is what stood behind its checksum.
    pub(super) fn pong(&self, mac: [u8; 6], to: IpAddr, body: &[u8]) -> Vec<u8> {
        match to {
            IpAddr::V4(to) => self.icmp(mac, to, icmp::ECHO_REPLY, body),
            IpAddr::V6(to) => self.icmpv6(mac, to, TTL, icmpv6::ECHO_REPLY, body),
        }
    }

    /// A datagram of the offered load, from this port; the frame has `len` bytes, [`LOAD_LEN_MIN`]
    /// to [`LOAD_LEN_MAX`].
    pub(super) fn datagram(
        &self,
        mac: [u8; 6],
        to: IpAddr,
        port: u16,
        stamp: Stamp,
        len: usize,
    ) -> Vec<u8> {
        let ip_len = if to.is_ipv4() { 20 } else { 40 };
        let udp_len = len - ethernet::HEADER_LEN - ip_len;
        let mut frame = match to {
            IpAddr::V4(to) => self.ipv4(mac, to, protocol::UDP, udp_len),
            IpAddr::V6(to) => self.ipv6(mac, to, protocol::UDP, TTL, udp_len),
        };
        let start = frame.len();
        for field in [port, DISCARD, udp_len as u16, 0] {
            frame.extend_from_slice(&field.to_be_bytes());
        }
        frame.extend_from_slice(&stamp.to_bytes());
        frame.resize(len, 0);
        let from = if to.is_ipv4() { IpAddr::from(self.ipv4) } else { self.ipv6.into() };
        // Zero would say that there is none.
        let sum = match checksum_over(from, to, protocol::UDP, &frame[start..]) {
            0 => u16::MAX,
            sum => sum,
        };
        frame[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn icmp(&self, mac: [u8; 6], to: Ipv4Addr, kind: u8, body: &[u8]) -> Vec<u8> {
        let frame = self.ipv4(mac, to, protocol::ICMP, 4 + body.len());
        finish(frame, kind, body, |message| checksum(&[message]))
    }

    /// The headers of a packet that carries so many bytes.
    fn ipv4(&self, mac: [u8; 6], to: Ipv4Addr, protocol: u8, len: usize) -> Vec<u8> {
        let mut frame = ethernet::header(mac, self.mac, ethertype::IPV4).to_vec();
        let start = frame.len();
        frame.extend_from_slice(&[0x45, 0]);
        frame.extend_from_slice(&((20 + len) as u16).to_be_bytes());
        frame.extend_from_slice(&[0, 0, 0x40, 0, TTL, protocol, 0, 0]);
        frame.extend_from_slice(&self.ipv4.octets());
        frame.extend_from_slice(&to.octets());
        let sum = checksum(&[&frame[start..]]);
        frame[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn icmpv6(&self, mac: [u8; 6], to: Ipv6Addr, hops: u8, kind: u8, body: &[u8]) -> Vec<u8> {
        let frame = self.ipv6(mac, to, protocol::ICMPV6, hops, 4 + body.len());
        finish(frame, kind, body, |message| checksum_v6(self.ipv6, to, message))
    }

    fn ipv6(&self, mac: [u8; 6], to: Ipv6Addr, protocol: u8, hops: u8, len: usize) -> Vec<u8> {
        let mut frame = ethernet::header(mac, self.mac, ethertype::IPV6).to_vec();
        frame.extend_from_slice(&[0x60, 0, 0, 0]);
        frame.extend_from_slice(&(len as u16).to_be_bytes());
        frame.extend_from_slice(&[protocol, hops]);
        frame.extend_from_slice(&self.ipv6.octets());
        frame.extend_from_slice(&to.octets());
        frame
    }
}

/// Appends an ICMP message of either version, with its checksum.
fn finish(mut frame: Vec<u8>, kind: u8, body: &[u8], sum: impl Fn(&[u8]) -> u16) -> Vec<u8> {
    let start = frame.len();
    frame.extend_from_slice(&[kind, 0, 0, 0]);
    frame.extend_from_slice(body);
    let sum = sum(&frame[start..]);
    frame[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// The number of a counted broadcast, from its payload.
pub(super) fn counted(payload: &[u8]) -> Option<u32> {
    let number = payload.strip_prefix(&MARK)?.first_chunk()?;
    Some(u32::from_be_bytes(*number))
}

/// The checksum of IPv4 and ICMP (RFC 1071) over the parts, each but the last of even length; over
/// a message with a right checksum it is zero.
pub(super) fn checksum(parts: &[&[u8]]) -> u16 {
    let words = |part: &[u8]| -> u32 {
        part.chunks(2)
            .map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)))
            .sum()
    };
    let mut sum: u32 = parts.iter().map(|part| words(part)).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// That of ICMPv6, which covers the addresses as well (RFC 8200 §8.1).
pub(super) fn checksum_v6(from: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> u16 {
    checksum_over(from.into(), to.into(), protocol::ICMPV6, message)
}

/// That of a protocol which covers the addresses (RFC 768, RFC 8200 §8.1).
pub(super) fn checksum_over(from: IpAddr, to: IpAddr, protocol: u8, message: &[u8]) -> u16 {
    let octets = |address| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let (length, next) = ((message.len() as u32).to_be_bytes(), [0, 0, 0, protocol]);
    checksum(&[&octets(from), &octets(to), &length, &next, message])
}
