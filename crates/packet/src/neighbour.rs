//! Neighbour Discovery (RFC 4861): solicitations and advertisements, by which IPv6 hosts find each
//! other's link-layer addresses, as IPv4 hosts do by ARP. Routers' messages and redirects are not
//! read.
//!
//! ```text
//! behind the ICMPv6 header:
//!  0       4       20
//! | flags | target | options …                       option: type (1) | length in units of 8 bytes (1) | …
//! ```

use crate::field::field;
use crate::icmpv6::{NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, checksum};
use core::net::Ipv6Addr;

/// Option: the sender's link-layer address (in a solicitation).
pub const SOURCE_LINK_LAYER: u8 = 1;

/// Option: the target's link-layer address (in an advertisement).
pub const TARGET_LINK_LAYER: u8 = 2;

/// A neighbour solicitation or advertisement. [`Icmpv6::neighbour`](crate::Icmpv6::neighbour) finds
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour<'a> {
    advertisement: bool,
    head: &'a [u8; 20],
    options: &'a [u8],
}

impl<'a> Neighbour<'a> {
    #[inline]
    pub(crate) fn new(advertisement: bool, body: &'a [u8]) -> Option<Self> {
        let (head, options) = body.split_first_chunk()?;
        Some(Neighbour { advertisement, head, options })
    }

    /// Whether it is an advertisement; else a solicitation.
    #[inline]
    pub fn is_advertisement(&self) -> bool {
        self.advertisement
    }

    /// The address asked about, or spoken for.
    #[inline]
    pub fn target(&self) -> Ipv6Addr {
        field::<4, 16, _>(self.head).into()
    }

    /// Whether a router sent the advertisement.
    #[inline]
    pub fn from_router(&self) -> bool {
        self.advertisement && self.head[0] & 0x80 != 0
    }

    /// Whether the advertisement answers a solicitation.
    #[inline]
    pub fn solicited(&self) -> bool {
        self.advertisement && self.head[0] & 0x40 != 0
    }

    /// Whether the advertisement replaces what was known before.
    #[inline]
    pub fn overrides(&self) -> bool {
        self.advertisement && self.head[0] & 0x20 != 0
    }

    /// The sender's Ethernet address, where it says so.
    #[inline]
    pub fn source_link_layer(&self) -> Option<[u8; 6]> {
        self.link_layer(SOURCE_LINK_LAYER)
    }

    /// The target's Ethernet address, where it says so.
    #[inline]
    pub fn target_link_layer(&self) -> Option<[u8; 6]> {
        self.link_layer(TARGET_LINK_LAYER)
    }

    fn link_layer(&self, kind: u8) -> Option<[u8; 6]> {
        self.options().find(|option| option.kind == kind)?.data.try_into().ok()
    }

    /// Its options, up to the first that makes no sense.
    #[inline]
    pub fn options(&self) -> NeighbourOptions<'a> {
        NeighbourOptions { rest: self.options }
    }
}

/// Length in bytes of a message with one link-layer address, ICMPv6 header included.
pub const LEN: usize = 32;

/// A solicitation or advertisement to be sent, with one link-layer address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeighbourMessage {
    /// An advertisement, with whether a router sends it, whether it answers, and whether it
    /// replaces what was known; or else a solicitation.
    pub advertises: Option<(bool, bool, bool)>,
    /// The address asked about, or spoken for.
    pub target: Ipv6Addr,
    /// The Ethernet address of the asking host, or of the target.
    pub mac: [u8; 6],
}

impl NeighbourMessage {
    /// The message as it stands behind the IPv6 header, with the checksum for these addresses.
    pub fn to_bytes(&self, source: Ipv6Addr, destination: Ipv6Addr) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        match self.advertises {
            None => (bytes[0], bytes[24]) = (NEIGHBOUR_SOLICITATION, SOURCE_LINK_LAYER),
            Some((router, solicited, overrides)) => {
                (bytes[0], bytes[24]) = (NEIGHBOUR_ADVERTISEMENT, TARGET_LINK_LAYER);
                let flags = [(router, 0x80), (solicited, 0x40), (overrides, 0x20)];
                bytes[4] = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum();
            }
        }
        bytes[8..24].copy_from_slice(&self.target.octets());
        bytes[25] = 1;
        bytes[26..].copy_from_slice(&self.mac);
        let sum = checksum(source, destination, &bytes);
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

/// One option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeighbourOption<'a> {
    /// Its type.
    pub kind: u8,
    /// What it says, without type and length; padded to eight bytes with both.
    pub data: &'a [u8],
}

/// The options of a message.
#[derive(Clone, Debug)]
pub struct NeighbourOptions<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for NeighbourOptions<'a> {
    type Item = NeighbourOption<'a>;

    fn next(&mut self) -> Option<NeighbourOption<'a>> {
        let &[kind, units, ref behind @ ..] = self.rest else { return None };
        let data_len = (usize::from(units) * 8).checked_sub(2)?;
        let (data, rest) = behind.split_at_checked(data_len)?;
        self.rest = rest;
        Some(NeighbourOption { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use crate::Icmpv6;
    use std::vec::Vec;

    fn message(kind: u8, flags: u8, options: &[u8]) -> Vec<u8> {
        [&[kind, 0, 0, 0, flags, 0, 0, 0][..], &[0xfe; 16], options].concat()
    }

    #[test]
    fn a_solicitation_with_the_address_of_its_sender() {
        let bytes = message(135, 0xff, &[14, 1, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 9]);
        let asks = Icmpv6::new(&bytes).unwrap().neighbour().unwrap();
        assert!(!asks.is_advertisement() && !asks.from_router() && !asks.solicited());
        assert_eq!(asks.target().octets(), [0xfe; 16]);
        assert_eq!(asks.source_link_layer(), Some([2, 0, 0, 0, 0, 9]));
        assert_eq!(asks.target_link_layer(), None);
    }

    #[test]
    fn an_advertisement_with_its_flags() {
        let bytes = message(136, 0x60, &[2, 1, 2, 0, 0, 0, 0, 9]);
        let says = Icmpv6::new(&bytes).unwrap().neighbour().unwrap();
        assert!(says.is_advertisement() && says.solicited() && says.overrides());
        assert!(!says.from_router());
        assert_eq!(says.target_link_layer(), Some([2, 0, 0, 0, 0, 9]));
    }

    #[test]
    fn an_option_whose_length_lies_ends_them() {
        for units in [0, 2, 255] {
            let bytes = message(135, 0, &[1, units, 2, 0, 0, 0, 0, 9]);
            let asks = Icmpv6::new(&bytes).unwrap().neighbour().unwrap();
            assert_eq!((asks.options().count(), asks.source_link_layer()), (0, None), "{units}");
        }
    }

    #[test]
    fn a_link_layer_address_of_another_length_is_none_of_ethernet() {
        let bytes = message(135, 0, &[1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let asks = Icmpv6::new(&bytes).unwrap().neighbour().unwrap();
        assert_eq!((asks.options().count(), asks.source_link_layer()), (1, None));
    }
}
