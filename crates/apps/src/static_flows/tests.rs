//! Dialogues with a switch that has flows already, loses some, refuses some.

use core::time::Duration;
use std::sync::Arc;

use aldis_control::app::Event;
use aldis_control::session::SwitchError;
use aldis_control::world::PartId;
use aldis_control::{Cookie, Part, Tables};
use aldis_wire::msg::{
    Action, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason, FlowStats,
    Instruction, Match, Message, PortNo, StatsFlags, StatsReply, StatsReplyBody, StatsRequest,
    StatsRequestBody, TableNo,
};
use aldis_wire::{DatapathId, Version};

use super::*;
use crate::reconcile::Status;
use crate::testing::switch::{TestSwitch, info};

const READS: &[PartId] = &[StaticFlowStatuses::ID];

fn flow(name: &str, port: u32, to: u32) -> StaticFlow {
    StaticFlow {
        name: name.into(),
        switches: "1".parse().unwrap(),
        table: None,
        priority: 100,
        match_: Match::new().in_port(PortNo(port)),
        instructions: vec![Instruction::ApplyActions(vec![Action::output(PortNo(to))])],
    }
}

fn shared(flows: &[StaticFlow]) -> Vec<Arc<StaticFlow>> {
    flows.iter().cloned().map(Arc::new).collect()
}

/// A switch as a test sees it: the flows that it has.
struct FlowLab {
    bench: TestSwitch,
    flows: Vec<FlowStats>,
    /// What it says that flows do, where that is not what it was told.
    renders: Option<Vec<Instruction>>,
}

fn has(flow: &FlowMod) -> FlowStats {
    FlowStats {
        table_id: flow.table_id,
        duration_sec: 1,
        duration_nsec: 0,
        priority: flow.priority,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: FlowModFlags::EMPTY,
        cookie: flow.cookie,
        packet_count: 7,
        byte_count: 700,
        match_: flow.match_.clone(),
        instructions: flow.instructions.clone(),
    }
}

impl FlowLab {
    fn new(version: Version, flows: &[StaticFlow]) -> FlowLab {
        let pusher = StaticFlows::new(shared(flows), Tables::One);
        let push = move || pusher.clone();
        let bench = TestSwitch::of(info(version, 254), |app_set| app_set.with(push));
        FlowLab { bench, flows: vec![], renders: None }
    }

    /// Another controller, or the same once more, meets the same switch.
    fn again(self, flows: &[StaticFlow]) -> FlowLab {
        FlowLab { flows: self.flows, ..FlowLab::new(self.bench.info().version, flows) }
    }

    fn joins(&mut self) -> Vec<String> {
        let said = self.bench.happens(Event::Joining);
        self.carry_out(said)
    }

    /// The switch does as it is told; what that was, in words.
    fn carry_out(&mut self, said: Vec<(u32, Message)>) -> Vec<String> {
        let mut words = vec![];
        for (xid, message) in said {
            let reply = match message {
                Message::StatsRequest(StatsRequest {
                    body: StatsRequestBody::Flow(request),
                    ..
                }) => {
                    let mut flows = self.flows.clone();
                    flows.retain(|flow| (flow.cookie ^ request.cookie) & request.cookie_mask == 0);
                    for flow in &mut flows {
                        self.renders.iter().for_each(|words| flow.instructions.clone_from(words));
                    }
                    let body = StatsReplyBody::Flow(flows);
                    Message::StatsReply(StatsReply { flags: StatsFlags::EMPTY, body })
                }
                Message::BarrierRequest => Message::BarrierReply,
                Message::FlowMod(flow) => {
                    words.push(self.change(&flow));
                    continue;
                }
                other => panic!("{other:?}"),
            };
            let said = self.bench.happens(Event::Reply { xid, message: Box::new(reply) });
            words.extend(self.carry_out(said));
        }
        words
    }

    fn change(&mut self, flow: &FlowMod) -> String {
        let is = |there: &FlowStats| there.match_ == flow.match_ && there.priority == flow.priority;
        self.flows.retain(|there| !is(there));
        let port = &flow.match_.fields;
        if flow.command == FlowModCommand::ADD {
            assert!(Cookie(flow.cookie).same_app(Cookie::of("static-flows")));
            assert!(flow.flags.contains(FlowModFlags::SEND_FLOW_REM));
            self.flows.push(has(flow));
            return format!("add {port:?}");
        }
        assert_eq!(flow.command, FlowModCommand::DELETE_STRICT);
        format!("remove {port:?}")
    }

    fn passes(&mut self, seconds: u64) -> Vec<String> {
        let mut words = vec![];
        for _ in 0..seconds {
            let said = self.bench.second();
            words.extend(self.carry_out(said));
        }
        words
    }

