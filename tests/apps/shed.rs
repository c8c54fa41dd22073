//! A port that floods its switch: what it asks too much is dropped, and nothing else.
//!
//! One worker serves one switch, and its application takes its time: while it runs, the switch
//! brings the next portion of its stream. So the switch is always above its share, on any machine.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aldis_control::app::Slots;
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::{App, AppSet, Batch, EventKind, Output, session};
use aldis_emulator::peer::{Peer, PeerPart, bare, hello};
use aldis_engine::design::Knobs;
use aldis_engine::metrics::SwitchSnapshot;
use aldis_engine::{Config, Design, Engine};
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST};
use aldis_wire::msg::{self, Message};
use aldis_wire::{NO_BUFFER, Version};

const PATIENCE: Duration = Duration::from_secs(20);
const LLDP: [u8; 2] = [0x88, 0xcc];
const IPV4: [u8; 2] = [8, 0];

/// Portions of the stream, of a millisecond at least.
const PORTIONS: usize = 300;

/// Portions that wait for the worker while it serves one: there is always a queue.
const AHEAD: usize = 4;

/// Portions until a flood is met, at the latest.
const UNTIL_MET: usize = 100;

/// Requests of each of the seven in a portion.
const EACH: usize = 60;

/// What an application saw: requests of each port, and those with LLDP.
#[derive(Default)]
struct Seen {
    ports: BTreeMap<u32, usize>,
    lldp: usize,
}

/// An application that takes its time whenever LLDP ends a portion, until the switch has brought
/// the next.
struct Slow {
    seen: Arc<Mutex<Seen>>,
    done: SyncSender<()>,
    go_on: Arc<Mutex<Receiver<()>>>,
}

impl App for Slow {
    type Slot = ();
    const NAME: &'static str = "slow";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest, EventKind::Lldp];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, _: &mut Output) {
        let mut seen = self.seen.lock().unwrap();
        let mut ends = false;
        for request in batch.requests.iter() {
            if batch.frame(request)[12..14] == LLDP {
                ends = true;
                seen.lldp += 1;
            } else {
                *seen.ports.entry(request.in_port).or_default() += 1;
            }
        }
        drop(seen);
        if ends && self.done.send(()).is_ok() {
            let _ = self.go_on.lock().unwrap().recv_timeout(PATIENCE);
            // Longer than the worker goes without a poll: it finds what came, and has no rest.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

struct Listener(SyncSender<ControllerEvent>);

impl EventSink for Listener {
    fn emit(&self, event: ControllerEvent) {
        let _ = self.0.try_send(event);
    }
}

fn packet_in(port: u16, ethertype: [u8; 2]) -> Vec<u8> {
    let mut data = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, port as u8];
    data.extend(ethertype);
    data.resize(64, 0);
    let packet = msg::PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 64,
        reason: aldis_wire::v13::PacketInReason::NO_MATCH,
        table_id: aldis_wire::v13::TableNo(0),
        cookie: u64::MAX,
        match_: msg::Match::new().in_port(msg::PortNo(port.into())),
        data,
    };
    let mut bytes = Vec::new();
    Message::PacketIn(packet).encode(Version::V10, 7, &mut bytes).unwrap();
    bytes
}

/// A portion: the requests of these ports, an echo request in the middle of them, and LLDP of port
/// 8 at the end.
fn portion(ports: &[u16]) -> Vec<u8> {
    let requests = |ports: &[u16]| -> Vec<u8> {
        ports.iter().flat_map(|port| packet_in(*port, IPV4)).collect()
    };
    let (before, after) = ports.split_at(ports.len() / 2);
    let echo = bare(Version::V10, ECHO_REQUEST, 7).to_vec();
    [requests(before), echo, requests(after), packet_in(8, LLDP)].concat()
}

/// What came of a stream of portions.
struct Outcome {
    /// What the application saw of each port, in the portions after [`UNTIL_MET`].
    later: BTreeMap<u32, usize>,
    seen: usize,
    lldp: usize,
    echoes: usize,
    switch: SwitchSnapshot,
}

fn play(ports: &[u16]) -> Outcome {
    played(ports, Knobs::default())
}

