//! Switches that an application holds back while they join: nothing is served before they have
//! answered, or the time for it has passed.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aldis_apps::Hub;
use aldis_control::app::{EventCtx, Exclusive, Next};
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::switch::SwitchInfo;
use aldis_control::{App, AppSet, Event, EventKind, Output, Time, session};
use aldis_emulator::peer::{Peer, bare};
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine};
use aldis_wire::Version;
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, PACKET_OUT};
use aldis_wire::msg::{self, Message, PortChange, PortChangeReason, PortNo};
use aldis_wire::{FixedText, MacAddr};

use super::asking::{PATIENCE, join, packet_in};

/// `OFPT_GET_CONFIG_REQUEST` and its reply.
const ASKS: u8 = 7;

/// How long may be held, where it is not to pass.
const LONG: Duration = Duration::from_secs(3600);

/// Long enough that what should not come would have.
const A_WHILE: Duration = Duration::from_millis(300);

/// Holds each switch until that has said how it is configured.
struct Holds;

impl App for Holds {
    type Slot = Exclusive<u32>;
    const NAME: &'static str = "holds";
    const EVENTS: &'static [EventKind] = &[EventKind::Joining, EventKind::Reply];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> u32 {
        0
    }

    fn event(
        &mut self,
        mut ctx: EventCtx<'_, Exclusive<u32>>,
        event: &Event,
        out: &mut Output,
    ) -> Next {
        match event {
            Event::Joining => {
                *ctx.slot = out.xid();
                out.append(&bare(ctx.switch.version, ASKS, *ctx.slot));
                out.hold_switch();
            }
            Event::Reply { xid, .. } if *xid == *ctx.slot => out.release_switch(),
            _ => {}
        }
        Next::Continue
    }
}

/// Tells what it is told.
struct Attends(Sender<(u64, EventKind)>);

impl App for Attends {
    type Slot = ();
    const NAME: &'static str = "attends";
    const EVENTS: &'static [EventKind] = &[EventKind::Up, EventKind::Down, EventKind::PortChange];

    fn event(&mut self, ctx: EventCtx<'_, ()>, event: &Event, _: &mut Output) -> Next {
        self.0.send((ctx.switch.dpid.0, event.kind())).unwrap();
        Next::Continue
    }
}

/// Tells that a switch joins, and that it is gone.
struct Initialises(Sender<(u64, EventKind)>);

impl App for Initialises {
    type Slot = ();
    const NAME: &'static str = "initialises";
    const EVENTS: &'static [EventKind] = &[EventKind::Joining, EventKind::Down];

    fn event(&mut self, ctx: EventCtx<'_, ()>, event: &Event, _: &mut Output) -> Next {
        self.0.send((ctx.switch.dpid.0, event.kind())).unwrap();
        Next::Continue
    }
}

struct Warnings(Mutex<Sender<String>>);

impl EventSink for Warnings {
    fn emit(&self, event: ControllerEvent) {
        if let ControllerEvent::Noted { words, warns: true } = event {
            let _ = self.0.lock().unwrap().send(words);
        }
    }
}

/// An engine, and what is said there.
struct HeldStage {
    engine: Engine,
    witnessed: Receiver<(u64, EventKind)>,
    initialised: Receiver<(u64, EventKind)>,
    warnings: Receiver<String>,
}

fn scene(design: Design, joining_within: Duration) -> HeldStage {
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers: 2,
        design,
        spin: false,
        knobs: Knobs::default(),
        session: session::Config { joining_within, ..session::Config::default() },
    };
    let ((first, witnessed), (second, initialised)) = (channel(), channel());
    let (first, second) = (Arc::new(Mutex::new(first)), Arc::new(Mutex::new(second)));
    let app_set = AppSet::default()
        .with(|| Holds)
        .with(move || Attends(first.lock().unwrap().clone()))
        .with(move || Initialises(second.lock().unwrap().clone()))
        .with(|| Hub);
    let (sender, warnings) = channel();
    let sink = Arc::new(Warnings(Mutex::new(sender)));
    let engine = Engine::start(&config, app_set, sink).unwrap();
    HeldStage { engine, witnessed, initialised, warnings }
}

impl HeldStage {
    #[track_caller]
    fn witness(&self, number: u64, kind: EventKind) {
        assert_eq!(self.witnessed.recv_timeout(PATIENCE), Ok((number, kind)));
    }
}

/// The xid of the application's message, once it came.
fn asked(peer: &mut Peer) -> u32 {
    let message = peer.expect(ASKS).unwrap();
    u32::from_be_bytes([message[4], message[5], message[6], message[7]])
}

fn answer(peer: &mut Peer, xid: u32) {
    let config = msg::SwitchConfig { flags: msg::ConfigFlags::NORMAL, miss_send_len: 128 };
    say(peer, xid, &Message::GetConfigReply(config));
}

fn say(peer: &mut Peer, xid: u32, message: &Message) {
    let mut bytes = Vec::new();
    message.encode(Version::V10, xid, &mut bytes).unwrap();
    peer.send(&bytes).unwrap();
}

fn port_change() -> Message {
    let port = msg::Port {
        number: PortNo(2),
        hw_addr: MacAddr([2, 0, 0, 0, 1, 2]),
        name: FixedText::new("two"),
        admin_down: false,
        link_down: true,
        speed_kbps: 0,
        details: msg::PortDetails::default(),
    };
    Message::PortChange(PortChange { reason: PortChangeReason::Modified, port })
}

