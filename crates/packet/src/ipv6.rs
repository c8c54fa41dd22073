//! IPv6 (RFC 8200): the fixed header, and the extension headers between it and what is carried.
//!
//! ```text
//!  0                                    4                6             7
//! | version, traffic class, flow label | payload length | next header | hop limit |
//!  8        24            40
//! | source | destination | …
//! ```

use crate::field::{be16, be32, field};
use core::net::Ipv6Addr;

/// Length of the fixed header in bytes.
pub const HEADER_LEN: usize = 40;

/// How many extension headers of one packet are passed over. RFC 8200 §4.1 names six kinds of which
/// one may stand twice; a longer chain is made to keep the reader busy.
pub const EXTENSIONS_MAX: usize = 8;

/// The kinds of extension headers that can be passed over (IANA, IPv6 Extension Header Types).
pub mod extension {
    /// Options that every router looks at.
    pub const HOP_BY_HOP: u8 = 0;
    /// The routers to be visited.
    pub const ROUTING: u8 = 43;
    /// A piece of a packet.
    pub const FRAGMENT: u8 = 44;
    /// Authentication (RFC 4302).
    pub const AUTHENTICATION: u8 = 51;
    /// Options for the destination.
    pub const DESTINATION: u8 = 60;
}

/// An IPv6 packet.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<'a> {
    head: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Ipv6<'a> {
    /// The packet at the front of `bytes`; `None` where it is no version 6 or the fixed header is
    /// cut off. A payload that is cut off is taken as far as it goes; a payload length of zero
    /// means that there is none (jumbograms, RFC 2675, are not read).
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let payload = rest.get(..usize::from(be16::<4, _>(head))).unwrap_or(rest);
        (head[0] >> 4 == 6).then_some(Ipv6 { head, payload })
    }

    /// The traffic class: differentiated services code point (6 bits) and congestion notification
    /// (2 bits).
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (be16::<0, _>(self.head) >> 4) as u8
    }

    /// The flow label, 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        be32::<0, _>(self.head) & 0x000f_ffff
    }

    /// Length in bytes of all behind the fixed header, as the header says.
    #[inline]
    pub fn payload_length(&self) -> u16 {
        be16::<4, _>(self.head)
    }

    /// What follows the fixed header: an extension header or what is carried.
    #[inline]
    pub fn next_header(&self) -> u8 {
        self.head[6]
    }

    /// How many routers it may still pass.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.head[7]
    }

    /// The source address, as the sender claims it.
    #[inline]
    pub fn source(&self) -> Ipv6Addr {
        field::<8, 16, _>(self.head).into()
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> Ipv6Addr {
        field::<24, 16, _>(self.head).into()
    }

    /// All behind the fixed header, extension headers included.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Its extension headers in order.
    #[inline]
    pub fn extensions(&self) -> Extensions<'a> {
        Extensions { next_header: self.next_header(), rest: self.payload, left: EXTENSIONS_MAX }
    }

    /// What it carries behind all extension headers: protocol and bytes.
    ///
    /// `None` in a fragment that is not the first, where an extension header is cut off, and behind
    /// more than [`EXTENSIONS_MAX`] of them. An encrypted payload (50) and an unknown header are
    /// protocols like any other.
    #[inline]
    pub fn transport(&self) -> Option<(u8, &'a [u8])> {
        let mut extensions = self.extensions();
        let later = extensions.by_ref().any(|header| header.fragment_offset().unwrap_or(0) != 0);
        let unread = Extensions::is_extension(extensions.next_header);
        (!later && !unread).then_some((extensions.next_header, extensions.rest))
    }
}

/// The fixed header of a packet without traffic class and flow label, in front of `payload_len`
/// bytes.
pub fn header(
    payload_len: u16,
    next_header: u8,
    hop_limit: u8,
    (source, destination): (Ipv6Addr, Ipv6Addr),
) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[0] = 0x60;
    bytes[4..6].copy_from_slice(&payload_len.to_be_bytes());
    (bytes[6], bytes[7]) = (next_header, hop_limit);
    bytes[8..24].copy_from_slice(&source.octets());
    bytes[24..].copy_from_slice(&destination.octets());
    bytes
}

/// One extension header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extension<'a> {
    /// Which one: see [`extension`].
    pub kind: u8,
    /// The whole header, eight bytes at least.
    pub bytes: &'a [u8],
}

impl Extension<'_> {
    /// Where in the original packet the fragment belongs, in bytes; `None` in all but fragment
    /// headers.
    #[inline]
    pub fn fragment_offset(&self) -> Option<u16> {
        match (self.kind, self.bytes) {
            (extension::FRAGMENT, &[_, _, high, low, ..]) => {
                Some(u16::from_be_bytes([high, low]) & 0xfff8)
            }
            _ => None,
        }
    }
}

