//! A flow that both versions can say does the same in both: each is interpreted from its exact
//! form, on packets drawn from a world small enough for flows and packets to meet.

use crate::oracle::{OraclePacket, run_v10, run_v13};
use aldis_wire::msg::{
    Action, Exact, Field, FlowMod, FlowModFlags, Masked, Match, Message, PortNo, QueueNo,
};
use aldis_wire::{MacAddr, v10, v13};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::net::Ipv4Addr;

const FLOWS: usize = 20_000;
const PACKETS_EACH: usize = 20;

fn mac() -> impl Strategy<Value = MacAddr> {
    select(vec![MacAddr([2; 6]), MacAddr([4; 6])])
}

fn ip() -> impl Strategy<Value = Ipv4Addr> {
    select(vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 9, 0, 1)])
}

fn packet() -> impl Strategy<Value = OraclePacket> {
    let l2 =
        (1..3u32, mac(), mac(), vec((1..3u16, 0..2u8), 0..3), select(vec![0x800, 0x806, 0x86dd]));
    let l3 = (0..2u8, select(vec![1, 6, 17, 47]), ip(), ip(), [1..3u16, 1..3u16]);
    (l2, l3).prop_map(|((in_port, src, dst, tags, eth_type), (dscp, proto, nw_src, nw_dst, tp))| {
        OraclePacket { in_port, src, dst, tags, eth_type, dscp, proto, nw_src, nw_dst, tp }
    })
}

/// A match of 1.0 with some wildcards, in which what is ignored may hold anything.
fn match_v10() -> impl Strategy<Value = v10::Match> {
    let prefix = || select(vec![0u32, 8, 24, 31, 32, 63]);
    let wildcards = (any::<u32>(), any::<u32>(), prefix(), prefix())
        .prop_map(|(a, b, src, dst)| (a | b) & 0x3000ff | src << 8 | dst << 14);
    let l2 =
        (1..3u16, mac(), mac(), select(vec![1, 2, 0xffff]), 0..2u8, select(vec![0x800, 0x806]));
    let l3 = (0..8u8, select(vec![1, 6, 17, 47]), ip(), ip(), [1..3u16, 1..3u16]);
    (wildcards, l2, l3).prop_map(|(wildcards, l2, (nw_tos, nw_proto, nw_src, nw_dst, tp))| {
        let (in_port, dl_src, dl_dst, dl_vlan, dl_vlan_pcp, dl_type) = l2;
        v10::Match {
            wildcards: v10::Wildcards(wildcards),
            in_port: v10::PortNo(in_port),
            dl_src,
            dl_dst,
            dl_vlan,
            dl_vlan_pcp,
            dl_type,
            nw_tos,
            nw_proto,
            nw_src,
            nw_dst,
            tp_src: tp[0],
            tp_dst: tp[1],
            pad: [0; 3],
        }
    })
}

fn action_v10() -> impl Strategy<Value = v10::Action> {
    use v10::Action::*;
    let port = || select(vec![1, 2, 0xfffb, 0xfffd]).prop_map(v10::PortNo);
    prop_oneof![
        3 => (port(), any::<u16>()).prop_map(|(port, max_len)| Output { port, max_len }),
        1 => (1..3u16, 1..3u32)
            .prop_map(|(port, queue_id)| Enqueue { port: v10::PortNo(port), queue_id }),
        1 => (0..3u16).prop_map(SetVlanVid),
        1 => (0..3u8).prop_map(SetVlanPcp),
        1 => Just(StripVlan),
        1 => mac().prop_map(SetDlSrc),
        1 => mac().prop_map(SetDlDst),
        1 => ip().prop_map(SetNwSrc),
        1 => ip().prop_map(SetNwDst),
        1 => (0..3u8).prop_map(|dscp| SetNwTos(dscp << 2)),
        1 => (5..7u16).prop_map(SetTpSrc),
        1 => (5..7u16).prop_map(SetTpDst),
    ]
}

fn flow_v10() -> impl Strategy<Value = v10::FlowMod> {
    (match_v10(), vec(action_v10(), 0..5)).prop_map(|(match_, actions)| v10::FlowMod {
        match_,
        cookie: 1,
        command: v10::FlowModCommand::ADD,
        idle_timeout: 2,
        hard_timeout: 3,
        priority: 4,
        buffer_id: u32::MAX,
        out_port: v10::PortNo::NONE,
        flags: v10::FlowModFlags(0),
        actions,
    })
}

