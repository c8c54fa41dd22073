//! Ethernet, IP and TCP headers (RFC 791, 8200, 9293) in front of the bytes of a connection.
//!
//! Addresses, ports and sequence numbers are the connection's. MACs and windows are made up.

use std::net::{IpAddr, SocketAddr};

use crate::event::Endpoints;

pub(crate) const ETHERNET_LEN: usize = 14;
const TCP_LEN: usize = 20;
const TCP: u8 = 6;

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const PUSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;

/// Bytes of the longest headers: those of IPv6.
const HEAD_MAX: usize = ETHERNET_LEN + 40 + TCP_LEN;

/// The headers of all segments of one direction of a connection: what differs between them is
/// written over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameHead {
    bytes: [u8; HEAD_MAX],
    len: usize,
    /// The sum of the addresses and of the protocol.
    pseudo: u64,
}

/// What is said of one TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSegment<'b> {
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
    pub(crate) flags: u8,
    pub(crate) bytes: &'b [u8],
}

impl FrameHead {
    /// Of what goes from one end to the other.
    pub(crate) fn new(from: SocketAddr, to: SocketAddr, by_switch: bool) -> FrameHead {
        let (controller, switch) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let macs = if by_switch { [controller, switch] } else { [switch, controller] };
        let mut out = macs.concat();
        // An IPv4 address inside an IPv6 one is taken out; both are in the same family.
        let addresses = match [from, to].map(|end| end.ip().to_canonical()) {
            [IpAddr::V4(from), IpAddr::V4(to)] => {
                out.extend([0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, TCP, 0, 0]);
                [from.octets(), to.octets()].concat()
            }
            ends => {
                out.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, TCP, 64]);
                ends.map(in_v6).concat()
            }
        };
        out.extend_from_slice(&addresses);
        [from, to].iter().for_each(|end| out.extend(end.port().to_be_bytes()));
        out.extend([0, 0, 0, 0, 0, 0, 0, 0, (TCP_LEN as u8 / 4) << 4, 0, 0xff, 0xff, 0, 0, 0, 0]);
        let (mut bytes, len) = ([0; HEAD_MAX], out.len());
        bytes[..len].copy_from_slice(&out);
        FrameHead { bytes, len, pseudo: sum(&addresses) + sum(&[0, TCP]) }
    }

    /// Bytes of all headers.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Writes the headers and the bytes of a segment.
    pub(crate) fn write(&self, segment: &TcpSegment<'_>, out: &mut Vec<u8>) {
        let mut head = self.bytes;
        let (ip, tcp) =
            head[ETHERNET_LEN..self.len].split_at_mut(self.len - ETHERNET_LEN - TCP_LEN);
        let tcp_len = ((TCP_LEN + segment.bytes.len()) as u16).to_be_bytes();
        if ip.len() == 20 {
            let total = (20 + TCP_LEN + segment.bytes.len()) as u16;
            ip[2..4].copy_from_slice(&total.to_be_bytes());
            let checksum = folded(sum(ip));
            ip[10..12].copy_from_slice(&checksum);
        } else {
            ip[4..6].copy_from_slice(&tcp_len);
        }
        tcp[4..8].copy_from_slice(&segment.sequence.to_be_bytes());
        tcp[8..12].copy_from_slice(&segment.acknowledged.to_be_bytes());
        tcp[13] = segment.flags;
        let checksum = folded(self.pseudo + sum(&tcp_len) + sum(tcp) + sum(segment.bytes));
        tcp[16..18].copy_from_slice(&checksum);
        out.extend_from_slice(&head[..self.len]);
        out.extend_from_slice(segment.bytes);
    }
}

fn in_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The sum of RFC 1071, not folded yet: of words of four bytes, which fold to the same, and in the
/// machine's own order, which comes out in that order too (§2 (B)).
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let word = |word: &[u8]| u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    words.map(word).sum::<u64>() + word(&last)
}

/// The checksum of RFC 1071.
#[inline]
fn folded(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_ne_bytes()
}

/// Where the bytes of a connection begin in a frame that [`FrameHead::write`] wrote; nothing where
/// the frame is another one.
pub(crate) fn bytes_of(frame: &[u8]) -> Option<&[u8]> {
    let ip = frame.get(ETHERNET_LEN..)?;
    let (header, protocol, total) = match (frame.get(12..14)?, ip.first()? >> 4) {
        ([0x08, 0x00], 4) => {
            let header = usize::from(ip[0] & 0xf) * 4;
            (header, *ip.get(9)?, usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?])))
        }
        ([0x86, 0xdd], 6) => {
            let len = u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]);
            (40, *ip.get(6)?, 40 + usize::from(len))
        }
        _ => return None,
    };
    let tcp = ip.get(..total)?.get(header..).filter(|_| protocol == TCP)?;
    tcp.get(usize::from(*tcp.get(12)? >> 4) * 4..)
}

/// The ends of the connection of a frame that the switch sent.
pub(crate) fn ends_of(frame: &[u8]) -> Option<Endpoints> {
    let ip = frame.get(ETHERNET_LEN..)?;
    let (from, to, header): (IpAddr, IpAddr, _) = match ip.first()? >> 4 {
        4 => {
            let at = |at| Some(<[u8; 4]>::into(*ip.get(at..)?.first_chunk::<4>()?));
            (at(12)?, at(16)?, usize::from(ip[0] & 0xf) * 4)
        }
        _ => {
            let at = |at| Some(<[u8; 16]>::into(*ip.get(at..)?.first_chunk::<16>()?));
            (at(8)?, at(24)?, 40)
        }
    };
    let port = |at| Some(u16::from_be_bytes(*ip.get(header + at..)?.first_chunk()?));
    let ends = [(from, port(0)?), (to, port(2)?)];
    let [peer, local] = ends.map(|(ip, port)| SocketAddr::new(ip.to_canonical(), port));
    Some(Endpoints { peer, local })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_come_out_right() {
        let from = "192.0.2.1:40000".parse().unwrap();
        let head = FrameHead::new(from, "[::ffff:192.0.2.2]:6653".parse().unwrap(), true);
        let bytes = &[4, 0, 0, 9, 0, 0, 0, 1, 0xee];
        let flags = PUSH | ACK;
        let mut frame = vec![];
        head.write(&TcpSegment { sequence: 7, acknowledged: 9, flags, bytes }, &mut frame);
        assert_eq!(frame.len(), head.len() + 9);
        assert_eq!(bytes_of(&frame), Some(&bytes[..]));
        // Over what is right, the sum is all ones (RFC 1071 §1).
        assert_eq!(folded(sum(&frame[14..34])), [0, 0]);
        let pseudo = sum(&frame[26..34]) + sum(&[0, 6, 0, 29]);
        assert_eq!(folded(pseudo + sum(&frame[34..])), [0, 0]);
        // The headers, word by word, in the order of the network.
        let sum: u64 = frame[14..34]
            .chunks_exact(2)
            .map(|word| u64::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}
