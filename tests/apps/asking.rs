//! Scripted switches that ask a controller in this process.

use std::sync::Arc;
use std::time::Duration;

use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::{AppSet, session};
use aldis_emulator::peer::{Peer, PeerPart, hello};
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine};
use aldis_wire::msg::{self, Message};
use aldis_wire::{NO_BUFFER, Version};

struct Quiet;

impl EventSink for Quiet {
    fn emit(&self, _: ControllerEvent) {}
}

/// A controller of two workers in the default design, whose events are heard nowhere.
pub(crate) fn engine(app_set: AppSet) -> Engine {
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers: 2,
        design: Design::default(),
        spin: false,
        knobs: Knobs::default(),
        session: session::Config::default(),
    };
    Engine::start(&config, app_set, Arc::new(Quiet)).unwrap()
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A request about a small frame, as OpenFlow 1.0 has it.
pub(crate) fn packet_in(xid: u32) -> Vec<u8> {
    let packet = msg::PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 64,
        reason: msg::PacketInReason::NO_MATCH,
        table_id: msg::TableNo(0),
        cookie: u64::MAX,
        match_: msg::Match::new().in_port(msg::PortNo(1)),
        data: [&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0][..], &[0; 50]].concat(),
    };
    let mut bytes = Vec::new();
    Message::PacketIn(packet).encode(Version::V10, xid, &mut bytes).unwrap();
    bytes
}

/// A switch of this number that speaks 1.0, once it finished its handshake.
pub(crate) fn join(engine: &Engine, number: u32) -> Peer {
    join_speaking(engine, number, Version::V10)
}

/// The same with a version.
pub(crate) fn join_speaking(engine: &Engine, number: u32, version: Version) -> Peer {
    let mut peer = Peer::connect(engine.listening()[0], PATIENCE).unwrap();
    peer.send(&hello(version)).unwrap();
    // OFPT_BARRIER_REQUEST: the last message of the handshake.
    let barrier_request = if version == Version::V10 { 18 } else { 20 };
    peer.play(PeerPart { version, number, ports: 4 }, barrier_request).unwrap();
    peer
}
