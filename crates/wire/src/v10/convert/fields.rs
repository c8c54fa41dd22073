//! Matches: the twelve fields of 1.0 and the match fields of 1.3.
//!
//! 1.0 has one field for what 1.3 tells apart (`nw_src` is the IPv4 source or the ARP sender;
//! `tp_src` a TCP or UDP port or the ICMP type), ignores fields whose prerequisite is missing, and
//! keeps bytes in fields that are ignored. The neutral form says what the match means; where that
//! would be written with other bytes, the message that holds the match is carried exactly
//! ([`Message::Other`](crate::msg::Message::Other)).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use super::{UNPLAIN_MATCH, narrow, unsupported};
use crate::msg::{Field, Masked, Match, PortNo, Unsupported};
use crate::types::MacAddr;
use crate::v10::{self, Wildcards};
use crate::v13::oxm::{VID_NONE, VID_PRESENT};

pub(super) const ETH_IPV4: u16 = 0x0800;
pub(super) const ETH_ARP: u16 = 0x0806;
pub(super) const IP_ICMP: u8 = 1;
pub(super) const IP_TCP: u8 = 6;
pub(super) const IP_UDP: u8 = 17;

/// Any VLAN tag at all, as 1.3 says it.
const ANY_TAG: Masked<u16> = Masked::with(VID_PRESENT, VID_PRESENT);

/// What `exact` means; `None` where a value does not fit its field, so that the switch alone knows
/// what it does.
pub fn match_to_neutral(exact: &v10::Match) -> Option<Match> {
    let has = |field| !exact.wildcards.contains(field);
    let mut fields = Vec::new();
    if has(Wildcards::IN_PORT) {
        fields.push(Field::InPort(PortNo(exact.in_port.widen())));
    }
    if has(Wildcards::DL_DST) {
        fields.push(Field::EthDst(Masked::exact(exact.dl_dst)));
    }
    if has(Wildcards::DL_SRC) {
        fields.push(Field::EthSrc(Masked::exact(exact.dl_src)));
    }
    vlan_to_neutral(exact, &mut fields)?;
    if has(Wildcards::DL_TYPE) {
        fields.push(Field::EthType(exact.dl_type));
        match exact.dl_type {
            ETH_IPV4 => ipv4_to_neutral(exact, &mut fields)?,
            ETH_ARP => arp_to_neutral(exact, &mut fields),
            _ => {}
        }
    }
    Some(Match { fields })
}

fn vlan_to_neutral(exact: &v10::Match, fields: &mut Vec<Field>) -> Option<()> {
    let has_vid = !exact.wildcards.contains(Wildcards::DL_VLAN);
    let has_pcp = !exact.wildcards.contains(Wildcards::DL_VLAN_PCP);
    match (has_vid, exact.dl_vlan) {
        (true, v10::VLAN_NONE) => {
            fields.push(Field::VlanVid(Masked::exact(VID_NONE)));
            return Some(());
        }
        (true, vid @ 0..VID_PRESENT) => {
            fields.push(Field::VlanVid(Masked::exact(VID_PRESENT | vid)));
        }
        (true, _) => return None,
        (false, _) if has_pcp => fields.push(Field::VlanVid(ANY_TAG)),
        (false, _) => {}
    }
    match (has_pcp, exact.dl_vlan_pcp) {
        (true, pcp @ 0..8) => fields.push(Field::VlanPcp(pcp)),
        (true, _) => return None,
        (false, _) => {}
    }
    Some(())
}

fn ipv4_to_neutral(exact: &v10::Match, fields: &mut Vec<Field>) -> Option<()> {
    let has = |field| !exact.wildcards.contains(field);
    if has(Wildcards::NW_TOS) {
        fields.push(Field::IpDscp(exact.nw_tos >> 2));
    }
    if has(Wildcards::NW_PROTO) {
        fields.push(Field::IpProto(exact.nw_proto));
    }
    let [src, dst] = prefixes(exact);
    fields.extend(src.map(Field::Ipv4Src));
    fields.extend(dst.map(Field::Ipv4Dst));
    if has(Wildcards::NW_PROTO) {
        if has(Wildcards::TP_SRC) {
            fields.extend(transport_to_neutral(exact.nw_proto, exact.tp_src, SRC)?);
        }
        if has(Wildcards::TP_DST) {
            fields.extend(transport_to_neutral(exact.nw_proto, exact.tp_dst, DST)?);
        }
    }
    Some(())
}

