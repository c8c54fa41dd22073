//! Flows that decide, and what becomes of a packet.

use super::*;
use aldis_wire::FixedText;
use aldis_wire::msg::{Bucket, FlowModFlags, PortDetails};
use aldis_wire::v13::action::ActionType;

fn packet(in_port: u32, fields: &[(&str, &str)]) -> TracePacket {
    let fields = fields.iter().map(|(name, text)| Field::named(name, text).unwrap());
    let said = Match { fields: fields.collect() }.completed().unwrap();
    TracePacket::of(PortNo(in_port), &said).unwrap()
}

fn flow(table: u8, priority: u16, fields: &[(&str, &str)], then: Vec<Instruction>) -> FlowStats {
    let fields = fields.iter().map(|(name, text)| Field::named(name, text).unwrap());
    FlowStats {
        table_id: TableNo(table),
        duration_sec: 0,
        duration_nsec: 0,
        priority,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: FlowModFlags::EMPTY,
        cookie: 0,
        packet_count: 0,
        byte_count: 0,
        match_: Match { fields: fields.collect() }.completed().unwrap(),
        instructions: then,
    }
}

fn actions(words: &[&str]) -> Vec<Action> {
    words.iter().map(|words| words.parse().unwrap()).collect()
}

fn apply(words: &[&str]) -> Instruction {
    Instruction::ApplyActions(actions(words))
}

fn ports() -> Vec<Port> {
    let port = |number| Port {
        number: PortNo(number),
        hw_addr: aldis_wire::MacAddr([0; 6]),
        name: FixedText::default(),
        admin_down: false,
        link_down: number == 4,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    (1..=4).chain([PortNo::LOCAL.0]).map(port).collect()
}

#[derive(Debug)]
struct Lists<'s> {
    flows: &'s [FlowStats],
    groups: &'s [GroupDesc],
}

impl Listing for Lists<'_> {
    fn flows(&self) -> Each<'_, FlowStats> {
        Box::new(self.flows.iter().cloned().map(Ok))
    }

    fn groups(&self) -> Each<'_, GroupDesc> {
        Box::new(self.groups.iter().cloned().map(Ok))
    }
}

/// Ports and the fields that are not as they were.
fn outs(
    version: Version,
    flows: &[FlowStats],
    groups: &[GroupDesc],
    packet: &TracePacket,
) -> Vec<String> {
    let listing = Lists { flows, groups };
    let program = Program { version, listing: &listing, ports: &ports() };
    let words = |out: TraceOutput| {
        let before: Vec<_> = packet.in_words().collect();
        let new = out.packet.in_words().filter(|said| !before.contains(said));
        let new: Vec<_> = new.map(|(name, value)| format!("{name}={value}")).collect();
        let maybe = if out.maybe { "?" } else { "" };
        format!("{}{maybe} {}", out.port.0, new.join(",")).trim().to_string()
    };
    let traced = trace(program, packet, &mut Budget::default()).unwrap();
    traced.outs.into_iter().map(words).collect()
}

const WEB: &[(&str, &str)] = &[("ipv4-dst", "10.0.0.9"), ("tcp-dst", "80")];

#[test]
fn the_highest_priority_that_matches_decides_masks_and_all() {
    let flows = [
        flow(0, 1, &[], vec![apply(&["output:1"])]),
        flow(0, 20, &[("ipv4-dst", "10.0.0.0/8")], vec![apply(&["output:2"])]),
        flow(0, 30, &[("ipv4-dst", "10.0.0.0/24"), ("tcp-dst", "22")], vec![apply(&["output:1"])]),
        flow(
            0,
            25,
            &[("eth-dst", "00:00:00:00:00:00/01:00:00:00:00:00")],
            vec![apply(&["output:3"])],
        ),
        flow(0, 40, &[("in-port", "1")], vec![]),
    ];
    assert_eq!(outs(Version::V13, &flows, &[], &packet(3, WEB)), [""; 0], "the port it came from");
    assert_eq!(outs(Version::V13, &flows, &[], &packet(2, WEB)), ["3"]);
    let many = [WEB, &[("eth-dst", "ff:ff:ff:ff:ff:ff")]].concat();
    assert_eq!(outs(Version::V13, &flows[..4], &[], &packet(1, &many)), ["2"]);
    assert_eq!(outs(Version::V13, &flows, &[], &packet(1, WEB)), [""; 0], "dropped");
    assert_eq!(outs(Version::V13, &[], &[], &packet(1, WEB)), [""; 0]);
    assert_eq!(outs(Version::V10, &[], &[], &packet(1, WEB)), [PortNo::CONTROLLER.0.to_string()]);
}

