//! Commands from outside: whatever the design, each has one answer, and switches are served
//! meanwhile.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aldis_control::app::Slots;
use aldis_control::command::{Failure, Outcome, Said};
use aldis_control::limits::COMMAND_MESSAGES_MAX;
use aldis_control::session::Close;
use aldis_control::{App, AppSet, Batch, EventKind, Output};
use aldis_emulator::peer::Peer;
use aldis_engine::command::Answer;
use aldis_engine::limits::COMMANDS_QUEUED_MAX;
use aldis_wire::header::kind::{FLOW_MOD, PACKET_OUT};
use aldis_wire::msg::{
    Action, AggregateStats, ErrorCode, FlowMod, FlowStatsRequest, GroupMod, GroupModCommand,
    GroupNo, GroupType, Match, Message, PortNo, PortStats, PortStatsRequest, StatsFlags,
    StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody, SwitchError,
};
use aldis_wire::{DatapathId, Version, v10, v13};

use crate::combinations::{self, everywhere};
use crate::stage::{PATIENCE, Stage};
use crate::switch::{
    NOBODY, PacketIn, ask_for_nobody, barrier_request, join, receive_any, send_aside, xid_of,
};

/// Requests that the switch makes while it answers commands.
const REQUESTS: u32 = 300;

/// Commands that are on their way together.
const TOGETHER: u64 = 40;

fn stats_request(version: Version) -> u8 {
    match version {
        Version::V10 => 16,
        Version::V13 => 18,
    }
}

fn flow(cookie: u64) -> Message {
    let matching = Match::new().in_port(PortNo(1 + cookie as u32 % 4));
    FlowMod::add(matching).cookie(cookie).actions([Action::output(PortNo(2))]).into()
}

fn count_flows() -> Message {
    StatsRequest::new(StatsRequestBody::Aggregate(FlowStatsRequest::all())).into()
}

fn list_ports() -> Message {
    let any = PortStatsRequest { port_no: PortNo::ANY };
    StatsRequest::new(StatsRequestBody::PortStats(any)).into()
}

fn ports(numbers: &[u32], more: bool) -> Message {
    let port = |number| PortStats { port_no: PortNo(number), ..PortStats::default() };
    let flags = if more { StatsFlags::MORE } else { StatsFlags::EMPTY };
    let body = StatsReplyBody::PortStats(numbers.iter().copied().map(port).collect());
    Message::StatsReply(StatsReply { flags, body })
}

fn sums(flow_count: u32) -> Message {
    let sums = AggregateStats { packet_count: 0, byte_count: 0, flow_count };
    Message::StatsReply(StatsReply::new(StatsReplyBody::Aggregate(sums)))
}

/// Its tables are full.
fn full(version: Version) -> Message {
    let code = match version {
        Version::V10 => ErrorCode::V10(v10::ErrorCode::FlowModFailed(
            v10::error::FlowModFailedCode::ALL_TABLES_FULL,
        )),
        Version::V13 => {
            ErrorCode::V13(v13::ErrorCode::FlowModFailed(v13::error::FlowModFailedCode::TABLE_FULL))
        }
    };
    Message::Error(SwitchError { code, data: vec![] })
}

fn say(peer: &mut Peer, version: Version, xid: u32, message: &Message) {
    let mut bytes = Vec::new();
    message.encode(version, xid, &mut bytes).expect("either version can say it");
    peer.send(&bytes).expect("the engine reads");
}

fn command(stage: &Stage, number: u32, messages: &[Message], within: Duration) -> Answer {
    stage.engine.handle().command(DatapathId(number.into()), messages, within)
}

/// The transaction id of the next message of this type.
fn next(peer: &mut Peer, kind: u8) -> u32 {
    xid_of(&receive_any(peer, &[kind]))
}

/// The numbers in a reply: of ports, or of flows.
fn numbers(said: &Said) -> Vec<u32> {
    let Said::Reply(reply) = said else { panic!("{said:?} is no reply") };
    match reply.stats().expect("it can be read") {
        StatsReplyBody::PortStats(ports) => ports.iter().map(|port| port.port_no.0).collect(),
        StatsReplyBody::Aggregate(sums) => vec![sums.flow_count],
        other => panic!("{other:?} was not asked for"),
    }
}