fn arp_to_neutral(exact: &v10::Match, fields: &mut Vec<Field>) {
    if !exact.wildcards.contains(Wildcards::NW_PROTO) {
        fields.push(Field::ArpOp(exact.nw_proto.into()));
    }
    let [src, dst] = prefixes(exact);
    fields.extend(src.map(Field::ArpSpa));
    fields.extend(dst.map(Field::ArpTpa));
}

/// How the three protocols call one of the two transport fields.
pub(super) struct Transport {
    pub(super) tcp: fn(u16) -> Field,
    pub(super) udp: fn(u16) -> Field,
    icmp: fn(u8) -> Field,
}

pub(super) const SRC: Transport =
    Transport { tcp: Field::TcpSrc, udp: Field::UdpSrc, icmp: Field::Icmpv4Type };
pub(super) const DST: Transport =
    Transport { tcp: Field::TcpDst, udp: Field::UdpDst, icmp: Field::Icmpv4Code };

/// The transport field as `proto` calls it, if it has one; `None` for an ICMP number that ICMP
/// cannot have.
fn transport_to_neutral(proto: u8, number: u16, which: Transport) -> Option<Option<Field>> {
    Some(match proto {
        IP_TCP => Some((which.tcp)(number)),
        IP_UDP => Some((which.udp)(number)),
        IP_ICMP => Some((which.icmp)(u8::try_from(number).ok()?)),
        _ => None,
    })
}

/// The two IPv4 addresses, where they are not ignored.
fn prefixes(exact: &v10::Match) -> [Option<Masked<Ipv4Addr>>; 2] {
    let masked = |address: Ipv4Addr, prefix| match prefix {
        0 => None,
        32 => Some(Masked::exact(address)),
        _ => {
            let mask = Ipv4Addr::from_bits(u32::MAX << (32 - u32::from(prefix)));
            Some(Masked::with(address & mask, mask))
        }
    };
    [
        masked(exact.nw_src, exact.wildcards.nw_src_prefix()),
        masked(exact.nw_dst, exact.wildcards.nw_dst_prefix()),
    ]
}

/// `neutral` in the twelve fields of 1.0. Addresses that are not among them are ignored with the
/// prefix length 0, as Open vSwitch writes it.
///
/// # Errors
/// [`Unsupported`] for a field, a mask or a combination that 1.0 does not have, and for a field
/// without its prerequisites: 1.0 would ignore it, and match more than was meant.
pub fn match_from_neutral(neutral: &Match) -> Result<v10::Match, Unsupported> {
    let fields: Vec<Field> = neutral.fields.iter().filter_map(plain).collect();
    let mut exact = v10::Match::ANY;
    exact.wildcards = exact.wildcards.with_nw_src_prefix(0).with_nw_dst_prefix(0);
    for field in &fields {
        exact = with(exact, field)?;
    }
    let back = match_to_neutral(&exact).map_or(Vec::new(), |back| back.fields);
    let same = back.len() == fields.len() && fields.iter().all(|field| back.contains(field));
    if same { Ok(exact) } else { Err(unsupported(UNPLAIN_MATCH)) }
}

