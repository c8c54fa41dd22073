//! Random programs of 1.0.

use super::corpus_v10::flow;
use super::frames::mac;
use super::random::{frame, ipv4, mac_number, port_change, timeouts, tos, tp, vid, wait};
use super::step::CertifyStep;
use aldis_wire::v10::stats::{FlowStatsRequest, StatsRequest, StatsRequestBody};
use aldis_wire::v10::{
    Action, FlowMod, FlowModCommand, FlowModFlags, Match, Message, PacketOut, PortNo, VLAN_NONE,
};
use aldis_wire::{MacAddr, NO_BUFFER, Version};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

/// Flows, then frames, changes to the flows, frames, and what was counted. No two flows of one
/// priority overlap: which of them a frame meets is each switch's own affair.
pub(crate) fn program() -> impl Strategy<Value = Vec<CertifyStep>> {
    let frames = |most| {
        prop::collection::vec(
            prop_oneof![18 => frame(), 2 => packet_out(), 1 => wait(), 1 => port_change(Version::V10)],
            1..most,
        )
    };
    let adds = prop::collection::vec(change(true), 1..14);
    let changes = prop::collection::vec(change(false), 0..5);
    (adds, frames(16), changes, frames(8))
        .prop_map(|(adds, some, changes, more)| [adds, some, changes, more, statistics()].concat())
}

/// The counters, from which frames must have been told to the flows.
fn statistics() -> Vec<CertifyStep> {
    let request = FlowStatsRequest { match_: Match::ANY, table_id: 0xff, out_port: PortNo::NONE };
    let bodies = [StatsRequestBody::Flow(request), StatsRequestBody::Aggregate(request)];
    bodies
        .map(|body| CertifyStep::V10(Message::StatsRequest(StatsRequest { flags: 0, body })))
        .into()
}

fn mac_addr() -> impl Strategy<Value = MacAddr> {
    mac_number().prop_map(|number| MacAddr(mac(number)))
}

fn match_() -> impl Strategy<Value = Match> {
    let link = (
        of(1..5_u16),
        of(mac_addr()),
        of(mac_addr()),
        of(prop_oneof![vid(), Just(VLAN_NONE)]),
        of(0..3_u8),
        of(select(vec![0x0800_u16, 0x0800, 0x0806, 0x86dd, 0x88b5, 0x05ff])),
    );
    let prefix = || prop_oneof![2 => Just(0_u8), 1 => select(vec![8_u8, 24, 31, 32])];
    let network = (
        of(tos()),
        of(select(vec![1_u8, 2, 6, 17, 58])),
        (ipv4(), prefix()),
        (ipv4(), prefix()),
        of(tp()),
        of(tp()),
    );
    (link, network).prop_map(|(link, network)| {
        let (in_port, src, dst, vlan, pcp, kind) = link;
        let (tos, proto, nw_src, nw_dst, tp_src, tp_dst) = network;
        let some = |match_: Match, with: Option<Match>| with.unwrap_or(match_);
        let mut match_ = Match::ANY.with_nw_src(nw_src.0, nw_src.1).with_nw_dst(nw_dst.0, nw_dst.1);
        match_ = some(match_, in_port.map(|port| match_.with_in_port(PortNo(port))));
        match_ = some(match_, src.map(|mac| match_.with_dl_src(mac)));
        match_ = some(match_, dst.map(|mac| match_.with_dl_dst(mac)));
        match_ = some(match_, vlan.map(|vid| match_.with_dl_vlan(vid)));
        match_ = some(match_, pcp.map(|pcp| match_.with_dl_vlan_pcp(pcp)));
        match_ = some(match_, kind.map(|kind| match_.with_dl_type(kind)));
        match_ = some(match_, tos.map(|tos| match_.with_nw_tos(tos)));
        match_ = some(match_, proto.map(|proto| match_.with_nw_proto(proto)));
        match_ = some(match_, tp_src.map(|port| match_.with_tp_src(port)));
        some(match_, tp_dst.map(|port| match_.with_tp_dst(port)))
    })
}

/// Most flows look at little, so that most frames meet one. With each, whether fields may lack what
/// they need.
fn wide_match() -> impl Strategy<Value = (Match, bool)> {
    prop_oneof![
        11 => plain_match().prop_map(|match_| (match_, false)),
        6 => match_().prop_map(|match_| (match_, true)),
    ]
}

