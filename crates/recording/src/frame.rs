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

/// One TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSegment<'b> {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
    pub(crate) flags: u8,
    /// Whether the switch sent it.
    pub(crate) by_switch: bool,
    pub(crate) bytes: &'b [u8],
}

/// Both addresses in the same family: an IPv4 address inside an IPv6 one is taken out.
fn plain(address: SocketAddr) -> IpAddr {
    address.ip().to_canonical()
}

impl TcpSegment<'_> {
    /// Bytes of all headers.
    pub(crate) fn header_len(&self) -> usize {
        ETHERNET_LEN + if self.is_v4() { 20 } else { 40 } + TCP_LEN
    }

    fn is_v4(&self) -> bool {
        plain(self.from).is_ipv4() && plain(self.to).is_ipv4()
    }

    /// Writes headers and bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (controller, switch) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let macs = if self.by_switch { [controller, switch] } else { [switch, controller] };
        macs.iter().for_each(|mac| out.extend_from_slice(mac));
        let len = TCP_LEN + self.bytes.len();
        let sum = match (plain(self.from), plain(self.to)) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                ipv4(from.octets(), to.octets(), len, out);
                sum(&from.octets()) + sum(&to.octets())
            }
            (from, to) => {
                let [from, to] = [from, to].map(in_v6);
                ipv6(from, to, len, out);
                sum(&from) + sum(&to)
            }
        };
        self.tcp(sum + u64::from(TCP) + len as u64, out);
    }

    fn tcp(&self, pseudo: u64, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.from.port().to_be_bytes());
        out.extend_from_slice(&self.to.port().to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.acknowledged.to_be_bytes());
        out.extend_from_slice(&[(TCP_LEN as u8 / 4) << 4, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        let checksum = folded(pseudo + sum(&out[begin..]) + sum(self.bytes));
        out[begin + 16..begin + 18].copy_from_slice(&checksum);
        out.extend_from_slice(self.bytes);
    }
}

fn in_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn ipv4(from: [u8; 4], to: [u8; 4], len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x08, 0x00]);
    let begin = out.len();
    let [high, low] = ((20 + len) as u16).to_be_bytes();
    out.extend_from_slice(&[0x45, 0, high, low, 0, 0, 0x40, 0, 64, TCP, 0, 0]);
    out.extend_from_slice(&from);
    out.extend_from_slice(&to);
    let checksum = folded(sum(&out[begin..]));
    out[begin + 10..begin + 12].copy_from_slice(&checksum);
}

fn ipv6(from: [u8; 16], to: [u8; 16], len: usize, out: &mut Vec<u8>) {
    let [high, low] = (len as u16).to_be_bytes();
    out.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0, high, low, TCP, 64]);
    out.extend_from_slice(&from);
    out.extend_from_slice(&to);
}

/// The sum of RFC 1071, not folded yet: of words of four bytes, which fold to the same.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let word = |word: &[u8]| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    words.map(word).sum::<u64>() + word(&last)
}

/// The checksum of RFC 1071.
fn folded(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Where the bytes of a connection begin in a frame that [`TcpSegment::write`] wrote; nothing where
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
        let segment = TcpSegment {
            from: "192.0.2.1:40000".parse().unwrap(),
            to: "[::ffff:192.0.2.2]:6653".parse().unwrap(),
            sequence: 7,
            acknowledged: 9,
            flags: PUSH | ACK,
            by_switch: true,
            bytes: &[4, 0, 0, 9, 0, 0, 0, 1, 0xee],
        };
        let mut frame = vec![];
        segment.write(&mut frame);
        assert_eq!(frame.len(), segment.header_len() + 9);
        assert_eq!(bytes_of(&frame), Some(segment.bytes));
        // Over what is right, the sum is all ones (RFC 1071 §1).
        assert_eq!(folded(sum(&frame[14..34])), [0, 0]);
        let pseudo = sum(&frame[26..34]) + 6 + 29;
        assert_eq!(folded(pseudo + sum(&frame[34..])), [0, 0]);
    }
}
