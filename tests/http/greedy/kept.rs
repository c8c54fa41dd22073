//! Switches that answer what the controller asks, without end.

use std::thread;
use std::time::{Duration, Instant};

use aldis_emulator::peer::bare;
use aldis_wire::header::Header;
use aldis_wire::msg::{
    Action, FlowModFlags, FlowStats, Instruction, Match, Message, PortNo, StatsFlags, StatsReply,
    StatsReplyBody, StatsRequestBody, TableNo,
};
use aldis_wire::{Chop, Version};

use super::{BARRIER_REPLY, BARRIER_REQUEST, Liar, Network, SOON, health, serving, when};

const VERSION: Version = Version::V13;

/// What the controller may have: the budgets of two switches of 16 MiB in the several forms that
/// they take while people look, and what it has without them.
const MEMORY_MAX: usize = 300 * 1024 * 1024;

/// The mark of flows of `static-flows`: the reply has to look like those that the controller keeps.
fn cookie(request: &[u8]) -> u64 {
    // header, type, flags, pad, table, pad, port, group, pad: the cookie is at 32.
    u64::from_be_bytes(request[32..40].try_into().unwrap())
}

/// A flow as long as a message may be: eight thousand actions.
fn long_flow(cookie: u64) -> FlowStats {
    let actions = vec![Action::PopVlan; 8000];
    FlowStats {
        table_id: TableNo(0),
        duration_sec: 0,
        duration_nsec: 0,
        priority: 1,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: FlowModFlags::EMPTY,
        cookie,
        packet_count: 0,
        byte_count: 0,
        match_: Match::new(),
        instructions: vec![Instruction::ApplyActions(actions)],
    }
}

/// Answers the first question about flows with `bytes` of flows and never an end, and then all
/// others honestly.
fn flood(mut liar: Liar, megabytes: usize) {
    let mut asked = false;
    while let Ok(request) = liar.peer.receive() {
        let xid = u32::from_be_bytes(request[4..8].try_into().unwrap());
        match request[1] {
            BARRIER_REQUEST => {
                let _ = liar.peer.send(&bare(VERSION, BARRIER_REPLY, xid));
            }
            2 => drop(liar.peer.send(&bare(VERSION, 3, xid))),
            // OFPT_MULTIPART_REQUEST of OFPMP_FLOW.
            18 if request[8..10] == [0, 1] && !asked && cookie(&request) != 0 => {
                asked = true;
                let flows = StatsReplyBody::Flow(vec![long_flow(cookie(&request))]);
                let reply = StatsReply { flags: StatsFlags::MORE, body: flows };
                let mut part = Vec::new();
                Message::StatsReply(reply).encode(VERSION, xid, &mut part).unwrap();
                for _ in 0..megabytes * 1024 * 1024 / part.len() {
                    if liar.peer.send(&part).is_err() {
                        return;
                    }
                }
            }
            _ => {}
        }
    }
}

#[test]
fn what_a_switch_says_about_its_flows_without_end_is_kept_up_to_its_budget() {
    let (mut controller, api) = serving(&[]);
    let before = controller.memory();
    let liar = Liar::join(&controller, 100, 3);
    let flooding = thread::spawn(move || flood(liar, 300));
    controller.says("static-flows: switch 0000000000000064 says so much about its flows");
    let _honest = Network::start(&controller, VERSION, "linear,2", &[]);
    let began = Instant::now();
    when(&api, "/api/v1/links?state=up", |page| page["total"] == 1);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let mut slowest = Duration::ZERO;
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut most = controller.memory();
    while api.get("/api/v1/switches/100").json()["counters"]["bytes_in"].as_u64() < Some(250 << 20)
    {
        assert!(Instant::now() < deadline, "it is not read");
        slowest = slowest.max(health(&api));
        most = most.max(controller.memory());
    }
    assert!(most < before + MEMORY_MAX, "{before} bytes before, {most} at the most");
    assert!(slowest < SOON, "others waited for {slowest:?}");
    let switch = api.get("/api/v1/switches/100").json();
    assert!(switch["kept"]["refused"].as_u64() > Some(0), "{switch}");
    assert_eq!(switch["kept"]["bytes_max"], 16 << 20);
    drop(controller);
    let _ = flooding.join();
}

