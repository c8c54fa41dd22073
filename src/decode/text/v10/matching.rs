//! The match of OpenFlow 1.0 in words: the fields that count.

use crate::decode::text::fields::{PrintedFields, prefixed};
use aldis_packet::{ethertype, protocol};
use aldis_wire::v10::{Match, VLAN_NONE, Wildcards};
use std::fmt::Display;
use std::net::Ipv4Addr;

/// The fields that the match does not ignore. Those of ARP and ICMP stand in the places of others,
/// and are called by their own names.
pub(super) fn fields(matched: &Match) -> PrintedFields {
    let counts = |field: Wildcards| !matched.wildcards.contains(field);
    let mut fields = PrintedFields::default();
    if counts(Wildcards::IN_PORT) {
        fields.push("in_port", super::number(matched.in_port));
    }
    if counts(Wildcards::DL_SRC) {
        fields.push("dl_src", matched.dl_src);
    }
    if counts(Wildcards::DL_DST) {
        fields.push("dl_dst", matched.dl_dst);
    }
    if counts(Wildcards::DL_TYPE) {
        fields.ethertype(matched.dl_type);
    }
    vlan(matched, counts(Wildcards::DL_VLAN), counts(Wildcards::DL_VLAN_PCP), &mut fields);
    network(matched, &mut fields);
    transport(matched, &mut fields);
    fields
}

fn vlan(matched: &Match, vid: bool, priority: bool, fields: &mut PrintedFields) {
    match matched.dl_vlan {
        // Without a tag there is no priority either.
        VLAN_NONE if vid => return fields.push("vlan_tci", "0x0000"),
        dl_vlan if vid => fields.push("dl_vlan", dl_vlan),
        _ => {}
    }
    if priority {
        fields.push("dl_vlan_pcp", matched.dl_vlan_pcp);
    }
}

fn network(matched: &Match, fields: &mut PrintedFields) {
    let wildcards = matched.wildcards;
    let exact = |field| !wildcards.contains(field);
    let is_arp = exact(Wildcards::DL_TYPE) && matched.dl_type == ethertype::ARP;
    let [source, destination] = if is_arp { ["arp_spa", "arp_tpa"] } else { ["nw_src", "nw_dst"] };
    if wildcards.nw_src_prefix() != 0 {
        fields.push(source, prefix(matched.nw_src, wildcards.nw_src_prefix()));
    }
    if wildcards.nw_dst_prefix() != 0 {
        fields.push(destination, prefix(matched.nw_dst, wildcards.nw_dst_prefix()));
    }
    match exact(Wildcards::NW_PROTO) {
        true if is_arp => fields.push("arp_op", matched.nw_proto),
        true => fields.protocol(matched.nw_proto),
        false => {}
    }
    if exact(Wildcards::NW_TOS) && !is_arp {
        fields.push("nw_tos", matched.nw_tos);
    }
}

fn transport(matched: &Match, fields: &mut PrintedFields) {
    let exact = |field| !matched.wildcards.contains(field);
    let is = |ethertype, protocol| {
        exact(Wildcards::DL_TYPE)
            && matched.dl_type == ethertype
            && (exact(Wildcards::NW_PROTO) && matched.nw_proto == protocol)
    };
    if exact(Wildcards::DL_TYPE) && matched.dl_type == ethertype::ARP {
        return;
    }
    let is_icmp = is(ethertype::IPV4, protocol::ICMP);
    let [source, destination] =
        if is_icmp { ["icmp_type", "icmp_code"] } else { ["tp_src", "tp_dst"] };
    if exact(Wildcards::TP_SRC) {
        fields.push(source, matched.tp_src);
    }
    if exact(Wildcards::TP_DST) {
        fields.push(destination, matched.tp_dst);
    }
}

fn prefix(address: Ipv4Addr, len: u8) -> impl Display {
    let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
    prefixed(address, mask.into(), 32, Ipv4Addr::from(mask))
}
