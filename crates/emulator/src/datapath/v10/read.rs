//! Matches and actions of 1.0 in the datapath's own words.

use crate::datapath::action::{ActionProgram, DatapathAction, Set};
use crate::datapath::bounds::ACTIONS_MAX;
use crate::datapath::fields::*;
use aldis_packet::{ethertype, protocol};
use aldis_wire::v10;
use aldis_wire::v10::error::{BadActionCode, ErrorCode};
use aldis_wire::v10::{Match, PortNo, VLAN_NONE, Wildcards};
use std::net::Ipv4Addr;

/// The bits of the type of service that 1.0 means: the code point.
const TOS: u8 = 0xfc;

/// The match without what it does not compare, and the pattern that it means.
///
/// A field below another that is not compared, or that has another value than it needs, is not
/// compared either (1.0.1 §3.4), as Open vSwitch reads it.
pub(super) fn pattern(said: &Match) -> (Match, Pattern) {
    let said = normal(said);
    let ignored = |bits| said.wildcards.contains(bits);
    let mut pattern = Pattern::ANY;
    if !ignored(Wildcards::IN_PORT) {
        pattern.exactly(IN_PORT, said.in_port.widen());
    }
    if !ignored(Wildcards::DL_SRC) {
        pattern.exactly(ETH_SRC, said.dl_src.to_u64());
    }
    if !ignored(Wildcards::DL_DST) {
        pattern.exactly(ETH_DST, said.dl_dst.to_u64());
    }
    vlan(&said, &mut pattern);
    if !ignored(Wildcards::DL_TYPE) {
        pattern.exactly(ETH_TYPE, said.dl_type);
    }
    if !ignored(Wildcards::NW_TOS) {
        pattern.with(IP_TOS, said.nw_tos.into(), TOS.into());
    }
    if !ignored(Wildcards::NW_PROTO) {
        pattern.exactly(IP_PROTO, said.nw_proto);
    }
    let addresses = [
        (SOURCE, said.nw_src, said.wildcards.nw_src_prefix()),
        (DESTINATION, said.nw_dst, said.wildcards.nw_dst_prefix()),
    ];
    for (field, address, prefix) in addresses {
        if prefix > 0 {
            pattern.with_wide(field, u32::from(address).into(), prefix_mask(prefix).into());
        }
    }
    if !ignored(Wildcards::TP_SRC) {
        pattern.exactly(TP_SRC, said.tp_src);
    }
    if !ignored(Wildcards::TP_DST) {
        pattern.exactly(TP_DST, said.tp_dst);
    }
    (said, pattern)
}

fn prefix_mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0)
}

/// A frame without a tag has no priority to compare: [`VLAN_NONE`] alone decides.
fn vlan(said: &Match, pattern: &mut Pattern) {
    let vid = !said.wildcards.contains(Wildcards::DL_VLAN);
    let pcp = !said.wildcards.contains(Wildcards::DL_VLAN_PCP);
    if vid && said.dl_vlan == VLAN_NONE {
        return pattern.exactly(VLAN_TCI, 0_u16);
    }
    let part = |wanted, mask| if wanted { mask | VLAN_PRESENT } else { 0 };
    let mask = part(vid, VLAN_VID) | part(pcp, VLAN_PCP);
    let tci = said.dl_vlan & VLAN_VID | u16::from(said.dl_vlan_pcp & 7) << 13 | VLAN_PRESENT;
    if mask != 0 {
        pattern.with(VLAN_TCI, tci.into(), mask.into());
    }
}

/// What a match ignores when the fields that others rule out are counted in.
fn ignored_by(said: &Match) -> Wildcards {
    let mut wildcards = Wildcards(said.wildcards.0 & Wildcards::ALL.0)
        .with_nw_src_prefix(said.wildcards.nw_src_prefix())
        .with_nw_dst_prefix(said.wildcards.nw_dst_prefix());
    let mut ignore = |bits: Wildcards| wildcards = Wildcards(wildcards.0 | bits.0);
    let kind = (!said.wildcards.contains(Wildcards::DL_TYPE)).then_some(said.dl_type);
    let proto = (!said.wildcards.contains(Wildcards::NW_PROTO)).then_some(said.nw_proto);
    let is_ip = kind == Some(ethertype::IPV4);
    let is_arp = matches!(kind, Some(ethertype::ARP | 0x8035));
    // Open vSwitch compares these of IPv6 too, of which 1.0 says nothing.
    let is_ipv6 = kind == Some(ethertype::IPV6);
    if !is_ip && !is_ipv6 {
        ignore(Wildcards::NW_TOS);
    }
    if !is_ip && !is_ipv6 && !is_arp {
        ignore(Wildcards::NW_PROTO);
    }
    let ports = match proto {
        Some(protocol::TCP | protocol::UDP | 132) => is_ip || is_ipv6,
        Some(protocol::ICMP) => is_ip,
        Some(protocol::ICMPV6) => is_ipv6,
        _ => false,
    };
    if !ports {
        ignore(Wildcards::TP_SRC);
        ignore(Wildcards::TP_DST);
    }
    if !is_ip && !is_arp {
        wildcards = wildcards.with_nw_src_prefix(0).with_nw_dst_prefix(0);
    }
    // Without a tag there is no priority, and both are said to be compared.
    if is_untagged(said) {
        wildcards = wildcards.without(Wildcards::DL_VLAN_PCP);
    }
    wildcards
}

