//! The flow match (§5.2.3): a fixed structure of twelve fields, and a word that says which of them
//! to ignore.

use super::PortNo;
use crate::reader::{Malformed, Reader};
use crate::types::MacAddr;
use crate::writer::Writer;
use core::fmt;
use core::net::Ipv4Addr;

/// Which fields of a [`Match`] are ignored: `enum ofp_flow_wildcards`.
///
/// A bit a field, except for the two IPv4 addresses: six bits each count the low address bits to
/// ignore, and 32 or more ignore the address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wildcards(pub u32);

impl Wildcards {
    /// The switch port.
    pub const IN_PORT: Wildcards = Wildcards(1 << 0);
    /// The VLAN id.
    pub const DL_VLAN: Wildcards = Wildcards(1 << 1);
    /// The Ethernet source.
    pub const DL_SRC: Wildcards = Wildcards(1 << 2);
    /// The Ethernet destination.
    pub const DL_DST: Wildcards = Wildcards(1 << 3);
    /// The Ethernet type.
    pub const DL_TYPE: Wildcards = Wildcards(1 << 4);
    /// The IP protocol, or the lower byte of the ARP opcode.
    pub const NW_PROTO: Wildcards = Wildcards(1 << 5);
    /// The TCP or UDP source port, or the ICMP type.
    pub const TP_SRC: Wildcards = Wildcards(1 << 6);
    /// The TCP or UDP destination port, or the ICMP code.
    pub const TP_DST: Wildcards = Wildcards(1 << 7);
    /// The whole IPv4 source (`OFPFW_NW_SRC_ALL`).
    pub const NW_SRC_ALL: Wildcards = Wildcards(32 << Self::NW_SRC_SHIFT);
    /// The whole IPv4 destination (`OFPFW_NW_DST_ALL`).
    pub const NW_DST_ALL: Wildcards = Wildcards(32 << Self::NW_DST_SHIFT);
    /// The six bits that count for the IPv4 source.
    pub const NW_SRC_MASK: Wildcards = Wildcards(0x3f << Self::NW_SRC_SHIFT);
    /// The six bits that count for the IPv4 destination.
    pub const NW_DST_MASK: Wildcards = Wildcards(0x3f << Self::NW_DST_SHIFT);
    /// The VLAN priority.
    pub const DL_VLAN_PCP: Wildcards = Wildcards(1 << 20);
    /// The IP type of service.
    pub const NW_TOS: Wildcards = Wildcards(1 << 21);
    /// Every field (`OFPFW_ALL`).
    pub const ALL: Wildcards = Wildcards((1 << 22) - 1);
    /// No field.
    pub const NONE: Wildcards = Wildcards(0);

    const NW_SRC_SHIFT: u32 = 8;
    const NW_DST_SHIFT: u32 = 14;

    /// Those of one bit, with their names.
    pub const FLAGS: [(Wildcards, &'static str); 10] = [
        (Self::IN_PORT, "IN_PORT"),
        (Self::DL_VLAN, "DL_VLAN"),
        (Self::DL_SRC, "DL_SRC"),
        (Self::DL_DST, "DL_DST"),
        (Self::DL_TYPE, "DL_TYPE"),
        (Self::NW_PROTO, "NW_PROTO"),
        (Self::TP_SRC, "TP_SRC"),
        (Self::TP_DST, "TP_DST"),
        (Self::DL_VLAN_PCP, "DL_VLAN_PCP"),
        (Self::NW_TOS, "NW_TOS"),
    ];

    /// Whether all of `bits` are set.
    #[inline]
    pub const fn contains(self, bits: Wildcards) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// The same without `bits`.
    #[inline]
    pub const fn without(self, bits: Wildcards) -> Wildcards {
        Wildcards(self.0 & !bits.0)
    }

    /// How many leading bits of the IPv4 source must match, 0 to 32.
    pub const fn nw_src_prefix(self) -> u8 {
        Self::prefix(self.0 >> Self::NW_SRC_SHIFT)
    }

    /// How many leading bits of the IPv4 destination must match, 0 to 32.
    pub const fn nw_dst_prefix(self) -> u8 {
        Self::prefix(self.0 >> Self::NW_DST_SHIFT)
    }

    /// The same, with the leading `prefix` bits of the IPv4 source to match (0 to 32; more is 32).
    pub const fn with_nw_src_prefix(self, prefix: u8) -> Wildcards {
        let ignored = 32u32.saturating_sub(prefix as u32);
        Wildcards(self.without(Self::NW_SRC_MASK).0 | ignored << Self::NW_SRC_SHIFT)
    }

    /// The same, with the leading `prefix` bits of the IPv4 destination to match (0 to 32; more is
    /// 32).
    pub const fn with_nw_dst_prefix(self, prefix: u8) -> Wildcards {
        let ignored = 32u32.saturating_sub(prefix as u32);
        Wildcards(self.without(Self::NW_DST_MASK).0 | ignored << Self::NW_DST_SHIFT)
    }

    const fn prefix(ignored: u32) -> u8 {
        32u8.saturating_sub((ignored & 0x3f) as u8)
    }
}

/// The flags as `A|B|0x40`, the addresses as `NW_SRC/24`: how much of them must match where not
/// all.
impl fmt::Display for Wildcards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.without(Self::NW_SRC_MASK).without(Self::NW_DST_MASK);
        let mut separator = "";
        if flags != Self::NONE || *self == Self::NONE {
            let named = Self::FLAGS.iter().map(|&(flag, name)| (u64::from(flag.0), name));
            crate::open::write_flags(f, u64::from(flags.0), named)?;
            separator = "|";
        }
        for (name, prefix) in [("NW_SRC", self.nw_src_prefix()), ("NW_DST", self.nw_dst_prefix())] {
            match prefix {
                32 => continue,
                0 => write!(f, "{separator}{name}")?,
                _ => write!(f, "{separator}{name}/{prefix}")?,
            }
            separator = "|";
        }
        Ok(())
    }
}