    fn statuses(&mut self) -> Vec<(String, Status)> {
        let world = self.bench.world(READS);
        let entries = world.part::<StaticFlowStatuses>().of(DatapathId(1)).iter();
        entries.map(|entry| (entry.name.to_string(), entry.status.clone())).collect()
    }
}

fn both(test: impl Fn(Version)) {
    Version::ALL.into_iter().for_each(test);
}

fn there(names: &[&str]) -> Vec<(String, Status)> {
    names.iter().map(|name| ((*name).into(), Status::There)).collect()
}

#[test]
fn what_is_missing_is_sent_and_what_is_there_is_not() {
    both(|version| {
        let (one, two) = (flow("one", 1, 2), flow("two", 2, 1));
        let mut lab = FlowLab::new(version, &[one.clone(), two.clone()]);
        assert_eq!(lab.joins(), ["add [InPort(1)]", "add [InPort(2)]"]);
        assert_eq!(lab.statuses(), there(&["one", "two"]));
        let mut lab = lab.again(&[one.clone(), two.clone()]);
        assert!(lab.joins().is_empty());
        assert_eq!(lab.statuses(), there(&["one", "two"]));
        // One leads elsewhere now, two is not wanted any more, three is new.
        let mut lab = lab.again(&[flow("one", 1, 3), flow("three", 3, 1)]);
        assert_eq!(
            lab.joins(),
            ["remove [InPort(2)]", "add [InPort(1)]", "add [InPort(3)]"],
            "what is overwritten is not removed before"
        );
        let to = |flow: &FlowStats| flow.instructions.clone();
        let three = [flow("one", 1, 3), flow("three", 3, 1)].map(|flow| flow.instructions);
        assert_eq!(lab.flows.iter().map(to).collect::<Vec<_>>(), three);
    });
}

#[test]
fn flows_of_others_are_left_alone() {
    both(|version| {
        let mut lab = FlowLab::new(version, &[flow("one", 1, 2)]);
        for (port, cookie) in [(7, 0), (8, Cookie::of("learning-switch").0), (9, u64::MAX)] {
            lab.flows.push(has(&FlowMod::add(Match::new().in_port(PortNo(port))).cookie(cookie)));
        }
        assert_eq!(lab.joins(), ["add [InPort(1)]"]);
        assert_eq!(lab.flows.len(), 4);
        assert!(lab.again(&[]).joins() == ["remove [InPort(1)]"]);
    });
}

fn removed(flow: &FlowStats) -> Event {
    Event::FlowRemoved(Box::new(FlowRemoved {
        cookie: flow.cookie,
        priority: flow.priority,
        reason: FlowRemovedReason::DELETE,
        table_id: flow.table_id,
        duration_sec: 1,
        duration_nsec: 0,
        idle_timeout: 0,
        hard_timeout: 0,
        packet_count: 0,
        byte_count: 0,
        match_: flow.match_.clone(),
    }))
}

#[test]
fn what_is_removed_comes_back_at_once_and_what_was_not_told_after_a_while() {
    both(|version| {
        let mut lab = FlowLab::new(version, &[flow("one", 1, 2), flow("two", 2, 1)]);
        lab.joins();
        lab.bench.now = lab.bench.now + Duration::from_secs(5);
        let gone = lab.flows.remove(0);
        let said = lab.bench.happens(removed(&gone));
        assert_eq!(lab.carry_out(said), ["add [InPort(1)]"]);
        // A flow that is removed again at once comes back in the next second.
        let gone = lab.flows.pop().unwrap();
        assert!(lab.bench.happens(removed(&gone)).is_empty());
        assert_eq!(lab.passes(1), ["add [InPort(1)]"]);
        lab.flows.clear();
        assert_eq!(lab.passes(301), ["add [InPort(1)]", "add [InPort(2)]"]);
        assert!(lab.passes(301).is_empty());
    });
}

#[test]
fn a_flow_that_another_one_changed_is_put_right_unless_those_are_the_switch_s_own_words() {
    both(|version| {
        let mut lab = FlowLab::new(version, &[flow("one", 1, 2)]);
        lab.joins();
        lab.passes(301);
        let theirs = vec![Instruction::ApplyActions(vec![Action::output(PortNo(9))])];
        lab.flows[0].instructions.clone_from(&theirs);
        assert_eq!(lab.passes(301), ["add [InPort(1)]"]);
        assert!(lab.passes(301).is_empty());
        // A switch that always says it so.
        lab.renders = Some(theirs);
        assert_eq!(lab.passes(301), ["add [InPort(1)]"]);
        for _ in 0..3 {
            assert!(lab.passes(301).is_empty());
        }
    });
}