#[test]
fn tables_metadata_and_the_action_set() {
    let goto = |table| Instruction::GotoTable(TableNo(table));
    let meta = Instruction::WriteMetadata { metadata: 7, mask: 0xf };
    let write = |words: &[&str]| Instruction::WriteActions(actions(words));
    let flows = [
        flow(
            0,
            1,
            &[],
            vec![goto(1), meta, write(&["output:1", "set-field:eth-src=02:00:00:00:00:01"])],
        ),
        flow(
            1,
            1,
            &[("metadata", "7")],
            vec![apply(&["output:2", "set-field:ipv4-dst=10.0.0.1"]), goto(2)],
        ),
        flow(2, 9, &[("ipv4-dst", "10.0.0.1")], vec![write(&["output:3"])]),
    ];
    assert_eq!(
        outs(Version::V13, &flows, &[], &packet(4, WEB)),
        ["2", "3 ipv4_dst=10.0.0.1,eth_src=02:00:00:00:00:01"]
    );
    let cleared = flow(2, 10, &[], vec![Instruction::ClearActions(vec![])]);
    let flows = [&flows[..], &[cleared]].concat();
    assert_eq!(outs(Version::V13, &flows, &[], &packet(4, WEB)), ["2"]);
}

#[test]
fn tags_come_and_go() {
    let both = [
        "push-vlan:0x8100",
        "set-field:vlan-vid=10",
        "output:2",
        "push-vlan:0x88a8",
        "set-field:vlan-vid=20",
        "output:3",
        "pop-vlan",
        "pop-vlan",
        "output:1",
    ];
    let flows = [flow(0, 1, &[("vlan-vid", "none")], vec![apply(&both)])];
    assert_eq!(
        outs(Version::V13, &flows, &[], &packet(4, WEB)),
        ["2 vlan_pcp=0,vlan_vid=10", "3 vlan_pcp=0,vlan_vid=20", "1"]
    );
    let set = [flow(0, 1, &[], vec![apply(&["set-field:vlan-vid=7", "output:2"])])];
    assert_eq!(outs(Version::V10, &set, &[], &packet(4, WEB)), ["2 vlan_pcp=0,vlan_vid=7"]);
    assert_eq!(outs(Version::V13, &set, &[], &packet(4, WEB)), ["2"], "1.3 adds no tag");
    let tagged = packet(4, &[("vlan-vid", "5")]);
    assert_eq!(outs(Version::V13, &set, &[], &tagged), ["2 vlan_vid=7"]);
}

#[test]
fn groups_send_to_all_to_the_first_that_lives_and_to_one_of_several() {
    let bucket = |watch: u32, words: &[&str]| Bucket {
        weight: 1,
        watch_port: PortNo(watch),
        watch_group: GroupNo::ANY,
        actions: actions(words),
    };
    let group = |kind, id, buckets| GroupDesc { kind, group_id: GroupNo(id), buckets };
    let any = PortNo::ANY.0;
    let changing = ["output:2", "set-field:eth-dst=02:00:00:00:00:02"];
    let groups = [
        group(GroupType::ALL, 1, vec![bucket(any, &changing), bucket(any, &["output:3"])]),
        group(GroupType::FF, 2, vec![bucket(4, &["output:4"]), bucket(2, &["output:2"])]),
        group(GroupType::SELECT, 3, vec![bucket(any, &["group:2"]), bucket(any, &["output:3"])]),
        group(GroupType::INDIRECT, 4, vec![bucket(any, &["group:4"])]),
    ];
    let through = |id: u32| {
        let words = format!("group:{id}");
        let flows = [flow(0, 1, &[], vec![apply(&[&words, "output:1"])])];
        outs(Version::V13, &flows, &groups, &packet(4, WEB))
    };
    assert_eq!(through(1), ["2 eth_dst=02:00:00:00:00:02", "3", "1"]);
    assert_eq!(through(2), ["2", "1"]);
    assert_eq!(through(3), ["2?", "3?", "1"]);
    assert_eq!(through(4), ["1"], "one that leads to itself ends");
    assert_eq!(through(9), ["1"]);
}

