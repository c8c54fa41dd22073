//! Frames in parts that a person can read, with checksums that are right.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A frame and what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestFrame {
    pub(crate) dst: u8,
    pub(crate) src: u8,
    /// Tag protocol, priority and identifier, outermost first.
    pub(crate) tags: Vec<(u16, u8, u16)>,
    pub(crate) body: FrameBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameBody {
    Other(u16),
    /// 802.3 without and with SNAP.
    Llc,
    Snap(u16),
    Arp {
        op: u16,
        spa: Ipv4Addr,
        tpa: Ipv4Addr,
    },
    Ipv4 {
        src: Ipv4Addr,
        dst: Ipv4Addr,
        tos: u8,
        ttl: u8,
        options: bool,
        fragment: FramePart,
        above: Above,
    },
    Ipv6 {
        src: Ipv6Addr,
        dst: Ipv6Addr,
        class: u8,
        label: u32,
        hops: u8,
        hop_by_hop: bool,
        above: Above,
    },
}

/// Which part of a packet a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FramePart {
    Whole,
    First,
    Later,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    Tcp(u16, u16),
    /// With a checksum, or without.
    Udp(u16, u16, bool),
    Sctp(u16, u16),
    /// ICMP of the family.
    Icmp(u8, u8),
    /// Neighbour solicitation or advertisement, with its link-layer address if it has one.
    Neighbour {
        kind: u8,
        target: Ipv6Addr,
        mac: Option<u8>,
    },
    Other(u8),
    /// TCP whose header is cut short.
    CutTcp,
}

/// The Ethernet address that a small number stands for: 0xff is all hosts, 0x80 and above groups.
pub(crate) fn mac(number: u8) -> [u8; 6] {
    match number {
        0xff => [0xff; 6],
        0x80.. => [0x01, 0, 0x5e, 0, 0, number],
        _ => [2, 0, 0, 0, 0, number],
    }
}

impl TestFrame {
    pub(crate) fn new(body: FrameBody) -> TestFrame {
        TestFrame { dst: 2, src: 1, tags: vec![], body }
    }

    pub(crate) fn tagged(mut self, vid: u16) -> TestFrame {
        self.tags.push((0x8100, 0, vid));
        self
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [mac(self.dst), mac(self.src)].concat();
        for (tpid, pcp, vid) in &self.tags {
            bytes.extend(tpid.to_be_bytes());
            bytes.extend((u16::from(*pcp) << 13 | vid).to_be_bytes());
        }
        bytes.extend(self.body.to_bytes());
        bytes.resize(bytes.len().max(60), 0);
        bytes
    }
}

