//! What the application says to which switch, as dialogues, in a ring of four switches of both
//! versions.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use aldis_control::session::SwitchError;
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PublishCtx, Publishers, View, WorldBuilder};
use aldis_control::{
    App, AppSet, Batch, Event, EventKind, Output, Pipeline, Publisher, RequestHeader, Run, Switch,
    SwitchPort, Tables, Time, World,
};
use aldis_wire::msg::{
    Action, Field, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason,
    Instruction, Match, Message, PacketOut, PortNo, TableNo,
};
use aldis_wire::{Chop, DatapathId, MacAddr, NO_BUFFER, Version};

use super::{PathLog, RouteFlow, Style};
use crate::hosts::{self, HostTracker};
use crate::learning_switch::Seed;
use crate::routing::{Routing, Shortest};
use crate::topology::{self, LinkPeer, LinkState, Map};

const SWITCHES: u64 = 4;
/// Where each switch has its host, of the same number.
const HOST: u32 = 9;
/// Where there is room for another.
const SECOND: u32 = 5;
const NEXT: u32 = 1;
const BEFORE: u32 = 2;

/// Publishes the map that the test draws.
struct Atlas(Arc<Mutex<(Map, bool)>>);

impl App for Atlas {
    type Slot = ();
    const NAME: &'static str = "atlas";
    const EVENTS: &'static [EventKind] = &[];

    fn publishers(&self) -> Publishers {
        Publishers::of(Draws(Arc::clone(&self.0)))
    }
}

struct Draws(Arc<Mutex<(Map, bool)>>);

impl Publisher for Draws {
    type Part = Map;

    fn begin(&mut self) -> Map {
        Map::default()
    }

    fn revise(&mut self, _: Time, _: PublishCtx<'_, Map>) -> Option<Map> {
        let (map, is_new) = &mut *self.0.lock().unwrap();
        core::mem::take(is_new).then(|| map.clone())
    }

    fn next(&self) -> Time {
        Time::START
    }
}

struct RouteLab {
    pipeline: Pipeline,
    world_builder: WorldBuilder,
    world: Arc<World>,
    map: Arc<Mutex<(Map, bool)>>,
    switches: Vec<Arc<Switch>>,
    out: Output,
    now: Time,
}

fn version(dpid: u64) -> Version {
    if dpid.is_multiple_of(2) { Version::V13 } else { Version::V10 }
}

/// All that is to be known of the ring, but for links that are cut: by their lower ends.
fn ring(cut: &[u64], gone: &[SwitchPort]) -> Map {
    let switches = (1..=SWITCHES).map(|dpid| {
        let (next, before) = (dpid % SWITCHES + 1, (dpid + SWITCHES - 2) % SWITCHES + 1);
        let link = |at: SwitchPort| {
            let (state, since, latency_us) = (LinkState::Up, Time::START, 0);
            LinkPeer { at, state, since, out: true, back: true, slow: false, latency_us }
        };
        let ends = [
            (NEXT, (!cut.contains(&dpid)).then(|| link(SwitchPort::new(next, BEFORE)))),
            (BEFORE, (!cut.contains(&before)).then(|| link(SwitchPort::new(before, NEXT)))),
            (SECOND, None),
            (HOST, None),
        ];
        let is_there = |(number, link): &(u32, Option<LinkPeer>)| {
            (*number >= SECOND || link.is_some()) && !gone.contains(&SwitchPort::new(dpid, *number))
        };
        let port = |(number, link): (u32, Option<LinkPeer>)| topology::MapPort {
            number: PortNo(number),
            mac: MacAddr::default(),
            speed_kbps: 0,
            known: true,
            host: link.is_none(),
            link,
            far: vec![],
        };
        let ports = ends.into_iter().filter(is_there).map(port).collect();
        let (dpid, version, since) = (DatapathId(dpid), version(dpid), Time::START);
        topology::MapSwitch { dpid, version, since, ports }
    });
    switches.collect()
}