/// The field without a mask that ignores nothing; none at all where it ignores everything.
fn plain(field: &Field) -> Option<Field> {
    fn plain<T: Copy + PartialEq>(
        masked: &Masked<T>,
        [none, all]: [T; 2],
        and: fn(T, T) -> T,
    ) -> Option<Masked<T>> {
        match masked.mask {
            Some(mask) if mask == none => None,
            Some(mask) if mask != all => Some(Masked::with(and(masked.value, mask), mask)),
            _ => Some(Masked::exact(masked.value)),
        }
    }
    let mac = |masked| plain(masked, [MacAddr([0; 6]), MacAddr::BROADCAST], and_mac);
    let ipv4 = |masked| plain(masked, [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST], |a, b| a & b);
    Some(match field {
        Field::EthSrc(masked) => Field::EthSrc(mac(masked)?),
        Field::EthDst(masked) => Field::EthDst(mac(masked)?),
        Field::VlanVid(masked) => {
            // 13 bits count; the rest of the sixteen does not exist.
            let mask = masked.mask.map(|mask| mask & 0x1fff);
            Field::VlanVid(plain(&Masked { mask, ..*masked }, [0, 0x1fff], |a, b| a & b)?)
        }
        Field::Ipv4Src(masked) => Field::Ipv4Src(ipv4(masked)?),
        Field::Ipv4Dst(masked) => Field::Ipv4Dst(ipv4(masked)?),
        Field::ArpSpa(masked) => Field::ArpSpa(ipv4(masked)?),
        Field::ArpTpa(masked) => Field::ArpTpa(ipv4(masked)?),
        other => other.clone(),
    })
}

fn and_mac(a: MacAddr, b: MacAddr) -> MacAddr {
    MacAddr::from_u64(a.to_u64() & b.to_u64())
}

/// The match with one field more.
fn with(exact: v10::Match, field: &Field) -> Result<v10::Match, Unsupported> {
    Ok(match field {
        Field::InPort(port) => exact.with_in_port(narrow(*port)?),
        Field::EthSrc(Masked { value, mask: None }) => exact.with_dl_src(*value),
        Field::EthDst(Masked { value, mask: None }) => exact.with_dl_dst(*value),
        Field::EthType(number) => exact.with_dl_type(*number),
        // The id is ignored, and the priority that must follow says that there is a tag.
        Field::VlanVid(masked) if *masked == ANY_TAG => exact,
        Field::VlanVid(Masked { value: VID_NONE, mask: None }) => {
            exact.with_dl_vlan(v10::VLAN_NONE)
        }
        Field::VlanVid(Masked { value, mask: None }) => exact.with_dl_vlan(value & 0x0fff),
        Field::VlanPcp(pcp) => exact.with_dl_vlan_pcp(*pcp),
        Field::IpDscp(dscp) => exact.with_nw_tos(dscp << 2),
        Field::IpProto(proto) => exact.with_nw_proto(*proto),
        Field::ArpOp(op) => {
            exact.with_nw_proto(u8::try_from(*op).map_err(|_| unsupported("ARP_OP above 255"))?)
        }
        Field::Ipv4Src(masked) | Field::ArpSpa(masked) => {
            exact.with_nw_src(masked.value, prefix(masked)?)
        }
        Field::Ipv4Dst(masked) | Field::ArpTpa(masked) => {
            exact.with_nw_dst(masked.value, prefix(masked)?)
        }
        Field::TcpSrc(port) | Field::UdpSrc(port) => exact.with_tp_src(*port),
        Field::TcpDst(port) | Field::UdpDst(port) => exact.with_tp_dst(*port),
        Field::Icmpv4Type(number) => exact.with_tp_src((*number).into()),
        Field::Icmpv4Code(number) => exact.with_tp_dst((*number).into()),
        Field::EthSrc(_) | Field::EthDst(_) => {
            return Err(unsupported("a masked Ethernet address"));
        }
        Field::VlanVid(_) => return Err(unsupported("a masked VLAN id")),
        other => return Err(unsupported(super::field_name(other))),
    })
}

/// How many leading bits the mask has.
fn prefix(masked: &Masked<Ipv4Addr>) -> Result<u8, Unsupported> {
    let mask = masked.mask.unwrap_or(Ipv4Addr::BROADCAST).to_bits();
    match mask.leading_ones() + mask.trailing_zeros() {
        32.. => Ok(mask.leading_ones() as u8),
        _ => Err(unsupported("an IPv4 mask that is not a prefix")),
    }
}
