//! Switches with more of everything than there can be: ports, hosts, VLANs.

use aldis_emulator::peer::{PeerPart, hello};
use aldis_wire::Version;
use aldis_wire::header::{Header, kind};

use crate::{FEATURES_REQUEST, Scene, expect_alive, name_of};

/// `OFPT_PORT_STATUS`
const PORT_STATUS: u8 = 12;

/// What a switch may cost, whatever it says it has: a million hosts at 20 bytes
/// (`learning_switch::LearningConfig`), and as much again while a table grows.
const SWITCH_MAX: usize = 40 * 1024 * 1024;

/// "There is a new port", of this number.
fn port_status(version: Version, number: u16) -> Vec<u8> {
    // The number stands in the same two bytes behind the upper half that 1.3 adds.
    let (length, place) = match version {
        Version::V10 => (64, 16),
        Version::V13 => (80, 18),
    };
    let header = Header { version: version.wire(), kind: PORT_STATUS, length, xid: 0 };
    let mut bytes = header.to_bytes().to_vec();
    bytes.resize(length.into(), 0);
    bytes[place..place + 2].copy_from_slice(&number.to_be_bytes());
    bytes
}

#[test]
fn ports_without_end_end_the_handshake() {
    let scene = Scene::open();
    for version in Version::ALL {
        let mut peer = scene.connect();
        peer.send(&hello(version)).expect("the controller reads");
        peer.play(PeerPart { version, number: 5, ports: 2 }, FEATURES_REQUEST)
            .expect("a handshake");
        for number in 1..=9000 {
            // The last of them find the connection closed.
            let _ = peer.send(&port_status(version, number));
        }
        peer.expect_close().expect("the end");
        let why = scene.controller.await_end(name_of(&peer));
        assert!(why.contains("more than 8192 ports"), "{why}");
    }
    scene.close();
}

#[test]
fn ports_that_come_without_end_cost_no_more_than_a_switch_may() {
    let mut scene = Scene::open();
    for version in Version::ALL {
        let mut peer = scene.join(version, 5);
        for number in 1..0xff00 {
            peer.send(&port_status(version, number)).expect("the controller reads");
        }
        expect_alive(&mut peer, version);
        let heap = scene.controller.state().heap;
        assert!(heap < scene.before.heap + SWITCH_MAX, "{heap} bytes");
        let name = name_of(&peer);
        drop(peer);
        scene.controller.await_end(name);
    }
    scene.close();
}

/// A flow request of a host of its own in a VLAN of its own, to an unknown host.
fn stranger(version: Version, number: u32) -> Vec<u8> {
    let [a, b, c, d] = number.to_be_bytes();
    let [.., high, low] = (number % 4096).to_be_bytes();
    let frame = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, a, b, c, d, 0x81, 0, high, low, 8, 0];
    let head = match version {
        Version::V10 => &[0, 0, 0, 1, 0, 60, 0, 1, 0, 0][..],
        // No cookie, and a match of the port alone.
        Version::V13 => &[
            0, 0, 0, 1, 0, 60, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1, 0, 12,
            0x80, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
        ],
    };
    let length = (8 + head.len() + 60) as u16;
    let header = Header { version: version.wire(), kind: kind::PACKET_IN, length, xid: number };
    [&header.to_bytes()[..], head, &frame, &[0; 42]].concat()
}

#[test]
fn hosts_without_end_cost_no_more_than_a_switch_may() {
    const BATCH: u32 = 500;
    let mut scene = Scene::open();
    for version in Version::ALL {
        let mut peer = scene.join(version, 5);
        for first in (0..300_000).step_by(BATCH as usize) {
            let batch: Vec<u8> =
                (first..first + BATCH).flat_map(|number| stranger(version, number)).collect();
            peer.send(&batch).expect("the controller reads");
            for _ in 0..BATCH {
                peer.expect(kind::PACKET_OUT).expect("the flood");
            }
        }
        let heap = scene.controller.state().heap;
        assert!(heap < scene.before.heap + SWITCH_MAX, "{heap} bytes");
        let name = name_of(&peer);
        drop(peer);
        scene.controller.await_end(name);
    }
    scene.close();
}