impl RouteLab {
    /// With all switches, links and hosts known.
    fn new() -> RouteLab {
        let map = Arc::new(Mutex::new((ring(&[], &[]), true)));
        let (path_log, atlas) = (Arc::new(PathLog::new(100)), Arc::clone(&map));
        let tables = Tables::Guarded;
        let style = Style { idle_timeout_s: 60, priority: 7, cookie: 0xc00c1e, tables };
        let app_set = AppSet::default()
            .with(move || Atlas(Arc::clone(&atlas)))
            .with(|| HostTracker::new(hosts::HostsConfig::new(Seed::new([7; 16]))))
            .with(|| Routing::new(Arc::new(Shortest::default()), false))
            .with(move || RouteFlow::new(style, Arc::clone(&path_log)));
        let pipelines = app_set.build().unwrap();
        let (mut pipeline, mut out, world) =
            (pipelines.pipeline(0), pipelines.output(0), pipelines.world());
        let mut switches = vec![];
        for dpid in 1..=SWITCHES {
            let (dpid, version) = (DatapathId(dpid), version(dpid));
            let info = SwitchInfo { dpid, version, buffers: 0, tables: 2, ports: vec![] };
            let switch = pipeline.join(Time::START, info);
            pipeline.event(Time::START, &world, &switch, &Event::Joining, &mut out);
            switches.push(switch);
        }
        let world_builder = pipelines.world_builder();
        let mut lab =
            RouteLab { pipeline, world_builder, world, map, switches, out, now: Time::START };
        lab.passes();
        for host in 1..=SWITCHES {
            // A broadcast by each: so it is known where they are.
            assert!(lab.asks(host, HOST, frame(host, 0xff)).is_empty());
        }
        assert!(lab.passes().is_empty());
        lab
    }

    /// What was reported is published and acted on, as often as there is anything; what is said
    /// because of that.
    fn passes(&mut self) -> Vec<String> {
        for _ in 0..20 {
            self.now = self.now + Duration::from_millis(2);
            if let Some(world) = self.world_builder.step(self.now) {
                self.pipeline.published(self.now, &self.world, &world, self.out.commands());
                self.world = world;
            }
        }
        self.said()
    }

    /// The network is another.
    fn is(&mut self, map: Map) -> Vec<String> {
        *self.map.lock().unwrap() = (map, true);
        self.passes()
    }

    fn asks(&mut self, dpid: u64, in_port: u32, frame: Vec<u8>) -> Vec<String> {
        let len = frame.len() as u16;
        let (answers, stopped) = self.asks_for(dpid, in_port, frame, (NO_BUFFER, len));
        assert_eq!(stopped, !answers.is_empty(), "{answers:?}");
        answers
    }