/// One command whose messages fare differently, amid requests of the switch, all of which are
/// answered too.
pub(crate) fn each_message_has_its_answer(stage: &Stage, version: Version) {
    let (mut peer, number) = join(stage, version);
    let mut requests = Vec::new();
    ask_for_nobody(version, 1..=REQUESTS, &mut requests);
    let sender = send_aside(&peer, requests, false);
    let messages = [flow(1), count_flows(), flow(2), list_ports(), flow(3)];
    let answer = command(stage, number, &messages, PATIENCE);
    let (mut open, mut xids) = (REQUESTS, vec![]);
    while xids.len() < 6 {
        let message = peer.receive().expect("all of it comes");
        match message[1] {
            PACKET_OUT => open -= 1,
            kind if [FLOW_MOD, stats_request(version), barrier_request(version)]
                .contains(&kind) =>
            {
                xids.push((kind, xid_of(&message)));
            }
            _ => {}
        }
    }
    sender.join().expect("all is sent");
    let kinds: Vec<u8> = xids.iter().map(|(kind, _)| *kind).collect();
    let (stats, barrier) = (stats_request(version), barrier_request(version));
    assert_eq!(kinds, [FLOW_MOD, stats, FLOW_MOD, stats, FLOW_MOD, barrier]);
    say(&mut peer, version, xids[3].1, &ports(&[7, 8], true));
    say(&mut peer, version, xids[2].1, &full(version));
    say(&mut peer, version, xids[1].1, &sums(5));
    say(&mut peer, version, xids[3].1, &ports(&[9], false));
    say(&mut peer, version, xids[5].1, &Message::BarrierReply);
    let outcome = answer.wait().expect("an answer");
    assert_eq!((&outcome[0], &outcome[4], outcome.len()), (&Said::Done, &Said::Done, 5));
    assert_eq!((numbers(&outcome[1]), numbers(&outcome[3])), (vec![5], vec![7, 8, 9]));
    let Said::Refused(error) = &outcome[2] else { panic!("{outcome:?}") };
    assert!(error.name.contains("FULL") && error.xid == xids[2].1, "{error}");
    for _ in 0..open {
        receive_any(&mut peer, &[PACKET_OUT]);
    }
}

/// Many commands that the switch answers in any order: each answer finds its own.
pub(crate) fn answers_in_any_order(stage: &Stage, version: Version) {
    let (mut peer, number) = join(stage, version);
    let ask = |place| (place, command(stage, number, &[count_flows()], PATIENCE));
    let answers: Vec<_> = (0..TOGETHER).map(ask).collect();
    let mut asked = vec![];
    for _ in 0..TOGETHER {
        asked.push([
            next(&mut peer, stats_request(version)),
            next(&mut peer, barrier_request(version)),
        ]);
    }
    // The second half backwards, then the first; of each the barrier before the reply.
    let order = (TOGETHER / 2..TOGETHER).rev().chain(0..TOGETHER / 2);
    for place in order {
        let [stats, barrier] = asked[place as usize];
        say(&mut peer, version, barrier, &Message::BarrierReply);
        say(&mut peer, version, stats, &sums(place as u32));
    }
    for (place, answer) in answers {
        let outcome = answer.wait().expect("an answer");
        assert_eq!(numbers(&outcome[0]), [place as u32]);
    }
}

/// A switch that leaves in the middle of a command leaves an answer behind: that it left.
pub(crate) fn the_end_in_the_middle(stage: &Stage, version: Version) {
    let (mut peer, number) = join(stage, version);
    let answer = command(stage, number, &[flow(1), list_ports()], PATIENCE);
    let xid = next(&mut peer, stats_request(version));
    say(&mut peer, version, xid, &ports(&[1], true));
    drop(peer);
    match answer.wait() {
        // What it said last may have been on its way.
        Err(Failure::Disconnected(Close::PeerClosed | Close::Failed(_))) => {}
        other => panic!("{other:?}"),
    }
    stage.await_down(number);
    let after = command(stage, number, &[flow(1)], PATIENCE);
    assert_eq!(after.wait(), Err(Failure::NotConnected));
}

/// A switch that does not answer in time costs its asker an answer and itself nothing.
pub(crate) fn too_late(stage: &Stage, version: Version) {
    let (mut peer, number) = join(stage, version);
    let answer = command(stage, number, &[flow(1)], Duration::from_millis(5));
    assert_eq!(answer.wait(), Err(Failure::TooLate));
    let answer = command(stage, number, &[count_flows()], PATIENCE);
    let mut late = vec![];
    let stats = loop {
        let message = receive_any(&mut peer, &[barrier_request(version), stats_request(version)]);
        if message[1] == stats_request(version) {
            break xid_of(&message);
        }
        late.push(xid_of(&message));
    };
    for xid in late {
        say(&mut peer, version, xid, &Message::BarrierReply);
    }
    say(&mut peer, version, stats, &sums(3));
    let barrier = next(&mut peer, barrier_request(version));
    say(&mut peer, version, barrier, &Message::BarrierReply);
    assert_eq!(numbers(&answer.wait().expect("an answer")[0]), [3]);
    let mut request = Vec::new();
    PacketIn::new(version, 1, 1, NOBODY).ask(77, &mut request);
    peer.send(&request).expect("the engine reads");
    assert_eq!(next(&mut peer, PACKET_OUT), 77);
}

