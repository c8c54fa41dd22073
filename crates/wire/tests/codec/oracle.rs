//! What a flow does to a packet, read from the exact types of either version: two small
//! interpreters to compare.
//!
//! They know nothing of the neutral vocabulary, and follow what each specification says of matching
//! (1.0 §3.4, 1.3.5 §7.2.2) and of actions (1.0 §3.3, 1.3.5 §5.12).

use aldis_wire::v13::oxm::VID_PRESENT;
use aldis_wire::v13::{Action, Instruction, Masked, Oxm};
use aldis_wire::{MacAddr, v10, v13};
use std::net::Ipv4Addr;

/// A packet, with as much in it as 1.0 can match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OraclePacket {
    pub(crate) in_port: u32,
    pub(crate) src: MacAddr,
    pub(crate) dst: MacAddr,
    /// VLAN ids and priorities, the outermost tag last.
    pub(crate) tags: Vec<(u16, u8)>,
    pub(crate) eth_type: u16,
    pub(crate) dscp: u8,
    /// The IP protocol, or the ARP operation.
    pub(crate) proto: u8,
    pub(crate) nw_src: Ipv4Addr,
    pub(crate) nw_dst: Ipv4Addr,
    /// Ports, or the type and code of ICMP.
    pub(crate) tp: [u16; 2],
}

/// A packet that left, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OracleOutput {
    port: u32,
    queue: Option<u32>,
    packet: OraclePacket,
}

const IPV4: u16 = 0x800;
const ARP: u16 = 0x806;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

impl OraclePacket {
    fn is_ipv4(&self, proto: u8) -> bool {
        self.eth_type == IPV4 && self.proto == proto
    }
}

/// What a flow of 1.0 does with the packet; `None` where it does not match.
pub(crate) fn run_v10(flow: &v10::FlowMod, packet: &OraclePacket) -> Option<Vec<OracleOutput>> {
    matches_v10(&flow.match_, packet).then(|| {
        let mut packet = packet.clone();
        flow.actions.iter().filter_map(|action| act_v10(action, &mut packet)).collect()
    })
}

fn matches_v10(flow: &v10::Match, packet: &OraclePacket) -> bool {
    let counts = |field| !flow.wildcards.contains(field);
    let is = |field, same: bool| !counts(field) || same;
    let tag = packet.tags.last();
    let vid = tag.map_or(v10::VLAN_NONE, |tag| tag.0);
    let untagged = counts(v10::Wildcards::DL_VLAN) && flow.dl_vlan == v10::VLAN_NONE;
    let l2 = is(v10::Wildcards::IN_PORT, flow.in_port.widen() == packet.in_port)
        && is(v10::Wildcards::DL_SRC, flow.dl_src == packet.src)
        && is(v10::Wildcards::DL_DST, flow.dl_dst == packet.dst)
        && is(v10::Wildcards::DL_VLAN, flow.dl_vlan == vid)
        && (untagged
            || is(v10::Wildcards::DL_VLAN_PCP, tag.is_some_and(|tag| tag.1 == flow.dl_vlan_pcp)))
        && is(v10::Wildcards::DL_TYPE, flow.dl_type == packet.eth_type);
    l2 && match flow.dl_type {
        _ if !counts(v10::Wildcards::DL_TYPE) => true,
        IPV4 => {
            let ports =
                counts(v10::Wildcards::NW_PROTO) && [ICMP, TCP, UDP].contains(&flow.nw_proto);
            network_v10(flow, packet)
                && is(v10::Wildcards::NW_TOS, flow.nw_tos >> 2 == packet.dscp)
                && (!ports || is(v10::Wildcards::TP_SRC, flow.tp_src == packet.tp[0]))
                && (!ports || is(v10::Wildcards::TP_DST, flow.tp_dst == packet.tp[1]))
        }
        ARP => network_v10(flow, packet),
        _ => true,
    }
}