/// The error of the first change among these.
fn refuse(lab: &mut FlowLab, said: &[(u32, Message)], name: &str) {
    let change = said.iter().find(|(_, message)| matches!(message, Message::FlowMod(_)));
    let error = SwitchError {
        dpid: None,
        xid: change.expect("a change").0,
        name: name.into(),
        about: Some("FLOW_MOD"),
        hint: "ask less",
        sent: vec![],
    };
    assert!(lab.bench.happens(Event::Error(Box::new(error))).is_empty());
}

#[test]
fn an_error_is_shown_by_name_and_a_full_table_is_told_from_it() {
    let names = [
        "OFPET_FLOW_MOD_FAILED/OFPFMFC_ALL_TABLES_FULL",
        "OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL",
    ];
    for (version, full) in Version::ALL.into_iter().zip(names) {
        let mut lab = FlowLab::new(version, &[flow("one", 1, 2), flow("two", 2, 1)]);
        let request = lab.bench.happens(Event::Joining);
        let none = Box::new(Message::StatsReply(StatsReply {
            flags: StatsFlags::EMPTY,
            body: StatsReplyBody::Flow(vec![]),
        }));
        let said = lab.bench.happens(Event::Reply { xid: request[0].0, message: none });
        refuse(&mut lab, &said, "OFPET_FLOW_MOD_FAILED/OFPFMFC_EPERM");
        refuse(&mut lab, &said[1..], full);
        lab.carry_out(said[2..].to_vec());
        let refused = Status::Refused("OFPET_FLOW_MOD_FAILED/OFPFMFC_EPERM; ask less".into());
        assert_eq!(
            lab.statuses(),
            [("one".into(), refused.clone()), ("two".into(), Status::NoRoom)]
        );
        let notes: Vec<_> = lab.bench.out.commands().take_warnings().collect();
        assert!(
            notes[0].contains("static-flows: \"one\" at switch 0000000000000001: refused: OFPET")
        );
        assert!(notes[1].contains("\"two\"") && notes[1].contains("table is full"), "{notes:?}");
        // Room may come; what is refused stays so.
        assert_eq!(lab.passes(31), ["add [InPort(2)]"]);
        assert_eq!(lab.statuses(), [("one".into(), refused), ("two".into(), Status::There)]);
    }
}

#[test]
fn what_a_version_cannot_say_is_not_sent_and_said_why() {
    let mut group = flow("all", 1, 2);
    group.table = Some(TableNo(3));
    let mut lab = FlowLab::new(Version::V10, &[group.clone(), flow("one", 1, 2)]);
    assert_eq!(lab.joins(), ["add [InPort(1)]"]);
    let [(_, Status::Unsupported(why)), (_, Status::There)] = &lab.statuses()[..] else { panic!() };
    assert_eq!(why, "OpenFlow 1.0 cannot say \"a table other than the first\"");
    assert_eq!(FlowLab::new(Version::V13, &[group]).joins(), ["add [InPort(1)]"]);
}

#[test]
fn a_switch_that_does_not_name_its_flows_gets_them_all() {
    both(|version| {
        let mut lab = FlowLab::new(version, &[flow("one", 1, 2)]);
        let request = lab.bench.happens(Event::Joining);
        let error = SwitchError {
            dpid: None,
            xid: request[0].0,
            name: "OFPET_BAD_REQUEST/OFPBRC_BAD_STAT".into(),
            about: None,
            hint: "",
            sent: vec![],
        };
        let said = lab.bench.happens(Event::Error(Box::new(error)));
        assert_eq!(lab.carry_out(said), ["add [InPort(1)]"]);
        assert_eq!(lab.statuses(), there(&["one"]));
        lab.bench.happens(Event::Down);
        assert!(lab.statuses().is_empty());
    });
}

#[test]
fn others_take_their_place_while_it_runs_and_only_the_difference_is_sent() {
    both(|version| {
        let (one, two) = (flow("one", 1, 2), flow("two", 2, 1));
        let mut lab = FlowLab::new(version, &[one.clone(), two]);
        lab.joins();
        lab.bench.decided::<DesiredStaticFlows>(shared(&[one.clone(), flow("three", 3, 1)]).into());
        assert_eq!(lab.passes(1), ["remove [InPort(2)]", "add [InPort(3)]"]);
        assert_eq!(lab.statuses(), there(&["one", "three"]));
        // The same under another name is the same.
        let named = StaticFlow { name: "uno".into(), ..one };
        lab.bench.decided::<DesiredStaticFlows>(shared(&[named]).into());
        assert_eq!(lab.passes(1), ["remove [InPort(3)]"]);
        assert_eq!(lab.statuses(), there(&["uno"]));
        lab.bench.decided::<DesiredStaticFlows>(shared(&[]).into());
        assert_eq!(lab.passes(2), ["remove [InPort(1)]"]);
        assert!(lab.statuses().is_empty() && lab.passes(301).is_empty());
        // A switch that connects later gets what was decided meanwhile.
        lab.bench.decided::<DesiredStaticFlows>(shared(&[flow("late", 4, 1)]).into());
        lab.bench.joins();
        assert_eq!(lab.joins(), ["add [InPort(4)]"]);
    });
}