/// What cannot be sent is refused before anything is.
pub(crate) fn refused_beforehand(stage: &Stage, version: Version) {
    let (mut peer, number) = join(stage, version);
    let handle = stage.engine.handle();
    let name = DatapathId(number.into());
    let many = vec![flow(1); COMMAND_MESSAGES_MAX + 1];
    let group: Message = GroupMod {
        command: GroupModCommand::DELETE,
        kind: GroupType::ALL,
        group_id: GroupNo::ALL,
        buckets: vec![],
    }
    .into();
    let refusals = [
        (DatapathId(0xdead_beef), vec![flow(1)], Some(Failure::NotConnected)),
        (name, many, Some(Failure::TooLong)),
    ];
    for (to, messages, expected) in refusals {
        assert_eq!(handle.check_command(to, &messages).err(), expected);
        assert_eq!(handle.command(to, &messages, PATIENCE).wait().err(), expected);
    }
    let sayable = handle.check_command(name, &[flow(1), group.clone()]);
    match (version, sayable) {
        (Version::V13, Ok(())) => {}
        (Version::V10, Err(Failure::Unsayable { place: 1, .. })) => {
            let refused = handle.command(name, &[flow(1), group], PATIENCE).wait();
            assert!(matches!(refused, Err(Failure::Unsayable { place: 1, .. })), "{refused:?}");
        }
        (_, other) => panic!("{other:?}"),
    }
    // Had anything been sent, it would come before this.
    let answer = command(stage, number, &[], PATIENCE);
    let message = receive_any(&mut peer, &[FLOW_MOD, barrier_request(version)]);
    assert_eq!(message[1], barrier_request(version));
    say(&mut peer, version, xid_of(&message), &Message::BarrierReply);
    assert_eq!(answer.wait(), Ok(vec![]));
}

/// Holds its worker until it is let go.
struct Gate {
    entered: Sender<()>,
    go_on: Arc<Mutex<Receiver<()>>>,
}

impl App for Gate {
    type Slot = ();
    const NAME: &'static str = "gate";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];

    fn packet_ins(&mut self, _: &mut Batch<'_>, _: Slots<'_, ()>, _: &mut Output) {
        let _ = self.entered.send(());
        let _ = self.go_on.lock().expect("nobody panics with it").recv();
    }
}

/// While its worker is held, commands fill its inbox; those above are told so at once, and when it
/// is let go all others are answered.
#[test]
fn a_full_inbox_is_said_and_loses_nothing() {
    const ABOVE: usize = 100;
    let version = Version::V13;
    let combination = combinations::named()[0];
    let combination = combinations::Combination { workers: 1, ..combination };
    let (entered, gate) = channel();
    let (let_go, go_on) = channel();
    let go_on = Arc::new(Mutex::new(go_on));
    let app_set = AppSet::default()
        .with(move || Gate { entered: entered.clone(), go_on: Arc::clone(&go_on) });
    let stage = Stage::open_with(&combination, app_set);
    let reading = Mutex::new(None);
    stage.play("a full inbox", |stage| {
        let (mut peer, number) = join(stage, version);
        let mut request = Vec::new();
        PacketIn::new(version, 1, 1, NOBODY).ask(1, &mut request);
        peer.send(&request).expect("the engine reads");
        gate.recv_timeout(PATIENCE).expect("the worker is held");
        let one = || command(stage, number, &[flow(1)], PATIENCE);
        let waiting: Vec<_> = (0..COMMANDS_QUEUED_MAX).map(|_| one()).collect();
        for _ in 0..ABOVE {
            assert_eq!(one().wait(), Err(Failure::Busy));
        }
        drop(let_go);
        let reader = std::thread::spawn(move || {
            while let Ok(message) = peer.receive() {
                if message[1] == barrier_request(version) {
                    say(&mut peer, version, xid_of(&message), &Message::BarrierReply);
                }
            }
        });
        let outcomes: Vec<Outcome> = waiting.into_iter().map(Answer::wait).collect();
        // Some found that the switch owes as many answers as it may.
        let fair = |outcome: &Outcome| {
            matches!(outcome, Ok(said) if said[..] == [Said::Done])
                || *outcome == Err(Failure::Busy)
        };
        assert!(outcomes.iter().all(fair), "{outcomes:?}");
        assert!(outcomes.iter().any(Result::is_ok));
        *reading.lock().expect("nobody panics with it") = Some(reader);
    });
    stage.close();
    let reader = reading.into_inner().expect("nobody panics with it").expect("it was started");
    reader.join().expect("no complaint");
}

/// Commands that the switch has not answered when the controller stops are answered by that.
#[test]
fn who_waits_when_the_controller_stops_is_told_so() {
    everywhere(&combinations::named(), |combination| {
        let stage = Stage::open(combination);
        let (mut peer, number) = join(&stage, Version::V13);
        let handle = stage.engine.handle();
        let answer = command(&stage, number, &[flow(1)], PATIENCE);
        next(&mut peer, barrier_request(Version::V13));
        stage.close();
        assert_eq!(answer.wait(), Err(Failure::Disconnected(Close::Stopping)));
        let after = handle.command(DatapathId(number.into()), &[flow(1)], PATIENCE).wait();
        let expected = [Failure::NotConnected, Failure::Disconnected(Close::Stopping)];
        assert!(after.as_ref().is_err_and(|failure| expected.contains(failure)), "{after:?}");
    });
}