    /// The answers to a request whose packet is in this buffer and so long, and whether it was kept
    /// from later applications.
    fn asks_for(
        &mut self,
        dpid: u64,
        in_port: u32,
        frame: Vec<u8>,
        (buffer_id, total_len): (u32, u16),
    ) -> (Vec<String>, bool) {
        let (frame_len, xid) = (frame.len() as u16, 77);
        let mut requests = [RequestHeader {
            frame_at: 0,
            head_len: 0,
            frame_len,
            total_len,
            reason: 0,
            stopped: false,
            in_port,
            buffer_id,
            xid,
        }];
        let place = dpid as usize - 1;
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: self.now,
            world: View::of(&self.world, &[]),
            bytes: &frame,
            switches: &[&self.switches[place]],
            runs: &[Run { switch: 0, requests: 0..1 }],
            requests: &mut requests,
        };
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        let mut answers: Vec<String> =
            Chop::new(self.out.bytes()).map(|raw| in_words(dpid, raw.unwrap().bytes)).collect();
        self.out.take_segments().for_each(drop);
        self.out.clear();
        answers.extend(self.said());
        (answers, requests[0].stopped)
    }

    /// The switch goes away and comes back.
    fn joins_again(&mut self, dpid: u64) {
        self.happens(dpid, &Event::Down);
        let place = dpid as usize - 1;
        let info = self.switches[place].info.clone();
        self.switches[place] = self.pipeline.join(self.now, info);
        self.happens(dpid, &Event::Joining);
        self.passes();
    }

    fn happens(&mut self, dpid: u64, event: &Event) -> Vec<String> {
        let switch = Arc::clone(&self.switches[dpid as usize - 1]);
        self.pipeline.event(self.now, &self.world, &switch, event, &mut self.out);
        self.said()
    }

    /// What goes to other switches, with a line around what belongs together.
    fn said(&mut self) -> Vec<String> {
        let (bytes, pieces) = self.out.commands().pieces();
        let words = pieces.iter().flat_map(|piece| {
            let chopped = Chop::new(&bytes[piece.bytes.clone()]);
            let path = if piece.path.is_some() { "path: " } else { "" };
            chopped.map(move |raw| path.to_owned() + &in_words(piece.to.0, raw.unwrap().bytes))
        });
        let words = words.collect();
        self.out.commands().clear();
        words
    }
}

fn frame(src: u64, dst: u64) -> Vec<u8> {
    let mac = |host: u64| match host {
        0xff => [0xff; 6],
        host => [2, 0, 0, 0, 0, host as u8],
    };
    [&mac(dst)[..], &mac(src), &[8, 0], &[0x55; 46]].concat()
}

fn in_words(dpid: u64, raw: &[u8]) -> String {
    let (_, message) = Message::decode(version(dpid), raw).unwrap();
    let words = match message.meaning() {
        Message::FlowMod(flow) if flow.command == FlowModCommand::ADD => {
            assert_eq!((flow.cookie, flow.idle_timeout, flow.priority), (0xc00c1e, 60, 7));
            assert_eq!(flow.table_id.0, u8::from(version(dpid) == Version::V13));
            let [Instruction::ApplyActions(actions)] = &flow.instructions[..] else { panic!() };
            let tells =
                if flow.flags.contains(FlowModFlags::SEND_FLOW_REM) { ", tells" } else { "" };
            let held = if flow.buffer_id == NO_BUFFER { "" } else { ", held" };
            format!("{} → {}{tells}{held}", fields(&flow), ports(actions))
        }
        Message::FlowMod(flow) => {
            assert_eq!((flow.command, flow.priority), (FlowModCommand::DELETE_STRICT, 7));
            assert_eq!(version(dpid) == Version::V13, flow.table_id.0 == 1);
            format!("no {} → {}", fields(&flow), flow.out_port)
        }
        Message::PacketOut(PacketOut { actions, data, buffer_id, .. }) => {
            let what = if buffer_id == NO_BUFFER { data.len().to_string() } else { "held".into() };
            format!("send {what} → {}", ports(&actions))
        }
        other => panic!("{other:?}"),
    };
    format!("s{dpid} {words}")
}

fn fields(flow: &FlowMod) -> String {
    let mut words: Vec<String> = flow.match_.fields.iter().map(field).collect();
    words.sort();
    words.join(" ")
}

fn field(field: &Field) -> String {
    match field {
        Field::InPort(port) => format!("in {port}"),
        Field::EthSrc(mac) => format!("of {}", mac.value.0[5]),
        Field::EthDst(mac) => format!("for {}", mac.value.0[5]),
        Field::VlanVid(_) => "-".into(),
        other => panic!("{other:?}"),
    }
}

fn ports(actions: &[Action]) -> String {
    let port = |action: &Action| match action {
        Action::Output { port, .. } => port.to_string(),
        other => panic!("{other:?}"),
    };
    actions.iter().map(port).collect::<Vec<_>>().join(",")
}

