//! ICMPv6 (RFC 4443); Neighbour Discovery, which travels in it, is [`Neighbour`].

use crate::field::be16;
use crate::neighbour::Neighbour;

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
