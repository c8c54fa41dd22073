//! Scripted switches that ask a controller in this process.

use std::time::Duration;

use aldis_emulator::peer::{Peer, PeerPart, hello};
use aldis_engine::Engine;
use aldis_wire::msg::{self, Message};
use aldis_wire::{NO_BUFFER, Version};

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