#[test]
fn what_1_0_does_to_whatever_packet_comes() {
    let bare = |kind, body: &[u8]| Action::Unknown { kind: ActionType(kind), body: body.to_vec() };
    let does = |packet: &TracePacket, actions: Vec<Action>| {
        let then = [actions, vec![Action::output(PortNo(2))]].concat();
        let flows = [flow(0, 1, &[], vec![Instruction::ApplyActions(then)])];
        outs(Version::V10, &flows, &[], packet)
    };
    let web = packet(4, WEB);
    let tag = vec![bare(1, &[0, 10, 0, 0]), bare(2, &[3, 0, 0, 0])];
    assert_eq!(does(&web, tag.clone()), ["2 vlan_vid=10,vlan_pcp=3"]);
    let strip = bare(3, &[0; 4]);
    assert_eq!(does(&web, [tag, vec![strip.clone()]].concat()), ["2"]);
    assert_eq!(does(&web, vec![strip.clone(), strip]), ["2"], "nothing to take off");
    let address = vec![bare(6, &[10, 0, 0, 7]), bare(8, &[32, 0, 0, 0]), bare(9, &[0, 53, 0, 0])];
    assert_eq!(does(&web, address.clone()), ["2 ipv4_src=10.0.0.7,ip_dscp=8,tcp_src=53"]);
    let name = packet(4, &[("ipv4-dst", "10.0.0.9"), ("udp-dst", "53")]);
    assert_eq!(does(&name, vec![bare(10, &[0, 54, 0, 0])]), ["2 udp_dst=54"]);
    let other = packet(4, &[("eth-type", "0x1234")]);
    assert_eq!(does(&other, address), ["2"], "no IPv4, and no ports");
    let queued = vec![bare(11, &[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7])];
    assert_eq!(does(&web, queued), ["3", "2"]);
    assert_eq!(does(&web, vec![bare(1, &[]), bare(99, &[0; 4])]), ["2"], "passed over");
}

#[test]
fn the_switchs_own_port_is_one_of_all_and_what_no_later_table_knows_is_dropped() {
    for all in ["output:all", "output:flood"] {
        let flows = [flow(0, 1, &[], vec![apply(&[all])])];
        let local = PortNo::LOCAL.0.to_string();
        assert_eq!(outs(Version::V13, &flows, &[], &packet(2, WEB)), ["1", "3", &local]);
    }
    let on =
        vec![Instruction::WriteActions(actions(&["output:2"])), Instruction::GotoTable(TableNo(1))];
    let flows = [flow(0, 1, &[], on)];
    assert_eq!(outs(Version::V13, &flows, &[], &packet(1, WEB)), [""; 0], "1.3.5 §5.4");
}

#[test]
fn what_has_no_one_value_is_no_packet() {
    let said = Match { fields: vec![Field::named("ipv4-dst", "10.0.0.0/8").unwrap()] };
    let why = TracePacket::of(PortNo(1), &said).unwrap_err().to_string();
    assert!(why.contains("ipv4_dst"), "{why}");
}

fn all(id: u32, buckets: Vec<Vec<Action>>) -> GroupDesc {
    let bucket =
        |actions| Bucket { weight: 1, watch_port: PortNo::ANY, watch_group: GroupNo::ANY, actions };
    let buckets = buckets.into_iter().map(bucket).collect();
    GroupDesc { kind: GroupType::ALL, group_id: GroupNo(id), buckets }
}

