//! Applications that are started, stopped, added, replaced and removed on the workers of a
//! controller while switches ask: each request is answered once, by the one or the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use aldis_apps::Hub;
use aldis_control::app::{EventCtx, Next, Parallel, State};
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::pipeline::{AppEntry, LineUpError};
use aldis_control::switch::SwitchInfo;
use aldis_control::{App, AppSet, Event, EventKind, Output, Request, Time, session};
use aldis_emulator::peer::Peer;
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine, LifecycleError};
use aldis_wire::Version;
use aldis_wire::header::kind::PACKET_OUT;
use aldis_wire::msg::{Action, Message, PortNo};

use super::asking::{join, packet_in};

/// Answers in place of those behind it, with the switch's own port, and counts in its slot how
/// often it is told that the switch joined and is up.
struct Marks;

impl App for Marks {
    type Slot = Parallel<[AtomicU32; 2]>;
    const NAME: &'static str = "marks";
    const EVENTS: &'static [EventKind] =
        &[EventKind::FlowRequest, EventKind::Joining, EventKind::Up];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> [AtomicU32; 2] {
        [0, 0].map(AtomicU32::new)
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, _: &mut Output) -> Next {
        ctx.slot[usize::from(*event == Event::Up)].fetch_add(1, Ordering::Relaxed);
        Next::Continue
    }

    fn packet_in(
        &mut self,
        request: &Request<'_>,
        told: State<'_, Self>,
        out: &mut Output,
    ) -> Next {
        let told = told.each_ref().map(|count| count.load(Ordering::Relaxed));
        let port = 100 * told[0] + 10 * told[1] + 1;
        if let Some(packet) = request.packet() {
            out.answer(request, packet.actions([Action::output(PortNo(port))]));
        }
        Next::Stop
    }
}

/// Answers with a port of its own.
#[derive(Clone, Copy)]
struct Says(u32);

impl App for Says {
    type Slot = ();
    const NAME: &'static str = "says";

    fn packet_in(&mut self, request: &Request<'_>, (): (), out: &mut Output) -> Next {
        if let Some(packet) = request.packet() {
            out.answer(request, packet.actions([Action::output(PortNo(self.0))]));
        }
        Next::Stop
    }
}

/// Panics where it is to keep something for a switch.
struct Falls;

impl App for Falls {
    type Slot = Parallel<u8>;
    const NAME: &'static str = "falls";

    fn init_switch(&mut self, _: Time, switch: &SwitchInfo) -> u8 {
        panic!("no room for switch {}", switch.dpid)
    }
}

struct Deaf;

impl EventSink for Deaf {
    fn emit(&self, _: ControllerEvent) {}
}

fn start(design: Design, app_set: AppSet) -> Engine {
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers: 2,
        design,
        spin: false,
        knobs: Knobs::default(),
        session: session::Config::default(),
    };
    Engine::start(&config, app_set, Arc::new(Deaf)).unwrap()
}

