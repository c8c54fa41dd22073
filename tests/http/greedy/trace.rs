//! Traces that would have no end, or need more memory than there is.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use aldis_wire::msg::{
    Action, Bucket, FlowModFlags, FlowStats, GroupDesc, GroupNo, GroupType, Instruction, Match,
    Message, PacketIn, PacketInReason, PortNo, StatsReplyBody, StatsRequestBody, TableNo,
};
use aldis_wire::{NO_BUFFER, Version};
use serde_json::{Value, json};

use super::{Liar, Network, SOON, WITHIN, health, post, serving, when};

/// More memory than the controller needs, and less than one such trace took.
const MEMORY_MAX: usize = 400 * 1024 * 1024;

fn flow(instructions: Vec<Instruction>) -> FlowStats {
    FlowStats {
        table_id: TableNo(0),
        duration_sec: 0,
        duration_nsec: 0,
        priority: 1,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: FlowModFlags::EMPTY,
        cookie: 0,
        packet_count: 0,
        byte_count: 0,
        match_: Match::new(),
        instructions,
    }
}

fn group(id: u32, wide: usize, actions: &[Action]) -> GroupDesc {
    let bucket = Bucket {
        weight: 0,
        watch_port: PortNo::ANY,
        watch_group: GroupNo::ANY,
        actions: actions.to_vec(),
    };
    GroupDesc { kind: GroupType::ALL, group_id: GroupNo(id), buckets: vec![bucket; wide] }
}

fn to(id: u32) -> Action {
    Action::Group(GroupNo(id))
}

/// What it says of its groups, by its number. Buckets of 24 bytes: 2,600 of them fill a message.
fn groups(number: u32) -> Vec<GroupDesc> {
    match number {
        // It leads to itself.
        1 => vec![group(1, 2600, &[to(1)])],
        // Wide, and each leads to the next.
        2 => (1..9).map(|id| group(id, 2600, &[to(id + 1)])).collect(),
        // Six wide, with copies at the end.
        3 => {
            let last = group(8, 6, &vec![Action::output(PortNo(2)); 6]);
            (1..8).map(|id| group(id, 6, &[to(id + 1)])).chain([last]).collect()
        }
        // A long chain.
        _ => (1..20_000).map(|id| group(id, 1, &[to(id + 1)])).collect(),
    }
}

/// Parts that fit into messages.
fn parts(groups: Vec<GroupDesc>) -> Vec<StatsReplyBody> {
    let size =
        |group: &GroupDesc| 8 + group.buckets.len() * (16 + 8 * group.buckets[0].actions.len());
    let mut parts: Vec<(usize, Vec<GroupDesc>)> = vec![];
    for group in groups {
        match parts.last_mut() {
            Some((bytes, part)) if *bytes + size(&group) < 65_000 => {
                *bytes += size(&group);
                part.push(group);
            }
            _ => parts.push((size(&group), vec![group])),
        }
    }
    parts.into_iter().map(|(_, part)| StatsReplyBody::GroupDesc(part)).collect()
}

#[test]
fn groups_that_lead_to_each_other_end_no_controller_and_the_answer_says_where_it_was_cut() {
    let (controller, api) = serving(&[]);
    let _honest = Network::start(&controller, Version::V13, "linear,2", &["1s ping h1 h2"]);
    when(&api, "/api/v1/links?state=up", |page| page["total"] == 1);
    for (number, words) in [
        (1, &["leads to itself, a loop: dropped"][..]),
        (2, &["are looked at, no more", "the answer would be longer"]),
        (3, &["more than 4096 copies leave the switch"]),
        (4, &["more than 8 groups lead to each other"]),
    ] {
        let liar = Liar::join(&controller, 100 + number, 3);
        let lies = move |asked: &StatsRequestBody| match asked {
            StatsRequestBody::Flow(_) => Some(vec![StatsReplyBody::Flow(vec![flow(vec![
                Instruction::ApplyActions(vec![to(1)]),
            ])])]),
            StatsRequestBody::GroupDesc => Some(parts(groups(number))),
            _ => None,
        };
        let _life = thread::spawn(move || liar.live(lies));
        when(&api, "/api/v1/switches", |page| page["total"] == 2 + number);
        let question = json!({"switch": 100 + number, "port": 1});
        let asking = {
            let api = api.clone();
            thread::spawn(move || post(&api, "/api/v1/trace", &question))
        };
        let mut slowest = health(&api);
        while !asking.is_finished() {
            slowest = slowest.max(health(&api));
        }
        let answer = asking.join().unwrap();
        assert_eq!(answer.status, 200, "{number}: {answer:?}");
        assert!(answer.body.len() < 8 * 1024 * 1024, "{number}: {} bytes", answer.body.len());
        let trace: Value = answer.json();
        let said = trace["hops"][0]["does"].to_string();
        assert!(words.iter().any(|words| said.contains(words)), "{number}: {}", trace["cuts"]);
        assert_eq!(trace["cut"], number != 1, "{number}: {}", trace["cuts"]);
        assert!(slowest < SOON, "{number}: others waited for {slowest:?}");
        assert!(controller.memory() < MEMORY_MAX, "{number}: {} bytes", controller.memory());
        let honest = json!({"switch": 1, "port": 1});
        assert_eq!(post(&api, "/api/v1/trace", &honest).status, 200);
    }
}