#[test]
fn what_was_on_its_way_is_judged_though_others_took_its_place() {
    let mut lab = FlowLab::new(Version::V13, &[flow("one", 1, 2), flow("two", 2, 1)]);
    let request = lab.bench.happens(Event::Joining);
    let none = Box::new(Message::StatsReply(StatsReply {
        flags: StatsFlags::EMPTY,
        body: StatsReplyBody::Flow(vec![]),
    }));
    let said = lab.bench.happens(Event::Reply { xid: request[0].0, message: none });
    lab.bench.decided::<DesiredStaticFlows>(shared(&[flow("two", 2, 1)]).into());
    assert_eq!(lab.bench.second().len(), 1, "it is read again");
    // The refusal of a flow that is not desired any more is not told; that of the other is its own.
    refuse(&mut lab, &said[1..], "OFPET_FLOW_MOD_FAILED/OFPFMFC_EPERM");
    let refused = Status::Refused("OFPET_FLOW_MOD_FAILED/OFPFMFC_EPERM; ask less".into());
    assert_eq!(lab.statuses(), [("two".into(), refused)]);
}

/// So many flows, each with a match of its own from this port on, all with one priority.
fn many(first: u32) -> Vec<StaticFlow> {
    (first..).take(FLOWS_MAX).map(|port| flow(&format!("{port:0>180}"), port, 1)).collect()
}

/// What was said is a round: no more than its bound, and a barrier behind it.
fn is_round(said: &[(u32, Message)]) -> bool {
    let changes = said.iter().filter(|(_, it)| matches!(it, Message::FlowMod(_))).count();
    let is_closed = matches!(said.last(), Some((_, Message::BarrierRequest)));
    changes <= 128 && (changes == 0 || is_closed && changes + 1 == said.len())
}

#[test]
fn thousands_that_change_at_once_are_sent_in_rounds() {
    let mut lab = FlowLab::new(Version::V13, &many(1));
    let mut said = lab.bench.happens(Event::Joining);
    let mut rounds = 0;
    // A switch that has all of others, which have to go.
    lab.flows = many(100_000)
        .into_iter()
        .map(|flow| {
            let add = FlowMod::add(flow.match_).priority(100);
            has(&add.cookie(Cookie::of("static-flows").generation(flow.priority.into()).0))
        })
        .collect();
    while !said.is_empty() {
        assert!(is_round(&said), "{} messages at once", said.len());
        rounds += 1;
        let mut next = vec![];
        for (xid, message) in said {
            let reply = match message {
                Message::FlowMod(flow) => {
                    match flow.command {
                        FlowModCommand::ADD => lab.flows.push(has(&flow)),
                        _ => drop(lab.flows.remove(0)),
                    }
                    continue;
                }
                Message::StatsRequest(_) => {
                    let body = StatsReplyBody::Flow(lab.flows.clone());
                    Message::StatsReply(StatsReply { flags: StatsFlags::EMPTY, body })
                }
                _ => Message::BarrierReply,
            };
            next.extend(lab.bench.happens(Event::Reply { xid, message: Box::new(reply) }));
        }
        said = next;
    }
    assert!(rounds > 2 * FLOWS_MAX / 128, "{rounds} rounds");
    assert_eq!(lab.flows.len(), FLOWS_MAX);
    assert!(lab.statuses().iter().all(|(_, status)| *status == Status::There));
}

#[test]
fn a_switch_that_answers_no_barrier_is_sent_the_rest_all_the_same() {
    let mut lab = FlowLab::new(Version::V13, &many(1));
    let request = lab.bench.happens(Event::Joining);
    let none = Box::new(Message::StatsReply(StatsReply {
        flags: StatsFlags::EMPTY,
        body: StatsReplyBody::Flow(vec![]),
    }));
    let said = lab.bench.happens(Event::Reply { xid: request[0].0, message: none });
    assert!(is_round(&said) && said.len() > 100, "{}", said.len());
    let later: Vec<_> = (0..25).map(|_| lab.bench.second()).collect();
    let changes = |said: &&Vec<(u32, Message)>| said.len() > 100 && is_round(said);
    assert_eq!(later.iter().filter(changes).count(), 1);
}
