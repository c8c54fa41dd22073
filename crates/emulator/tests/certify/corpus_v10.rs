//! Named cases of 1.0: every field of a match, every action, every command, and what is refused.

use super::both::Case;
use super::frames::{Above, FrameBody, FramePart, TestFrame, mac};
use super::step::CertifyStep;
use aldis_wire::v10::stats::{FlowStatsRequest, StatsRequest, StatsRequestBody};
use aldis_wire::v10::{
    Action, ConfigFlags, FlowMod, FlowModCommand, FlowModFlags, Match, Message, PacketOut, PortNo,
    SwitchConfig, VLAN_NONE, Wildcards,
};
use aldis_wire::{MacAddr, NO_BUFFER};
use std::net::Ipv4Addr;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);

/// A flow to be added.
pub(crate) fn flow(match_: Match, priority: u16, actions: Vec<Action>) -> FlowMod {
    FlowMod {
        match_,
        cookie: 0,
        command: FlowModCommand::ADD,
        idle_timeout: 0,
        hard_timeout: 0,
        priority,
        buffer_id: NO_BUFFER,
        out_port: PortNo::NONE,
        flags: FlowModFlags::EMPTY,
        actions,
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = forwarding();
    cases.extend(matches());
    cases.extend(actions());
    cases.extend(commands());
    cases.extend(refusals());
    cases
}

fn add(match_: Match, priority: u16, actions: Vec<Action>) -> CertifyStep {
    CertifyStep::V10(Message::FlowMod(flow(match_, priority, actions)))
}

fn change(command: FlowModCommand, match_: Match, priority: u16, to: u16) -> CertifyStep {
    let flow_mod = FlowMod { command, cookie: 9, ..flow(match_, priority, vec![out(to)]) };
    CertifyStep::V10(Message::FlowMod(flow_mod))
}

fn out(port: u16) -> Action {
    Action::output(PortNo(port))
}

fn statistics() -> CertifyStep {
    let request = FlowStatsRequest { match_: Match::ANY, table_id: 0xff, out_port: PortNo::NONE };
    CertifyStep::V10(Message::StatsRequest(StatsRequest {
        flags: 0,
        body: StatsRequestBody::Flow(request),
    }))
}

fn tcp() -> TestFrame {
    TestFrame::new(ipv4(Above::Tcp(80, 443)))
}

fn ipv4(above: Above) -> FrameBody {
    let (tos, ttl, options, fragment) = (0xb9, 64, false, FramePart::Whole);
    FrameBody::Ipv4 { src: A, dst: B, tos, ttl, options, fragment, above }
}

fn arp() -> TestFrame {
    TestFrame::new(FrameBody::Arp { op: 1, spa: A, tpa: B })
}

/// Frames of every kind, each of which a field may tell from the others.
fn frames() -> Vec<CertifyStep> {
    let ipv6 = FrameBody::Ipv6 {
        src: A.to_ipv6_mapped(),
        dst: B.to_ipv6_mapped(),
        class: 0xb8,
        label: 1,
        hops: 64,
        hop_by_hop: false,
        above: Above::Tcp(80, 443),
    };
    let mut other = tcp();
    (other.dst, other.src) = (0xff, 3);
    let frames = [
        tcp(),
        tcp().tagged(5),
        tcp().tagged(0),
        tcp().tagged(5).tagged(6),
        other,
        TestFrame::new(ipv4(Above::Udp(80, 443, true))),
        TestFrame::new(ipv4(Above::Udp(80, 443, false))),
        TestFrame::new(ipv4(Above::Icmp(8, 0))),
        TestFrame::new(ipv4(Above::Other(47))),
        TestFrame::new(ipv4(Above::CutTcp)),
        arp(),
        TestFrame::new(ipv6),
        TestFrame::new(FrameBody::Other(0x88b5)),
        TestFrame::new(FrameBody::Llc),
        TestFrame::new(FrameBody::Snap(0x88b5)),
    ];
    frames.into_iter().map(|frame| CertifyStep::Frame(1, frame)).collect()
}

fn case(name: &'static str, before: Vec<CertifyStep>) -> Case {
    (name, [before, frames(), vec![statistics()]].concat())
}

fn forwarding() -> Vec<Case> {
    let config = |miss_send_len| {
        let flags = ConfigFlags::FRAG_NORMAL;
        CertifyStep::V10(Message::SetConfig(SwitchConfig { flags, miss_send_len }))
    };
    vec![
        case("without flows the controller is asked", vec![]),
        case("the controller is sent what it asked for", vec![config(20)]),
        case("the controller is sent whole frames", vec![config(0xffff)]),
        case("a flow without actions drops", vec![add(Match::ANY, 1, vec![])]),
        case("a flow floods", vec![add(Match::ANY, 1, vec![Action::output(PortNo::FLOOD)])]),
        case(
            "back where it came from",
            vec![add(Match::ANY, 1, vec![Action::output(PortNo::IN_PORT)])],
        ),
        case("never back by its number", vec![add(Match::ANY, 1, vec![out(1), out(2)])]),
        case("a port that there is not", vec![add(Match::ANY, 1, vec![out(9), out(3)])]),
        case(
            "to the controller and on",
            vec![add(
                Match::ANY,
                1,
                vec![
                    Action::Output { port: PortNo::CONTROLLER, max_len: 30 },
                    Action::StripVlan,
                    out(2),
                ],
            )],
        ),
        case(
            "the higher priority wins",
            vec![
                add(Match::ANY, 2, vec![out(2)]),
                add(Match::ANY.with_dl_type(0x0800), 3, vec![out(3)]),
                add(Match::ANY.with_dl_type(0x0806), 1, vec![out(4)]),
            ],
        ),
        case(
            "without wildcards it wins over all",
            vec![add(exact(), 0, vec![out(3)]), add(Match::ANY, 0xffff, vec![out(2)])],
        ),
    ]
}

/// The match without wildcards that the first frame meets.
fn exact() -> Match {
    Match {
        wildcards: Wildcards::NONE,
        in_port: PortNo(1),
        dl_src: MacAddr(mac(1)),
        dl_dst: MacAddr(mac(2)),
        dl_vlan: VLAN_NONE,
        dl_vlan_pcp: 0,
        dl_type: 0x0800,
        nw_tos: 0xb8,
        nw_proto: 6,
        nw_src: A,
        nw_dst: B,
        tp_src: 80,
        tp_dst: 443,
        pad: [0; 3],
    }
}

fn matches() -> Vec<Case> {
    let any = Match::ANY;
    let ip = any.with_dl_type(0x0800);
    let tcp = ip.with_nw_proto(6);
    let fields = [
        ("in_port", any.with_in_port(PortNo(1))),
        ("another in_port", any.with_in_port(PortNo(2))),
        ("dl_src", any.with_dl_src(MacAddr(mac(1)))),
        ("dl_dst", any.with_dl_dst(MacAddr([0xff; 6]))),
        ("dl_vlan", any.with_dl_vlan(5)),
        ("dl_vlan 0", any.with_dl_vlan(0)),
        ("no tag", any.with_dl_vlan(VLAN_NONE)),
        ("no tag and a priority", any.with_dl_vlan(VLAN_NONE).with_dl_vlan_pcp(3)),
        ("dl_vlan_pcp", any.with_dl_vlan_pcp(0)),
        ("dl_type IPv4", ip),
        ("dl_type ARP", any.with_dl_type(0x0806)),
        ("dl_type of 802.3", any.with_dl_type(0x05ff)),
        ("dl_type in SNAP", any.with_dl_type(0x88b5)),
        ("dl_type of a second tag", any.with_dl_type(0x8100)),
        ("nw_tos", ip.with_nw_tos(0xb8)),
        ("nw_tos with bits below", ip.with_nw_tos(0xbb)),
        ("nw_proto", ip.with_nw_proto(17)),
        ("nw_proto of ARP", any.with_dl_type(0x0806).with_nw_proto(1)),
        ("nw_src", ip.with_nw_src(A, 24)),
        ("nw_dst", ip.with_nw_dst(B, 31)),
        ("nw_src of ARP", any.with_dl_type(0x0806).with_nw_src(A, 32)),
        ("nw_dst of ARP", any.with_dl_type(0x0806).with_nw_dst(B, 32)),
        ("tp_src", tcp.with_tp_src(80)),
        ("tp_dst", tcp.with_tp_dst(443)),
        ("tp_dst of UDP", ip.with_nw_proto(17).with_tp_dst(443)),
        ("the type of ICMP", ip.with_nw_proto(1).with_tp_src(8)),
        ("the code of ICMP", ip.with_nw_proto(1).with_tp_dst(0)),
        ("nw_src without a dl_type is ignored", any.with_nw_src(B, 32)),
        ("tp_src without a protocol is ignored", ip.with_tp_src(1)),
        ("nw_proto of what is no IP is ignored", any.with_dl_type(0x88b5).with_nw_proto(9)),
        ("the ports of GRE are ignored", ip.with_nw_proto(47).with_tp_src(9)),
        ("nw_tos of ARP is ignored", any.with_dl_type(0x0806).with_nw_tos(0xb8)),
        ("everything", exact()),
    ];
    fields
        .into_iter()
        .map(|(name, match_)| case(name, vec![add(match_, 7, vec![out(2)])]))
        .collect()
}

fn actions() -> Vec<Case> {
    let lists = [
        ("a VLAN id", vec![Action::SetVlanVid(7)]),
        ("a VLAN priority", vec![Action::SetVlanPcp(3)]),
        ("no tag", vec![Action::StripVlan]),
        ("no tag, then one", vec![Action::StripVlan, Action::SetVlanVid(9)]),
        ("a tag, then none", vec![Action::SetVlanVid(9), Action::StripVlan]),
        ("addresses", vec![Action::SetDlSrc(MacAddr(mac(7))), Action::SetDlDst(MacAddr(mac(8)))]),
        ("nw_src", vec![Action::SetNwSrc(Ipv4Addr::new(1, 2, 3, 4))]),
        ("nw_dst", vec![Action::SetNwDst(Ipv4Addr::new(255, 254, 253, 252))]),
        ("nw_tos", vec![Action::SetNwTos(0x14)]),
        ("tp_src", vec![Action::SetTpSrc(9)]),
        ("tp_dst", vec![Action::SetTpDst(0xfffe)]),
        ("a queue", vec![Action::Enqueue { port: PortNo(3), queue_id: 0 }]),
        (
            "outputs between changes",
            vec![out(3), Action::SetVlanVid(2), out(4), Action::SetVlanVid(3)],
        ),
    ];
    let with_output = |mut actions: Vec<Action>| {
        actions.push(out(2));
        actions
    };
    let one = lists.map(|(name, list)| case(name, vec![add(Match::ANY, 1, with_output(list))]));
    let mut cases: Vec<Case> = one.into();
    cases.push(case("packets of the controller's", packet_outs()));
    cases
}

fn packet_outs() -> Vec<CertifyStep> {
    let send = |in_port, actions| {
        let data = tcp().tagged(5).to_bytes();
        CertifyStep::V10(Message::PacketOut(PacketOut {
            buffer_id: NO_BUFFER,
            in_port,
            actions,
            data,
        }))
    };
    vec![
        add(Match::ANY.with_in_port(PortNo(3)), 1, vec![out(4)]),
        send(PortNo::NONE, vec![out(2)]),
        send(PortNo::NONE, vec![Action::output(PortNo::FLOOD)]),
        send(PortNo(2), vec![Action::output(PortNo::ALL)]),
        send(PortNo(2), vec![Action::output(PortNo::IN_PORT)]),
        send(PortNo(3), vec![Action::output(PortNo::TABLE)]),
        send(PortNo(1), vec![Action::output(PortNo::TABLE)]),
        send(PortNo(1), vec![Action::StripVlan, out(2), Action::SetVlanVid(3), out(3)]),
        send(PortNo(1), vec![]),
    ]
}

fn commands() -> Vec<Case> {
    use FlowModCommand as Do;
    let ip = Match::ANY.with_dl_type(0x0800);
    let arp = Match::ANY.with_dl_type(0x0806);
    let both = || vec![add(ip, 5, vec![out(2)]), add(arp, 5, vec![out(3)])];
    let then = |step: CertifyStep| [both(), vec![step]].concat();
    let told = |match_, priority| {
        let flow_mod = flow(match_, priority, vec![out(2)]);
        CertifyStep::V10(Message::FlowMod(FlowMod {
            flags: FlowModFlags::SEND_FLOW_REM,
            ..flow_mod
        }))
    };
    let careful = |match_, priority| {
        let flow_mod = flow(match_, priority, vec![out(4)]);
        CertifyStep::V10(Message::FlowMod(FlowMod {
            flags: FlowModFlags::CHECK_OVERLAP,
            ..flow_mod
        }))
    };
    let only = |match_, port| {
        let flow_mod = flow(match_, 0, vec![]);
        let (command, out_port) = (Do::DELETE, PortNo(port));
        CertifyStep::V10(Message::FlowMod(FlowMod { command, out_port, ..flow_mod }))
    };
    vec![
        case("an addition replaces", then(add(ip, 5, vec![out(4)]))),
        case("an addition of another priority does not", then(add(ip, 4, vec![out(4)]))),
        case("a change of all", then(change(Do::MODIFY, Match::ANY, 0, 4))),
        case("a change of one", then(change(Do::MODIFY_STRICT, ip, 5, 4))),
        case("a change of none adds", then(change(Do::MODIFY, Match::ANY.with_dl_vlan(5), 9, 4))),
        case("a strict change of none adds", then(change(Do::MODIFY_STRICT, ip, 9, 4))),
        case("a removal of all", then(change(Do::DELETE, Match::ANY, 0, 0xffff))),
        case("a removal of some", then(change(Do::DELETE, ip, 0, 0xffff))),
        case("a removal of one", then(change(Do::DELETE_STRICT, ip, 5, 0xffff))),
        case(
            "a strict removal of another priority",
            then(change(Do::DELETE_STRICT, ip, 6, 0xffff)),
        ),
        case("a removal by output", then(only(Match::ANY, 3))),
        case("an overlap is refused", then(careful(Match::ANY, 5))),
        case("an overlap of another priority is none", then(careful(Match::ANY, 6))),
        case("the same is no overlap", then(careful(ip, 5))),
        (
            "what is removed is told with its counters",
            [vec![told(Match::ANY, 3)], frames(), vec![only(Match::ANY, 2)]].concat(),
        ),
        (
            "counters begin again with an addition",
            [both(), frames(), both(), frames(), vec![statistics()]].concat(),
        ),
        (
            "counters go on through a change",
            [both(), frames(), vec![change(Do::MODIFY, ip, 5, 4)], frames(), vec![statistics()]]
                .concat(),
        ),
    ]
}

fn refusals() -> Vec<Case> {
    let bad = |actions| vec![add(Match::ANY, 1, actions)];
    let flow_mod = |change: fn(FlowMod) -> FlowMod| {
        vec![CertifyStep::V10(Message::FlowMod(change(flow(Match::ANY, 1, vec![out(2)]))))]
    };
    let packet_out =
        PacketOut { buffer_id: 77, in_port: PortNo::NONE, actions: vec![out(2)], data: vec![] };
    vec![
        case("an output to nothing", bad(vec![Action::output(PortNo::NONE)])),
        case("an output to a reserved number", bad(vec![out(0xff01)])),
        case("an output to port 0xff00", bad(vec![out(0xff00)])),
        case("a VLAN id above 4095", bad(vec![Action::SetVlanVid(4096)])),
        case("a VLAN priority above 7", bad(vec![Action::SetVlanPcp(8)])),
        case("a type of service with the low bits", bad(vec![Action::SetNwTos(1)])),
        case(
            "a command that there is not",
            flow_mod(|it| FlowMod { command: FlowModCommand(9), ..it }),
        ),
        case("a buffer that there is not", flow_mod(|it| FlowMod { buffer_id: 77, ..it })),
        case("a packet from such a buffer", vec![CertifyStep::V10(Message::PacketOut(packet_out))]),
        case("an emergency flow", flow_mod(|it| FlowMod { flags: FlowModFlags::EMERG, ..it })),
    ]
}
