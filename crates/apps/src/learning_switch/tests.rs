//! What the application says to what it sees, as dialogues: frames go in, and what comes out is
//! decoded and put in words.

use core::time::Duration;
use std::sync::Arc;

use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{
    AppSet, Batch, Event, EventKind, Output, Pipeline, RequestHeader, Run, Switch, Tables, Time,
    World,
};
use aldis_wire::msg::{
    Action, Field, FlowMod, FlowModCommand, Instruction, Message, PacketOut, Port, PortChange,
    PortChangeReason, PortDetails, PortNo,
};
use aldis_wire::{Chop, DatapathId, FixedText, MacAddr, NO_BUFFER, Version};

use super::{LearningConfig, LearningSwitch, Seed};

const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
const C: [u8; 6] = [2, 0, 0, 0, 0, 0xc];
const ALL: [u8; 6] = [0xff; 6];
const IPV4: [u8; 2] = [8, 0];

/// One switch, and the application in a pipeline of its own.
struct SwitchLab {
    version: Version,
    pipeline: Pipeline,
    switches: Vec<Arc<Switch>>,
    now: Time,
    out: Output,
}

/// A PACKET_IN: port, frame, buffer id, full length.
struct TestRequest(u32, Vec<u8>, u32, u16);

impl SwitchLab {
    fn new(version: Version) -> SwitchLab {
        SwitchLab::of(version, LearningConfig::new(Seed::new([7; 16])), 1)
    }

    fn of(version: Version, config: LearningConfig, tables: u8) -> SwitchLab {
        let pipeline = AppSet::default().with(move || LearningSwitch::new(config));
        let mut pipeline = pipeline.build().unwrap().pipeline(0);
        let ports = (1..=4).map(|number| port(number, false)).collect();
        let info = SwitchInfo { dpid: DatapathId(1), version, buffers: 256, tables, ports };
        let switches =
            vec![pipeline.join(Time::START, info.clone()), pipeline.join(Time::START, info)];
        SwitchLab { version, pipeline, switches, now: Time::START, out: Output::default() }
    }

    /// The answers to requests of the first switch in one batch.
    fn request(&mut self, asks: &[TestRequest]) -> Vec<String> {
        self.asked_by(&[(0, asks)]).concat()
    }

    /// The answers to runs of requests in one batch, by segment.
    fn asked_by(&mut self, runs: &[(usize, &[TestRequest])]) -> Vec<Vec<String>> {
        let (mut bytes, mut requests, mut places) = (vec![], vec![], vec![]);
        for (switch, asks) in runs {
            let first = requests.len();
            for TestRequest(in_port, frame, buffer_id, total_len) in *asks {
                requests.push(RequestHeader {
                    frame_at: bytes.len() as u32,
                    head_len: 0,
                    frame_len: frame.len() as u16,
                    total_len: *total_len,
                    reason: 0,
                    stopped: false,
                    in_port: *in_port,
                    buffer_id: *buffer_id,
                    xid: 77,
                });
                bytes.extend_from_slice(frame);
            }
            places.push(Run { switch: *switch, requests: first..requests.len() });
        }
        let switches: Vec<&Switch> = self.switches.iter().map(|switch| &**switch).collect();
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: self.now,
            world: View::nothing(),
            bytes: &bytes,
            switches: &switches,
            runs: &places,
            requests: &mut requests,
        };
        self.out.clear();
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        self.said()
    }

    /// The answers to one request with a buffered packet, number 5.
    fn sees(&mut self, port: u32, src: [u8; 6], dst: [u8; 6]) -> Vec<String> {
        self.request(&[buffered(port, frame(src, dst, &IPV4))])
    }

    /// The answers to an event.
    fn happens(&mut self, event: Event) -> Vec<String> {
        self.out.clear();
        let switch = Arc::clone(&self.switches[0]);
        self.pipeline.event(self.now, &World::NOTHING, &switch, &event, &mut self.out);
        self.said().concat()
    }

    fn passes(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now = self.now + Duration::from_secs(1);
            self.happens(Event::Second);
        }
    }

    fn said(&mut self) -> Vec<Vec<String>> {
        let segments: Vec<_> = self.out.take_segments().collect();
        assert!(segments.is_sorted_by(|a, b| a.run < b.run), "an answer goes to another switch");
        let mut begin = 0;
        let mut words = |end: usize| {
            let bytes = &self.out.bytes()[begin..end];
            begin = end;
            let message = |raw: &[u8]| Message::decode(self.version, raw).unwrap();
            Chop::new(bytes).map(|raw| in_words(message(raw.unwrap().bytes))).collect()
        };
        segments.iter().map(|segment| words(segment.end)).collect()
    }
}