/// The extension headers of a packet; ends at the first that is cut off, or behind
/// [`EXTENSIONS_MAX`].
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    next_header: u8,
    rest: &'a [u8],
    left: usize,
}

impl Extensions<'_> {
    fn is_extension(next_header: u8) -> bool {
        use extension::{AUTHENTICATION, DESTINATION, FRAGMENT, HOP_BY_HOP, ROUTING};
        matches!(next_header, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION)
    }

    /// Length in bytes of the header of this kind whose second byte is `length`.
    fn header_len(kind: u8, length: u8) -> usize {
        match kind {
            extension::FRAGMENT => 8,
            extension::AUTHENTICATION => (usize::from(length) + 2) * 4,
            _ => (usize::from(length) + 1) * 8,
        }
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Extension<'a>> {
        let kind = self.next_header;
        if !Self::is_extension(kind) || self.left == 0 {
            return None;
        }
        let &[next_header, length, ..] = self.rest else { return None };
        let (bytes, rest) = self.rest.split_at_checked(Self::header_len(kind, length))?;
        (self.next_header, self.rest, self.left) = (next_header, rest, self.left - 1);
        Some(Extension { kind, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn packet(next_header: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x6a, 0xb1, 0x23, 0x45, 0, payload.len() as u8, next_header, 64];
        bytes.extend_from_slice(&[0x11; 16]);
        bytes.extend_from_slice(&[0x22; 16]);
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn every_field_of_a_plain_packet() {
        let bytes = packet(17, &[1, 2, 3]);
        let packet = Ipv6::new(&bytes).unwrap();
        assert_eq!((packet.traffic_class(), packet.flow_label()), (0xab, 0x12345));
        assert_eq!(
            (packet.payload_length(), packet.next_header(), packet.hop_limit()),
            (3, 17, 64)
        );
        assert_eq!(packet.source().octets(), [0x11; 16]);
        assert_eq!(packet.destination().octets(), [0x22; 16]);
        assert_eq!(packet.transport(), Some((17, &[1, 2, 3][..])));
    }

    #[test]
    fn a_header_that_was_written_is_read() {
        let bytes = header(0, 58, 255, ([0x11; 16].into(), [0x22; 16].into()));
        let packet = Ipv6::new(&bytes).unwrap();
        assert_eq!((packet.traffic_class(), packet.flow_label()), (0, 0));
        assert_eq!((packet.payload_length(), packet.next_header()), (0, 58));
        assert_eq!((packet.hop_limit(), packet.source().octets()), (255, [0x11; 16]));
        assert_eq!(packet.destination().octets(), [0x22; 16]);
    }

    #[test]
    fn extension_headers_are_passed_over() {
        let mut payload = vec![43, 0, 0, 0, 0, 0, 0, 0]; // hop by hop
        payload.extend([51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // routing
        payload.extend([44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // authentication
        payload.extend([6, 0, 0, 1, 0, 0, 0, 9]); // first fragment
        payload.extend([0xaa, 0xbb]);
        let bytes = packet(0, &payload);
        let packet = Ipv6::new(&bytes).unwrap();
        assert_eq!(packet.extensions().map(|e| e.kind).collect::<Vec<_>>(), [0, 43, 51, 44]);
        assert_eq!(packet.transport(), Some((6, &[0xaa, 0xbb][..])));
    }

    #[test]
    fn a_later_fragment_has_no_transport_header() {
        let bytes = packet(44, &[6, 0, 0x05, 0xa9, 0, 0, 0, 9, 1, 2]);
        let packet = Ipv6::new(&bytes).unwrap();
        assert_eq!(packet.extensions().next().unwrap().fragment_offset(), Some(1448));
        assert_eq!(packet.transport(), None);
    }

    #[test]
    fn a_chain_without_end_is_cut_short() {
        let bytes = packet(60, &[60, 0, 0, 0, 0, 0, 0, 0].repeat(EXTENSIONS_MAX + 1));
        let packet = Ipv6::new(&bytes).unwrap();
        assert_eq!((packet.extensions().count(), packet.transport()), (EXTENSIONS_MAX, None));
    }

    #[test]
    fn an_extension_header_that_is_cut_off_ends_them() {
        for payload in
            [&[][..], &[6], &[6, 0, 0], &[6, 1, 0, 0, 0, 0, 0, 0], &[6, 255, 0, 0, 0, 0, 0, 0]]
        {
            let bytes = packet(60, payload);
            assert_eq!(Ipv6::new(&bytes).unwrap().transport(), None, "{payload:?}");
        }
    }

    #[test]
    fn what_is_no_ipv6_is_refused() {
        let bytes = packet(17, &[]);
        assert!(Ipv6::new(&bytes[..39]).is_none());
        assert!(Ipv6::new(&[&[0x45], &bytes[1..]].concat()).is_none());
    }
}