impl fmt::Debug for Wildcards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x} ({self})", self.0)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Wildcards {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// `struct ofp_match`, 40 bytes. A field that [`Wildcards`] ignores may hold anything, and keeps
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Match {
    /// Which fields to ignore.
    pub wildcards: Wildcards,
    /// The switch port it came in by.
    pub in_port: PortNo,
    /// The Ethernet source.
    pub dl_src: MacAddr,
    /// The Ethernet destination.
    pub dl_dst: MacAddr,
    /// The VLAN id, or [`VLAN_NONE`](super::VLAN_NONE) for frames without a tag.
    pub dl_vlan: u16,
    /// The VLAN priority.
    pub dl_vlan_pcp: u8,
    /// The Ethernet type, or [`DL_TYPE_NOT_ETH_TYPE`](super::DL_TYPE_NOT_ETH_TYPE).
    pub dl_type: u16,
    /// The IP type of service: DSCP in the upper six bits.
    pub nw_tos: u8,
    /// The IP protocol, or the lower byte of the ARP opcode.
    pub nw_proto: u8,
    /// The IPv4 source, or the ARP sender's.
    pub nw_src: Ipv4Addr,
    /// The IPv4 destination, or the ARP target's.
    pub nw_dst: Ipv4Addr,
    /// The TCP or UDP source port, or the ICMP type.
    pub tp_src: u16,
    /// The TCP or UDP destination port, or the ICMP code.
    pub tp_dst: u16,
    /// The padding behind `dl_vlan_pcp` and the two bytes behind `nw_proto`: zero, but kept where
    /// it is not.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub pad: [u8; 3],
}

impl Match {
    /// Length on the wire in bytes.
    pub const SIZE: usize = 40;

    /// Matches every frame; the `with_…` methods narrow it down.
    pub const ANY: Match = Match {
        wildcards: Wildcards::ALL,
        in_port: PortNo(0),
        dl_src: MacAddr([0; 6]),
        dl_dst: MacAddr([0; 6]),
        dl_vlan: 0,
        dl_vlan_pcp: 0,
        dl_type: 0,
        nw_tos: 0,
        nw_proto: 0,
        nw_src: Ipv4Addr::UNSPECIFIED,
        nw_dst: Ipv4Addr::UNSPECIFIED,
        tp_src: 0,
        tp_dst: 0,
        pad: [0; 3],
    };

    /// The same, matching the switch port too.
    pub const fn with_in_port(self, in_port: PortNo) -> Match {
        Match { in_port, ..self.without(Wildcards::IN_PORT) }
    }

    /// The same, matching the Ethernet source too.
    pub const fn with_dl_src(self, dl_src: MacAddr) -> Match {
        Match { dl_src, ..self.without(Wildcards::DL_SRC) }
    }

    /// The same, matching the Ethernet destination too.
    pub const fn with_dl_dst(self, dl_dst: MacAddr) -> Match {
        Match { dl_dst, ..self.without(Wildcards::DL_DST) }
    }

    /// The same, matching the VLAN id too; [`VLAN_NONE`](super::VLAN_NONE) matches frames without a
    /// tag.
    pub const fn with_dl_vlan(self, dl_vlan: u16) -> Match {
        Match { dl_vlan, ..self.without(Wildcards::DL_VLAN) }
    }

    /// The same, matching the VLAN priority too.
    pub const fn with_dl_vlan_pcp(self, dl_vlan_pcp: u8) -> Match {
        Match { dl_vlan_pcp, ..self.without(Wildcards::DL_VLAN_PCP) }
    }

    /// The same, matching the Ethernet type too.
    pub const fn with_dl_type(self, dl_type: u16) -> Match {
        Match { dl_type, ..self.without(Wildcards::DL_TYPE) }
    }

    /// The same, matching the IP type of service too.
    pub const fn with_nw_tos(self, nw_tos: u8) -> Match {
        Match { nw_tos, ..self.without(Wildcards::NW_TOS) }
    }

    /// The same, matching the IP protocol or ARP opcode too.
    pub const fn with_nw_proto(self, nw_proto: u8) -> Match {
        Match { nw_proto, ..self.without(Wildcards::NW_PROTO) }
    }