fn port(number: u32, link_down: bool) -> Port {
    Port {
        number: PortNo(number),
        hw_addr: MacAddr([6, 0, 0, 0, 0, number as u8]),
        name: FixedText::default(),
        admin_down: false,
        link_down,
        speed_kbps: 0,
        details: PortDetails::default(),
    }
}

fn goes(number: u32) -> Event {
    let reason = PortChangeReason::Modified;
    Event::Port(PortChange { reason, port: port(number, true) })
}

fn frame(src: [u8; 6], dst: [u8; 6], rest: &[u8]) -> Vec<u8> {
    [&dst[..], &src, rest, &[0x55; 46]].concat()
}

fn tagged(src: [u8; 6], dst: [u8; 6], vlan: u16) -> Vec<u8> {
    let [high, low] = (0xe000 | vlan).to_be_bytes();
    frame(src, dst, &[0x81, 0, high, low, 8, 0])
}

fn buffered(port: u32, frame: Vec<u8>) -> TestRequest {
    let len = frame.len() as u16;
    TestRequest(port, frame, 5, len)
}

fn whole(port: u32, frame: Vec<u8>) -> TestRequest {
    let len = frame.len() as u16;
    TestRequest(port, frame, NO_BUFFER, len)
}

fn in_words((xid, message): (u32, Message)) -> String {
    match message.meaning() {
        Message::FlowMod(flow) if flow.command == FlowModCommand::ADD => {
            assert_eq!((xid, flow.idle_timeout, flow.hard_timeout), (77, 60, 0));
            let [Instruction::ApplyActions(actions)] = &flow.instructions[..] else { panic!() };
            format!("flow {} → {}{}", fields(&flow), ports(actions), buffer(flow.buffer_id))
        }
        Message::FlowMod(flow) => {
            assert_eq!(flow.command, FlowModCommand::DELETE);
            assert_eq!(flow.cookie_mask, if flow.instructions.is_empty() { u64::MAX } else { 0 });
            let to = if flow.out_port == PortNo::ANY {
                String::new()
            } else {
                format!(" → {}", flow.out_port)
            };
            format!("remove {}{to}", fields(&flow))
        }
        Message::PacketOut(PacketOut { buffer_id, in_port, actions, data }) => {
            let data =
                if data.is_empty() { String::new() } else { format!(" {} bytes", data.len()) };
            format!("send in {in_port} → {}{}{data}", ports(&actions), buffer(buffer_id))
        }
        other => panic!("{other:?}"),
    }
}

fn fields(flow: &FlowMod) -> String {
    let mut words: Vec<String> = flow.match_.fields.iter().map(field).collect();
    words.sort();
    words.join(" ")
}

fn field(field: &Field) -> String {
    match field {
        Field::InPort(port) => format!("in {port}"),
        Field::EthSrc(mac) => format!("src {:x}", mac.value.0[5]),
        Field::EthDst(mac) => format!("dst {:x}", mac.value.0[5]),
        Field::VlanVid(vid) if vid.value == 0 => "untagged".into(),
        Field::VlanVid(vid) => format!("vlan {}", vid.value & 0xfff),
        other => panic!("{other:?}"),
    }
}

fn ports(actions: &[Action]) -> String {
    let port = |action: &Action| match action {
        Action::Output { port, .. } => port.to_string(),
        other => panic!("{other:?}"),
    };
    let ports: Vec<String> = actions.iter().map(port).collect();
    if ports.is_empty() { "nowhere".into() } else { ports.join(",") }
}

fn buffer(id: u32) -> String {
    if id == NO_BUFFER { String::new() } else { format!(" buffer {id}") }
}

fn both(test: impl Fn(SwitchLab)) {
    Version::ALL.into_iter().for_each(|version| test(SwitchLab::new(version)));
}

#[test]
fn an_unknown_destination_is_flooded_and_a_known_one_gets_a_flow() {
    both(|mut lab| {
        assert_eq!(lab.sees(1, A, B), ["send in 1 → FLOOD buffer 5"]);
        assert_eq!(lab.sees(2, B, A), ["flow dst a in 2 src b untagged → 1 buffer 5"]);
        assert_eq!(lab.sees(1, A, B), ["flow dst b in 1 src a untagged → 2 buffer 5"]);
        assert_eq!(lab.sees(1, A, ALL), ["send in 1 → FLOOD buffer 5"]);
    });
}

