//! What the rules become at a switch, and what becomes of requests.

use std::sync::Arc;

use aldis_control::app::Event;
use aldis_control::world::PartId;
use aldis_control::{Cookie, Part};
use aldis_packet::{arp, ethernet, ethertype};
use aldis_wire::msg::{
    Field, FlowMod, Instruction, Match, Message, PortNo, StatsFlags, StatsReply, StatsReplyBody,
    TableNo,
};
use aldis_wire::{DatapathId, Version};
use proptest::prelude::*;

use super::*;
use crate::match_bits::{PacketBits, TernaryMatch};
use crate::reconcile::Status;
use crate::testing::switch::{TestSwitch, info, request};

const READS: &[PartId] = &[AclRuleStatuses::ID];

fn match_of(fields: &[(&str, &str)]) -> Match {
    let fields = fields.iter().map(|(name, text)| Field::named(name, text).unwrap());
    Match { fields: fields.collect() }.completed().unwrap()
}

fn rule(name: &str, verdict: Verdict, fields: &[(&str, &str)]) -> Rule {
    Rule { name: name.into(), verdict, match_: match_of(fields), switches: vec![] }
}

fn shared(rules: &[Rule]) -> Vec<Arc<Rule>> {
    rules.iter().cloned().map(Arc::new).collect()
}

fn acl(rules: &[Rule]) -> impl Fn() -> Acl + Clone + use<> {
    let acl = Acl::new(shared(rules));
    move || acl.clone()
}

fn bench(version: Version, tables: u8, rules: &[Rule]) -> TestSwitch {
    TestSwitch::of(info(version, tables), |app_set| app_set.with(acl(rules)))
}

/// What is sent to a switch without flows.
fn sent(bench: &mut TestSwitch) -> Vec<FlowMod> {
    let said = bench.happens(Event::Joining);
    let body = StatsReplyBody::Flow(vec![]);
    let message = Box::new(Message::StatsReply(StatsReply { flags: StatsFlags::EMPTY, body }));
    let said = bench.happens(Event::Reply { xid: said[0].0, message });
    let flows: Vec<_> = said
        .iter()
        .filter_map(|(_, message)| match message {
            Message::FlowMod(flow) => Some(flow.clone()),
            _ => None,
        })
        .collect();
    assert!(flows.iter().all(|flow| Cookie(flow.cookie).same_app(Cookie::of("acl"))));
    if let Some((xid, Message::BarrierRequest)) = said.last() {
        bench.happens(Event::Reply { xid: *xid, message: Box::new(Message::BarrierReply) });
    }
    flows
}

fn statuses(bench: &mut TestSwitch) -> Vec<(String, Status)> {
    let world = bench.world(READS);
    let entries = world.part::<AclRuleStatuses>().of(DatapathId(1)).iter();
    entries.map(|entry| (entry.name.to_string(), entry.status.clone())).collect()
}

fn rules() -> Vec<Rule> {
    vec![
        rule("web", Verdict::Allow, &[("ipv4-dst", "10.0.0.9"), ("tcp-dst", "80")]),
        rule("watched", Verdict::Mirror(PortNo(4)), &[("eth-src", "02:00:00:00:00:07")]),
        rule("server", Verdict::Deny, &[("ipv4-dst", "10.0.0.9")]),
    ]
}

#[test]
fn the_first_table_is_for_rules_and_what_passes_goes_on_to_the_second() {
    let mut bench = bench(Version::V13, 2, &rules());
    let flows = sent(&mut bench);
    let behind = Instruction::GotoTable(TableNo(1));
    let seen: Vec<_> = flows
        .iter()
        .map(|flow| (flow.table_id.0, flow.priority, flow.instructions.last().cloned()))
        .collect();
    let to_controller = flows[0].instructions.last().cloned();
    assert_eq!(
        seen,
        [
            (1, 0, to_controller),
            (0, 1, Some(behind.clone())),
            (0, 65534, Some(behind.clone())),
            (0, 65533, Some(behind)),
            (0, 65532, None),
        ]
    );
    assert_eq!(flows[3].instructions.len(), 2, "a copy, and on");
    assert!(statuses(&mut bench).iter().all(|(_, status)| *status == Status::There));
}

