//! Match fields of OpenFlow 1.3 in words.

use crate::decode::text::fields::{PrintedFields, masked, prefixed};
use crate::decode::text::{hex, port};
use aldis_wire::MacAddr;
use aldis_wire::v13::oxm::{Masked, OxmHeader, RawOxm, VID_NONE, VID_PRESENT};
use aldis_wire::v13::{Match, Oxm};
use std::fmt::{self, Display};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The fields of a match.
pub(super) fn fields(matched: &Match) -> PrintedFields {
    let mut fields = PrintedFields::default();
    for oxm in &matched.fields {
        match oxm {
            Oxm::EthType(ethertype) => fields.ethertype(*ethertype),
            Oxm::IpProto(protocol) => fields.protocol(*protocol),
            Oxm::VlanVid(vid) => vlan_vid(*vid, &mut fields),
            Oxm::IpDscp(dscp) => fields.push("nw_tos", u16::from(*dscp) << 2),
            _ => match words(oxm) {
                Ok(MessageText { matched, value, .. }) => fields.push(matched, value),
                Err(raw) => fields.push_unnamed(raw_words(raw)),
            },
        }
    }
    fields
}

/// A field as it is set: `value->name`.
pub(super) fn set(oxm: &Oxm) -> impl Display {
    fmt::from_fn(move |f| match words(oxm) {
        Ok(MessageText { set, value, .. }) => write!(f, "{value}->{set}"),
        Err(raw) => write!(f, "{}", raw_words(raw)),
    })
}

/// The VLAN id with the bit that says that there is one (§7.2.2.7).
fn vlan_vid(vid: Masked<u16>, fields: &mut PrintedFields) {
    const ALL: u16 = VID_PRESENT | 0x0fff;
    match (vid.value, vid.mask.unwrap_or(ALL)) {
        (value, ALL) if value & VID_PRESENT != 0 => fields.push("dl_vlan", value & !VID_PRESENT),
        (VID_NONE, ALL) => fields.push("vlan_tci", "0x0000/0x1fff"),
        (value, mask) => fields.push("vlan_tci", format_args!("{value:#06x}/{mask:#06x}")),
    }
}

/// A field: what it is called in a match, what when it is set, and its value.
struct MessageText {
    matched: &'static str,
    set: &'static str,
    value: String,
}

/// The words of a typed field, or the field that is not typed.
fn words(oxm: &Oxm) -> Result<MessageText, &RawOxm> {
    let ((matched, set), value) = match oxm {
        Oxm::InPort(number) => (("in_port", "in_port_oxm"), port::number(number.0).to_string()),
        Oxm::InPhyPort(number) => (same("in_phy_port"), port::number(number.0).to_string()),
        Oxm::Metadata(bits) => (same("metadata"), wide(bits)),
        Oxm::EthDst(mac) => (("dl_dst", "eth_dst"), address(mac)),
        Oxm::EthSrc(mac) => (("dl_src", "eth_src"), address(mac)),
        Oxm::EthType(ethertype) => (("dl_type", "eth_type"), format!("{ethertype:#06x}")),
        Oxm::VlanVid(vid) => (("vlan_tci", "vlan_vid"), masked(vid.value, vid.mask).to_string()),
        Oxm::VlanPcp(priority) => (("dl_vlan_pcp", "vlan_pcp"), priority.to_string()),
        Oxm::IpDscp(dscp) => (("nw_tos", "ip_dscp"), dscp.to_string()),
        Oxm::IpEcn(ecn) => (same("nw_ecn"), ecn.to_string()),
        Oxm::IpProto(protocol) => (same("nw_proto"), protocol.to_string()),
        Oxm::Ipv4Src(ip) => (("nw_src", "ip_src"), ipv4(ip)),
        Oxm::Ipv4Dst(ip) => (("nw_dst", "ip_dst"), ipv4(ip)),
        Oxm::TcpSrc(port) => (("tp_src", "tcp_src"), port.to_string()),
        Oxm::TcpDst(port) => (("tp_dst", "tcp_dst"), port.to_string()),
        Oxm::UdpSrc(port) => (("tp_src", "udp_src"), port.to_string()),
        Oxm::UdpDst(port) => (("tp_dst", "udp_dst"), port.to_string()),
        Oxm::SctpSrc(port) => (("tp_src", "sctp_src"), port.to_string()),
        Oxm::SctpDst(port) => (("tp_dst", "sctp_dst"), port.to_string()),
        Oxm::Icmpv4Type(kind) => (same("icmp_type"), kind.to_string()),
        Oxm::Icmpv4Code(code) => (same("icmp_code"), code.to_string()),
        Oxm::ArpOp(op) => (same("arp_op"), op.to_string()),
        Oxm::ArpSpa(ip) => (same("arp_spa"), ipv4(ip)),
        Oxm::ArpTpa(ip) => (same("arp_tpa"), ipv4(ip)),
        Oxm::ArpSha(mac) => (same("arp_sha"), address(mac)),
        Oxm::ArpTha(mac) => (same("arp_tha"), address(mac)),
        _ => return ipv6_and_later(oxm),
    };
    Ok(MessageText { matched, set, value })
}