#[test]
fn what_a_batch_teaches_its_later_requests_know() {
    both(|mut lab| {
        let asks = [(1, A, B), (2, B, A), (3, A, B), (2, B, A)];
        let asks = asks.map(|(port, src, dst)| buffered(port, frame(src, dst, &IPV4)));
        assert_eq!(
            lab.request(&asks),
            [
                "send in 1 → FLOOD buffer 5",
                "flow dst a in 2 src b untagged → 1 buffer 5",
                "remove dst a untagged",
                "flow dst b in 3 src a untagged → 2 buffer 5",
                "flow dst a in 2 src b untagged → 3 buffer 5",
            ]
        );
    });
}

#[test]
fn without_a_buffer_the_frame_travels() {
    both(|mut lab| {
        let ask = |port, src, dst| [whole(port, frame(src, dst, &IPV4))];
        assert_eq!(lab.request(&ask(1, A, B)), ["send in 1 → FLOOD 60 bytes"]);
        assert_eq!(
            lab.request(&ask(2, B, A)),
            ["flow dst a in 2 src b untagged → 1", "send in 2 → 1 60 bytes"]
        );
    });
}

#[test]
fn a_frame_that_the_switch_cut_cannot_be_sent() {
    both(|mut lab| {
        let cut = |port, src, dst| [TestRequest(port, frame(src, dst, &IPV4), NO_BUFFER, 1500)];
        assert!(lab.request(&cut(1, A, B)).is_empty());
        assert_eq!(lab.request(&cut(2, B, A)), ["flow dst a in 2 src b untagged → 1"]);
        let longest = vec![0x44; usize::from(u16::MAX)];
        assert!(lab.request(&[whole(1, longest)]).is_empty());
    });
}

#[test]
fn what_is_behind_the_same_port_is_not_sent_there() {
    both(|mut lab| {
        lab.sees(1, A, C);
        assert_eq!(lab.sees(1, B, A), ["send in 1 → nowhere buffer 5"]);
        assert!(lab.request(&[whole(1, frame(B, A, &IPV4))]).is_empty());
    });
}

#[test]
fn vlans_are_apart() {
    both(|mut lab| {
        let ask = |port, src, dst, vlan| [buffered(port, tagged(src, dst, vlan))];
        assert_eq!(lab.request(&ask(1, A, B, 10)), ["send in 1 → FLOOD buffer 5"]);
        assert_eq!(lab.request(&ask(2, B, A, 10)), ["flow dst a in 2 src b vlan 10 → 1 buffer 5"]);
        assert_eq!(lab.request(&ask(2, B, A, 20)), ["send in 2 → FLOOD buffer 5"]);
        assert_eq!(lab.sees(2, B, A), ["send in 2 → FLOOD buffer 5"]);
        assert_eq!(lab.request(&ask(3, A, C, 20)), ["send in 3 → FLOOD buffer 5"]);
        assert_eq!(
            lab.request(&ask(4, A, C, 10)),
            ["remove dst a vlan 10", "send in 4 → FLOOD buffer 5"]
        );
        assert_eq!(lab.request(&ask(2, B, A, 20)), ["flow dst a in 2 src b vlan 20 → 3 buffer 5"]);
    });
}

#[test]
fn what_is_known_without_a_vlan_is_not_known_in_one() {
    both(|mut lab| {
        lab.sees(1, A, C);
        assert_eq!(lab.request(&[buffered(2, tagged(B, A, 30))]), ["send in 2 → FLOOD buffer 5"]);
        assert_eq!(
            lab.request(&[buffered(2, tagged(B, A, 0))]),
            ["flow dst a in 2 src b vlan 0 → 1 buffer 5"]
        );
    });
}

#[test]
fn bridges_talk_among_themselves() {
    both(|mut lab| {
        let bridge = [1, 0x80, 0xc2, 0, 0, 0xe];
        let lldp = frame(A, bridge, &[0x88, 0xcc]);
        assert_eq!(lab.request(&[buffered(1, lldp.clone())]), ["send in 1 → nowhere buffer 5"]);
        assert!(lab.request(&[whole(1, lldp)]).is_empty());
        assert_eq!(lab.sees(2, B, A), ["send in 2 → FLOOD buffer 5"]);
        assert_eq!(lab.sees(1, A, [1, 0x80, 0xc2, 0, 0, 0]), ["send in 1 → nowhere buffer 5"]);
        assert_eq!(lab.sees(1, A, [1, 0x80, 0xc2, 0, 0, 0x10]), ["send in 1 → FLOOD buffer 5"]);
    });
}

