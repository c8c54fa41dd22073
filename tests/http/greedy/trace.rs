//! Traces that would have no end.

use std::thread;

use aldis_wire::Version;
use aldis_wire::msg::{
    Action, Bucket, FlowModFlags, FlowStats, GroupDesc, GroupNo, GroupType, Instruction, Match,
    PortNo, StatsReplyBody, StatsRequestBody, TableNo,
};
use serde_json::{Value, json};

use super::{Liar, Network, SOON, health, post, serving, when};

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