/// Matches whose fields have what they need.
fn plain_match() -> impl Strategy<Value = Match> {
    prop_oneof![
        1 => Just(Match::ANY),
        2 => (1..5_u16).prop_map(|port| Match::ANY.with_in_port(PortNo(port))),
        2 => mac_addr().prop_map(|mac| Match::ANY.with_dl_dst(mac)),
        2 => (ipv4(), select(vec![8_u8, 24, 32])).prop_map(|(address, prefix)| {
            Match::ANY.with_dl_type(0x0800).with_nw_dst(address, prefix)
        }),
        2 => (select(vec![6_u8, 17]), tp()).prop_map(|(proto, port)| {
            Match::ANY.with_dl_type(0x0800).with_nw_proto(proto).with_tp_dst(port)
        }),
        2 => prop_oneof![vid(), Just(VLAN_NONE)].prop_map(|vid| Match::ANY.with_dl_vlan(vid)),
    ]
}

fn output() -> impl Strategy<Value = Action> {
    let reserved = select(vec![PortNo::IN_PORT, PortNo::FLOOD, PortNo::ALL, PortNo::CONTROLLER]);
    let port = prop_oneof![4 => (1..6_u16).prop_map(PortNo), 1 => reserved];
    (port, select(vec![0xffff_u16, 0, 64]))
        .prop_map(|(port, max_len)| Action::Output { port, max_len })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => output(),
        1 => vid().prop_map(Action::SetVlanVid),
        1 => (0..8_u8).prop_map(Action::SetVlanPcp),
        1 => Just(Action::StripVlan),
        1 => mac_addr().prop_map(Action::SetDlSrc),
        1 => mac_addr().prop_map(Action::SetDlDst),
        1 => ipv4().prop_map(Action::SetNwSrc),
        1 => ipv4().prop_map(Action::SetNwDst),
        1 => tos().prop_map(|tos| Action::SetNwTos(tos & 0xfc)),
        1 => tp().prop_map(Action::SetTpSrc),
        1 => tp().prop_map(Action::SetTpDst),
    ]
}

fn change(only_add: bool) -> impl Strategy<Value = CertifyStep> {
    // A change that finds nothing adds, at a priority that no other flow has.
    let commands = if only_add { vec![(0, 0)] } else { vec![(0, 0), (1, 1000), (3, 0), (4, 0)] };
    let command = select(commands);
    let actions = prop::collection::vec(action(), 0..5);
    let head = (command, 1..13_u16, 0..3_u64, any::<u16>(), timeouts());
    let out_port = prop_oneof![3 => Just(PortNo::NONE), 1 => (1..5_u16).prop_map(PortNo)];
    // A field without what it needs is ignored in a flow, as 1.0.1 says; but Open vSwitch looks at
    // it when flows are changed, and when it looks for flows that overlap. So such a flow is alone
    // with its priority, and no other change names it.
    let match_ = match only_add {
        true => wide_match().boxed(),
        false => plain_match().prop_map(|match_| (match_, false)).boxed(),
    };
    (head, match_, actions, out_port).prop_map(|(head, (match_, odd), actions, out_port)| {
        let ((command, above), priority, cookie, bits, (idle_timeout, hard_timeout)) = head;
        let above = if odd { 20 } else { above };
        let priority = priority + if above > 0 { above + bits % 60_000 } else { 0 };
        let check = if command == 0 { FlowModFlags::CHECK_OVERLAP } else { FlowModFlags::EMPTY };
        CertifyStep::V10(Message::FlowMod(FlowMod {
            command: FlowModCommand(command),
            cookie,
            idle_timeout,
            hard_timeout,
            flags: FlowModFlags(bits & 1) | check,
            out_port,
            ..flow(match_, priority, actions)
        }))
    })
}

fn packet_out() -> impl Strategy<Value = CertifyStep> {
    let table = Just(Action::output(PortNo::TABLE));
    let action = prop_oneof![3 => action(), 1 => table];
    let in_port = prop_oneof![3 => (1..5_u16).prop_map(PortNo), 1 => Just(PortNo::NONE)];
    let actions = prop::collection::vec(action, 0..4);
    (frame(), in_port, actions).prop_map(|(step, in_port, actions)| {
        let CertifyStep::Frame(_, frame) = step else { return step };
        let data = frame.to_bytes();
        CertifyStep::V10(Message::PacketOut(PacketOut {
            buffer_id: NO_BUFFER,
            in_port,
            actions,
            data,
        }))
    })
}
