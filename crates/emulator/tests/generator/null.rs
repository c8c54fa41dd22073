//! The null controller, seen by a scripted switch.

use aldis_emulator::null::NullController;
use aldis_emulator::peer::{Peer, PeerPart, bare, hello};
use aldis_wire::header::kind;
use aldis_wire::{Version, v10, v13};
use std::net::SocketAddr;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
const FEATURES_REQUEST: u8 = 5;

fn start() -> (NullController, SocketAddr) {
    let null = NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let address = null.address();
    (null, address)
}

fn ready(address: SocketAddr, version: Version) -> Peer {
    let mut peer = Peer::connect(address, PATIENCE).unwrap();
    peer.send(&hello(version)).unwrap();
    let part = PeerPart { version, number: 1, ports: 2 };
    let question = peer.play(part, FEATURES_REQUEST).unwrap();
    assert_eq!(question[0], version.wire(), "it asks in the version of the switch");
    peer
}

fn packet_in_v10(buffer_id: u32, frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packet_in = v10::PacketIn {
        buffer_id,
        total_len: frame.len() as u16,
        in_port: v10::PortNo(3),
        reason: v10::PacketInReason::NO_MATCH,
        data: frame.to_vec(),
    };
    v10::Message::PacketIn(packet_in).encode(77, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_buffered_request_is_answered_with_its_buffer_id() {
    let (_null, address) = start();
    let mut peer = ready(address, Version::V10);
    peer.send(&packet_in_v10(5, &[0xaa; 60])).unwrap();
    let (xid, answer) = v10::Message::decode(&peer.receive().unwrap()).unwrap();
    let v10::Message::FlowMod(flow_mod) = answer else { panic!("{answer:?}") };
    assert_eq!((xid, flow_mod.buffer_id, flow_mod.idle_timeout), (77, 5, 5));
    peer.expect_silence(Duration::from_millis(20)).unwrap();
}

#[test]
fn without_a_buffer_the_frame_comes_back() {
    let (_null, address) = start();
    let mut peer = ready(address, Version::V10);
    peer.send(&packet_in_v10(u32::MAX, &[0xaa; 61])).unwrap();
    let (_, answer) = v10::Message::decode(&peer.receive().unwrap()).unwrap();
    assert!(matches!(answer, v10::Message::FlowMod(_)));
    let (xid, answer) = v10::Message::decode(&peer.receive().unwrap()).unwrap();
    let v10::Message::PacketOut(packet_out) = answer else { panic!("{answer:?}") };
    assert_eq!((xid, packet_out.buffer_id), (77, u32::MAX));
    assert_eq!(packet_out.data, [0xaa; 61]);
}

#[test]
fn requests_of_1_3_are_answered_in_1_3() {
    let (_null, address) = start();
    let mut peer = ready(address, Version::V13);
    // buffer 9, 4 bytes of frame; a match with in_port 3, padded to 16; the frame behind two bytes
    // of padding.
    let mut request = vec![4, 10, 0, 46, 0, 0, 0, 88, 0, 0, 0, 9, 0, 4, 0, 0];
    request.extend([0; 8]);
    request.extend([0, 1, 0, 12, 0x80, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 0]);
    request.extend([0, 0, 1, 2, 3, 4]);
    peer.send(&request).unwrap();
    let (xid, answer) = v13::Message::decode(&peer.receive().unwrap()).unwrap();
    let v13::Message::FlowMod(flow_mod) = answer else { panic!("{answer:?}") };
    assert_eq!((xid, flow_mod.buffer_id, flow_mod.instructions.len()), (88, 9, 1));

    request[8..12].fill(0xff);
    peer.send(&request).unwrap();
    peer.expect(kind::FLOW_MOD).unwrap();
    let (_, answer) = v13::Message::decode(&peer.receive().unwrap()).unwrap();
    let v13::Message::PacketOut(packet_out) = answer else { panic!("{answer:?}") };
    assert_eq!(packet_out.data, [1, 2, 3, 4]);
}

#[test]
fn an_echo_returns_its_bytes() {
    let (_null, address) = start();
    let mut peer = ready(address, Version::V10);
    peer.send(&[1, kind::ECHO_REQUEST, 0, 11, 0, 0, 0, 9, 1, 2, 3]).unwrap();
    assert_eq!(peer.receive().unwrap(), [1, kind::ECHO_REPLY, 0, 11, 0, 0, 0, 9, 1, 2, 3]);
}

#[test]
fn a_message_in_pieces_is_one_message() {
    let (_null, address) = start();
    let mut peer = ready(address, Version::V10);
    let request = packet_in_v10(5, &[0xaa; 60]);
    for piece in request.chunks(7) {
        peer.send(piece).unwrap();
    }
    assert_eq!(peer.receive().unwrap()[1], kind::FLOW_MOD);
}

#[test]
fn lost_framing_ends_that_switch_alone() {
    let (_null, address) = start();
    let mut bystander = ready(address, Version::V10);
    let mut peer = ready(address, Version::V10);
    peer.send(&[1, 2, 0, 7, 0, 0, 0, 0]).unwrap();
    peer.expect_close().unwrap();
    bystander.send(&bare(Version::V10, kind::ECHO_REQUEST, 4)).unwrap();
    assert_eq!(bystander.receive().unwrap()[1], kind::ECHO_REPLY);
}

#[test]
fn requests_too_short_for_their_version_are_passed_over() {
    let (_null, address) = start();
    let mut peer = ready(address, Version::V10);
    peer.send(&[1, kind::PACKET_IN, 0, 8, 0, 0, 0, 1, 4, kind::PACKET_IN, 0, 18]).unwrap();
    peer.send(&[0; 14]).unwrap();
    peer.send(&bare(Version::V10, kind::ECHO_REQUEST, 4)).unwrap();
    assert_eq!(peer.receive().unwrap()[1], kind::ECHO_REPLY);
}

#[test]
fn it_stops_when_dropped() {
    let (null, address) = start();
    let mut peer = ready(address, Version::V10);
    drop(null);
    peer.expect_close().unwrap();
    assert!(Peer::connect(address, PATIENCE).is_err());
}

#[test]
fn a_busy_port_is_an_error() {
    let (_null, address) = start();
    assert!(NullController::start(address, 1).is_err());
}
