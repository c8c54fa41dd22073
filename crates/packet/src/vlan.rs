//! VLAN tags (IEEE 802.1Q §9), single and stacked ("QinQ", 802.1ad).
//!
//! ```text
//! | tpid (16) | priority (3) | drop eligible (1) | vid (12) |
//! ```
//! Two values of the tag protocol identifier are standard, 0x8100 and 0x88a8; older private ones
//! (0x9100) are ethertypes like any other here, as they are to Open vSwitch.

use crate::ethernet::ethertype;
use crate::field::{be16, field};

/// How many tags of one frame are read: the standard nests two; four leave room for the carriers
/// that do not care.
pub const TAGS_MAX: usize = 4;

/// One tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The tag protocol identifier: [`ethertype::VLAN`] or [`ethertype::VLAN_SERVICE`].
    pub tpid: u16,
    /// Priority, drop eligibility and VLAN identifier as they stand in the frame.
    pub tci: u16,
}

impl Tag {
    /// Whether a tag follows an ethertype of this value.
    #[inline]
    pub const fn is_tpid(ethertype: u16) -> bool {
        matches!(ethertype, ethertype::VLAN | ethertype::VLAN_SERVICE)
    }

    /// The VLAN identifier, 0 to 4095; 0 names no VLAN.
    #[inline]
    pub const fn vid(self) -> u16 {
        self.tci & 0x0fff
    }

    /// The priority code point, 0 to 7.
    #[inline]
    pub const fn priority(self) -> u8 {
        (self.tci >> 13) as u8
    }

    /// Whether the frame may be dropped first.
    #[inline]
    pub const fn drop_eligible(self) -> bool {
        self.tci & 0x1000 != 0
    }
}

/// The tags of a frame, outermost first; at most [`TAGS_MAX`].
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    ethertype: u16,
    rest: &'a [u8],
    left: usize,
}

impl<'a> Tags<'a> {
    #[inline]
    pub(crate) fn new(ethertype: u16, rest: &'a [u8]) -> Self {
        Tags { ethertype, rest, left: TAGS_MAX }
    }

    /// The ethertype behind the last tag, and the bytes behind that.
    #[inline]
    pub(crate) fn behind(mut self) -> (u16, &'a [u8]) {
        while self.next().is_some() {}
        (self.ethertype, self.rest)
    }
}

impl Iterator for Tags<'_> {
    type Item = Tag;

    #[inline]
    fn next(&mut self) -> Option<Tag> {
        if !Tag::is_tpid(self.ethertype) || self.left == 0 {
            return None;
        }
        let (head, rest) = self.rest.split_first_chunk::<4>()?;
        let tag = Tag { tpid: self.ethertype, tci: u16::from_be_bytes(field::<0, 2, _>(head)) };
        (self.ethertype, self.rest, self.left) = (be16::<2, _>(head), rest, self.left - 1);
        Some(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_parts_of_a_tag() {
        let tag = Tag { tpid: ethertype::VLAN, tci: 0xb02a };
        assert_eq!((tag.priority(), tag.drop_eligible(), tag.vid()), (5, true, 42));
    }

    #[test]
    fn tags_without_end_are_cut_short() {
        let bytes = [0x81, 0].repeat(200);
        let tags = Tags::new(ethertype::VLAN, &bytes);
        assert_eq!(tags.clone().count(), TAGS_MAX);
        assert_eq!(tags.behind(), (ethertype::VLAN, &bytes[4 * TAGS_MAX..]));
    }
}