#[test]
fn the_whole_path_is_installed_last_hop_first_and_the_packet_leaves_at_its_end() {
    let mut lab = RouteLab::new();
    let path = [
        "path: s2 - for 2 in 2 of 1 → 9",
        "path: s1 - for 2 in 9 of 1 → 1, tells",
        "path: s2 send 60 → 9",
    ];
    assert_eq!(lab.asks(1, HOST, frame(1, 2)), path);
    // What was on its way meanwhile only has to arrive.
    assert_eq!(lab.asks(1, HOST, frame(1, 2)), ["s2 send 60 → 9"]);
    // On the way back.
    let path = [
        "path: s1 - for 1 in 1 of 2 → 9",
        "path: s2 - for 1 in 9 of 2 → 2, tells",
        "path: s1 send 60 → 9",
    ];
    assert_eq!(lab.asks(2, HOST, frame(2, 1)), path);
    // It has to be there still, if a switch asks much later.
    lab.now = lab.now + Duration::from_secs(1);
    assert_eq!(lab.asks(2, HOST, frame(2, 1)), path);
}

#[test]
fn what_it_knows_nothing_of_is_left_to_others() {
    let mut lab = RouteLab::new();
    assert!(lab.asks(1, HOST, frame(1, 0xff)).is_empty());
    assert!(lab.asks(1, HOST, frame(1, 77)).is_empty());
    assert!(lab.asks(1, HOST, vec![0; 5]).is_empty());
    // A host that hears it already.
    assert_eq!(lab.asks_for(1, HOST, frame(3, 1), (NO_BUFFER, 60)), (vec![], true));
    // No way leads there.
    lab.is(ring(&[1, 2, 3, 4], &[]));
    assert!(lab.asks(1, HOST, frame(1, 2)).is_empty());
}

#[test]
fn a_packet_that_the_switch_holds_goes_by_its_flow_or_is_let_go() {
    let mut lab = RouteLab::new();
    let (answers, _) = lab.asks_for(1, HOST, frame(1, 2), (5, 60));
    assert_eq!(answers[0], "s1 send held → ");
    assert_eq!(answers[3], "path: s2 send 60 → 9");
    // Only its beginning is here: it goes the way of its flows.
    let (answers, _) = lab.asks_for(1, HOST, frame(1, 4), (6, 1500));
    let expected = [
        "path: s4 - for 4 in 1 of 1 → 9",
        "path: s1 - for 4 in 9 of 1 → 2, tells",
        "s1 send held → 2",
    ];
    assert_eq!(answers, expected);
    // One switch is the whole way.
    lab.asks(1, SECOND, frame(8, 0xff));
    lab.passes();
    let (answers, _) = lab.asks_for(1, SECOND, frame(8, 1), (7, 1500));
    assert_eq!(answers, ["s1 - for 1 in 5 of 8 → 9, tells, held"]);
    assert_eq!(lab.asks(1, 9, frame(1, 8)), ["s1 - for 8 in 9 of 1 → 5, tells", "s1 send 60 → 5"]);
}

#[test]
fn a_flow_within_one_switch_is_installed_once_in_a_moment_and_again_where_the_network_changed() {
    let mut lab = RouteLab::new();
    lab.asks(1, SECOND, frame(8, 0xff));
    lab.passes();
    let installs = ["s1 - for 1 in 5 of 8 → 9, tells", "s1 send 60 → 9"];
    assert_eq!(lab.asks(1, SECOND, frame(8, 1)), installs);
    for _ in 0..3 {
        lab.now = lab.now + Duration::from_millis(20);
        assert_eq!(lab.asks(1, SECOND, frame(8, 1)), ["s1 send 60 → 9"]);
    }
    lab.now = lab.now + super::IN_FLIGHT;
    assert_eq!(lab.asks(1, SECOND, frame(8, 1)), installs);
    // The receiver's port goes, and with it its place: nothing that was known of it counts.
    lab.is(ring(&[], &[SwitchPort::new(1, HOST)]));
    assert!(lab.asks(1, SECOND, frame(8, 1)).is_empty());
    lab.is(ring(&[], &[]));
    lab.asks(1, HOST, frame(1, 0xff));
    lab.passes();
    assert_eq!(lab.asks(1, SECOND, frame(8, 1)), installs);
}

