//! Ethernet (IEEE 802.3): the header that every frame begins with, and the VLAN tags between it and
//! the rest.
//!
//! ```text
//!  0            6            12          14
//! | destination | source      | ethertype | payload …
//! | destination | source      | tpid, tci | ethertype | payload …        one or more tags
//! ```
//!
//! A value below 0x0600 in the place of the ethertype is the length of an 802.3 frame, whose
//! payload begins with a logical link control header ([`Ethernet::llc`]).

use crate::field::{be16, field};
use crate::llc::{self, Llc};
use crate::vlan::{Tag, Tags};

/// Length of the header without tags, in bytes.
pub const HEADER_LEN: usize = 14;

/// The shortest frame, in bytes, without its checksum: what is shorter is filled up.
pub const MIN_LEN: usize = 60;

/// The address that means every host.
pub const BROADCAST: [u8; 6] = [0xff; 6];

/// What a payload is (IANA, IEEE 802 Numbers).
pub mod ethertype {
    /// Internet Protocol, version 4.
    pub const IPV4: u16 = 0x0800;
    /// Address Resolution Protocol.
    pub const ARP: u16 = 0x0806;
    /// The tag of IEEE 802.1Q: a customer's VLAN.
    pub const VLAN: u16 = 0x8100;
    /// Internet Protocol, version 6.
    pub const IPV6: u16 = 0x86dd;
    /// The outer tag of IEEE 802.1ad: a provider's VLAN.
    pub const VLAN_SERVICE: u16 = 0x88a8;
    /// Link Layer Discovery Protocol.
    pub const LLDP: u16 = 0x88cc;
    /// The lowest ethertype: what is below is a length in bytes.
    pub const MIN: u16 = 0x0600;
}

/// An Ethernet frame, without its preamble and checksum.
#[derive(Clone, Copy, Debug)]
pub struct Ethernet<'a> {
    head: &'a [u8; HEADER_LEN],
    rest: &'a [u8],
}

impl<'a> Ethernet<'a> {
    /// The frame that `bytes` are; `None` below [`HEADER_LEN`] bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk()?;
        Some(Ethernet { head, rest })
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> [u8; 6] {
        field::<0, 6, _>(self.head)
    }

    /// The source address, as the sender claims it.
    #[inline]
    pub fn source(&self) -> [u8; 6] {
        field::<6, 6, _>(self.head)
    }

    /// The destination and the source address as numbers: the lower 48 bits, first byte highest.
    /// Two loads, where a comparison byte by byte takes many.
    #[inline]
    pub fn addresses(&self) -> (u64, u64) {
        let eight = |bytes: [u8; 8]| u64::from_be_bytes(bytes);
        let (first, second) = (field::<0, 8, _>(self.head), field::<4, 8, _>(self.head));
        (eight(first) >> 16, eight(second) & 0xffff_ffff_ffff)
    }

    /// What the payload is, behind all tags; below [`ethertype::MIN`] the length of an 802.3 frame
    /// instead.
    ///
    /// A tag that the end of the frame cuts off, or one too many
    /// ([`TAGS_MAX`](crate::vlan::TAGS_MAX)), is no tag: the ethertype is then the tag's own.
    #[inline]
    pub fn ethertype(&self) -> u16 {
        let first = be16::<12, _>(self.head);
        if Tag::is_tpid(first) { self.tags().behind().0 } else { first }
    }

    /// The VLAN of the frame: the identifier in its outermost tag, 1 to 4095.
    ///
    /// `None` is an untagged frame, and so is identifier 0: such a tag carries a priority and no
    /// VLAN (802.1Q §6.9), and the frame belongs where an untagged one does.
    #[inline]
    pub fn vlan(&self) -> Option<u16> {
        if !Tag::is_tpid(be16::<12, _>(self.head)) {
            return None;
        }
        self.tags().next().map(|tag| tag.vid()).filter(|&vid| vid != 0)
    }

    /// Its tags, outermost first.
    #[inline]
    pub fn tags(&self) -> Tags<'a> {
        Tags::new(be16::<12, _>(self.head), self.rest)
    }

    /// What the frame carries: all behind the ethertype; of an 802.3 frame no more than its length
    /// says, so that the padding of short frames is left out.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        let (ethertype, payload) = self.tags().behind();
        match ethertype {
            ethertype::MIN.. => payload,
            length => payload.get(..usize::from(length)).unwrap_or(payload),
        }
    }

    /// The ethertype and all behind it, as switches read them: those of the SNAP header of an 802.3
    /// frame, whatever length it says. `None` of one that has no such header.
    #[inline]
    pub fn carried(&self) -> Option<(u16, &'a [u8])> {
        match self.tags().behind() {
            (kind @ ethertype::MIN.., payload) => Some((kind, payload)),
            (_, payload) => match Llc::new(payload)?.snap()? {
                ([0, 0, 0], kind @ ethertype::MIN..) => Some((kind, &payload[llc::SNAP_LEN..])),
                _ => None,
            },
        }
    }

    /// The logical link control header, where this is an 802.3 frame that has one.
    #[inline]
    pub fn llc(&self) -> Option<Llc<'a>> {
        if self.ethertype() < ethertype::MIN { Llc::new(self.payload()) } else { None }
    }
}