impl fmt::Display for TestFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}\n      ")?;
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FrameBody {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            FrameBody::Other(kind) => {
                [&kind.to_be_bytes()[..], b"something that is no IP"].concat()
            }
            FrameBody::Llc => vec![0, 10, 0x42, 0x42, 3, 1, 2, 3, 4, 5, 6, 7],
            FrameBody::Snap(kind) => {
                [&[0, 20, 0xaa, 0xaa, 3, 0, 0, 0], &kind.to_be_bytes()[..], b"twelve bytes"]
                    .concat()
            }
            FrameBody::Arp { op, spa, tpa } => [
                &[8, 6, 0, 1, 8, 0, 6, 4][..],
                &op.to_be_bytes(),
                &mac(1),
                &spa.octets(),
                &mac(2),
                &tpa.octets(),
            ]
            .concat(),
            FrameBody::Ipv4 { .. } => self.ipv4(),
            FrameBody::Ipv6 { .. } => self.ipv6(),
        }
    }

    fn ipv4(&self) -> Vec<u8> {
        let FrameBody::Ipv4 { src, dst, tos, ttl, options, fragment, above } = self else {
            return vec![];
        };
        let pseudo = [&src.octets()[..], &dst.octets()].concat();
        let (kind, payload) = above.to_bytes(&pseudo, false);
        let header_len = if *options { 24 } else { 20 };
        let total = (header_len + payload.len()) as u16;
        let word = match fragment {
            FramePart::Whole => 0x4000,
            FramePart::First => 0x2000,
            FramePart::Later => 0x0010,
        };
        let mut header = vec![0x40 + header_len as u8 / 4, *tos];
        for number in [total, 0x1234, word, u16::from(*ttl) << 8 | u16::from(kind), 0] {
            header.extend(number.to_be_bytes());
        }
        header.extend(pseudo);
        if *options {
            header.extend([1, 1, 1, 0]);
        }
        let checksum = sum(&[&header]);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        [&[8, 0][..], &header, &payload].concat()
    }

    fn ipv6(&self) -> Vec<u8> {
        let FrameBody::Ipv6 { src, dst, class, label, hops, hop_by_hop, above } = self else {
            return vec![];
        };
        let pseudo = [&src.octets()[..], &dst.octets()].concat();
        let (kind, mut payload) = above.to_bytes(&pseudo, true);
        let mut next = kind;
        if *hop_by_hop {
            payload = [&[kind, 0, 1, 4, 0, 0, 0, 0][..], &payload].concat();
            next = 0;
        }
        let word = 6 << 28 | u32::from(*class) << 20 | label;
        let length = (payload.len() as u16).to_be_bytes();
        let head = [&[0x86, 0xdd][..], &word.to_be_bytes(), &length, &[next, *hops]].concat();
        [head, pseudo, payload].concat()
    }
}

impl Above {
    /// Its protocol, and its header with some bytes behind it.
    fn to_bytes(&self, addresses: &[u8], v6: bool) -> (u8, Vec<u8>) {
        let ports = |a: &u16, b: &u16| [a.to_be_bytes(), b.to_be_bytes()].concat();
        let icmp = if v6 { 58 } else { 1 };
        let (kind, mut bytes, checksum_at) = match self {
            Above::Tcp(a, b) => {
                let rest = [0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
                (6, [&ports(a, b)[..], &rest, b"tcp data"].concat(), 16)
            }
            Above::Udp(a, b, _) => {
                (17, [&ports(a, b)[..], &[0, 16, 0, 0], b"udp data"].concat(), 6)
            }
            Above::Sctp(a, b) => {
                return (132, [&ports(a, b)[..], &[0, 0, 0, 9, 1, 2, 3, 4], b"chunks.."].concat());
            }
            Above::Icmp(kind, code) => {
                (icmp, [&[*kind, *code, 0, 0, 0, 1, 0, 1][..], b"ping"].concat(), 2)
            }
            Above::Neighbour { kind, target, mac: lla } => {
                let mut bytes = [&[*kind, 0, 0, 0, 0, 0, 0, 0][..], &target.octets()].concat();
                if let Some(number) = lla {
                    bytes.extend([if *kind == 135 { 1 } else { 2 }, 1]);
                    bytes.extend(mac(*number));
                }
                (58, bytes, 2)
            }
            Above::Other(kind) => return (*kind, b"something above".to_vec()),
            Above::CutTcp => return (6, vec![0, 80, 0, 81, 0, 0, 0, 1]),
        };
        let length = bytes.len() as u16;
        let pseudo = [addresses, &[0, kind], &length.to_be_bytes()].concat();
        let covers_addresses = kind != 1;
        let checksum = sum(&[if covers_addresses { &pseudo } else { &[] }, &bytes]);
        let checksum = if kind == 17 && checksum == 0 { 0xffff } else { checksum };
        if !matches!(self, Above::Udp(_, _, false)) {
            bytes[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        (kind, bytes)
    }
}

/// The checksum of the Internet over some bytes.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut total = 0_u32;
    for word in parts.iter().flat_map(|part| part.chunks(2)) {
        total += u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0));
    }
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    !total as u16
}