/// The port that the next answer sends the packet to, which answers this request.
fn answered(peer: &mut Peer, xid: u32) -> u32 {
    let answer = peer.expect(PACKET_OUT).unwrap();
    assert_eq!(answer[4..8], xid.to_be_bytes(), "{answer:?}");
    let (_, message) = Message::decode(Version::V10, &answer).unwrap();
    match message.meaning() {
        Message::PacketOut(packet) => match packet.actions[..] {
            [Action::Output { port, .. }] => port.0,
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn asked(peer: &mut Peer, xid: u32) -> u32 {
    peer.send(&packet_in(xid)).unwrap();
    answered(peer, xid)
}

/// Asks until the controller is told to stop, several at a time; how many answers were whose.
fn ask_on(mut peer: Peer, over: &AtomicBool) -> (Peer, [u64; 2]) {
    let (mut xid, mut by) = (0, [0, 0]);
    while !over.load(Ordering::Relaxed) {
        let requests: Vec<u8> = (0..16).flat_map(|at| packet_in(xid + at)).collect();
        peer.send(&requests).unwrap();
        for at in 0..16 {
            let port = answered(&mut peer, xid + at);
            by[usize::from(port != PortNo::FLOOD.0)] += 1;
        }
        xid += 16;
    }
    // Nothing was answered twice.
    peer.expect_silence(Duration::from_millis(20)).unwrap();
    (peer, by)
}

#[test]
fn each_request_is_answered_once_while_an_application_comes_and_goes_under_every_design() {
    for design in Design::ALL {
        let engine = start(design, AppSet::default().with(|| Marks).with(|| Hub));
        let handle = engine.handle();
        let over = AtomicBool::new(false);
        let peers: Vec<_> = (1..=4).map(|number| join(&engine, number)).collect();
        let answered = thread::scope(|scope| {
            let asking: Vec<_> =
                peers.into_iter().map(|peer| scope.spawn(|| ask_on(peer, &over))).collect();
            for _ in 0..25 {
                handle.stop_app("marks").unwrap();
                thread::sleep(Duration::from_millis(1));
                handle.start_app("marks").unwrap();
            }
            over.store(true, Ordering::Relaxed);
            asking.into_iter().map(|asks| asks.join().unwrap()).collect::<Vec<_>>()
        });
        for (mut peer, by) in answered {
            assert!(by.iter().all(|count| *count > 0), "{}: {by:?}", design.name);
            // It joined and is up once, for the instances of the last start.
            assert_eq!(asked(&mut peer, 7), 111, "{}", design.name);
        }
        engine.stop();
    }
}

#[test]
fn what_joined_while_an_application_did_not_run_is_served_by_it_afterwards() {
    let engine = start(Design::default(), AppSet::default().with(|| Marks).with(|| Hub));
    let handle = engine.handle();
    let mut old = join(&engine, 1);
    assert_eq!(asked(&mut old, 1), 111);
    handle.stop_app("marks").unwrap();
    let mut between = join(&engine, 2);
    for peer in [&mut old, &mut between] {
        assert_eq!(asked(peer, 2), PortNo::FLOOD.0);
    }
    let refused = handle.stop_app("marks").unwrap_err();
    assert_eq!(refused, LifecycleError::LineUp(LineUpError::Stopped("marks")));
    handle.start_app("marks").unwrap();
    let mut late = join(&engine, 3);
    for peer in [&mut old, &mut between, &mut late] {
        assert_eq!(asked(peer, 3), 111);
    }
    let states: Vec<_> = handle.apps().iter().map(|app| (app.app, app.state)).collect();
    assert_eq!(states, [("marks", "running"), ("hub", "running")]);
    engine.stop();
}

#[test]
fn an_application_is_added_in_its_place_replaced_reordered_and_removed() {
    let engine = start(Design::default(), AppSet::default().with(|| Hub));
    let handle = engine.handle();
    let mut peer = join(&engine, 1);
    let named = |port| AppEntry::of(move || Says(port)).named("guest", Says::EVENTS);
    handle.add_app(named(7), Some("hub")).unwrap();
    assert_eq!(asked(&mut peer, 1), 7);
    handle.replace_app(named(8)).unwrap();
    assert_eq!(asked(&mut peer, 2), 8);
    handle.order_apps(EventKind::FlowRequest, vec!["hub".into()]).unwrap();
    assert_eq!(asked(&mut peer, 3), PortNo::FLOOD.0);
    handle.order_apps(EventKind::FlowRequest, vec![]).unwrap();
    assert_eq!(asked(&mut peer, 4), 8);
    let refused = handle.remove_app("hub").unwrap_err();
    assert_eq!(refused, LifecycleError::LineUp(LineUpError::BuiltIn("hub")));
    handle.remove_app("guest").unwrap();
    assert_eq!(asked(&mut peer, 5), PortNo::FLOOD.0);
    assert_eq!(handle.apps().len(), 1);
    engine.stop();
}

#[test]
fn an_application_that_panics_while_it_starts_is_refused_and_the_others_go_on() {
    let engine = start(Design::default(), AppSet::default().with(|| Hub));
    let handle = engine.handle();
    let mut peer = join(&engine, 1);
    for attempt in 1..=2 {
        let refused = handle.add_app(AppEntry::of(|| Falls), Some("hub")).unwrap_err();
        assert!(
            matches!(&refused, LifecycleError::Panicked(why) if why.contains("no room for switch"))
        );
        assert_eq!(handle.apps().len(), 1, "{:?}", handle.apps());
        assert_eq!(asked(&mut peer, attempt), PortNo::FLOOD.0);
    }
    let unmade =
        AppEntry::of(|| -> Says { panic!("it cannot be made") }).named("unmade", Says::EVENTS);
    let refused = handle.add_app(unmade, None).unwrap_err();
    assert!(matches!(&refused, LifecycleError::Panicked(why) if why.contains("cannot be made")));
    assert_eq!((handle.apps().len(), asked(&mut peer, 9)), (1, PortNo::FLOOD.0));
    let mut late = join(&engine, 2);
    assert_eq!(asked(&mut late, 1), PortNo::FLOOD.0);
    engine.stop();
}

#[test]
fn a_thousand_changes_beside_switches_leave_nothing_behind() {
    let engine = start(Design::default(), AppSet::default().with(|| Hub));
    let handle = engine.handle();
    let mut peers: Vec<_> = (1..=20).map(|number| join(&engine, number)).collect();
    for round in 0..1000 {
        handle.add_app(AppEntry::of(|| Marks).named("guest", Marks::EVENTS), Some("hub")).unwrap();
        let peer = &mut peers[round % 20];
        assert_eq!(asked(peer, 1), 111);
        handle.remove_app("guest").unwrap();
        assert_eq!(asked(peer, 2), PortNo::FLOOD.0);
    }
    assert_eq!((handle.apps().len(), handle.line_up().version()), (1, 1 + 1000 * 5));
    engine.stop();
}