fn played(ports: &[u16], knobs: Knobs) -> Outcome {
    let (done, portion_done) = sync_channel(1);
    let (word, go_on) = sync_channel(1);
    let (seen, go_on) = (Arc::new(Mutex::new(Seen::default())), Arc::new(Mutex::new(go_on)));
    let (sender, events) = sync_channel(16);
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers: 1,
        design: Design::default(),
        spin: false,
        knobs,
        session: session::Config::default(),
    };
    let watched = Arc::clone(&seen);
    let app_set = AppSet::default().with(move || Slow {
        seen: Arc::clone(&seen),
        done: done.clone(),
        go_on: Arc::clone(&go_on),
    });
    let engine = Engine::start(&config, app_set, Arc::new(Listener(sender))).unwrap();
    let mut peer = Peer::connect(engine.listening()[0], PATIENCE).unwrap();
    peer.send(&hello(Version::V10)).unwrap();
    // OFPT_BARRIER_REQUEST: the last message of the handshake.
    peer.play(PeerPart { version: Version::V10, number: 1, ports: 8 }, 18).unwrap();
    while !matches!(events.recv_timeout(PATIENCE).unwrap(), ControllerEvent::Up { .. }) {}
    let bytes = portion(ports);
    let mut early = BTreeMap::new();
    (0..AHEAD).for_each(|_| peer.send(&bytes).unwrap());
    for at in 1..=PORTIONS {
        portion_done.recv_timeout(PATIENCE).expect("the portion is served");
        if at == UNTIL_MET {
            early = watched.lock().unwrap().ports.clone();
        }
        if at + AHEAD <= PORTIONS {
            peer.send(&bytes).unwrap();
        }
        word.send(()).unwrap();
    }
    (0..PORTIONS).for_each(|_| drop(peer.expect(ECHO_REPLY).expect("every echo is answered")));
    let switch = engine.snapshot().switches[0].clone();
    let seen = watched.lock().unwrap();
    let later = seen.ports.iter().map(|(port, all)| (*port, all - early.get(port).unwrap_or(&0)));
    Outcome {
        later: later.collect(),
        seen: seen.ports.values().sum(),
        lldp: seen.lldp,
        echoes: PORTIONS,
        switch,
    }
}

#[test]
fn seven_ports_lose_nothing_to_an_eighth_that_asks_for_ten_times_as_much() {
    let storm = (1..=7).chain([8; 10]).collect::<Vec<_>>().repeat(EACH);
    let outcome = play(&storm);
    assert_eq!((outcome.lldp, outcome.echoes), (PORTIONS, PORTIONS));
    let sheds = storm.len() * PORTIONS - outcome.seen;
    assert_eq!(outcome.switch.counts.sheds, sheds as u64, "what is not served is counted");
    assert_eq!(outcome.switch.shed_ports.total(), sheds as u64);
    let sent = EACH * (PORTIONS - UNTIL_MET);
    for port in 1..=7 {
        let served = outcome.later[&port];
        assert!(10 * served >= 9 * sent, "port {port}: {served} of {sent}, {:?}", outcome.later);
    }
    let flood = outcome.later[&8];
    assert!(flood < 5 * sent, "the flood was cut: {flood} of {}", 10 * sent);
    assert!(10 * flood >= 9 * sent, "and not below the share: {flood} of {}", 10 * sent);
}

#[test]
fn nothing_is_dropped_where_the_operator_says_so() {
    let storm = (1..=7).chain([8; 10]).collect::<Vec<_>>().repeat(EACH);
    let outcome = played(&storm, Knobs { shed: Some(false), ..Knobs::default() });
    assert_eq!((outcome.seen, outcome.switch.counts.sheds), (storm.len() * PORTIONS, 0));
    assert_eq!((outcome.lldp, outcome.echoes), (PORTIONS, PORTIONS));
}

#[test]
fn nothing_is_dropped_where_all_ports_ask_alike() {
    let alike = (1..=8).collect::<Vec<_>>().repeat(2 * EACH);
    let outcome = play(&alike);
    assert_eq!((outcome.seen, outcome.switch.counts.sheds), (alike.len() * PORTIONS, 0));
    assert_eq!((outcome.lldp, outcome.echoes), (PORTIONS, PORTIONS));
    assert!(outcome.switch.shed_ports.ports().is_empty());
}
