//! What a flow can look at, as thirteen words: a packet's fields, and which of them a flow
//! compares.
//!
//! Fields that cannot be in one packet together share their place, as they do in Open vSwitch: the
//! IPv4 addresses, the IPv6 ones and those inside ARP; the IP protocol and the ARP operation;
//! transport ports and ICMP's type and code; the link-layer addresses of ARP and of neighbour
//! discovery.
//!
//! ```text
//! 0 metadata · 1 in_port:32 eth_type:16 vlan_tci:16 · 2 eth_dst:48 tos:8 proto:8
//! 3 eth_src:48 tp_src:16 · 4,5 source address · 6,7 destination address
//! 8 flow label:32 tp_dst:16 · 9 sender's MAC · 10 target's MAC
//! 11,12 address that neighbour discovery is about
//! ```

use std::fmt;

/// How many words.
pub(crate) const WORDS: usize = 13;

/// Set in the VLAN field of a packet that has a tag: the place of the drop eligible bit.
pub(crate) const VLAN_PRESENT: u16 = 0x1000;

/// The bits of the VLAN identifier.
pub(crate) const VLAN_VID: u16 = 0x0fff;

/// The bits of the VLAN priority.
pub(crate) const VLAN_PCP: u16 = 0xe000;

/// Where a field of up to 64 bits stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    word: usize,
    shift: u32,
    bits: u32,
}

/// Where an address of up to 128 bits stands: this word and the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wide(usize);

pub(crate) const METADATA: Field = Field { word: 0, shift: 0, bits: 64 };
pub(crate) const IN_PORT: Field = Field { word: 1, shift: 32, bits: 32 };
pub(crate) const ETH_TYPE: Field = Field { word: 1, shift: 16, bits: 16 };
pub(crate) const VLAN_TCI: Field = Field { word: 1, shift: 0, bits: 16 };
pub(crate) const ETH_DST: Field = Field { word: 2, shift: 16, bits: 48 };
pub(crate) const IP_TOS: Field = Field { word: 2, shift: 8, bits: 8 };
pub(crate) const IP_PROTO: Field = Field { word: 2, shift: 0, bits: 8 };
pub(crate) const ETH_SRC: Field = Field { word: 3, shift: 16, bits: 48 };
pub(crate) const TP_SRC: Field = Field { word: 3, shift: 0, bits: 16 };
pub(crate) const SOURCE: Wide = Wide(4);
pub(crate) const DESTINATION: Wide = Wide(6);
pub(crate) const IPV6_LABEL: Field = Field { word: 8, shift: 16, bits: 32 };
pub(crate) const TP_DST: Field = Field { word: 8, shift: 0, bits: 16 };
pub(crate) const SENDER_MAC: Field = Field { word: 9, shift: 0, bits: 48 };
pub(crate) const TARGET_MAC: Field = Field { word: 10, shift: 0, bits: 48 };
pub(crate) const ND_TARGET: Wide = Wide(11);

/// The fields of a packet, or of a flow with the others zero; or the bits of each that count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct FieldKey(pub(crate) [u64; WORDS]);

impl Field {
    const fn ones(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

impl FieldKey {
    #[inline]
    pub(crate) fn field(&self, field: Field) -> u64 {
        self.0[field.word] >> field.shift & field.ones()
    }

    /// Replaces a field; bits of `value` beyond it are left out.
    #[inline]
    pub(crate) fn set(&mut self, field: Field, value: u64) {
        let word = &mut self.0[field.word];
        *word = *word & !(field.ones() << field.shift) | (value & field.ones()) << field.shift;
    }

    #[inline]
    pub(crate) fn wide(&self, Wide(word): Wide) -> u128 {
        u128::from(self.0[word]) << 64 | u128::from(self.0[word + 1])
    }

    #[inline]
    pub(crate) fn set_wide(&mut self, Wide(word): Wide, value: u128) {
        self.0[word] = (value >> 64) as u64;
        self.0[word + 1] = value as u64;
    }

    /// The bits that `mask` has, the others zero.
    #[cfg(test)]
    pub(crate) fn masked(&self, mask: &FieldKey) -> FieldKey {
        FieldKey(std::array::from_fn(|word| self.0[word] & mask.0[word]))
    }
}

/// The words that are not zero.
impl fmt::Debug for FieldKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        f.debug_map().entries(words.map(|(at, word)| (at, format!("{word:#x}")))).finish()
    }
}

/// Which packets: those that agree with `key` in the bits of `mask`. `key` is zero elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Pattern {
    pub(crate) key: FieldKey,
    pub(crate) mask: FieldKey,
}

impl Pattern {
    /// Every packet.
    pub(crate) const ANY: Pattern =
        Pattern { key: FieldKey([0; WORDS]), mask: FieldKey([0; WORDS]) };

    /// Narrows it to packets whose `field` is `value` in the bits of `mask`.
    pub(crate) fn with(&mut self, field: Field, value: u64, mask: u64) {
        let mask = mask | self.mask.field(field);
        self.mask.set(field, mask);
        self.key.set(field, (value | self.key.field(field)) & mask);
    }

    /// The same for all bits of a field.
    pub(crate) fn exactly(&mut self, field: Field, value: impl Into<u64>) {
        self.with(field, value.into(), u64::MAX);
    }

    /// The same for an address.
    pub(crate) fn with_wide(&mut self, field: Wide, value: u128, mask: u128) {
        self.mask.set_wide(field, mask);
        self.key.set_wide(field, value & mask);
    }

    #[cfg(test)]
    pub(crate) fn matches(&self, packet: &FieldKey) -> bool {
        packet.masked(&self.mask) == self.key
    }

    /// Whether every packet of `other` is one of these.
    pub(crate) fn covers(&self, other: &Pattern) -> bool {
        let words = 0..WORDS;
        words.into_iter().all(|word| {
            let mask = self.mask.0[word];
            mask & !other.mask.0[word] == 0 && (self.key.0[word] ^ other.key.0[word]) & mask == 0
        })
    }

    /// Whether a packet can be one of these and one of `other`.
    pub(crate) fn overlaps(&self, other: &Pattern) -> bool {
        let mut words = 0..WORDS;
        words.all(|word| {
            let both = self.mask.0[word] & other.mask.0[word];
            (self.key.0[word] ^ other.key.0[word]) & both == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_set_and_no_other() {
        let mut key = FieldKey([u64::MAX; WORDS]);
        key.set(ETH_TYPE, 0x1_0800);
        assert_eq!(key.field(ETH_TYPE), 0x0800);
        assert_eq!((key.field(VLAN_TCI), key.field(IN_PORT)), (0xffff, 0xffff_ffff));
        key.set(METADATA, 7);
        assert_eq!(key.field(METADATA), 7);
    }

    #[test]
    fn what_covers_and_what_overlaps() {
        let mut ip = Pattern::ANY;
        ip.exactly(ETH_TYPE, 0x0800u64);
        let mut net = ip;
        net.with_wide(SOURCE, 0x0a00_0000, 0xff00_0000);
        let mut port = ip;
        port.exactly(IN_PORT, 3u64);
        assert!(Pattern::ANY.covers(&net) && ip.covers(&net) && net.covers(&net));
        assert!(!net.covers(&ip) && !net.covers(&port));
        assert!(net.overlaps(&port) && ip.overlaps(&net));
        let mut other = net;
        other.with_wide(SOURCE, 0x0b00_0000, 0xff00_0000);
        assert!(!net.overlaps(&other));
    }
}
