//! ICMPv6 (RFC 4443); Neighbour Discovery, which travels in it, is [`Neighbour`].

use crate::field::be16;
use crate::neighbour::Neighbour;
use crate::protocol;
use core::net::Ipv6Addr;

/// Length in bytes of what all messages have: type, code and checksum.
pub const HEADER_LEN: usize = 4;

/// Type: a ping.
pub const ECHO_REQUEST: u8 = 128;

/// Type: the answer to a ping.
pub const ECHO_REPLY: u8 = 129;

/// Type: which link-layer address does the target have? (RFC 4861 §4.3)
pub const NEIGHBOUR_SOLICITATION: u8 = 135;

/// Type: this is my link-layer address (RFC 4861 §4.4).
pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

/// An ICMPv6 message.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6<'a> {
    head: &'a [u8; HEADER_LEN],
    body: &'a [u8],
}

impl<'a> Icmpv6<'a> {
    /// The message that `bytes` are; `None` below [`HEADER_LEN`] bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, body) = bytes.split_first_chunk()?;
        Some(Icmpv6 { head, body })
    }

    /// Its type.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.head[0]
    }

    /// Its code, which refines the type.
    #[inline]
    pub fn code(&self) -> u8 {
        self.head[1]
    }

    /// Its checksum, not verified.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16::<2, _>(self.head)
    }

    /// Identifier and sequence number of a ping or its answer.
    #[inline]
    pub fn echo(&self) -> Option<(u16, u16)> {
        let head = self.body.first_chunk::<4>()?;
        matches!(self.kind(), ECHO_REQUEST | ECHO_REPLY)
            .then(|| (be16::<0, _>(head), be16::<2, _>(head)))
    }

    /// The neighbour solicitation or advertisement, where it is one.
    #[inline]
    pub fn neighbour(&self) -> Option<Neighbour<'a>> {
        match (self.kind(), self.code()) {
            (NEIGHBOUR_SOLICITATION, 0) => Neighbour::new(false, self.body),
            (NEIGHBOUR_ADVERTISEMENT, 0) => Neighbour::new(true, self.body),
            _ => None,
        }
    }

    /// What is behind type, code and checksum.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}

/// The checksum of `message` between these addresses, computed over the checksum that stands in it
/// too (RFC 4443 §2.3, RFC 8200 §8.1): over a zero there it is the one to write; over a right one
/// it is zero.
pub fn checksum(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    let words = |bytes: &[u8]| {
        let whole = bytes.chunks(2).map(|two| match *two {
            [high, low] => u32::from(u16::from_be_bytes([high, low])),
            [high] => u32::from(high) << 8,
            _ => 0,
        });
        // A message has 65,535 bytes at most, so that no sum of words overflows 32 bits.
        whole.sum::<u32>()
    };
    let length = u32::from(message.len() as u16) + u32::from(protocol::ICMPV6);
    let mut sum = length + words(&source.octets()) + words(&destination.octets());
    sum += words(message.get(..0xffff).unwrap_or(message));
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping() {
        let icmp = Icmpv6::new(&[128, 0, 0xab, 0xcd, 0, 7, 0, 9, 1]).unwrap();
        assert_eq!((icmp.kind(), icmp.code(), icmp.checksum()), (ECHO_REQUEST, 0, 0xabcd));
        assert_eq!(icmp.echo(), Some((7, 9)));
        assert!(icmp.neighbour().is_none());
    }

    #[test]
    fn what_is_cut_off_is_missing_and_nothing_else() {
        assert!(Icmpv6::new(&[128; 3]).is_none());
        assert_eq!(Icmpv6::new(&[128, 0, 0, 0, 0, 7, 0]).unwrap().echo(), None);
        assert!(Icmpv6::new(&[135, 0, 0, 0, 0, 0, 0, 0]).unwrap().neighbour().is_none());
    }
}
