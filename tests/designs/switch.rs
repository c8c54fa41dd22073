//! A switch as a script, and what it says.

use std::io::Write;
use std::net::Shutdown;
use std::thread::JoinHandle;

use aldis_emulator::peer::{Peer, PeerPart, hello};
use aldis_wire::header::kind::{FLOW_MOD, PACKET_OUT};
use aldis_wire::msg::{self, Message};
use aldis_wire::{FixedText, MacAddr, NO_BUFFER, Version};

use rustix::net::{self, AddressFamily, SocketType};

use crate::stage::{PATIENCE, Stage};

/// `OFPT_FEATURES_REQUEST` of both versions.
pub(crate) const FEATURES_REQUEST: u8 = 5;

/// A host that was never seen: what is sent to it is flooded, by one PACKET_OUT for each request.
pub(crate) const NOBODY: u8 = 0xee;

/// What a socket keeps that keeps little, in bytes.
const LITTLE: usize = 4 * 1024;

/// Bytes of each frame.
const FRAME: usize = 64;

/// The last message of the handshake that the switch answers.
pub(crate) fn barrier_request(version: Version) -> u8 {
    match version {
        Version::V10 => 18,
        Version::V13 => 20,
    }
}

pub(crate) fn part(version: Version, number: u32) -> PeerPart {
    PeerPart { version, number, ports: 4 }
}

/// A connection that has said HELLO.
pub(crate) fn connect(stage: &Stage, version: Version) -> Peer {
    greet(Peer::connect(stage.address(), PATIENCE).expect("the engine listens"), version)
}

fn greet(mut peer: Peer, version: Version) -> Peer {
    peer.send(&hello(version)).expect("the engine reads");
    peer
}

/// A switch that has shaken hands, under a number of its own.
pub(crate) fn join(stage: &Stage, version: Version) -> (Peer, u32) {
    shake_hands(stage, version, connect(stage, version))
}

/// The same with a socket that keeps few bytes for its reader, so that the other end soon feels how
/// slowly it reads.
pub(crate) fn join_keeping_little(stage: &Stage, version: Version) -> (Peer, u32) {
    // A window that was once offered cannot be taken back: it has to be small from the beginning.
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    net::sockopt::set_socket_recv_buffer_size(&socket, LITTLE).expect("a buffer");
    net::connect(&socket, &stage.address()).expect("the engine listens");
    let peer = Peer::over(socket.into(), PATIENCE).expect("it stands");
    shake_hands(stage, version, greet(peer, version))
}

fn shake_hands(stage: &Stage, version: Version, mut peer: Peer) -> (Peer, u32) {
    let number = stage.number();
    peer.play(part(version, number), barrier_request(version)).expect("a handshake");
    stage.await_up(number);
    (peer, number)
}

/// Requests of one kind, to be had quickly.
pub(crate) struct PacketIn {
    bytes: Vec<u8>,
}

impl PacketIn {
    /// From host `src` behind port `in_port` to host `dst`, unbuffered.
    pub(crate) fn new(version: Version, in_port: u32, src: u8, dst: u8) -> PacketIn {
        let mut data = vec![2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src, 0x08, 0];
        data.resize(FRAME, 0);
        let packet = msg::PacketIn {
            buffer_id: NO_BUFFER,
            total_len: FRAME as u16,
            reason: msg::PacketInReason::NO_MATCH,
            table_id: msg::TableNo(0),
            cookie: u64::MAX,
            match_: msg::Match::new().in_port(msg::PortNo(in_port)),
            data,
        };
        let mut bytes = Vec::new();
        Message::PacketIn(packet)
            .encode(version, 0, &mut bytes)
            .expect("either version can say it");
        PacketIn { bytes }
    }

    /// Appends the request with this xid.
    pub(crate) fn ask(&self, xid: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        out[start + 4..start + 8].copy_from_slice(&xid.to_be_bytes());
    }
}

/// Appends requests to an unknown host, with these xids.
pub(crate) fn ask_for_nobody(
    version: Version,
    xids: impl IntoIterator<Item = u32>,
    out: &mut Vec<u8>,
) {
    let packet_in = PacketIn::new(version, 1, 1, NOBODY);
    xids.into_iter().for_each(|xid| packet_in.ask(xid, out));
}

/// `PORT_STATUS`: a port lost its link.
pub(crate) fn link_down(version: Version, number: u32, out: &mut Vec<u8>) {
    let port = msg::Port {
        number: msg::PortNo(number),
        hw_addr: MacAddr([2, 0, 0, 0, 1, number as u8]),
        name: FixedText::new("port"),
        admin_down: false,
        link_down: true,
        speed_kbps: 0,
        details: msg::PortDetails::default(),
    };
    let change = msg::PortChange { reason: msg::PortChangeReason::Modified, port };
    Message::PortChange(change).encode(version, 0, out).expect("either version can say it");
}

/// Whether a message tells the switch to send something out of a port.
pub(crate) fn leads_to(version: Version, message: &[u8], port: u32) -> bool {
    let goes_there = |actions: &[msg::Action]| {
        actions
            .iter()
            .any(|action| matches!(action, msg::Action::Output { port: to, .. } if to.0 == port))
    };
    if ![FLOW_MOD, PACKET_OUT].contains(&message[1]) {
        return false;
    }
    let (_, message) = Message::decode(version, message).expect("no malformed answer");
    match message.meaning() {
        Message::FlowMod(flow) if flow.command == msg::FlowModCommand::ADD => {
            flow.instructions.iter().any(|instruction| match instruction {
                msg::Instruction::ApplyActions(actions) => goes_there(actions),
                _ => false,
            })
        }
        Message::PacketOut(packet) => goes_there(&packet.actions),
        _ => false,
    }
}

pub(crate) fn xid_of(message: &[u8]) -> u32 {
    u32::from_be_bytes([message[4], message[5], message[6], message[7]])
}

/// Sends all of it from a thread of its own, so that the switch reads meanwhile; and then the end,
/// if it is to come.
pub(crate) fn send_aside(peer: &Peer, bytes: Vec<u8>, and_end: bool) -> JoinHandle<()> {
    let mut socket = peer.socket().try_clone().expect("a socket");
    std::thread::spawn(move || {
        socket.write_all(&bytes).expect("the engine reads");
        if and_end {
            socket.shutdown(Shutdown::Write).expect("it stands");
        }
    })
}

/// The next message of one of these types.
pub(crate) fn receive_any(peer: &mut Peer, kinds: &[u8]) -> Vec<u8> {
    loop {
        let message = peer.receive().unwrap_or_else(|unexpected| panic!("{unexpected}"));
        if kinds.contains(&message[1]) {
            return message;
        }
    }
}