#[test]
fn where_a_link_is_cut_its_paths_are_led_around_it() {
    let mut lab = RouteLab::new();
    lab.asks(1, HOST, frame(1, 2));
    lab.asks(1, HOST, frame(1, 4));
    let around = [
        "path: s2 - for 2 in 1 of 1 → 9",
        "path: s3 - for 2 in 1 of 1 → 2",
        "path: s4 - for 2 in 1 of 1 → 2",
        "path: s1 - for 2 in 9 of 1 → 2, tells",
        "s2 no - for 2 in 2 of 1 → 9",
    ];
    assert_eq!(lab.is(ring(&[1], &[])), around);
    // Whole again: what works is left as it is.
    assert!(lab.is(ring(&[], &[])).is_empty());
    // The one is led back, and to the other there is no way any more.
    let changed = [
        "path: s2 - for 2 in 2 of 1 → 9",
        "path: s1 - for 2 in 9 of 1 → 1, tells",
        "s4 no - for 2 in 1 of 1 → 2",
        "s3 no - for 2 in 1 of 1 → 2",
        "s2 no - for 2 in 1 of 1 → 9",
        "s1 no - for 4 in 9 of 1 → 2",
        "s4 no - for 4 in 1 of 1 → 9",
    ];
    assert_eq!(lab.is(ring(&[3, 4], &[])), changed);
}

#[test]
fn paths_to_a_host_that_moved_or_lost_its_port_are_removed() {
    let mut lab = RouteLab::new();
    lab.asks(1, HOST, frame(1, 2));
    let removed = ["s1 no - for 2 in 9 of 1 → 1", "s2 no - for 2 in 2 of 1 → 9"];
    assert_eq!(lab.is(ring(&[], &[SwitchPort::new(2, HOST)])), removed);
    // It is nowhere: what is for it is left to other applications, which flood it.
    assert!(lab.asks(1, HOST, frame(1, 2)).is_empty());
    // It appears elsewhere: no host is probed at the port that is down.
    lab.asks(4, HOST, frame(2, 0xff));
    lab.passes();
    let answers = lab.asks(1, HOST, frame(1, 2));
    assert_eq!(answers[0], "path: s4 - for 2 in 1 of 1 → 9");
}

#[test]
fn paths_from_a_host_that_lost_its_port_are_removed_too() {
    let mut lab = RouteLab::new();
    lab.asks(2, HOST, frame(2, 1));
    let removed = ["s2 no - for 1 in 9 of 2 → 2", "s1 no - for 1 in 1 of 2 → 9"];
    assert_eq!(lab.is(ring(&[], &[SwitchPort::new(2, HOST)])), removed);
}

#[test]
fn a_path_whose_first_flow_is_gone_is_forgotten() {
    let mut lab = RouteLab::new();
    lab.asks(1, HOST, frame(1, 2));
    let mac = |host| MacAddr([2, 0, 0, 0, 0, host]);
    let gone = |cookie, reason| {
        let match_ = Match::new().in_port(PortNo(HOST)).eth_dst(mac(2)).eth_src(mac(1)).untagged();
        Event::FlowRemoved(Box::new(FlowRemoved {
            cookie,
            priority: 7,
            reason,
            table_id: TableNo(0),
            duration_sec: 60,
            duration_nsec: 0,
            idle_timeout: 60,
            hard_timeout: 0,
            packet_count: 1,
            byte_count: 60,
            match_,
        }))
    };
    lab.happens(1, &gone(1, FlowRemovedReason::IDLE_TIMEOUT));
    lab.happens(1, &gone(0xc00c1e, FlowRemovedReason::DELETE));
    assert_eq!(lab.is(ring(&[1], &[])).len(), 5);
    lab.happens(1, &gone(0xc00c1e, FlowRemovedReason::IDLE_TIMEOUT));
    assert!(lab.is(ring(&[4], &[])).is_empty());
}