#[test]
fn one_table_is_told_what_to_drop_and_what_it_cannot_say_is_refused_with_the_reason() {
    for (version, tables) in [(Version::V10, 254), (Version::V13, 1)] {
        let mut bench = bench(version, tables, &rules());
        let flows = sent(&mut bench);
        assert_eq!(flows.len(), 1);
        assert_eq!((flows[0].priority, flows[0].instructions.len()), (65532, 0));
        let statuses = statuses(&mut bench);
        let of = |name: &str| &statuses.iter().find(|(it, _)| it == name).unwrap().1;
        assert_eq!(*of("server"), Status::There);
        let [Status::Unsupported(web), Status::Unsupported(watched)] = [of("web"), of("watched")]
        else {
            panic!("{statuses:?}")
        };
        assert!(web.contains("\"server\" denies part") && watched.contains("second table"));
    }
}

#[test]
fn in_one_table_an_exception_is_said_by_what_is_not_dropped() {
    // What is allowed first and covers what is denied later leaves nothing to deny; what is apart
    // needs nothing.
    let rules = [
        rule("all of ten", Verdict::Allow, &[("ipv4-src", "10.0.0.0/8")]),
        rule("one of ten", Verdict::Deny, &[("ipv4-src", "10.1.0.0/16")]),
        rule("eleven", Verdict::Allow, &[("ipv4-src", "11.0.0.0/8")]),
        rule("twelve", Verdict::Deny, &[("ipv4-src", "12.0.0.0/8")]),
    ];
    let mut bench = bench(Version::V10, 1, &rules);
    let flows = sent(&mut bench);
    assert_eq!(flows.len(), 1);
    assert!(flows[0].match_.fields.contains(&rules[3].match_.fields[1]));
    assert!(statuses(&mut bench).iter().all(|(_, status)| *status == Status::There));
    assert_eq!(never_reached(&shared(&rules)), Some((0, 1)));
    assert_eq!(never_reached(&shared(&rules[1..])), None);
}

#[test]
fn a_rule_that_the_version_cannot_say_is_refused_alone() {
    let rules = [
        rule("six", Verdict::Deny, &[("ipv6-src", "fe80::1")]),
        rule("four", Verdict::Deny, &[("ipv4-src", "10.0.0.1")]),
    ];
    let mut bench = bench(Version::V10, 1, &rules);
    assert_eq!(sent(&mut bench).len(), 1);
    let statuses = statuses(&mut bench);
    let Status::Unsupported(why) = &statuses[0].1 else { panic!("{statuses:?}") };
    assert!(why.starts_with("OpenFlow 1.0 cannot say") && statuses[1].1 == Status::There, "{why}");
}

#[test]
fn rules_are_for_their_switches() {
    let mut elsewhere = rule("elsewhere", Verdict::Deny, &[]);
    elsewhere.switches = vec!["2-9".parse().unwrap()];
    let mut here = rule("here", Verdict::Deny, &[("in-port", "3")]);
    here.switches = vec!["7".parse().unwrap(), "00:*".parse().unwrap()];
    let mut bench = bench(Version::V10, 1, &[elsewhere, here]);
    assert_eq!(sent(&mut bench).len(), 1);
    let frame = question(2);
    assert_eq!(bench.stopped(&mut [request(3, &frame), request(2, &frame)]), [true, false]);
}

fn question(host: u8) -> Vec<u8> {
    let mac = [2, 0, 0, 0, 0, host];
    let message = arp::ArpMessage::request(mac, [10, 0, 0, host].into(), [10, 0, 0, 9].into());
    let head = ethernet::header(ethernet::BROADCAST, mac, ethertype::ARP);
    [&head[..], &message.to_bytes()].concat()
}

#[test]
fn a_denied_request_stops_and_nobody_else_sees_it() {
    let rules = [
        rule("two may", Verdict::Allow, &[("arp-spa", "10.0.0.2")]),
        rule("nobody else", Verdict::Deny, &[("arp-tpa", "10.0.0.0/24"), ("arp-op", "1")]),
        rule("nor seven", Verdict::Deny, &[("eth-src", "02:00:00:00:00:07")]),
    ];
    for version in Version::ALL {
        let mut alone = TestSwitch::of(info(version, 2), |app_set| app_set.with(acl(&rules)));
        let mut bench = TestSwitch::of(info(version, 2), |app_set| {
            app_set.with(acl(&rules)).with(|| crate::Hub)
        });
        let mut other = question(7);
        other[13] = 9;
        let frames = [question(2), question(3), other, vec![1; 14], vec![]];
        let mut frames = frames.map(|frame| request(1, &frame));
        assert_eq!(alone.stopped(&mut frames), [false, true, true, false, false]);
        assert_eq!(bench.request(&mut frames).len(), 3, "what passes the hub sends on");
    }
}