    /// The same, matching the leading `prefix` bits of the IPv4 source too.
    pub const fn with_nw_src(self, nw_src: Ipv4Addr, prefix: u8) -> Match {
        Match { nw_src, wildcards: self.wildcards.with_nw_src_prefix(prefix), ..self }
    }

    /// The same, matching the leading `prefix` bits of the IPv4 destination too.
    pub const fn with_nw_dst(self, nw_dst: Ipv4Addr, prefix: u8) -> Match {
        Match { nw_dst, wildcards: self.wildcards.with_nw_dst_prefix(prefix), ..self }
    }

    /// The same, matching the TCP or UDP source port or ICMP type too.
    pub const fn with_tp_src(self, tp_src: u16) -> Match {
        Match { tp_src, ..self.without(Wildcards::TP_SRC) }
    }

    /// The same, matching the TCP or UDP destination port or ICMP code too.
    pub const fn with_tp_dst(self, tp_dst: u16) -> Match {
        Match { tp_dst, ..self.without(Wildcards::TP_DST) }
    }

    const fn without(self, bits: Wildcards) -> Match {
        Match { wildcards: self.wildcards.without(bits), ..self }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let wildcards = Wildcards(reader.u32("match.wildcards")?);
        let in_port = PortNo(reader.u16("match.in_port")?);
        let dl_src = MacAddr(reader.array("match.dl_src")?);
        let dl_dst = MacAddr(reader.array("match.dl_dst")?);
        let dl_vlan = reader.u16("match.dl_vlan")?;
        let dl_vlan_pcp = reader.u8("match.dl_vlan_pcp")?;
        let pad1 = reader.u8("match.pad1")?;
        let dl_type = reader.u16("match.dl_type")?;
        let nw_tos = reader.u8("match.nw_tos")?;
        let nw_proto = reader.u8("match.nw_proto")?;
        let [pad2, pad3] = reader.array("match.pad2")?;
        Ok(Match {
            wildcards,
            in_port,
            dl_src,
            dl_dst,
            dl_vlan,
            dl_vlan_pcp,
            dl_type,
            nw_tos,
            nw_proto,
            nw_src: reader.u32("match.nw_src")?.into(),
            nw_dst: reader.u32("match.nw_dst")?.into(),
            tp_src: reader.u16("match.tp_src")?,
            tp_dst: reader.u16("match.tp_dst")?,
            pad: [pad1, pad2, pad3],
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let [pad1, pad2, pad3] = self.pad;
        writer.u32(self.wildcards.0);
        writer.u16(self.in_port.0);
        writer.bytes(&self.dl_src.0);
        writer.bytes(&self.dl_dst.0);
        writer.u16(self.dl_vlan);
        writer.bytes(&[self.dl_vlan_pcp, pad1]);
        writer.u16(self.dl_type);
        writer.bytes(&[self.nw_tos, self.nw_proto, pad2, pad3]);
        writer.bytes(&self.nw_src.octets());
        writer.bytes(&self.nw_dst.octets());
        writer.u16(self.tp_src);
        writer.u16(self.tp_dst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn address_wildcards_are_counted_from_the_low_end() {
        let wildcards = Wildcards::ALL.with_nw_src_prefix(24).with_nw_dst_prefix(32);
        assert_eq!((wildcards.nw_src_prefix(), wildcards.nw_dst_prefix()), (24, 32));
        assert_eq!(wildcards.0 >> 8 & 0xfff, 8);
        assert_eq!((Wildcards::ALL.nw_src_prefix(), Wildcards::ALL.nw_dst_prefix()), (0, 0));
        assert_eq!(Wildcards::NONE.with_nw_dst_prefix(200), Wildcards::NONE);
    }

    #[test]
    fn wildcards_say_what_is_ignored() {
        assert_eq!(Wildcards::NONE.to_string(), "0");
        assert_eq!(Wildcards::NONE.with_nw_src_prefix(8).to_string(), "NW_SRC/8");
        assert_eq!(
            Wildcards(1 << 30 | 3 | 32 << 14).to_string(),
            "IN_PORT|DL_VLAN|0x40000000|NW_DST"
        );
        assert_eq!(format!("{:?}", Wildcards::DL_TYPE), "0x10 (DL_TYPE)");
    }

    #[test]
    fn each_with_clears_its_own_wildcard() {
        let all = Match::ANY
            .with_in_port(PortNo(1))
            .with_dl_src(MacAddr([1; 6]))
            .with_dl_dst(MacAddr([2; 6]))
            .with_dl_vlan(3)
            .with_dl_vlan_pcp(4)
            .with_dl_type(0x800)
            .with_nw_tos(0xb8)
            .with_nw_proto(6)
            .with_nw_src(Ipv4Addr::LOCALHOST, 32)
            .with_nw_dst(Ipv4Addr::LOCALHOST, 32)
            .with_tp_src(80)
            .with_tp_dst(443);
        assert_eq!(all.wildcards, Wildcards::NONE);
        assert_eq!(Match::ANY.with_tp_src(80).wildcards, Wildcards::ALL.without(Wildcards::TP_SRC));
    }
}