fn network_v10(flow: &v10::Match, packet: &OraclePacket) -> bool {
    let within = |a: Ipv4Addr, b: Ipv4Addr, prefix: u8| {
        prefix == 0 || (a.to_bits() ^ b.to_bits()) >> (32 - prefix) == 0
    };
    within(flow.nw_src, packet.nw_src, flow.wildcards.nw_src_prefix())
        && within(flow.nw_dst, packet.nw_dst, flow.wildcards.nw_dst_prefix())
        && (flow.wildcards.contains(v10::Wildcards::NW_PROTO) || flow.nw_proto == packet.proto)
}

fn act_v10(action: &v10::Action, packet: &mut OraclePacket) -> Option<OracleOutput> {
    use v10::Action::*;
    let ipv4 = packet.eth_type == IPV4;
    let ports = packet.is_ipv4(TCP) || packet.is_ipv4(UDP);
    let tag = |packet: &mut OraclePacket| {
        if packet.tags.is_empty() {
            packet.tags.push((0, 0));
        }
        packet.tags.len() - 1
    };
    match *action {
        Output { port, .. } => {
            return Some(OracleOutput { port: port.widen(), queue: None, packet: packet.clone() });
        }
        Enqueue { port, queue_id } => {
            let queue = Some(queue_id);
            return Some(OracleOutput { port: port.widen(), queue, packet: packet.clone() });
        }
        SetVlanVid(vid) => {
            let at = tag(packet);
            packet.tags[at].0 = vid;
        }
        SetVlanPcp(pcp) => {
            let at = tag(packet);
            packet.tags[at].1 = pcp;
        }
        StripVlan => drop(packet.tags.pop()),
        SetDlSrc(mac) => packet.src = mac,
        SetDlDst(mac) => packet.dst = mac,
        SetNwSrc(ip) if ipv4 => packet.nw_src = ip,
        SetNwDst(ip) if ipv4 => packet.nw_dst = ip,
        SetNwTos(tos) if ipv4 => packet.dscp = tos >> 2,
        SetTpSrc(port) if ports => packet.tp[0] = port,
        SetTpDst(port) if ports => packet.tp[1] = port,
        _ => {}
    }
    None
}

/// What a flow of 1.3 does with the packet; `None` where it does not match.
///
/// # Panics
/// On what a switch would refuse: a field that the match does not say is there.
pub(crate) fn run_v13(flow: &v13::FlowMod, packet: &OraclePacket) -> Option<Vec<OracleOutput>> {
    let fields = &flow.match_.fields;
    fields.iter().all(|field| matches_v13(field, packet)).then(|| {
        let actions = match &flow.instructions[..] {
            [] => &[][..],
            [Instruction::ApplyActions(actions)] => actions,
            other => panic!("{other:?}"),
        };
        let (mut packet, mut queue) = (packet.clone(), None);
        actions.iter().filter_map(|action| act_v13(action, &mut packet, &mut queue)).collect()
    })
}

