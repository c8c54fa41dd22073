//! A frame in one line, as a flow that would match it exactly.

use super::fields::PrintedFields;
use super::text;
use aldis_packet::{
    Arp, Dhcp, Ethernet, Icmp, Icmpv6, Ipv4, Ipv6, Lldp, Tcp, Udp, dhcp, ethertype, protocol, tcp,
};
use aldis_wire::MacAddr;
use std::fmt::{self, Display};

/// The frame in words; bytes that are too few for one are said as such.
pub(super) fn frame(bytes: &[u8]) -> impl Display + '_ {
    fmt::from_fn(move |f| {
        let Some(frame) = Ethernet::new(bytes) else {
            return write!(f, "no frame, for it has {} bytes", bytes.len());
        };
        let (mut fields, mut remarks) = (PrintedFields::default(), Vec::new());
        link(&frame, &mut fields);
        network(&frame, &mut fields, &mut remarks);
        write!(f, "{}", fields.alone())?;
        remarks.iter().try_for_each(|remark| write!(f, " {remark}"))
    })
}

fn link(frame: &Ethernet<'_>, fields: &mut PrintedFields) {
    const NAMES: [[&str; 3]; 2] =
        [["dl_vlan", "dl_vlan_pcp", "vlan_tci"], ["dl_vlan1", "dl_vlan_pcp1", "vlan_tci1"]];
    let mut tags = frame.tags();
    for [vid, priority, untagged] in NAMES {
        let Some(tag) = tags.next() else {
            fields.push(untagged, "0x0000");
            break;
        };
        fields.push(vid, tag.vid());
        fields.push(priority, tag.priority());
    }
    fields.push("dl_src", MacAddr(frame.source()));
    fields.push("dl_dst", MacAddr(frame.destination()));
    match frame.llc() {
        // What OpenFlow calls every frame that has a length in the place of an ethertype.
        Some(_) => fields.ethertype(0x05ff),
        None => fields.ethertype(frame.ethertype()),
    }
}

fn network(frame: &Ethernet<'_>, fields: &mut PrintedFields, remarks: &mut Vec<String>) {
    let payload = frame.payload();
    match frame.ethertype() {
        ethertype::ARP => arp(payload, fields),
        ethertype::IPV4 => ipv4(payload, fields, remarks),
        ethertype::IPV6 => ipv6(payload, fields, remarks),
        ethertype::LLDP => remarks.extend(Lldp::new(payload).map(|lldp| lldp_words(&lldp))),
        _ => {}
    }
}

fn arp(payload: &[u8], fields: &mut PrintedFields) {
    let Some(arp) = Arp::new(payload) else { return };
    fields.push("arp_spa", arp.sender_ip());
    fields.push("arp_tpa", arp.target_ip());
    fields.push("arp_op", arp.operation());
    fields.push("arp_sha", MacAddr(arp.sender_mac()));
    fields.push("arp_tha", MacAddr(arp.target_mac()));
}

fn ipv4(payload: &[u8], fields: &mut PrintedFields, remarks: &mut Vec<String>) {
    let Some(ip) = Ipv4::new(payload) else { return };
    fields.push("nw_src", ip.source());
    fields.push("nw_dst", ip.destination());
    fields.push("nw_tos", ip.dscp() << 2);
    fields.push("nw_ecn", ip.ecn());
    fields.push("nw_ttl", ip.ttl());
    fields.push("nw_frag", fragment(ip.is_fragment(), ip.fragment_offset() != 0));
    fields.protocol(ip.protocol());
    if let Some(bytes) = ip.transport() {
        transport(ip.protocol(), bytes, fields, remarks);
    }
}

fn ipv6(payload: &[u8], fields: &mut PrintedFields, remarks: &mut Vec<String>) {
    let Some(ip) = Ipv6::new(payload) else { return };
    fields.push("ipv6_src", ip.source());
    fields.push("ipv6_dst", ip.destination());
    fields.push("ipv6_label", format_args!("{:#07x}", ip.flow_label()));
    fields.push("nw_tos", ip.traffic_class() & 0xfc);
    fields.push("nw_ecn", ip.traffic_class() & 3);
    fields.push("nw_ttl", ip.hop_limit());
    let offset = ip.extensions().find_map(|header| header.fragment_offset());
    fields.push("nw_frag", fragment(offset.is_some(), offset.unwrap_or(0) != 0));
    if let Some((protocol, bytes)) = ip.transport() {
        fields.protocol(protocol);
        transport(protocol, bytes, fields, remarks);
    }
}

fn fragment(is_fragment: bool, later: bool) -> &'static str {
    match (is_fragment, later) {
        (false, _) => "no",
        (true, false) => "first",
        (true, true) => "later",
    }
}

fn transport(protocol: u8, bytes: &[u8], fields: &mut PrintedFields, remarks: &mut Vec<String>) {
    match protocol {
        protocol::TCP => tcp_fields(bytes, fields, remarks),
        protocol::UDP => udp_fields(bytes, fields, remarks),
        protocol::ICMP => {
            let Some(icmp) = Icmp::new(bytes) else { return };
            fields.push("icmp_type", icmp.kind());
            fields.push("icmp_code", icmp.code());
            remarks.push(format!("icmp_csum:{:x}", icmp.checksum()));
        }
        protocol::ICMPV6 => icmpv6_fields(bytes, fields, remarks),
        _ => {}
    }
}