#[test]
fn other_rules_count_at_once_for_requests_and_within_a_second_at_the_switch() {
    let mut bench = bench(Version::V13, 2, &[]);
    assert_eq!(sent(&mut bench).len(), 2, "without rules every packet passes to the second table");
    let mut frames = [request(1, &question(2)), request(1, &question(3))];
    assert_eq!(bench.stopped(&mut frames), [false, false]);
    let decide = |bench: &mut TestSwitch, rules: &[Rule]| {
        let compiled: Vec<_> = shared(rules).into_iter().map(CompiledRule::new).collect();
        bench.decided::<DesiredAclRules>(compiled.into());
    };
    decide(&mut bench, &[rule("two", Verdict::Deny, &[("arp-spa", "10.0.0.2")])]);
    assert_eq!(bench.stopped(&mut frames), [true, false]);
    assert!(matches!(&bench.second()[..], [(_, Message::StatsRequest(_))]));
    decide(&mut bench, &[rule("three", Verdict::Deny, &[("arp-spa", "10.0.0.3")])]);
    assert_eq!(bench.stopped(&mut frames), [false, true]);
    assert!(statuses(&mut bench).iter().any(|(name, _)| name == "two"), "as the switch was told");
    bench.second();
    assert!(statuses(&mut bench).iter().any(|(name, _)| name == "three"));
}

/// A switch finds the ports of a datagram whatever length it says (`ovs-ofctl parse-pcap`), and of
/// no header that is cut off.
#[test]
fn a_rule_for_a_port_meets_a_datagram_that_says_a_wrong_length() {
    let rule = TernaryMatch::of(&match_of(&[("ipv4-dst", "10.0.0.2"), ("udp-dst", "53")]));
    let is_met = |length: u8, header_len: usize| {
        let datagram = &[3, 232, 0, 53, 0, length, 0, 0][..header_len];
        let packet = [0x45, 0, 0, 20 + header_len as u8, 0, 0, 0, 0, 64, 17, 0, 0];
        let header = ethernet::header([2; 6], [4; 6], ethertype::IPV4);
        let frame = [&header[..], &packet, &[10, 0, 0, 1, 10, 0, 0, 2], datagram].concat();
        rule.matches(&PacketBits::of(PortNo(1), &frame))
    };
    assert!(is_met(8, 8) && is_met(7, 8) && is_met(0, 8) && is_met(255, 8));
    assert!(!is_met(8, 7));
}

proptest! {
    /// No bytes do harm.
    #[test]
    fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..120), eth_type in prop::sample::select(vec![0x0800u16, 0x0806, 0x86dd, 0x8847, 0x8100])) {
        let mut frame = bytes;
        if frame.len() > 14 {
            frame[12..14].copy_from_slice(&eth_type.to_be_bytes());
        }
        let seen = PacketBits::of(PortNo(1), &frame);
        prop_assert!(TernaryMatch::of(&Match::new()).matches(&seen));
        prop_assert!(!TernaryMatch::of(&match_of(&[("in-port", "2")])).matches(&seen));
    }

    /// What covers matches all that is covered; what is apart matches nothing of it.
    #[test]
    fn covering_and_being_apart_are_what_they_say(
        one in 0u32..=u32::MAX, other in 0u32..=u32::MAX, bits in 0u8..=32, others in 0u8..=32, host: u32,
    ) {
        let net = |address: u32, bits: u8| {
            let text = format!("{}/{bits}", core::net::Ipv4Addr::from_bits(address));
            TernaryMatch::of(&match_of(&[("ipv4-src", &text)]))
        };
        // Few bits apart, so that they meet now and then.
        let (one, other, host) = (one & 0xc000_0001, other & 0xc000_0001, host & 0xc000_0001);
        let (first, second) = (net(one, bits), net(other, others));
        let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend(host.to_be_bytes());
        packet.extend([0; 4]);
        let frame = [&ethernet::header([2; 6], [4; 6], ethertype::IPV4)[..], &packet].concat();
        let seen = PacketBits::of(PortNo(1), &frame);
        let (in_first, in_second) = (first.matches(&seen), second.matches(&seen));
        if first.covers(&second) && in_second {
            prop_assert!(in_first);
        }
        if first.is_apart_from(&second) {
            prop_assert!(!(in_first && in_second));
        }
        prop_assert!(first.covers(&second) || second.covers(&first) || first.is_apart_from(&second));
    }
}