#[test]
fn nobody_and_groups_are_not_learnt() {
    both(|mut lab| {
        for src in [[0; 6], ALL, [3, 0, 0, 0, 0, 0xa]] {
            assert_eq!(lab.sees(1, src, C), ["send in 1 → FLOOD buffer 5"]);
            assert_eq!(lab.sees(2, B, src), ["send in 2 → FLOOD buffer 5"]);
        }
        if lab.version == Version::V13 {
            assert_eq!(
                lab.sees(PortNo::CONTROLLER.0, A, C),
                ["send in CONTROLLER → FLOOD buffer 5"]
            );
        }
        assert_eq!(lab.sees(2, B, A), ["send in 2 → FLOOD buffer 5"]);
        assert_eq!(lab.sees(PortNo::LOCAL.0, A, C), ["send in LOCAL → FLOOD buffer 5"]);
        assert_eq!(lab.sees(2, B, A), ["flow dst a in 2 src b untagged → LOCAL buffer 5"]);
    });
}

#[test]
fn a_frame_without_a_whole_header_is_dropped() {
    both(|mut lab| {
        for len in (0..14).chain(14..16) {
            let short = tagged(A, B, 5)[..len].to_vec();
            assert_eq!(
                lab.request(&[buffered(1, short.clone())]),
                ["send in 1 → nowhere buffer 5"]
            );
            assert!(lab.request(&[whole(1, short)]).is_empty());
        }
        assert_eq!(lab.request(&[buffered(1, frame(A, B, &IPV4)[..14].to_vec())]).len(), 1);
    });
}

#[test]
fn a_port_that_goes_takes_its_hosts_and_flows_along() {
    both(|mut lab| {
        lab.sees(1, A, C);
        lab.sees(2, B, C);
        assert_eq!(lab.happens(goes(1)), ["remove  → 1", "remove in 1"]);
        assert_eq!(lab.sees(2, B, A), ["send in 2 → FLOOD buffer 5"]);
        let back = PortChange { reason: PortChangeReason::Modified, port: port(1, false) };
        assert!(lab.happens(Event::Port(back)).is_empty());
        assert_eq!(lab.sees(2, B, A), ["send in 2 → FLOOD buffer 5"]);
        lab.sees(1, C, ALL);
        assert_eq!(lab.sees(2, B, C), ["flow dst c in 2 src b untagged → 1 buffer 5"]);
        let gone = PortChange { reason: PortChangeReason::Removed, port: port(1, false) };
        assert_eq!(lab.happens(Event::Port(gone)), ["remove  → 1", "remove in 1"]);
        assert_eq!(lab.sees(2, B, C), ["send in 2 → FLOOD buffer 5"]);
    });
}

#[test]
fn a_slot_given_to_another_port_brings_no_host_back() {
    both(|mut lab| {
        lab.sees(1, A, C);
        lab.happens(goes(1));
        for port in 100..4500 {
            lab.sees(port, [2, 1, 0, 0, (port >> 8) as u8, port as u8], C);
            lab.happens(goes(port));
            lab.passes(u64::from(port % 2));
            assert_eq!(lab.sees(2, B, A), ["send in 2 → FLOOD buffer 5"]);
        }
    });
}

#[test]
fn silent_hosts_are_forgotten_and_the_others_are_not() {
    both(|mut lab| {
        lab.sees(1, A, C);
        lab.sees(2, B, C);
        for _ in 0..40 {
            lab.passes(100);
            lab.sees(2, B, C);
        }
        assert_eq!(lab.sees(3, C, A), ["send in 3 → FLOOD buffer 5"]);
        assert_eq!(lab.sees(3, C, B), ["flow dst b in 3 src c untagged → 2 buffer 5"]);
    });
}

#[test]
fn after_a_long_pause_nobody_is_remembered() {
    both(|mut lab| {
        for pause in [600, 601, 1200, 100_000] {
            lab.sees(1, A, C);
            lab.now = lab.now + Duration::from_secs(pause);
            assert_eq!(lab.sees(2, B, A), ["send in 2 → FLOOD buffer 5"], "{pause}");
        }
    });
}

#[test]
fn a_storm_of_moves_is_told_by_port() {
    both(|mut lab| {
        lab.sees(1, A, C);
        let mut removals = 0;
        for round in 0..3000 {
            removals += lab.sees(1 + round % 2, A, C).len() - 1;
        }
        assert_eq!(removals, 1000);
        let mut settled = lab.happens(Event::Second);
        settled.sort();
        assert_eq!(settled, ["remove  → 1", "remove  → 2"]);
        assert_eq!(lab.sees(1, A, C).len(), 2);
        assert!(lab.happens(Event::Second).is_empty());
    });
}