fn tcp_fields(bytes: &[u8], fields: &mut PrintedFields, remarks: &mut Vec<String>) {
    const FLAGS: [(u16, &str); 9] = [
        (tcp::flag::FIN, "fin"),
        (tcp::flag::SYN, "syn"),
        (tcp::flag::RST, "rst"),
        (tcp::flag::PSH, "psh"),
        (tcp::flag::ACK, "ack"),
        (tcp::flag::URG, "urg"),
        (tcp::flag::ECE, "ece"),
        (tcp::flag::CWR, "cwr"),
        (tcp::flag::NS, "ns"),
    ];
    let Some(tcp) = Tcp::new(bytes) else { return };
    fields.push("tp_src", tcp.source_port());
    fields.push("tp_dst", tcp.destination_port());
    let set: Vec<&str> =
        FLAGS.iter().filter(|(bit, _)| tcp.flags() & bit != 0).map(|(_, name)| *name).collect();
    fields.push("tcp_flags", if set.is_empty() { "0".to_owned() } else { set.join("|") });
    remarks.push(format!("tcp_csum:{:x}", tcp.checksum()));
}

fn udp_fields(bytes: &[u8], fields: &mut PrintedFields, remarks: &mut Vec<String>) {
    let Some(udp) = Udp::new(bytes) else { return };
    fields.push("tp_src", udp.source_port());
    fields.push("tp_dst", udp.destination_port());
    remarks.push(format!("udp_csum:{:x}", udp.checksum()));
    let ports = [udp.source_port(), udp.destination_port()];
    if ports.iter().any(|port| [dhcp::SERVER_PORT, dhcp::CLIENT_PORT].contains(port)) {
        remarks.extend(Dhcp::new(udp.payload()).map(|dhcp| dhcp_words(&dhcp)));
    }
}

fn icmpv6_fields(bytes: &[u8], fields: &mut PrintedFields, remarks: &mut Vec<String>) {
    let Some(icmp) = Icmpv6::new(bytes) else { return };
    fields.push("icmp_type", icmp.kind());
    fields.push("icmp_code", icmp.code());
    if let Some(neighbour) = icmp.neighbour() {
        fields.push("nd_target", neighbour.target());
        let address = |mac: Option<[u8; 6]>| MacAddr(mac.unwrap_or_default());
        fields.push("nd_sll", address(neighbour.source_link_layer()));
        fields.push("nd_tll", address(neighbour.target_link_layer()));
    }
    remarks.push(format!("icmp6_csum:{:x}", icmp.checksum()));
}

fn dhcp_words(dhcp: &Dhcp<'_>) -> String {
    const NAMES: [&str; 8] =
        ["DISCOVER", "OFFER", "REQUEST", "DECLINE", "ACK", "NAK", "RELEASE", "INFORM"];
    let kind = dhcp.message_type().unwrap_or(0);
    let name = NAMES.get(usize::from(kind).wrapping_sub(1)).copied().unwrap_or("message");
    let client = dhcp.chaddr().map_or(String::new(), |mac| format!(" for {}", MacAddr(mac)));
    format!("DHCP {name}{client}")
}

fn lldp_words(lldp: &Lldp<'_>) -> String {
    let name = |id: aldis_packet::lldp::LldpId<'_>| match id.name {
        // Both tables of the standard have their addresses at 3 or 4; six bytes there are
        // Ethernet's.
        &[a, b, c, d, e, f] if matches!(id.subtype, 3 | 4) => {
            MacAddr([a, b, c, d, e, f]).to_string()
        }
        name => text(name).to_string(),
    };
    let (chassis, port) = (name(lldp.chassis_id()), name(lldp.port_id()));
    format!("LLDP from port {port} of {chassis}, good for {} s", lldp.ttl_s())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_packet::{arp, ethernet};

    #[test]
    fn an_arp_question() {
        let question = arp::ArpMessage::request(
            [2, 0, 0, 0, 0, 1],
            [10, 0, 0, 1].into(),
            [10, 0, 0, 2].into(),
        );
        let head = ethernet::header(ethernet::BROADCAST, question.sender_mac, ethertype::ARP);
        let words = frame(&[&head[..], &question.to_bytes()].concat()).to_string();
        assert_eq!(
            words,
            "arp,vlan_tci=0x0000,dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff,arp_spa=10.0.0.1,\
             arp_tpa=10.0.0.2,arp_op=1,arp_sha=02:00:00:00:00:01,arp_tha=00:00:00:00:00:00"
        );
    }

    #[test]
    fn lldp_says_who_speaks_and_cannot_write_to_a_terminal() {
        let head = ethernet::header([1; 6], [2; 6], ethertype::LLDP);
        let units = b"\x02\x07\x04\x02\x00\x00\x00\x00\x01\x04\x03\x07\x1b[\x06\x02\x00\x78";
        let words = frame(&[&head[..], units].concat()).to_string();
        assert!(
            words.ends_with(
                "dl_type=0x88cc LLDP from port \\u{1b}[ of 02:00:00:00:00:01, good for 120 s"
            ),
            "{words}"
        );
    }

    #[test]
    fn too_few_bytes_are_no_frame() {
        assert_eq!(frame(&[0; 13]).to_string(), "no frame, for it has 13 bytes");
    }
}