/// Switches of the network, and hosts of each, one at a port.
const SWITCHES: u32 = 5;
const HOSTS: u32 = 4_000;

/// A host asks for the first one of its switch, in a PACKET_IN: so it becomes known, and no
/// question but that of the first is flooded.
fn asks(switch: u32, host: u32) -> Vec<u8> {
    let mac = |host: u32| [[2, switch as u8].as_slice(), &host.to_be_bytes()].concat();
    let ip = |host: u32| [[10, switch as u8].as_slice(), &(host as u16).to_be_bytes()].concat();
    let arp = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &mac(host), &ip(host), &[0; 6], &ip(1)].concat();
    let frame = [&[0xff; 6][..], &mac(host), &[8, 6], &arp].concat();
    let packet_in = PacketIn {
        buffer_id: NO_BUFFER,
        total_len: frame.len() as u16,
        reason: PacketInReason::NO_MATCH,
        table_id: TableNo(0),
        cookie: u64::MAX,
        match_: Match::new().in_port(PortNo(host)),
        data: frame,
    };
    let mut bytes = vec![];
    Message::PacketIn(packet_in).encode(Version::V13, host, &mut bytes).unwrap();
    bytes
}

/// Twenty thousand hosts, and a packet that its switch floods to all of its own.
#[test]
fn a_flood_among_twenty_thousand_hosts_is_followed_in_bounded_time_and_memory() {
    let (controller, api) = serving(&[]);
    let floods = |asked: &StatsRequestBody| match asked {
        StatsRequestBody::Flow(_) => Some(vec![StatsReplyBody::Flow(vec![flow(vec![
            Instruction::ApplyActions(vec![Action::output(PortNo::FLOOD)]),
        ])])]),
        StatsRequestBody::GroupDesc => Some(vec![StatsReplyBody::GroupDesc(vec![])]),
        _ => None,
    };
    let mut sockets = vec![];
    for switch in 1..=SWITCHES {
        let liar = Liar::join(&controller, switch, HOSTS);
        sockets.push(liar.peer.socket().try_clone().unwrap());
        thread::spawn(move || liar.live(floods));
    }
    when(&api, "/api/v1/switches", |page| page["total"] == SWITCHES);
    let all = u64::from(SWITCHES * HOSTS);
    let deadline = Instant::now() + 2 * WITHIN;
    for turn in 1.. {
        // The first hosts have to be known when the others ask for them.
        let hosts = if turn == 1 { 1..=1 } else { 1..=HOSTS };
        for (switch, socket) in (1..).zip(&mut sockets) {
            hosts.clone().for_each(|host| socket.write_all(&asks(switch, host)).unwrap());
        }
        thread::sleep(Duration::from_millis(500));
        let known = api.get("/api/v1/hosts?limit=1").json()["total"].as_u64();
        if known == Some(all) {
            break;
        }
        assert!(Instant::now() < deadline, "{known:?} of {all} hosts are known");
    }
    let before = controller.memory();
    let asked = Instant::now();
    let answer = post(&api, "/api/v1/trace", &json!({"switch": 1, "port": 1}));
    let (took, more) = (asked.elapsed(), controller.memory().saturating_sub(before));
    assert_eq!(answer.status, 200, "{answer:?}");
    let trace: Value = answer.json();
    let outs = trace["hops"][0]["out"].as_array().unwrap();
    let named = outs.iter().filter(|out| out["to"]["hosts"].is_array()).count();
    assert_eq!((named, &trace["cut"]), (HOSTS as usize - 1, &json!(false)));
    assert!(answer.body.len() < 1024 * 1024, "{} bytes", answer.body.len());
    assert!(took < SOON, "{took:?}");
    assert!(more < 64 * 1024 * 1024, "{more} bytes more");
}

#[test]
fn a_trace_for_which_there_is_no_memory_is_refused_and_the_controller_goes_on() {
    let (controller, api) = serving(&[]);
    let _network = Network::start(&controller, Version::V13, "linear,2", &["1s ping h1 h2"]);
    when(&api, "/api/v1/links?state=up", |page| page["total"] == 1);
    let question = json!({"switch": 1, "port": 1});
    assert_eq!(post(&api, "/api/v1/trace", &question).status, 200);
    controller.limit_memory(Some(40 * 1024 * 1024));
    for _ in 0..3 {
        let answer = post(&api, "/api/v1/trace", &question);
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.json()["type"], "urn:aldis:no-memory");
        assert_eq!(api.get("/api/v1/hosts").status, 200);
        health(&api);
    }
    controller.limit_memory(None);
    assert_eq!(post(&api, "/api/v1/trace", &question).status, 200);
    when(&api, "/api/v1/switches", |page| page["total"] == 2);
}