#[test]
fn copies_of_a_packet_that_was_flooded_are_sent_on_once() {
    let mut lab = RouteLab::new();
    // Its receiver became known while copies of it came to both neighbours.
    let answers = lab.asks(2, BEFORE, frame(1, 3));
    assert_eq!(answers.last().unwrap(), "path: s3 send 60 → 9");
    assert_eq!(lab.asks_for(4, NEXT, frame(1, 3), (NO_BUFFER, 60)), (vec![], true));
    // Not so where a host says the same again.
    assert!(!lab.asks(1, HOST, frame(1, 3)).is_empty());
    assert!(!lab.asks(1, HOST, frame(1, 3)).is_empty());
}

#[test]
fn a_copy_that_found_no_way_does_not_stand_for_those_that_come_where_there_is_one() {
    let mut lab = RouteLab::new();
    lab.is(ring(&[1, 4], &[]));
    // It is flooded on, and comes by at the next switch a moment later.
    assert!(lab.asks(2, NEXT, frame(3, 1)).is_empty());
    assert!(lab.asks(4, BEFORE, frame(3, 1)).is_empty());
    lab.is(ring(&[], &[]));
    let answers = lab.asks(4, BEFORE, frame(3, 1));
    assert_eq!(answers.last().unwrap(), "path: s1 send 60 → 9");
}

#[test]
fn what_a_network_sent_that_was_started_again_since_is_no_copy() {
    let mut lab = RouteLab::new();
    let copy = |lab: &mut RouteLab| lab.asks_for(2, BEFORE, frame(1, 3), (NO_BUFFER, 60)).0;
    assert_eq!(copy(&mut lab).last().unwrap(), "path: s3 send 60 → 9");
    lab.joins_again(1);
    assert!(copy(&mut lab).is_empty());
    lab.joins_again(3);
    assert_eq!(copy(&mut lab).last().unwrap(), "path: s3 send 60 → 9");
    assert!(copy(&mut lab).is_empty());
}

#[test]
fn where_a_table_is_full_packets_are_sent_on_and_flows_are_tried_now_and_then() {
    let mut lab = RouteLab::new();
    let full = |name: &str| {
        let (name, about) = (name.to_owned(), Some("OFPT_FLOW_MOD"));
        Event::Error(Box::new(SwitchError {
            dpid: None,
            xid: 1,
            name,
            about,
            hint: "",
            sent: vec![],
        }))
    };
    let tried = ["s2 - for 2 in 2 of 1 → 9, tells", "s2 send 60 → 9"];
    // Another error says nothing of its room.
    lab.happens(2, &full("OFPET_FLOW_MOD_FAILED/OFPFMFC_EPERM"));
    assert_eq!(lab.asks(2, BEFORE, frame(1, 2)), tried);
    for (dpid, name) in [(2, "OFPFMFC_TABLE_FULL"), (1, "OFPFMFC_ALL_TABLES_FULL")] {
        for _ in 0..3 {
            lab.happens(dpid, &full(&format!("OFPET_FLOW_MOD_FAILED/{name}")));
        }
        let words: Vec<_> = lab.out.commands().take_warnings().collect();
        let told = format!("route-flow: the table of switch {} is full; 1 flow", DatapathId(dpid));
        assert!(words.len() == 1 && words[0].starts_with(&told), "{words:?}");
    }
    lab.now = lab.now + Duration::from_millis(500);
    // At its end, in the middle, and where it begins; alike packets too.
    for _ in 0..3 {
        assert_eq!(lab.asks(2, BEFORE, frame(1, 2)), ["s2 send 60 → 9"]);
        assert_eq!(lab.asks(2, BEFORE, frame(1, 3)), ["s3 send 60 → 9"]);
        assert_eq!(lab.asks(1, HOST, frame(1, 2)), ["s2 send 60 → 9"]);
    }
    // A path through it from a switch with room is installed, so that not every hop has to ask.
    assert_eq!(lab.asks(3, HOST, frame(3, 2)).len(), 3);
    lab.now = lab.now + Duration::from_secs(1);
    assert_eq!(lab.asks(2, BEFORE, frame(1, 2)), tried);
}