fn matches_v13(field: &Oxm, packet: &OraclePacket) -> bool {
    let mac = |masked: &Masked<MacAddr>, mac: MacAddr| {
        let mask = masked.mask.map_or(u64::MAX, MacAddr::to_u64);
        (masked.value.to_u64() ^ mac.to_u64()) & mask == 0
    };
    let ip = |masked: &Masked<Ipv4Addr>, ip: Ipv4Addr| {
        let mask = masked.mask.map_or(u32::MAX, Ipv4Addr::to_bits);
        (masked.value.to_bits() ^ ip.to_bits()) & mask == 0
    };
    let ipv4 = packet.eth_type == IPV4;
    let arp = packet.eth_type == ARP;
    let tag = packet.tags.last();
    match field {
        Oxm::InPort(port) => port.0 == packet.in_port,
        Oxm::EthSrc(masked) => mac(masked, packet.src),
        Oxm::EthDst(masked) => mac(masked, packet.dst),
        Oxm::VlanVid(masked) => {
            let vid = tag.map_or(0, |tag| VID_PRESENT | tag.0);
            (masked.value ^ vid) & masked.mask.unwrap_or(u16::MAX) == 0
        }
        Oxm::VlanPcp(pcp) => tag.is_some_and(|tag| tag.1 == *pcp),
        Oxm::EthType(eth_type) => *eth_type == packet.eth_type,
        Oxm::IpDscp(dscp) => ipv4 && *dscp == packet.dscp,
        Oxm::IpProto(proto) => ipv4 && *proto == packet.proto,
        Oxm::ArpOp(op) => arp && *op == u16::from(packet.proto),
        Oxm::Ipv4Src(masked) => ipv4 && ip(masked, packet.nw_src),
        Oxm::Ipv4Dst(masked) => ipv4 && ip(masked, packet.nw_dst),
        Oxm::ArpSpa(masked) => arp && ip(masked, packet.nw_src),
        Oxm::ArpTpa(masked) => arp && ip(masked, packet.nw_dst),
        Oxm::TcpSrc(port) => packet.is_ipv4(TCP) && *port == packet.tp[0],
        Oxm::TcpDst(port) => packet.is_ipv4(TCP) && *port == packet.tp[1],
        Oxm::UdpSrc(port) => packet.is_ipv4(UDP) && *port == packet.tp[0],
        Oxm::UdpDst(port) => packet.is_ipv4(UDP) && *port == packet.tp[1],
        Oxm::Icmpv4Type(kind) => packet.is_ipv4(ICMP) && packet.tp[0] == u16::from(*kind),
        Oxm::Icmpv4Code(code) => packet.is_ipv4(ICMP) && packet.tp[1] == u16::from(*code),
        other => panic!("{other:?}"),
    }
}

fn act_v13(
    action: &Action,
    packet: &mut OraclePacket,
    queue: &mut Option<u32>,
) -> Option<OracleOutput> {
    match action {
        Action::Output { port, .. } => {
            // Queues are those of ports; what goes to the controller goes without.
            let queue = queue.filter(|_| *port != v13::PortNo::CONTROLLER);
            return Some(OracleOutput { port: port.0, queue, packet: packet.clone() });
        }
        Action::SetQueue(number) => *queue = Some(number.0),
        Action::PushVlan(0x8100) => {
            let tag = packet.tags.last().copied().unwrap_or_default();
            packet.tags.push(tag);
        }
        Action::PopVlan => drop(packet.tags.pop().expect("a tag to pop")),
        Action::SetField(field) => set(field, packet),
        other => panic!("{other:?}"),
    }
    None
}

fn set(field: &Oxm, packet: &mut OraclePacket) {
    let ipv4 = packet.eth_type == IPV4;
    match *field {
        Oxm::EthSrc(Masked { value, mask: None }) => packet.src = value,
        Oxm::EthDst(Masked { value, mask: None }) => packet.dst = value,
        Oxm::VlanVid(Masked { value, mask: None }) => {
            packet.tags.last_mut().expect("a tag").0 = value & 0xfff;
        }
        Oxm::VlanPcp(pcp) => packet.tags.last_mut().expect("a tag").1 = pcp,
        Oxm::Ipv4Src(Masked { value, mask: None }) if ipv4 => packet.nw_src = value,
        Oxm::Ipv4Dst(Masked { value, mask: None }) if ipv4 => packet.nw_dst = value,
        Oxm::IpDscp(dscp) if ipv4 => packet.dscp = dscp,
        Oxm::TcpSrc(port) if packet.is_ipv4(TCP) => packet.tp[0] = port,
        Oxm::TcpDst(port) if packet.is_ipv4(TCP) => packet.tp[1] = port,
        Oxm::UdpSrc(port) if packet.is_ipv4(UDP) => packet.tp[0] = port,
        Oxm::UdpDst(port) if packet.is_ipv4(UDP) => packet.tp[1] = port,
        ref other => panic!("{other:?}"),
    }
}