fn ipv6_and_later(oxm: &Oxm) -> Result<MessageText, &RawOxm> {
    let ((matched, set), value) = match oxm {
        Oxm::Ipv6Src(ip) => (same("ipv6_src"), ipv6(ip)),
        Oxm::Ipv6Dst(ip) => (same("ipv6_dst"), ipv6(ip)),
        Oxm::Ipv6Flabel(label) => (same("ipv6_label"), label_words(label)),
        Oxm::Icmpv6Type(kind) => (("icmp_type", "icmpv6_type"), kind.to_string()),
        Oxm::Icmpv6Code(code) => (("icmp_code", "icmpv6_code"), code.to_string()),
        Oxm::Ipv6NdTarget(ip) => (same("nd_target"), ip.to_string()),
        Oxm::Ipv6NdSll(mac) => (same("nd_sll"), mac.to_string()),
        Oxm::Ipv6NdTll(mac) => (same("nd_tll"), mac.to_string()),
        Oxm::MplsLabel(label) => (same("mpls_label"), label.to_string()),
        Oxm::MplsTc(class) => (same("mpls_tc"), class.to_string()),
        Oxm::MplsBos(bottom) => (same("mpls_bos"), bottom.to_string()),
        Oxm::PbbIsid(isid) => {
            let hex = |isid: aldis_wire::v13::oxm::U24| format!("{:#x}", isid.to_u32());
            (same("pbb_isid"), masked(hex(isid.value), isid.mask.map(hex)).to_string())
        }
        Oxm::TunnelId(bits) => (same("tun_id"), wide(bits)),
        Oxm::Ipv6Exthdr(headers) => {
            (same("ipv6_exthdr"), masked(headers.value, headers.mask).to_string())
        }
        Oxm::Raw(raw) => return Err(raw),
        // The rest have their words above.
        _ => (same("field"), format!("{oxm:?}")),
    };
    Ok(MessageText { matched, set, value })
}

fn same(name: &'static str) -> (&'static str, &'static str) {
    (name, name)
}

fn wide(bits: &Masked<u64>) -> String {
    let mask = bits.mask.filter(|&mask| mask != u64::MAX).map(|mask| format!("{mask:#x}"));
    masked(format_args!("{:#x}", bits.value), mask).to_string()
}

fn address(mac: &Masked<MacAddr>) -> String {
    masked(mac.value, mac.mask.filter(|&mask| mask != MacAddr::BROADCAST)).to_string()
}

fn ipv4(ip: &Masked<Ipv4Addr>) -> String {
    let mask = ip.mask.unwrap_or(Ipv4Addr::BROADCAST);
    prefixed(ip.value, mask.to_bits().into(), 32, mask).to_string()
}

fn ipv6(ip: &Masked<Ipv6Addr>) -> String {
    let mask = ip.mask.unwrap_or(Ipv6Addr::from_bits(u128::MAX));
    prefixed(ip.value, mask.to_bits(), 128, mask).to_string()
}

fn label_words(label: &Masked<u32>) -> String {
    let mask = label.mask.filter(|mask| mask & 0xf_ffff != 0xf_ffff);
    masked(format_args!("{:#07x}", label.value), mask.map(|mask| format!("{mask:#07x}")))
        .to_string()
}

/// A field that has no type here: its header, and its bytes with the mask behind them.
fn raw_words(raw: &RawOxm) -> String {
    let header = raw.header();
    let (value, mask) = match header.has_mask() {
        true => raw.body().split_at(raw.body().len() / 2),
        false => (raw.body(), &[][..]),
    };
    let mask = if mask.is_empty() { String::new() } else { format!("/{}", hex(mask)) };
    format!("{}={}{mask}", raw_name(header, raw.experimenter()), hex(value))
}

/// What a field that has no type here is called.
pub(super) fn raw_name(header: OxmHeader, experimenter: Option<u32>) -> String {
    match (header.name(), experimenter) {
        (Some(name), _) => name.to_owned(),
        (None, Some(experimenter)) => {
            format!("experimenter({experimenter:#010x},{})", header.field())
        }
        (None, None) => format!("oxm({:#06x},{})", header.class().0, header.field()),
    }
}