/// A message of so many of the shortest flows that there are.
fn short_flows(xid: u32, more: bool) -> Vec<u8> {
    const FLOWS: usize = 1000;
    let mut part = vec![];
    part.extend([0, 1, 0, u8::from(more), 0, 0, 0, 0]);
    for number in 0..FLOWS as u16 {
        let mut flow = [0; 56];
        flow[..2].copy_from_slice(&56_u16.to_be_bytes());
        flow[12..14].copy_from_slice(&number.to_be_bytes());
        flow[48..52].copy_from_slice(&[0, 1, 0, 4]);
        part.extend(flow);
    }
    let length = (8 + part.len()) as u16;
    [&Header { version: 4, kind: 19, length, xid }.to_bytes()[..], &part].concat()
}

#[test]
fn a_long_list_of_flows_keeps_nobody_waiting_and_its_memory_is_given_back() {
    let (controller, api) = serving(&[]);
    let before = controller.memory();
    let mut liar = Liar::join(&controller, 100, 3);
    // Just below the budget, and once above it.
    let answering = thread::spawn(move || {
        let mut questions = 0;
        while let Ok(request) = liar.peer.receive() {
            let xid = u32::from_be_bytes(request[4..8].try_into().unwrap());
            match request[1] {
                BARRIER_REQUEST => drop(liar.peer.send(&bare(VERSION, BARRIER_REPLY, xid))),
                2 => drop(liar.peer.send(&bare(VERSION, 3, xid))),
                18 if request[8..10] == [0, 1] && cookie(&request) == 0 => {
                    questions += 1;
                    let parts = if questions == 1 { 290 } else { 600 };
                    for part in 1..=parts {
                        if liar.peer.send(&short_flows(xid, part < parts)).is_err() {
                            return;
                        }
                    }
                }
                18 => {
                    let mut end = short_flows(xid, false);
                    end.truncate(16);
                    end[2..4].copy_from_slice(&16_u16.to_be_bytes());
                    end[8..10].copy_from_slice(&request[8..10]);
                    drop(liar.peer.send(&end));
                }
                _ => {}
            }
        }
    });
    when(&api, "/api/v1/switches", |page| page["total"] == 1);
    let asking = {
        let api = api.clone();
        thread::spawn(move || api.get("/api/v1/switches/100/flows?limit=3"))
    };
    let (mut slowest, mut most) = (Duration::ZERO, 0);
    while !asking.is_finished() {
        slowest = slowest.max(health(&api));
        most = most.max(controller.memory());
    }
    let answer = asking.join().unwrap();
    let page = answer.json();
    assert_eq!((&page["total"], &page["next"]), (&290_000.into(), &"2".into()), "{answer:?}");
    assert_eq!(page["items"][2]["priority"], 999);
    assert!(most < before + MEMORY_MAX, "{before} bytes before, {most} at the most");
    assert!(slowest < SOON, "others waited for {slowest:?}");
    let answer = api.get("/api/v1/switches/100/flows?limit=3");
    assert!(answer.is_problem(422, "switch-mib-max"), "{answer:?}");
    let deadline = Instant::now() + Duration::from_secs(80);
    while controller.memory() > before + 64 * 1024 * 1024 {
        assert!(Instant::now() < deadline, "{before} bytes before, {} after", controller.memory());
        thread::sleep(Duration::from_millis(200));
    }
    drop(controller);
    let _ = answering.join();
}

#[test]
fn a_flow_of_the_test_is_one_that_can_be_read() {
    let bytes = short_flows(7, false);
    let raw = Chop::new(&bytes).next().unwrap().unwrap();
    let (xid, message) = Message::decode(VERSION, raw.bytes).unwrap();
    let Message::StatsReply(StatsReply { body: StatsReplyBody::Flow(flows), .. }) =
        message.meaning()
    else {
        panic!("no flows")
    };
    assert_eq!((xid, flows.len(), flows[999].priority), (7, 1000, 999));
    let _ = (PortNo::ANY, StatsRequestBody::Table);
}
