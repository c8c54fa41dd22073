//! The neutral vocabulary against its laws: what came goes back byte by byte, and what a version
//! cannot say is refused by name.

use crate::{arbitrary_v10, arbitrary_v13};
use aldis_testkit::golden;
use aldis_wire::msg::*;
use aldis_wire::{FixedText, MacAddr, Version, v10, v13};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn encode(message: impl Into<Message>, version: Version) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    message.into().encode(version, 7, &mut bytes).map(|()| bytes)
}

/// What `version` has to say `message` in, or what it is missing.
fn refused(message: impl Into<Message>, version: Version) -> Option<&'static str> {
    match encode(message, version) {
        Err(EncodeError::Unsupported(unsupported)) => {
            assert_eq!(unsupported.version, version);
            Some(unsupported.feature)
        }
        other => other.map(|_| None).unwrap(),
    }
}

fn v10_flow_mod(flow_mod: FlowMod) -> v10::FlowMod {
    match v10::Message::decode(&encode(flow_mod, Version::V10).unwrap()).unwrap().1 {
        v10::Message::FlowMod(flow_mod) => flow_mod,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn what_came_in_1_0_goes_back_as_it_was(exact in arbitrary_v10::message()) {
        let neutral = v10::convert::to_neutral(exact.clone());
        prop_assert_eq!(v10::convert::from_neutral(&neutral), Ok(exact.clone()));
        // Nor does looking at its meaning, or asking 1.3 for it, do any harm.
        let _ = neutral.clone().meaning();
        let _ = v13::convert::from_neutral(&neutral);
    }

    #[test]
    fn what_came_in_1_3_goes_back_as_it_was(exact in arbitrary_v13::message()) {
        let neutral = v13::convert::to_neutral(exact.clone());
        prop_assert_eq!(v13::convert::from_neutral(&neutral), Ok(exact.clone()));
        prop_assert!(may_be_other(&exact) || !matches!(neutral, Message::Other(_)), "{:?}", exact);
        let _ = neutral.clone().meaning();
        let _ = v10::convert::from_neutral(&neutral);
    }

    /// Where the match is written as 1.0 writes it, any actions have a neutral form.
    #[test]
    fn a_flow_of_1_0_is_neutral(
        fields in plain_match(),
        actions in arbitrary_v10::actions(),
        command in 0..5u16,
        flags in 0..4u16,
    ) {
        let mut actions = actions;
        actions.retain(|action| !matches!(action, v10::Action::Unknown { .. }));
        let exact = v10::Message::FlowMod(v10::FlowMod {
            match_: v10::convert::match_from_neutral(&fields).unwrap(),
            cookie: 1,
            command: v10::FlowModCommand(command),
            idle_timeout: 2,
            hard_timeout: 3,
            priority: 4,
            buffer_id: 5,
            out_port: v10::PortNo::NONE,
            flags: v10::FlowModFlags(flags),
            actions,
        });
        let neutral = v10::convert::to_neutral(exact.clone());
        prop_assert!(matches!(neutral, Message::FlowMod(_)), "{:?}", neutral);
        prop_assert_eq!(v10::convert::from_neutral(&neutral), Ok(exact));
    }
}

/// Whether the message may hold what the neutral words do not have: actions without a name, bits
/// that 1.0 alone names.
fn may_be_other(exact: &v13::Message) -> bool {
    use v13::Message::*;
    use v13::stats::MultipartReplyBody;
    match exact {
        FlowMod(_) | PacketOut(_) | GroupMod(_) | PortMod(_) | PortStatus(_) | FeaturesReply(_) => {
            true
        }
        MultipartReply(reply) => matches!(reply.body, MultipartReplyBody::Flow(_)),
        _ => false,
    }
}

/// A match that both versions can say.
fn plain_match() -> impl Strategy<Value = Match> {
    let mac = || any::<[u8; 6]>().prop_map(|bytes| Masked::exact(MacAddr(bytes)));
    let ip = || {
        (any::<u32>(), 1..=32u32).prop_map(|(ip, prefix)| {
            let mask = u32::MAX << (32 - prefix);
            let value = Ipv4Addr::from(ip & mask);
            Masked { value, mask: (prefix < 32).then(|| mask.into()) }
        })
    };
    let in_port = (1..0xff00u32).prop_map(|port| Field::InPort(PortNo(port)));
    let l2 = (
        prop::option::of(in_port),
        prop::option::of(mac().prop_map(Field::EthSrc)),
        prop::option::of(mac().prop_map(Field::EthDst)),
        vlan(),
    );
    let icmp = (any::<u8>(), any::<u8>()).prop_map(|(kind, code)| {
        vec![Field::IpProto(1), Field::Icmpv4Type(kind), Field::Icmpv4Code(code)]
    });
    let transport = prop_oneof![
        Just(vec![]),
        any::<u8>().prop_map(|proto| vec![Field::IpProto(proto)]),
        any::<u16>().prop_map(|port| vec![Field::IpProto(6), Field::TcpSrc(port)]),
        any::<u16>().prop_map(|port| vec![Field::IpProto(17), Field::UdpDst(port)]),
        icmp,
    ];
    let ipv4 = (
        prop::option::of((0..64u8).prop_map(Field::IpDscp)),
        prop::option::of(ip().prop_map(Field::Ipv4Src)),
        prop::option::of(ip().prop_map(Field::Ipv4Dst)),
        transport,
    );
    let ipv4 = ipv4.prop_map(|(dscp, src, dst, transport)| {
        let type_ = std::iter::once(Field::EthType(0x800));
        type_.chain(dscp).chain(src).chain(dst).chain(transport).collect::<Vec<_>>()
    });
    let arp = (any::<u8>(), ip()).prop_map(|(op, target)| {
        vec![Field::EthType(0x806), Field::ArpOp(op.into()), Field::ArpTpa(target)]
    });
    let l3 =
        prop_oneof![Just(vec![]), any::<u16>().prop_map(|t| vec![Field::EthType(t)]), ipv4, arp];
    (l2, l3).prop_map(|((in_port, src, dst, vlan), l3)| Match {
        fields: in_port.into_iter().chain(src).chain(dst).chain(vlan).chain(l3).collect(),
    })
}

fn vlan() -> impl Strategy<Value = Vec<Field>> {
    let vid = |vid: u16| Field::VlanVid(Masked::exact(0x1000 | vid));
    let any_tag = Field::VlanVid(Masked::with(0x1000, 0x1000));
    prop_oneof![
        Just(vec![]),
        Just(vec![Field::VlanVid(Masked::exact(0))]),
        (0..4096u16).prop_map(move |number| vec![vid(number)]),
        (0..4096u16, 0..8u8).prop_map(move |(number, pcp)| vec![vid(number), Field::VlanPcp(pcp)]),
        (0..8u8).prop_map(move |pcp| vec![any_tag.clone(), Field::VlanPcp(pcp)]),
    ]
}

/// Of all messages of the corpus, those without a meaning are made to be odd: an emergency flow,
/// actions, statistics and properties that no specification names, a command that does not exist, a
/// vendor's message without a type.
#[test]
fn nearly_everything_has_a_meaning() {
    let mut without = Vec::new();
    for (folder, version) in [("v10", Version::V10), ("v13", Version::V13)] {
        for golden in golden::corpus(folder) {
            let (xid, neutral) = Message::decode(version, &golden.bytes).unwrap();
            let mut bytes = Vec::new();
            neutral.encode(version, xid, &mut bytes).unwrap();
            assert_eq!(bytes, golden.bytes, "{}", golden.name);
            if matches!(neutral.meaning(), Message::Other(_)) {
                without.push(format!("{folder}/{}", golden.name));
            }
        }
    }
    let expected = [
        "v10/flow_mod_delete_strict",
        "v10/flow_mod_modify_strict",
        "v10/flow_mod_odd",
        "v10/queue_get_config_reply",
        "v10/stats_reply_unknown",
        "v10/stats_request_unknown",
        "v10/vendor_unknown",
    ];
    assert_eq!(without, expected);
}

#[test]
fn what_a_learning_switch_says_is_said_in_both_versions() {
    let add = FlowMod::add(Match::new().in_port(PortNo(1)).eth_dst(HOST).untagged())
        .idle_timeout(5)
        .priority(100)
        .actions([Action::output(PortNo(2))]);
    let exact = v10_flow_mod(add.clone());
    assert_eq!(exact.match_.in_port, v10::PortNo(1));
    assert_eq!(exact.match_.dl_vlan, v10::VLAN_NONE);
    assert_eq!(exact.match_.dl_dst, HOST);
    assert_eq!(exact.match_.wildcards.0, 0x3820f4 | 1 << 5);
    assert_eq!((exact.idle_timeout, exact.priority, exact.buffer_id), (5, 100, u32::MAX));
    assert_eq!(exact.out_port, v10::PortNo::NONE);
    assert_eq!(exact.actions, [v10::Action::Output { port: v10::PortNo(2), max_len: 0 }]);
    let bytes = encode(add.clone(), Version::V13).unwrap();
    assert_eq!(v13::Message::decode(&bytes).unwrap().1, v13::Message::FlowMod(add));

    let delete = FlowMod::delete(Match::new()).out_port(PortNo(3));
    assert_eq!(v10_flow_mod(delete.clone()).out_port, v10::PortNo(3));
    assert_eq!(delete.table_id, TableNo::ALL);
}

#[test]
fn what_1_0_cannot_say_is_refused_by_name() {
    let plain = || FlowMod::add(Match::new());
    let with = |field| FlowMod::add(Match::new().with(field));
    let does = |action| FlowMod::add(Match::new()).actions([action]);
    let masked = Masked::with(HOST, MacAddr([0xff, 0, 0, 0, 0, 0]));
    let odd = Masked::with(Ipv4Addr::LOCALHOST, Ipv4Addr::new(255, 0, 255, 0));
    let cases = [
        (plain().table(TableNo(1)), "a table other than the first"),
        (plain().only_cookie(1, 1), "only flows of a cookie"),
        (plain().out_group(GroupNo(1)), "a group"),
        (plain().out_port(PortNo(0x1_0000)), "a port number above 16 bits"),
        (plain().flags(FlowModFlags::NO_PKT_COUNTS), "a flow that does not count"),
        (plain().then(Instruction::GotoTable(TableNo(1))), "goto another table"),
        (plain().then(Instruction::WriteActions(vec![])), "an action set"),
        (plain().then(Instruction::Meter(MeterNo(1))), "a meter"),
        (with(Field::Metadata(Masked::exact(1))), "OFPXMT_OFB_METADATA"),
        (with(Field::EthSrc(masked)), "a masked Ethernet address"),
        (with(Field::Ipv4Src(odd)), "an IPv4 mask that is not a prefix"),
        (with(Field::IpProto(6)), "a match field twice or without its prerequisites"),
        (does(Action::Group(GroupNo(1))), "OFPAT_GROUP"),
        (does(Action::DecNwTtl), "OFPAT_DEC_NW_TTL"),
    ];
    for (flow_mod, feature) in cases {
        assert_eq!(refused(flow_mod.clone(), Version::V10), Some(feature));
        assert_eq!(refused(flow_mod, Version::V13), None);
    }
    let error = Unsupported { feature: "goto another table", version: Version::V10 };
    assert_eq!(error.to_string(), "OpenFlow 1.0 cannot say \"goto another table\"");
}

#[test]
fn vlan_actions_mean_the_same_where_the_match_tells_the_tag() {
    let push = [Action::PushVlan(0x8100), set_vid(10), Action::output(PortNo(2))];
    let untagged = FlowMod::add(Match::new().untagged()).actions(push.clone());
    let output = v10::Action::Output { port: v10::PortNo(2), max_len: 0 };
    assert_eq!(v10_flow_mod(untagged).actions, [v10::Action::SetVlanVid(10), output.clone()]);

    let set = [set_vid(10), Action::PopVlan, Action::output(PortNo(2))];
    let tagged = FlowMod::add(Match::new().vlan(9)).actions(set);
    let expected = [v10::Action::SetVlanVid(10), v10::Action::StripVlan, output];
    assert_eq!(v10_flow_mod(tagged).actions, expected);

    let unknown = FlowMod::add(Match::new()).actions(push);
    assert!(refused(unknown, Version::V10).is_some_and(|feature| feature.contains("VLAN")));
}

fn set_vid(vid: u16) -> Action {
    Action::SetField(Field::VlanVid(Masked::exact(0x1000 | vid)))
}

#[test]
fn a_queue_holds_for_the_outputs_that_follow() {
    let actions =
        [Action::SetQueue(QueueNo(5)), Action::output(PortNo(1)), Action::output(PortNo(2))];
    let exact = v10_flow_mod(FlowMod::add(Match::new()).actions(actions)).actions;
    let enqueue = |port| v10::Action::Enqueue { port: v10::PortNo(port), queue_id: 5 };
    assert_eq!(exact, [enqueue(1), enqueue(2)]);
}

/// Open vSwitch strips tags in flows that do not match one: the neutral form keeps it, 1.3 refuses
/// it.
#[test]
fn an_action_that_depends_on_the_packet_stays_as_1_0_said_it() {
    let mut exact = v10_flow_mod(FlowMod::add(Match::new()));
    exact.actions = vec![v10::Action::StripVlan];
    let exact = v10::Message::FlowMod(exact);
    let neutral = v10::convert::to_neutral(exact.clone());
    assert!(matches!(neutral, Message::FlowMod(_)));
    assert_eq!(v10::convert::from_neutral(&neutral), Ok(exact));
    let feature = "an action whose effect depends on what packet comes";
    assert_eq!(refused(neutral, Version::V13), Some(feature));
}

/// Ignored fields may hold anything; what the match means is told, and the bytes are kept.
#[test]
fn a_match_with_leftovers_has_a_meaning_and_keeps_its_bytes() {
    let mut exact = v10_flow_mod(FlowMod::add(Match::new().in_port(PortNo(4))));
    exact.match_.wildcards.0 |= 0xff << 8;
    exact.match_.tp_src = 99;
    let exact = v10::Message::FlowMod(exact);
    let neutral = v10::convert::to_neutral(exact.clone());
    assert!(matches!(neutral, Message::Other(Exact::V10(_))));
    assert_eq!(v10::convert::from_neutral(&neutral), Ok(exact));
    let Message::FlowMod(meaning) = neutral.meaning() else { panic!("it has a meaning") };
    assert_eq!(meaning.match_, Match::new().in_port(PortNo(4)));
}

/// The number of an action that one version does not name may be that of another action in the
/// other.
#[test]
fn an_action_without_a_name_stays_in_its_version() {
    let mut of_v10 = v10_flow_mod(FlowMod::add(Match::new()));
    of_v10.actions = vec![v10::Action::Unknown { kind: v10::ActionType(25), body: vec![0; 4] }];
    let kind = v13::action::ActionType(3);
    let of_v13 = FlowMod::add(Match::new()).actions([Action::Unknown { kind, body: vec![0; 4] }]);
    let neutral = v10::convert::to_neutral(v10::Message::FlowMod(of_v10));
    assert_eq!(refused(neutral, Version::V13), Some("this message of OpenFlow 1.0"));
    let neutral = v13::convert::to_neutral(v13::Message::FlowMod(of_v13));
    assert_eq!(refused(neutral, Version::V10), Some("this message of OpenFlow 1.3"));
}

#[test]
fn a_packet_of_the_controller_s_own_comes_from_nowhere_in_1_0() {
    let bytes = encode(PacketOut::frame(vec![0; 60]), Version::V10).unwrap();
    let Ok((_, v10::Message::PacketOut(out))) = v10::Message::decode(&bytes) else { panic!() };
    assert_eq!(out.in_port, v10::PortNo::NONE);
    let flood = PacketOut::flood(PortNo(3), vec![0; 60]);
    assert_eq!(flood.in_port, PortNo(3));
    let bytes = encode(flood.clone(), Version::V10).unwrap();
    assert_eq!(Message::decode(Version::V10, &bytes).unwrap(), (7, Message::PacketOut(flood)));
}

#[test]
fn ports_say_the_same_in_both_versions() {
    let exact = v10::PhyPort {
        port_no: v10::PortNo::LOCAL,
        hw_addr: HOST,
        name: FixedText::new("br0"),
        config: v10::PortConfig::PORT_DOWN,
        state: v10::PortState::LINK_DOWN,
        curr: v10::PortFeatures(1 << 5 | 1 << 7),
        advertised: v10::PortFeatures(0),
        supported: v10::PortFeatures(1 << 6 | 1 << 11),
        peer: v10::PortFeatures(0),
    };
    let port = v10::convert::port(&exact);
    assert_eq!(port.number, PortNo::LOCAL);
    assert!(port.admin_down && port.link_down && !port.is_up());
    assert_eq!((port.speed_kbps, port.details.max_speed_kbps), (1_000_000, 10_000_000));
    assert_eq!(v10::convert::port_from_neutral(&port), Ok(exact));
    let v13 = v13::convert::port_from_neutral(&port).unwrap();
    assert_eq!((v13.curr.0, v13.supported.0), (1 << 5 | 1 << 11, 1 << 6 | 1 << 15));
    assert_eq!(v13::convert::port(&v13), port);
}

#[test]
fn errors_go_by_their_names() {
    let code = v10::ErrorCode::from_wire(1, 1);
    let error = SwitchError { code: ErrorCode::V10(code), data: vec![] };
    assert_eq!(error.code.to_string(), "OFPET_BAD_REQUEST/OFPBRC_BAD_TYPE");
    assert!(error.code.hint().is_some());
    let bytes = encode(Message::Error(error), Version::V13).unwrap();
    let Ok((_, Message::Error(error))) = Message::decode(Version::V13, &bytes) else { panic!() };
    assert_eq!(error.code.to_string(), "OFPET_BAD_REQUEST/OFPBRC_BAD_TYPE");
    let full = ErrorCode::V10(v10::ErrorCode::from_wire(3, 0));
    let error = Message::Error(SwitchError { code: full, data: vec![] });
    assert_eq!(refused(error, Version::V13), Some("an error of this type"));
}
