//! IPv4 (RFC 791), with its options and the words about fragments.
//!
//! ```text
//!  0              1           2              4    6
//! | version, ihl | dscp, ecn | total length | id | flags, offset |
//!  8     9          10         12       16            20
//! | ttl | protocol | checksum | source | destination | options …
//! ```

use crate::field::{be16, field};
use core::net::Ipv4Addr;

/// Length of the header without options, in bytes.
pub const HEADER_LEN: usize = 20;

/// An IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    head: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// The packet at the front of `bytes`; what stands behind its total length is the padding of
    /// the frame.
    ///
    /// `None` where it is no version 4, where the header is cut off, and where its lengths
    /// contradict each other. A payload that is cut off is taken as far as it goes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let header_len = usize::from(head[0] & 0x0f) * 4;
        let payload_len = usize::from(be16::<2, _>(head)).checked_sub(header_len)?;
        if head[0] >> 4 != 4 {
            return None;
        }
        let (options, payload) = rest.split_at_checked(header_len.checked_sub(HEADER_LEN)?)?;
        Some(Ipv4 { head, options, payload: payload.get(..payload_len).unwrap_or(payload) })
    }

    /// The differentiated services code point, 0 to 63.
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.head[1] >> 2
    }

    /// Explicit congestion notification, 0 to 3.
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.head[1] & 3
    }

    /// Length of the whole packet in bytes, as the header says; more may be missing at the end.
    #[inline]
    pub fn total_length(&self) -> u16 {
        be16::<2, _>(self.head)
    }

    /// Which fragments belong together.
    #[inline]
    pub fn identification(&self) -> u16 {
        be16::<4, _>(self.head)
    }

    /// Whether it must not be cut into fragments.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.head[6] & 0x40 != 0
    }

    /// Whether fragments follow this one.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.head[6] & 0x20 != 0
    }

    /// Where in the original packet this fragment's payload belongs, in bytes (a multiple of
    /// eight).
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        (be16::<6, _>(self.head) & 0x1fff) * 8
    }

    /// Whether it is a piece of a packet, the first one included.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.more_fragments() || self.fragment_offset() != 0
    }

    /// How many routers it may still pass.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.head[8]
    }

    /// What the payload is ([`protocol`](crate::protocol)).
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.head[9]
    }

    /// The header's checksum, not verified.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16::<10, _>(self.head)
    }

    /// The source address, as the sender claims it.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        field::<12, 4, _>(self.head).into()
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        field::<16, 4, _>(self.head).into()
    }

    /// Its options, up to the first that makes no sense.
    #[inline]
    pub fn options(&self) -> Ipv4Options<'a> {
        Ipv4Options { rest: self.options }
    }

    /// What it carries. In a fragment that is not the first it begins in the middle of something.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The payload where a transport header begins it: not in a later fragment.
    #[inline]
    pub fn transport(&self) -> Option<&'a [u8]> {
        (self.fragment_offset() == 0).then_some(self.payload)
    }
}

/// The options of a header; padding is passed over, the end-of-list option ends them.
#[derive(Clone, Debug)]
pub struct Ipv4Options<'a> {
    rest: &'a [u8],
}

/// One option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4Option<'a> {
    /// Its type byte: copied flag, class and number.
    pub kind: u8,
    /// What it says, without type and length.
    pub data: &'a [u8],
}

impl<'a> Iterator for Ipv4Options<'a> {
    type Item = Ipv4Option<'a>;

    fn next(&mut self) -> Option<Ipv4Option<'a>> {
        loop {
            let (kind, data, rest) = match *self.rest {
                [0, ..] | [] => return None,
                [1, ref rest @ ..] => {
                    self.rest = rest;
                    continue;
                }
                [kind, length, ref rest @ ..] => {
                    let (data, rest) =
                        rest.split_at_checked(usize::from(length).checked_sub(2)?)?;
                    (kind, data, rest)
                }
                [_] => return None,
            };
            self.rest = rest;
            return Some(Ipv4Option { kind, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const PLAIN: [u8; 24] = [
        0x45, 0xb9, 0, 24, 0x12, 0x34, 0x40, 0, 64, 17, 0xab, 0xcd, 10, 0, 0, 1, 10, 0, 0, 2, 1, 2,
        3, 4,
    ];

    fn with(at: usize, value: u8) -> [u8; 24] {
        let mut bytes = PLAIN;
        bytes[at] = value;
        bytes
    }

    #[test]
    fn every_field_of_a_plain_packet() {
        let packet = Ipv4::new(&PLAIN).unwrap();
        assert_eq!((packet.dscp(), packet.ecn(), packet.total_length()), (46, 1, 24));
        assert_eq!((packet.identification(), packet.ttl(), packet.protocol()), (0x1234, 64, 17));
        assert!(packet.dont_fragment() && !packet.more_fragments() && !packet.is_fragment());
        assert_eq!(packet.checksum(), 0xabcd);
        assert_eq!(
            (packet.source().octets(), packet.destination().octets()),
            ([10, 0, 0, 1], [10, 0, 0, 2])
        );
        assert_eq!((packet.payload(), packet.transport()), (&PLAIN[20..], Some(&PLAIN[20..])));
        assert_eq!(packet.options().next(), None);
    }

    #[test]
    fn a_later_fragment_has_no_transport_header() {
        let mut bytes = with(6, 0x20);
        bytes[7] = 185;
        let packet = Ipv4::new(&bytes).unwrap();
        assert!(packet.is_fragment() && packet.more_fragments());
        assert_eq!((packet.fragment_offset(), packet.transport()), (1480, None));
    }

    #[test]
    fn options_are_listed_and_a_broken_one_ends_them() {
        let mut bytes = Vec::from(with(0, 0x48));
        bytes[3] = 33;
        bytes.splice(20.., [1, 0x94, 4, 0, 0, 7, 3, 9, 0x44, 200, 0, 0, 0xee, 0xff]);
        let packet = Ipv4::new(&bytes).unwrap();
        let options: Vec<_> = packet.options().map(|o| (o.kind, o.data)).collect();
        assert_eq!(options, [(0x94, &[0, 0][..]), (7, &[9][..])]);
        assert_eq!(packet.payload(), [0xee]);
    }

    #[test]
    fn padding_behind_the_packet_is_left_out_and_a_cut_payload_taken() {
        assert_eq!(Ipv4::new(&with(3, 22)).unwrap().payload(), [1, 2]);
        assert_eq!(Ipv4::new(&with(3, 255)).unwrap().payload(), [1, 2, 3, 4]);
    }

    #[test]
    fn lengths_that_contradict_each_other_are_refused() {
        let bad =
            [with(0, 0x44), with(0, 0x40), with(0, 0x4f), with(0, 0x65), with(3, 19), with(3, 0)];
        for bytes in bad {
            assert!(Ipv4::new(&bytes).is_none(), "{bytes:?}");
        }
        assert!(Ipv4::new(&PLAIN[..19]).is_none());
    }

    #[test]
    fn an_option_of_length_zero_does_not_hang() {
        for length in 0..2 {
            assert_eq!(Ipv4Options { rest: &[7, length, 7, length] }.next(), None);
        }
    }
}
