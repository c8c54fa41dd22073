//! From a list of match fields to a pattern.

use crate::datapath::fields::*;
use aldis_packet::{ethertype, protocol};
use aldis_wire::MacAddr;
use aldis_wire::v13::error::{BadMatchCode, ErrorCode};
use aldis_wire::v13::oxm::{Masked, Oxm, OxmClass, VID_NONE, VID_PRESENT};
use std::net::Ipv4Addr;

/// SCTP's number among the protocols above IP.
const SCTP: u8 = 132;

/// The pattern that the fields mean together.
pub(in crate::datapath::v13) fn pattern(fields: &[Oxm]) -> Result<Pattern, ErrorCode> {
    let mut pattern = Pattern::ANY;
    let mut seen = 0_u64;
    for field in fields {
        let bit = 1_u64 << (field.header().field() & 63);
        if seen & bit != 0 {
            return wrong(BadMatchCode::DUP_FIELD);
        }
        add(&mut pattern, field)?;
        seen |= bit;
    }
    Ok(pattern)
}

fn wrong<T>(code: BadMatchCode) -> Result<T, ErrorCode> {
    Err(ErrorCode::BadMatch(code))
}

/// Adds a field, whose prerequisites have to be there.
fn add(pattern: &mut Pattern, field: &Oxm) -> Result<(), ErrorCode> {
    if let Oxm::Raw(raw) = field {
        let no_mask = raw.header().class() == OxmClass::OPENFLOW_BASIC && raw.header().has_mask();
        let known = raw.header().name().is_some();
        return wrong(match no_mask && known {
            true => BadMatchCode::BAD_MASK,
            false => BadMatchCode::BAD_FIELD,
        });
    }
    if !allowed(pattern, field) {
        return wrong(BadMatchCode::BAD_PREREQ);
    }
    match field {
        Oxm::InPort(port) => pattern.exactly(IN_PORT, port.0),
        Oxm::Metadata(masked) => {
            let mask = masked.mask.unwrap_or(u64::MAX);
            fits(masked.value & !mask == 0)?;
            pattern.with(METADATA, masked.value, mask);
        }
        Oxm::EthDst(mac) => address(pattern, ETH_DST, mac)?,
        Oxm::EthSrc(mac) => address(pattern, ETH_SRC, mac)?,
        Oxm::EthType(kind) => pattern.exactly(ETH_TYPE, *kind),
        Oxm::VlanVid(vid) => vlan_vid(pattern, vid)?,
        Oxm::VlanPcp(pcp) => {
            value(*pcp <= 7)?;
            pattern.with(VLAN_TCI, u64::from(*pcp) << 13, VLAN_PCP.into());
        }
        Oxm::IpDscp(dscp) => {
            value(*dscp <= 63)?;
            pattern.with(IP_TOS, u64::from(*dscp) << 2, 0xfc);
        }
        Oxm::IpEcn(ecn) => {
            value(*ecn <= 3)?;
            pattern.with(IP_TOS, (*ecn).into(), 3);
        }
        Oxm::IpProto(kind) => pattern.exactly(IP_PROTO, *kind),
        Oxm::Ipv4Src(ip) | Oxm::ArpSpa(ip) => ipv4(pattern, SOURCE, ip)?,
        Oxm::Ipv4Dst(ip) | Oxm::ArpTpa(ip) => ipv4(pattern, DESTINATION, ip)?,
        Oxm::TcpSrc(port) | Oxm::UdpSrc(port) | Oxm::SctpSrc(port) => {
            pattern.exactly(TP_SRC, *port)
        }
        Oxm::TcpDst(port) | Oxm::UdpDst(port) | Oxm::SctpDst(port) => {
            pattern.exactly(TP_DST, *port)
        }
        Oxm::Icmpv4Type(kind) | Oxm::Icmpv6Type(kind) => pattern.exactly(TP_SRC, *kind),
        Oxm::Icmpv4Code(code) | Oxm::Icmpv6Code(code) => pattern.exactly(TP_DST, *code),
        Oxm::ArpOp(op) => {
            value(*op <= 0xff)?;
            pattern.exactly(IP_PROTO, *op);
        }
        Oxm::ArpSha(mac) => address(pattern, SENDER_MAC, mac)?,
        Oxm::ArpTha(mac) => address(pattern, TARGET_MAC, mac)?,
        Oxm::Ipv6Src(ip) => wide(pattern, SOURCE, &map(ip, u128::from))?,
        Oxm::Ipv6Dst(ip) => wide(pattern, DESTINATION, &map(ip, u128::from))?,
        Oxm::Ipv6Flabel(label) => {
            let mask = label.mask.unwrap_or(0x000f_ffff);
            value((label.value | mask) >> 20 == 0)?;
            fits(label.value & !mask == 0)?;
            pattern.with(IPV6_LABEL, label.value.into(), mask.into());
        }
        Oxm::Ipv6NdTarget(ip) => pattern.with_wide(ND_TARGET, (*ip).into(), u128::MAX),
        Oxm::Ipv6NdSll(mac) => pattern.exactly(SENDER_MAC, mac.to_u64()),
        Oxm::Ipv6NdTll(mac) => pattern.exactly(TARGET_MAC, mac.to_u64()),
        _ => return wrong(BadMatchCode::BAD_FIELD),
    }
    Ok(())
}