/// Whether it is for frames without a tag alone.
fn is_untagged(said: &Match) -> bool {
    !said.wildcards.contains(Wildcards::DL_VLAN) && said.dl_vlan == VLAN_NONE
}

/// The same match with zeros where it does not compare, and without fields that the others rule
/// out.
fn normal(said: &Match) -> Match {
    let wildcards = ignored_by(said);
    let keep = |bits| !wildcards.contains(bits);
    let masked =
        |address: Ipv4Addr, prefix| Ipv4Addr::from(u32::from(address) & prefix_mask(prefix));
    let mut match_ = Match { wildcards, ..Match::ANY };
    if keep(Wildcards::IN_PORT) {
        match_.in_port = said.in_port;
    }
    if keep(Wildcards::DL_SRC) {
        match_.dl_src = said.dl_src;
    }
    if keep(Wildcards::DL_DST) {
        match_.dl_dst = said.dl_dst;
    }
    if keep(Wildcards::DL_VLAN) {
        match_.dl_vlan =
            if said.dl_vlan == VLAN_NONE { VLAN_NONE } else { said.dl_vlan & VLAN_VID };
    }
    if keep(Wildcards::DL_VLAN_PCP) && !is_untagged(said) {
        match_.dl_vlan_pcp = said.dl_vlan_pcp & 7;
    }
    if keep(Wildcards::DL_TYPE) {
        match_.dl_type = said.dl_type;
    }
    if keep(Wildcards::NW_TOS) {
        match_.nw_tos = said.nw_tos & TOS;
    }
    if keep(Wildcards::NW_PROTO) {
        match_.nw_proto = said.nw_proto;
    }
    match_.nw_src = masked(said.nw_src, wildcards.nw_src_prefix());
    match_.nw_dst = masked(said.nw_dst, wildcards.nw_dst_prefix());
    if keep(Wildcards::TP_SRC) {
        match_.tp_src = said.tp_src;
    }
    if keep(Wildcards::TP_DST) {
        match_.tp_dst = said.tp_dst;
    }
    match_
}

/// What a flow of these actions does.
pub(super) fn program(said: &[v10::Action]) -> Result<ActionProgram, ErrorCode> {
    Ok(ActionProgram { apply: actions(said, false)?.into(), ..ActionProgram::default() })
}

/// A list of actions; `may_table` where it is a PACKET_OUT's, which may send the frame through the
/// table.
pub(super) fn actions(
    said: &[v10::Action],
    may_table: bool,
) -> Result<Vec<DatapathAction>, ErrorCode> {
    if !may_table && said.len() > ACTIONS_MAX {
        return Err(ErrorCode::BadAction(BadActionCode::TOO_MANY));
    }
    said.iter().map(|said| action(said, may_table)).collect()
}

fn action(said: &v10::Action, may_table: bool) -> Result<DatapathAction, ErrorCode> {
    let bad = |code| Err(ErrorCode::BadAction(code));
    let set = match *said {
        v10::Action::Output { port, .. } => return output(port, may_table),
        v10::Action::Enqueue { port, queue_id: _ } => {
            return match port {
                PortNo::IN_PORT | PortNo::LOCAL => output(port, false),
                _ if port.0 < PortNo::MAX.0 => output(port, false),
                _ => bad(BadActionCode::BAD_OUT_PORT),
            };
        }
        v10::Action::StripVlan => return Ok(DatapathAction::PopVlan),
        v10::Action::SetVlanVid(vid) if vid > VLAN_VID => return bad(BadActionCode::BAD_ARGUMENT),
        v10::Action::SetVlanVid(vid) => Set::Vlan { value: vid, mask: VLAN_VID, add: true },
        v10::Action::SetVlanPcp(pcp) if pcp > 7 => return bad(BadActionCode::BAD_ARGUMENT),
        v10::Action::SetVlanPcp(pcp) => {
            Set::Vlan { value: u16::from(pcp) << 13, mask: VLAN_PCP, add: true }
        }
        v10::Action::SetDlSrc(mac) => Set::EthSrc(mac),
        v10::Action::SetDlDst(mac) => Set::EthDst(mac),
        v10::Action::SetNwSrc(address) => Set::Ipv4Src(address),
        v10::Action::SetNwDst(address) => Set::Ipv4Dst(address),
        v10::Action::SetNwTos(tos) if tos & !TOS != 0 => return bad(BadActionCode::BAD_ARGUMENT),
        v10::Action::SetNwTos(tos) => Set::Tos { value: tos, mask: TOS },
        v10::Action::SetTpSrc(port) => Set::TpSrc { port, only: None },
        v10::Action::SetTpDst(port) => Set::TpDst { port, only: None },
        v10::Action::Vendor { .. } => return bad(BadActionCode::BAD_VENDOR),
        v10::Action::Unknown { .. } => return bad(BadActionCode::BAD_TYPE),
    };
    Ok(DatapathAction::Set(set))
}

fn output(port: PortNo, may_table: bool) -> Result<DatapathAction, ErrorCode> {
    let is_port = port.0 != 0 && port.0 < PortNo::MAX.0;
    let reserved = [PortNo::IN_PORT, PortNo::FLOOD, PortNo::ALL, PortNo::CONTROLLER, PortNo::LOCAL];
    if is_port || reserved.contains(&port) || may_table && port == PortNo::TABLE {
        Ok(DatapathAction::Output(port.widen()))
    } else {
        Err(ErrorCode::BadAction(BadActionCode::BAD_OUT_PORT))
    }
}