#[test]
fn a_switch_that_is_gone_is_told_nothing() {
    let mut lab = RouteLab::new();
    lab.happens(2, &Event::Down);
    lab.passes();
    // Others flood it.
    assert!(lab.asks(1, HOST, frame(1, 2)).is_empty());
    lab.now = lab.now + Duration::from_secs(1);
    lab.happens(2, &Event::Second);
    lab.passes();
    assert_eq!(lab.asks(1, HOST, frame(1, 2)).len(), 3);
}

/// The ring while it is not known yet what the ports of the links of switch 3 lead to.
fn searched() -> Map {
    let is_searched = |at: SwitchPort| {
        let leads_to_3 = [SwitchPort::new(2, NEXT), SwitchPort::new(4, BEFORE)].contains(&at);
        leads_to_3 || at.dpid == DatapathId(3) && at.port.0 < SECOND
    };
    let all = ring(&[], &[]);
    let switches = all.switches().cloned().map(|mut switch| {
        for port in &mut switch.ports {
            if is_searched(SwitchPort::of(switch.dpid, port.number)) {
                (port.link, port.known) = (None, false);
            }
        }
        switch
    });
    switches.collect()
}

/// The packet is flooded and comes to its receiver's switch from both sides.
#[test]
fn while_links_are_searched_for_a_flooded_packet_arrives_once_and_gets_no_flow() {
    let mut lab = RouteLab::new();
    lab.is(searched());
    assert!(lab.asks(1, HOST, frame(1, 3)).is_empty(), "no way leads there");
    assert_eq!(lab.asks(3, BEFORE, frame(1, 3)), ["s3 send 60 → 9"], "and no flow");
    assert_eq!(lab.asks_for(3, NEXT, frame(1, 3), (NO_BUFFER, 60)), (vec![], true));
    // The links are found while further copies are on their way: they are dropped wherever a
    // switch asks about one, and meet no flow.
    lab.is(ring(&[], &[]));
    assert_eq!(lab.asks_for(4, NEXT, frame(1, 3), (NO_BUFFER, 60)), (vec![], true));
    let another = [&frame(1, 3)[..], &[1]].concat();
    assert_eq!(lab.asks(1, HOST, another), ["s3 send 61 → 9"]);
    // So long a copy takes the long way around, over links of 50 ms.
    lab.now = lab.now + Duration::from_millis(200);
    let third = [&frame(1, 3)[..], &[1, 2]].concat();
    assert_eq!(lab.asks(1, HOST, third), ["s3 send 62 → 9"], "no flow for a copy to meet");
    lab.now = lab.now + Duration::from_millis(400);
    assert_eq!(lab.asks(1, HOST, frame(1, 3)).len(), 4, "a path of three and the packet");
}

/// A host that is known where a packet of its came in is no copy, and gets its flow.
#[test]
fn while_links_are_searched_for_hosts_of_one_switch_have_their_flows() {
    let mut lab = RouteLab::new();
    lab.asks(1, SECOND, frame(8, 0xff));
    lab.is(searched());
    let answers = ["s1 - for 8 in 9 of 1 → 5, tells", "s1 send 60 → 5"];
    assert_eq!(lab.asks(1, HOST, frame(1, 8)), answers);
}