fn value(good: bool) -> Result<(), ErrorCode> {
    if good { Ok(()) } else { wrong(BadMatchCode::BAD_VALUE) }
}

/// A bit outside the mask must be zero (§7.2.3.5).
fn fits(good: bool) -> Result<(), ErrorCode> {
    if good { Ok(()) } else { wrong(BadMatchCode::BAD_WILDCARDS) }
}

fn address(pattern: &mut Pattern, field: Field, mac: &Masked<MacAddr>) -> Result<(), ErrorCode> {
    let mask = mac.mask.map_or(u64::MAX >> 16, MacAddr::to_u64);
    fits(mac.value.to_u64() & !mask == 0)?;
    pattern.with(field, mac.value.to_u64(), mask);
    Ok(())
}

fn ipv4(pattern: &mut Pattern, field: Wide, ip: &Masked<Ipv4Addr>) -> Result<(), ErrorCode> {
    let masked = map(ip, |ip| u128::from(u32::from(ip)));
    wide(pattern, field, &Masked { mask: masked.mask.or(Some(u32::MAX.into())), ..masked })
}

fn map<T: Copy>(masked: &Masked<T>, to: impl Fn(T) -> u128) -> Masked<u128> {
    Masked { value: to(masked.value), mask: masked.mask.map(to) }
}

fn wide(pattern: &mut Pattern, field: Wide, ip: &Masked<u128>) -> Result<(), ErrorCode> {
    let mask = ip.mask.unwrap_or(u128::MAX);
    fits(ip.value & !mask == 0)?;
    pattern.with_wide(field, ip.value, mask);
    Ok(())
}

/// The identifier with the bit that says there is a tag; without a mask that bit alone means no
/// tag, or which.
fn vlan_vid(pattern: &mut Pattern, vid: &Masked<u16>) -> Result<(), ErrorCode> {
    match vid.mask {
        None if vid.value == VID_NONE => {
            pattern.exactly(VLAN_TCI, 0_u16);
            Ok(())
        }
        None => {
            value(vid.value & !(VID_PRESENT | VLAN_VID) == 0 && vid.value & VID_PRESENT != 0)?;
            pattern.with(VLAN_TCI, vid.value.into(), (VLAN_VID | VID_PRESENT).into());
            Ok(())
        }
        Some(mask) => {
            value((vid.value | mask) & !(VID_PRESENT | VLAN_VID) == 0)?;
            fits(vid.value & !mask == 0)?;
            pattern.with(VLAN_TCI, vid.value.into(), mask.into());
            Ok(())
        }
    }
}

/// Whether what the field needs stands before it.
fn allowed(pattern: &Pattern, field: &Oxm) -> bool {
    let compares =
        |field, value: u64| pattern.mask.field(field) != 0 && pattern.key.field(field) == value;
    let kind = |kind: u16| compares(ETH_TYPE, kind.into());
    let ip = || kind(ethertype::IPV4) || kind(ethertype::IPV6);
    let above = |number: u8| ip() && compares(IP_PROTO, number.into());
    let icmpv6 = || kind(ethertype::IPV6) && above(protocol::ICMPV6);
    match field {
        Oxm::VlanPcp(_) => pattern.key.field(VLAN_TCI) as u16 & VLAN_PRESENT != 0,
        Oxm::IpDscp(_) | Oxm::IpEcn(_) | Oxm::IpProto(_) => ip(),
        Oxm::Ipv4Src(_) | Oxm::Ipv4Dst(_) => kind(ethertype::IPV4),
        Oxm::TcpSrc(_) | Oxm::TcpDst(_) => above(protocol::TCP),
        Oxm::UdpSrc(_) | Oxm::UdpDst(_) => above(protocol::UDP),
        Oxm::SctpSrc(_) | Oxm::SctpDst(_) => above(SCTP),
        Oxm::Icmpv4Type(_) | Oxm::Icmpv4Code(_) => kind(ethertype::IPV4) && above(protocol::ICMP),
        Oxm::ArpOp(_) | Oxm::ArpSpa(_) | Oxm::ArpTpa(_) | Oxm::ArpSha(_) | Oxm::ArpTha(_) => {
            kind(ethertype::ARP)
        }
        Oxm::Ipv6Src(_) | Oxm::Ipv6Dst(_) | Oxm::Ipv6Flabel(_) => kind(ethertype::IPV6),
        Oxm::Icmpv6Type(_) | Oxm::Icmpv6Code(_) => icmpv6(),
        Oxm::Ipv6NdTarget(_) => icmpv6() && (compares(TP_SRC, 135) || compares(TP_SRC, 136)),
        Oxm::Ipv6NdSll(_) => icmpv6() && compares(TP_SRC, 135),
        Oxm::Ipv6NdTll(_) => icmpv6() && compares(TP_SRC, 136),
        _ => true,
    }
}