#[test]
fn every_switch_has_hosts_of_its_own_and_answers_go_to_whom_they_belong() {
    both(|mut lab| {
        let ask = |port, src, dst| buffered(port, frame(src, dst, &IPV4));
        let (first, second) = ([ask(1, A, B)], [ask(2, B, A)]);
        let said = lab.asked_by(&[(0, &first), (1, &second), (0, &second), (1, &[]), (1, &first)]);
        assert_eq!(
            said,
            [
                ["send in 1 → FLOOD buffer 5"],
                ["send in 2 → FLOOD buffer 5"],
                ["flow dst a in 2 src b untagged → 1 buffer 5"],
                ["flow dst b in 1 src a untagged → 2 buffer 5"],
            ]
        );
    });
}

#[test]
fn long_batches_are_answered_whole_and_in_order() {
    both(|mut lab| {
        let host = |host: u16| [2, 9, 0, 0, (host >> 8) as u8, host as u8];
        let ask = |at: u16| buffered(u32::from(at % 4) + 1, frame(host(at), host(at ^ 1), &IPV4));
        let asks: Vec<TestRequest> = (0..1000).map(ask).collect();
        let said = lab.request(&asks);
        assert_eq!(said.len(), 1000);
        for (at, said) in said.iter().enumerate() {
            assert!(said.starts_with(if at % 2 == 0 { "send" } else { "flow" }), "{at} {said}");
        }
    });
}

/// A batch of more switches than whose tables are held at once: each run is answered by itself, and
/// knows what those before it taught.
#[test]
fn batches_of_many_switches_are_answered_whole_and_in_order() {
    both(|mut lab| {
        let host = |host: usize| [2, 9, 0, 0, 0, host as u8];
        let ask = |at: usize| [buffered(at as u32 % 4 + 1, frame(host(at), host(at - 1), &IPV4))];
        let asks: Vec<_> = (1..=25).map(ask).collect();
        let runs: Vec<_> = (0..50).map(|run| (run % 2, &asks[run / 2][..])).collect();
        let said = lab.asked_by(&runs);
        assert_eq!(said.len(), 50);
        for (run, said) in said.iter().enumerate() {
            let expected = if run < 2 { "send in" } else { "flow dst" };
            assert!(said.len() == 1 && said[0].starts_with(expected), "{run}: {said:?}");
        }
    });
}

#[test]
fn flows_go_behind_the_rules_where_the_first_table_belongs_to_them() {
    let tables = [(Version::V10, 1), (Version::V10, 254), (Version::V13, 1), (Version::V13, 254)];
    let placed = tables.map(|(version, tables)| {
        let config =
            LearningConfig { tables: Tables::Guarded, ..LearningConfig::new(Seed::new([7; 16])) };
        let mut lab = SwitchLab::of(version, config, tables);
        lab.sees(1, A, B);
        lab.sees(2, B, A);
        let flow = Message::decode(version, lab.out.bytes()).unwrap().1.meaning();
        let Message::FlowMod(flow) = flow else { panic!("{flow:?}") };
        flow.table_id.0
    });
    assert_eq!(placed, [0, 0, 0, 1]);
}

#[test]
fn a_stopped_request_is_passed_over() {
    let mut lab = SwitchLab::new(Version::V10);
    let bytes = frame(A, B, &IPV4);
    let mut requests = [RequestHeader {
        frame_at: 0,
        head_len: 0,
        frame_len: 60,
        total_len: 60,
        reason: 0,
        stopped: true,
        in_port: 1,
        buffer_id: 5,
        xid: 77,
    }];
    let mut batch = Batch {
        kind: EventKind::FlowRequest,
        now: Time::START,
        world: View::nothing(),
        bytes: &bytes,
        switches: &[&lab.switches[0]],
        runs: &[Run { switch: 0, requests: 0..1 }],
        requests: &mut requests,
    };
    lab.pipeline.packet_ins(&mut batch, &mut lab.out);
    assert!(lab.out.is_empty());
}

#[test]
fn an_application_behind_it_has_nothing_to_answer() {
    use crate::Hub;
    use crate::testing::switch::{TestSwitch, request};
    for version in Version::ALL {
        let config = LearningConfig::new(Seed::new([7; 16]));
        let mut bench = TestSwitch::new(version, |app_set| {
            app_set.with(move || LearningSwitch::new(config)).with(|| Hub)
        });
        let frames = &mut [request(3, &frame(A, B, &IPV4)), request(4, &frame(B, A, &IPV4))];
        assert_eq!(bench.stopped(frames), [true, true]);
        let frames = &mut [request(3, &frame(A, ALL, &IPV4))];
        let said = bench.request(frames);
        assert!(matches!(&said[..], [(_, Message::PacketOut(_))]), "{said:?}");
    }
}