/// The header of an untagged frame; the payload belongs behind it.
pub fn header(destination: [u8; 6], source: [u8; 6], ethertype: u16) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..6].copy_from_slice(&destination);
    bytes[6..12].copy_from_slice(&source);
    bytes[12..].copy_from_slice(&ethertype.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const TO: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const FROM: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(behind_addresses: &[u8]) -> Vec<u8> {
        [&TO[..], &FROM, behind_addresses].concat()
    }

    #[test]
    fn an_untagged_frame() {
        let bytes = [&header(TO, FROM, ethertype::IPV4)[..], b"payload"].concat();
        let frame = Ethernet::new(&bytes).unwrap();
        assert_eq!((frame.destination(), frame.source()), (TO, FROM));
        assert_eq!(frame.addresses(), (0x0200_0000_0001, 0x0200_0000_0002));
        assert_eq!((frame.ethertype(), frame.vlan()), (ethertype::IPV4, None));
        assert_eq!(frame.payload(), b"payload");
        assert!(frame.llc().is_none());
    }

    #[test]
    fn a_tagged_frame() {
        let bytes = frame(&[0x81, 0, 0xb0, 0x2a, 8, 6, 9, 9]);
        let frame = Ethernet::new(&bytes).unwrap();
        assert_eq!((frame.ethertype(), frame.vlan()), (ethertype::ARP, Some(42)));
        assert_eq!(frame.payload(), [9, 9]);
    }

    #[test]
    fn the_vlan_of_a_doubly_tagged_frame_is_the_outer_one() {
        let bytes = frame(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 42, 8, 6, 9]);
        let frame = Ethernet::new(&bytes).unwrap();
        assert_eq!((frame.ethertype(), frame.vlan()), (ethertype::ARP, Some(7)));
        assert_eq!(frame.tags().map(|tag| tag.vid()).collect::<Vec<_>>(), [7, 42]);
        assert_eq!(frame.payload(), [9]);
    }

    #[test]
    fn a_priority_tag_names_no_vlan() {
        let bytes = frame(&[0x81, 0, 0xe0, 0, 8, 0]);
        let frame = Ethernet::new(&bytes).unwrap();
        assert_eq!((frame.ethertype(), frame.vlan()), (ethertype::IPV4, None));
        assert_eq!(frame.tags().next().unwrap().priority(), 7);
    }

    #[test]
    fn a_tag_cut_off_is_no_tag() {
        for len in 0..4 {
            let bytes = [&frame(&[0x81, 0])[..], &[0x60, 0x2a, 8, 0][..len]].concat();
            let frame = Ethernet::new(&bytes).unwrap();
            assert_eq!((frame.ethertype(), frame.vlan()), (ethertype::VLAN, None), "{len}");
            assert_eq!(frame.payload().len(), len);
        }
    }

    #[test]
    fn a_frame_carries_what_its_snap_header_names() {
        let addresses = [2; 12];
        let frame = |behind: &[u8]| [&addresses, behind].concat();
        fn carried(frame: &[u8]) -> Option<(u16, &[u8])> {
            Ethernet::new(frame).unwrap().carried()
        }
        // The length is wrong.
        let snap = [0, 1, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 7];
        assert_eq!(carried(&frame(&snap)), Some((ethertype::IPV4, &[7][..])));
        let tagged = [&[0x81, 0, 0, 5][..], &snap].concat();
        assert_eq!(carried(&frame(&tagged)), Some((ethertype::IPV4, &[7][..])));
        assert_eq!(carried(&frame(&[8, 6, 7])), Some((ethertype::ARP, &[7][..])));
        for none in [&snap[..9], &[0, 8, 0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0], &[0, 3, 0x42, 0x42, 3]]
        {
            assert_eq!(carried(&frame(none)), None);
        }
    }

    #[test]
    fn an_802_3_frame_is_noticed_and_loses_its_padding() {
        let bytes = frame(&[0, 4, 0x42, 0x42, 3, 1, 0, 0, 0, 0]);
        let frame = Ethernet::new(&bytes).unwrap();
        assert_eq!((frame.ethertype(), frame.payload()), (4, &[0x42, 0x42, 3, 1][..]));
        assert_eq!(frame.llc().unwrap().dsap(), 0x42);
    }

    #[test]
    fn a_length_that_lies_gives_what_is_there() {
        let bytes = frame(&[5, 0xdc, 1, 2]);
        assert_eq!(Ethernet::new(&bytes).unwrap().payload(), [1, 2]);
    }

    #[test]
    fn thirteen_bytes_are_no_frame() {
        assert!(Ethernet::new(&[0; 13]).is_none());
    }
}