/// What the switch sends is answered in order.
fn is_answered(peer: &mut Peer, xids: std::ops::Range<u32>) {
    for xid in xids {
        assert_eq!(peer.expect(PACKET_OUT).unwrap()[4..8], xid.to_be_bytes());
    }
}

#[test]
fn a_switch_that_is_held_back_is_served_when_it_answered_whatever_the_design() {
    for design in Design::ALL {
        let scene = scene(Design { core_binding: false, ..design }, LONG);
        let mut peer = join(&scene.engine, 1);
        let xid = asked(&mut peer);
        (100..103).for_each(|xid| peer.send(&packet_in(xid)).unwrap());
        say(&mut peer, 0, &port_change());
        peer.send(&packet_in(103)).unwrap();
        // What is sent behind the requests is answered, so that they were seen, and they are not.
        peer.send(&bare(Version::V10, ECHO_REQUEST, 9)).unwrap();
        let echo = peer.receive().unwrap();
        assert_eq!((echo[1], &echo[4..8]), (ECHO_REPLY, &9_u32.to_be_bytes()[..]), "{design:?}");
        assert!(scene.witnessed.try_recv().is_err() && scene.engine.handle().switches().is_empty());
        // The beginning of a request waits behind those that came whole.
        let late = packet_in(104);
        peer.send(&late[..20]).unwrap();
        answer_in_pieces(&mut peer, xid, &late[20..]);
        scene.witness(1, EventKind::Up);
        scene.witness(1, EventKind::PortChange);
        is_answered(&mut peer, 100..105);
        let seen = scene.engine.handle().switches();
        assert!(seen.len() == 1 && seen[0].ports().iter().any(|port| port.link_down));
        assert!(scene.warnings.try_recv().is_err());
        drop(peer);
        scene.witness(1, EventKind::Down);
    }
}

/// The end of a request that began, and the answer behind it.
fn answer_in_pieces(peer: &mut Peer, xid: u32, rest: &[u8]) {
    std::thread::sleep(Duration::from_millis(20));
    peer.send(rest).unwrap();
    answer(peer, xid);
}

#[test]
fn a_switch_that_never_answers_is_served_after_the_deadline_and_the_log_names_the_holder() {
    let scene = scene(Design::default(), Duration::from_millis(500));
    let mut peer = join(&scene.engine, 2);
    asked(&mut peer);
    (5..8).for_each(|xid| peer.send(&packet_in(xid)).unwrap());
    // The beginning of a request: its end comes when the switch is served.
    let last = packet_in(8);
    peer.send(&last[..13]).unwrap();
    peer.expect_silence(Duration::from_millis(200)).unwrap();
    is_answered(&mut peer, 5..8);
    peer.send(&last[13..]).unwrap();
    is_answered(&mut peer, 8..9);
    scene.witness(2, EventKind::Up);
    let warning = scene.warnings.recv_timeout(PATIENCE).unwrap();
    assert!(warning.contains("holds held it back for 0.5 s"), "{warning}");
    assert!(warning.contains("0000000000000002"), "{warning}");
}

#[test]
fn an_answer_that_comes_late_changes_nothing() {
    let scene = scene(Design::default(), Duration::from_millis(300));
    let mut peer = join(&scene.engine, 3);
    let xid = asked(&mut peer);
    scene.witness(3, EventKind::Up);
    scene.warnings.recv_timeout(PATIENCE).unwrap();
    answer(&mut peer, xid);
    peer.send(&packet_in(1)).unwrap();
    is_answered(&mut peer, 1..2);
    assert!(scene.witnessed.recv_timeout(A_WHILE).is_err());
    assert!(scene.warnings.try_recv().is_err());
}

#[test]
fn a_switch_that_goes_while_it_is_held_back_was_never_up() {
    let scene = scene(Design::default(), LONG);
    let mut peer = join(&scene.engine, 4);
    asked(&mut peer);
    assert_eq!(scene.initialised.recv_timeout(PATIENCE), Ok((4, EventKind::Joining)));
    drop(peer);
    assert_eq!(scene.initialised.recv_timeout(PATIENCE), Ok((4, EventKind::Down)));
    assert!(scene.witnessed.try_recv().is_err());
    // Nothing of it is left: the next connection of the switch is held back in its turn.
    let mut again = join(&scene.engine, 4);
    let xid = asked(&mut again);
    answer(&mut again, xid);
    scene.witness(4, EventKind::Up);
}

#[test]
fn an_application_that_is_started_meanwhile_sees_the_switch_join() {
    let scene = scene(Design::default(), LONG);
    let handle = scene.engine.handle();
    handle.stop_app("initialises").unwrap();
    let mut peer = join(&scene.engine, 5);
    let xid = asked(&mut peer);
    handle.start_app("initialises").unwrap();
    answer(&mut peer, xid);
    peer.expect_close().unwrap();
    let mut again = join(&scene.engine, 5);
    let xid = asked(&mut again);
    answer(&mut again, xid);
    scene.witness(5, EventKind::Up);
    assert_eq!(scene.initialised.recv_timeout(PATIENCE), Ok((5, EventKind::Joining)));
}
