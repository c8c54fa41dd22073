//! HELLOs of every version, and HELLOs that cannot be read.

use std::time::Duration;

use aldis_emulator::peer::Peer;
use aldis_wire::header::{Header, kind};

use crate::{FEATURES_REQUEST, Scene, name_of};

fn hello(version: u8, elements: &[u8]) -> Vec<u8> {
    let length = (8 + elements.len()) as u16;
    let mut bytes = Header { version, kind: kind::HELLO, length, xid: 9 }.to_bytes().to_vec();
    bytes.extend_from_slice(elements);
    bytes
}

/// The version in which the controller goes on, or `None` where it refuses: then its error is
/// checked.
fn version_after(peer: &mut Peer, theirs: u8, hello: &[u8]) -> Option<u8> {
    peer.send(hello).expect("the controller reads");
    peer.expect(kind::HELLO).expect("its own HELLO");
    let next = peer.receive().expect("a request or a refusal");
    if next[1] == FEATURES_REQUEST {
        return Some(next[0]);
    }
    // OFPET_HELLO_FAILED, OFPHFC_INCOMPATIBLE, in a version that the peer can read.
    assert_eq!(
        (next[0], next[1], &next[4..12]),
        (theirs, kind::ERROR, &[0, 0, 0, 9, 0, 0, 0, 0][..])
    );
    peer.expect_close().expect("the end");
    None
}

/// Mininet asks by telnet whether a controller listens, and waits for ever where telnet shows it a
/// HELLO.
#[test]
fn a_peer_that_says_nothing_is_greeted_after_a_moment_and_so_is_each_of_many() {
    let scene = Scene::open();
    let mut peer = scene.connect();
    peer.expect_silence(Duration::from_millis(50)).expect("no HELLO yet");
    peer.expect(kind::HELLO).expect("a HELLO");
    let mut crowd: Vec<Peer> = std::iter::repeat_with(|| scene.connect()).take(100).collect();
    for peer in &mut crowd {
        peer.expect(kind::HELLO).expect("a HELLO");
    }
    scene.close();
}

#[test]
fn every_version_byte_is_agreed_on_or_refused() {
    let scene = Scene::open();
    for theirs in 0..=255 {
        let mut peer = scene.connect();
        let expected = match theirs {
            1 => Some(1),
            4.. => Some(4),
            0 | 2 | 3 => None,
        };
        assert_eq!(version_after(&mut peer, theirs, &hello(theirs, &[])), expected, "{theirs}");
        let name = name_of(&peer);
        drop(peer);
        let why = scene.controller.await_end(name);
        let said = if expected.is_some() { "the switch closed" } else { "no version in common" };
        assert!(why.starts_with(said), "version {theirs}: {why}");
    }
    scene.close();
}

/// What cannot be read says nothing of versions: that of the header counts.
#[test]
fn a_hello_element_of_impossible_length_is_as_good_as_none() {
    let scene = Scene::open();
    for length in (0..=3).chain([9, 17, 0x7fff, 0xffff]) {
        let [high, low] = u16::to_be_bytes(length);
        // The bitmap would say 1.0 alone.
        let elements = [0, 1, high, low, 0, 0, 0, 2, 0, 1, high, low, 0, 0, 0, 2];
        let mut peer = scene.connect();
        assert_eq!(version_after(&mut peer, 4, &hello(4, &elements)), Some(4), "length {length}");
    }
    let mut peer = scene.connect();
    let elements = [0, 1, 0, 8, 0, 0, 0, 2];
    assert_eq!(
        version_after(&mut peer, 4, &hello(4, &elements)),
        Some(1),
        "a readable bitmap counts"
    );
    drop(peer);
    scene.close();
}

#[test]
fn the_longest_hello_is_read() {
    let scene = Scene::open();
    for element in [&[0, 9, 0, 4, 0, 0, 0, 0][..], &[0, 1, 0, 8, 0, 0, 0, 0x10]] {
        let mut peer = scene.connect();
        assert_eq!(version_after(&mut peer, 4, &hello(4, &element.repeat(8190))), Some(4));
    }
    scene.close();
}

#[test]
fn whoever_does_not_begin_with_a_hello_is_sent_away() {
    let scene = Scene::open();
    // An echo request is answered, and an error is taken for a refusal of our HELLO.
    for kind in (1..=255).filter(|&kind| kind != kind::ECHO_REQUEST) {
        let mut peer = scene.connect();
        let name = name_of(&peer);
        peer.send(&Header { version: 4, kind, length: 12, xid: 9 }.to_bytes()).expect("it reads");
        peer.send(&[0; 4]).expect("it reads");
        peer.expect_close().expect("the end");
        let why = scene.controller.await_end(name);
        let said = if kind == kind::ERROR {
            "the switch refused our HELLO"
        } else {
            "the first message was no HELLO"
        };
        assert!(why.starts_with(said), "type {kind}: {why}");
    }
    let mut web = scene.connect();
    let name = name_of(&web);
    web.send(b"GET / HTTP/1.1\r\nHost: controller\r\n\r\n").expect("it reads");
    // "GE" is version and type; the length that "T " is has not come yet, and never will.
    drop(web);
    scene.controller.await_end(name);
    scene.close();
}