/// What becomes of a packet that a flow hands to group 1 of these.
fn through(groups: &[GroupDesc]) -> Traced {
    let flows = [flow(0, 1, &[], vec![apply(&["group:1"])])];
    let listing = Lists { flows: &flows, groups };
    let program = Program { version: Version::V13, listing: &listing, ports: &ports() };
    trace(program, &packet(4, WEB), &mut Budget::default()).unwrap()
}

/// Bytes of what is said and of what leaves.
fn size(traced: &Traced) -> usize {
    let words: usize = traced.did.iter().map(String::len).sum();
    words + traced.outs.len() * OUT_BYTES
}

#[test]
fn groups_that_multiply_a_packet_are_followed_as_far_as_the_bounds_say_and_the_trace_says_so() {
    let to = |id: u32| Action::Group(GroupNo(id));
    let itself = [all(1, vec![vec![to(1)]; 8000])];
    let traced = through(&itself);
    assert_eq!((traced.outs.len(), &traced.cuts[..]), (0, &[][..]), "a loop ends by itself");
    assert!(traced.did[1].contains("leads to itself, a loop: dropped"), "{:?}", traced.did[1]);

    // Eight thousand to the power of seven.
    let chain: Vec<_> = (1..8).map(|id| all(id, vec![vec![to(id + 1)]; 8000])).collect();
    let traced = through(&chain);
    assert!(traced.cuts.iter().any(|cut| cut.is_end()), "{:?}", traced.cuts);
    assert!(size(&traced) <= ANSWER_MAX, "{}", size(&traced));

    // Six wide, and copies at the end.
    let copies = vec![Action::output(PortNo(2)); 6];
    let six = |id: u32| all(id, vec![if id < 8 { vec![to(id + 1)] } else { copies.clone() }; 6]);
    let traced = through(&(1..=8).map(six).collect::<Vec<_>>());
    assert_eq!((traced.outs.len(), &traced.cuts[..]), (OUTS_MAX, &[Cut::Outs][..]));
    assert!(traced.did.last().unwrap().starts_with("cut: more than 4096 copies"));
    assert!(size(&traced) <= ANSWER_MAX, "{}", size(&traced));

    let long: Vec<_> = (1..100).map(|id| all(id, vec![vec![to(id + 1)]])).collect();
    let traced = through(&long);
    assert_eq!(traced.cuts, [Cut::Depth]);
    assert!(traced.did.contains(&"cut: more than 8 groups lead to each other".into()));

    let silent = vec![Action::PopVlan; 8000];
    let traced = through(&[all(1, vec![silent; 2000])]);
    assert_eq!(traced.cuts, [Cut::Groups], "16 million actions are not read");
    assert!(traced.did.contains(&"group 1: not among those that are read".into()));
}

#[test]
fn work_is_counted_over_all_switches_of_a_trace() {
    let flows: Vec<_> = (0..1000).map(|_| flow(1, 1, &[], vec![])).collect();
    let listing = Lists { flows: &flows, groups: &[] };
    let program = Program { version: Version::V13, listing: &listing, ports: &ports() };
    let mut budget = Budget::default();
    let mut hop = || trace(program, &packet(4, WEB), &mut budget).unwrap();
    let whole = (0..).find(|_| !hop().cuts.is_empty()).unwrap();
    assert_eq!(whole, STEPS_MAX / 1000);
    assert_eq!(hop().cuts, [Cut::Steps]);
}

#[test]
fn what_cannot_be_read_is_an_error() {
    #[derive(Debug)]
    struct Broken;
    const WHY: Malformed =
        Malformed { field: "flow", offset: 1, reason: aldis_wire::Reason::BadLength };
    impl Listing for Broken {
        fn flows(&self) -> Each<'_, FlowStats> {
            Box::new([Err(WHY)].into_iter())
        }

        fn groups(&self) -> Each<'_, GroupDesc> {
            Box::new([Err(WHY)].into_iter())
        }
    }
    let program = Program { version: Version::V13, listing: &Broken, ports: &ports() };
    assert_eq!(trace(program, &packet(4, WEB), &mut Budget::default()), Err(WHY));
}