/// A flow in neutral words. Its match is one that 1.0 could say; its actions need not be.
fn flow_neutral() -> impl Strategy<Value = FlowMod> {
    let set = |field| Action::SetField(field);
    let action = prop_oneof![
        3 => select(vec![1, 2, 0xffff_fffb, 0xffff_fffd])
            .prop_map(|port| Action::output(PortNo(port))),
        1 => (1..3u32).prop_map(|queue| Action::SetQueue(QueueNo(queue))),
        1 => Just(Action::PushVlan(0x8100)),
        1 => Just(Action::PopVlan),
        1 => (0..3u16).prop_map(move |vid| set(Field::VlanVid(Masked::exact(0x1000 | vid)))),
        1 => (0..3u8).prop_map(move |pcp| set(Field::VlanPcp(pcp))),
        1 => mac().prop_map(move |mac| set(Field::EthDst(Masked::exact(mac)))),
        1 => (5..7u16).prop_map(move |port| set(Field::TcpSrc(port))),
        1 => (5..7u16).prop_map(move |port| set(Field::UdpDst(port))),
    ];
    (match_v10(), vec(action, 0..5)).prop_map(|(match_, actions)| {
        let match_ = v10::convert::match_to_neutral(&match_).unwrap_or_default();
        FlowMod::add(match_).flags(FlowModFlags::RESET_COUNTS).actions(actions)
    })
}

/// How many flows both versions said, and how many packets they met.
#[derive(Default)]
struct Met {
    flows: usize,
    packets: usize,
}

impl Met {
    fn meet(&mut self, runner: &mut TestRunner, of_v10: &v10::FlowMod, of_v13: &v13::FlowMod) {
        self.flows += 1;
        for _ in 0..PACKETS_EACH {
            let packet = draw(runner, &packet());
            let left = run_v10(of_v10, &packet);
            self.packets += usize::from(left.is_some());
            let other = run_v13(of_v13, &packet);
            assert_eq!(left, other, "{packet:?}\n{of_v10:?}\n{of_v13:?}");
        }
    }
}

fn draw<S: Strategy>(runner: &mut TestRunner, strategy: &S) -> S::Value {
    strategy.new_tree(runner).expect("nothing is filtered").current()
}

#[test]
fn a_flow_of_1_0_does_the_same_when_1_3_says_it() {
    let mut runner = TestRunner::deterministic();
    let mut met = Met::default();
    for _ in 0..FLOWS {
        let of_v10 = draw(&mut runner, &flow_v10());
        let exact = Message::Other(Exact::V10(Box::new(v10::Message::FlowMod(of_v10.clone()))));
        if let Ok(v13::Message::FlowMod(of_v13)) = v13::convert::from_neutral(&exact) {
            met.meet(&mut runner, &of_v10, &of_v13);
        }
    }
    assert!(met.flows > FLOWS / 4 && met.packets > FLOWS / 4, "{} {}", met.flows, met.packets);
}

#[test]
fn a_neutral_flow_does_the_same_in_both_versions() {
    let mut runner = TestRunner::deterministic();
    let mut met = Met::default();
    for _ in 0..FLOWS {
        let neutral = Message::FlowMod(draw(&mut runner, &flow_neutral()));
        let of_v13 =
            v13::convert::from_neutral(&neutral).expect("all of it is in the words of 1.3");
        let of_v10 = v10::convert::from_neutral(&neutral);
        if let (Ok(v10::Message::FlowMod(of_v10)), v13::Message::FlowMod(of_v13)) = (of_v10, of_v13)
        {
            met.meet(&mut runner, &of_v10, &of_v13);
        }
    }
    assert!(met.flows > FLOWS / 4 && met.packets > FLOWS / 4, "{} {}", met.flows, met.packets);
}

#[test]
fn the_two_interpreters_are_not_blind() {
    let mut of_v10 = draw(&mut TestRunner::deterministic(), &flow_v10());
    of_v10.match_ = v10::Match::ANY;
    of_v10.actions = vec![v10::Action::SetVlanVid(1), v10::Action::output(v10::PortNo(1))];
    let of_v13 = FlowMod::add(Match::new()).actions([Action::output(PortNo(1))]);
    let mut packet = draw(&mut TestRunner::deterministic(), &packet());
    packet.tags.clear();
    assert_ne!(run_v10(&of_v10, &packet), run_v13(&of_v13, &packet));
}
