//! One scenario over every design: whatever the design, switches get the same answers, in the same order.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{self, Seed};
use aldis_control::fact::{Fact, Facts};
use aldis_control::{Recipe, session};
use aldis_emulator::load::{self, Load, Mode};
use aldis_emulator::peer::{Part, Peer, bare, hello};
use aldis_engine::{Config, Design, Engine};
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, FLOW_MOD, PACKET_OUT};
use aldis_wire::msg::{self, Message};
use aldis_wire::{MacAddr, NO_BUFFER, Version};

/// `OFPT_FEATURES_REQUEST` of both versions.
const FEATURES_REQUEST: u8 = 5;

/// Longer than anything here takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// The last message of the handshake that the switch answers.
fn barrier_request(version: Version) -> u8 {
    match version {
        Version::V10 => 18,
        Version::V13 => 20,
    }
}

struct Listener(SyncSender<Fact>);

impl Facts for Listener {
    fn tell(&self, fact: Fact) {
        let _ = self.0.try_send(fact);
    }
}

fn start(design: Design, workers: usize) -> (Engine, Receiver<Fact>) {
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers,
        design,
        spin: false,
        session: session::Config::default(),
    };
    let settings = learning_switch::Config::new(Seed::new([7; 16]));
    let recipe = Recipe::default().with(move || LearningSwitch::new(settings));
    let (sender, facts) = sync_channel(1024);
    (Engine::start(&config, recipe, Arc::new(Listener(sender))).unwrap(), facts)
}

/// Runs a scenario over every design, version and number of workers that makes a difference.
fn everywhere(scenario: impl Fn(&Engine, &Receiver<Fact>, Version, &str)) {
    for design in Design::ALL {
        for version in Version::ALL {
            for workers in [1, 2] {
                let (engine, facts) = start(design, workers);
                scenario(
                    &engine,
                    &facts,
                    version,
                    &format!("{} with {workers} workers, {version}", design.name),
                );
                engine.stop();
            }
        }
    }
}

/// A switch that has shaken hands.
fn join(engine: &Engine, facts: &Receiver<Fact>, version: Version, number: u32) -> Peer {
    let mut peer = Peer::connect(engine.listening()[0], PATIENCE).unwrap();
    peer.send(&hello(version)).unwrap();
    peer.play(Part { version, number, ports: 4 }, barrier_request(version)).unwrap();
    loop {
        match facts.recv_timeout(PATIENCE).expect("the switch comes up") {
            Fact::Up { dpid, .. } if dpid.0 == u64::from(number) => return peer,
            _ => {}
        }
    }
}

fn packet_in(version: Version, xid: u32, in_port: u32, src: u8, dst: u8) -> Vec<u8> {
    let mut data = vec![2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src, 0x08, 0];
    data.resize(64, 0);
    let packet = msg::PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 64,
        reason: aldis_wire::v13::PacketInReason::NO_MATCH,
        table_id: aldis_wire::v13::TableNo(0),
        cookie: u64::MAX,
        match_: msg::Match::new().in_port(msg::PortNo(in_port)),
        data,
    };
    let mut bytes = Vec::new();
    Message::PacketIn(packet).encode(version, xid, &mut bytes).unwrap();
    bytes
}

#[test]
fn every_request_is_answered_once() {
    everywhere(|engine, _, version, what| {
        for buffered in [true, false] {
            let load = Load {
                version,
                switches: 6,
                macs: 500,
                buffered,
                mode: Mode::Window(64),
                requests_per_switch: Some(2_000),
                warm_up: 0,
                loops: 20,
                ..Load::new(engine.listening()[0])
            };
            let counts =
                load::run(&load).unwrap_or_else(|failure| panic!("{what}: {failure}")).counts;
            assert_eq!((counts.offered, counts.answered), (12_000, 12_000), "{what}");
            // Without a buffer a flow and the packet answer each request, and the second of them is a stray.
            let strays_max = if buffered { 0 } else { 12_000 };
            assert!(counts.lost == 0 && counts.strays <= strays_max, "{what}: {counts:?}");
        }
    });
}

#[test]
fn a_fence_is_answered_between_what_came_before_it_and_what_came_after() {
    everywhere(|engine, facts, version, what| {
        let mut peer = join(engine, facts, version, 9);
        let mut bytes = Vec::new();
        for xid in 1..=50 {
            // To hosts that nobody knows: each is flooded, by one PACKET_OUT with the xid of its request.
            bytes.extend(packet_in(version, 2 * xid, 1, 1, 100 + xid as u8));
            bytes.extend(bare(version, ECHO_REQUEST, 2 * xid + 1));
        }
        peer.send(&bytes).unwrap();
        let mut answers = (0..100).map(|_| {
            loop {
                let message =
                    peer.receive().unwrap_or_else(|unexpected| panic!("{what}: {unexpected}"));
                if [ECHO_REPLY, PACKET_OUT].contains(&message[1]) {
                    return u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
                }
            }
        });
        assert!(
            answers.by_ref().eq(2..102),
            "{what}: answers come in the order of what they answer"
        );
    });
}

#[test]
fn what_was_asked_during_the_handshake_is_answered_after_it() {
    everywhere(|engine, _, version, what| {
        let mut peer = Peer::connect(engine.listening()[0], PATIENCE).unwrap();
        peer.send(&hello(version)).unwrap();
        let part = Part { version, number: 9, ports: 4 };
        peer.play(part, FEATURES_REQUEST).unwrap();
        for xid in 70..73 {
            peer.send(&packet_in(version, xid, 1, 1, 0xee)).unwrap();
        }
        peer.play(part, barrier_request(version)).unwrap();
        for xid in 70..73 {
            let message =
                peer.expect(PACKET_OUT).unwrap_or_else(|unexpected| panic!("{what}: {unexpected}"));
            assert_eq!(message[4..8], u32::to_be_bytes(xid), "{what}");
        }
    });
}

#[test]
fn a_host_that_moves_inside_one_batch_stays_moved() {
    everywhere(|engine, facts, version, what| {
        let mut peer = join(engine, facts, version, 9);
        let mut bytes = Vec::new();
        for port in 1..=3 {
            bytes.extend(packet_in(version, port, port, 1, 0xee));
        }
        bytes.extend(packet_in(version, 99, 4, 2, 1));
        peer.send(&bytes).unwrap();
        let flow = loop {
            let message =
                peer.expect(FLOW_MOD).unwrap_or_else(|unexpected| panic!("{what}: {unexpected}"));
            let (xid, message) = Message::decode(version, &message).unwrap();
            if let (99, Message::FlowMod(flow)) = (xid, message.meaning()) {
                break flow;
            }
        };
        let [msg::Instruction::ApplyActions(actions)] = &flow.instructions[..] else {
            panic!("{what}: {flow:?}");
        };
        let to_port_3 = |action: &msg::Action| {
            matches!(action, msg::Action::Output { port: msg::PortNo(3), .. })
        };
        assert!(actions.iter().all(to_port_3), "{what}: to where the host was seen last, {flow:?}");
        let to_host_1 =
            msg::Field::EthDst(msg::Masked { value: MacAddr([2, 0, 0, 0, 0, 1]), mask: None });
        assert!(flow.match_.fields.contains(&to_host_1), "{what}");
    });
}
