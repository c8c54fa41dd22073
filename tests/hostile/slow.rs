//! Switches that say nothing, one byte at a time, or never read.

use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};

use aldis_emulator::peer::{Peer, PeerPart, Unexpected, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;

use crate::witness::packet_in;
use crate::{FEATURES_REQUEST, Scene, WITHIN, is_end, name_of};

/// The handshake deadline of a [`Scene`], and what a busy machine may add to it.
const DEADLINE: Duration = Duration::from_secs(3);
const LATE: Duration = Duration::from_secs(3);

/// The engine's deadline for a switch that takes nothing
/// (`aldis_control::session::Config::stuck_within`), and more than as long again.
const EVICTED_WITHIN: Duration = Duration::from_secs(20);

/// What one switch that does not read may cost: the bound of its outbox, 256 KiB, and what is known
/// of it and its two hosts.
const HOARD_MAX: usize = 384 * 1024;

/// Fails where a connection that began at `start` did not end with its handshake's deadline.
fn expect_deadline(scene: &Scene, peer: &Peer, start: Instant, waiting_for: &str) {
    let took = start.elapsed();
    assert!(took + Duration::from_millis(50) > DEADLINE && took < DEADLINE + LATE, "{took:?}");
    let why = scene.controller.await_end(name_of(peer));
    assert!(why.contains("took too long") && why.contains(waiting_for), "{why}");
}

#[test]
fn a_switch_that_says_nothing_is_given_up_wherever_it_stops() {
    let scene = Scene::open();
    let start = Instant::now();
    let mut mute = scene.connect();
    let mut nameless = scene.connect();
    nameless.send(&hello(Version::V13)).expect("the controller reads");
    let mut unready = scene.connect();
    unready.send(&hello(Version::V10)).expect("the controller reads");
    let part = PeerPart { version: Version::V10, number: 5, ports: 2 };
    unready.play(part, FEATURES_REQUEST).expect("a handshake");
    let mut half = scene.connect();
    half.send(&bare(Version::V13, kind::HELLO, 1)[..5]).expect("the controller reads");
    let waits = [
        (&mut mute, "its HELLO"),
        (&mut nameless, "its features"),
        (&mut unready, "its reply to a barrier"),
        (&mut half, "its HELLO"),
    ];
    for (peer, waiting_for) in waits {
        peer.expect_close().expect("the end");
        expect_deadline(&scene, peer, start, waiting_for);
    }
    scene.close();
}

/// Sends a byte every tenth of a second until the other end has enough.
fn drip(peer: &mut Peer, mut bytes: impl Iterator<Item = u8>) {
    let deadline = Instant::now() + WITHIN;
    loop {
        match peer.expect_silence(Duration::from_millis(100)) {
            Err(unexpected) if is_end(&unexpected) => return,
            Ok(()) | Err(Unexpected::Noise { .. }) => {}
            Err(unexpected) => panic!("{unexpected}"),
        }
        assert!(Instant::now() < deadline, "a switch of one byte at a time is still there");
        match peer.send(&[bytes.next().expect("an endless message")]) {
            Err(unexpected) if is_end(&unexpected) => return,
            sent => sent.expect("the controller reads"),
        }
    }
}

#[test]
fn the_deadline_of_the_handshake_is_one_for_all_its_bytes() {
    let scene = Scene::open();
    let start = Instant::now();
    let version = Version::V13;
    // A HELLO of 65,535 bytes, which would take two hours; and whole messages without end, none of
    // which is a HELLO.
    let long = [version.wire(), kind::HELLO, 0xff, 0xff, 0, 0, 0, 1];
    let echo = bare(version, kind::ECHO_REQUEST, 1);
    let dripping = [(long, [0; 8]), (echo, echo)].map(|(head, rest)| {
        let mut peer = scene.connect();
        std::thread::spawn(move || {
            drip(&mut peer, head.into_iter().chain(rest.into_iter().cycle()));
            peer
        })
    });
    for peer in dripping {
        let peer = peer.join().expect("no complaint");
        expect_deadline(&scene, &peer, start, "its HELLO");
    }
    scene.close();
}

/// Sends flow requests and reads nothing until the other end has enough.
fn hoard(switch: &Peer, version: Version) {
    let requests: Vec<u8> = (1..1000).flat_map(|number| packet_in(version, number)).collect();
    let deadline = Instant::now() + EVICTED_WITHIN;
    let mut socket = switch.socket();
    let mut at = 0;
    socket.set_write_timeout(Some(Duration::from_millis(100))).expect("a socket");
    while Instant::now() < deadline {
        match socket.write(&requests[at..]) {
            Ok(count) => at = (at + count) % requests.len(),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
    panic!("a switch that does not read is still there");
}

#[test]
fn a_switch_that_never_reads_is_evicted_and_costs_no_more_than_its_bound() {
    let mut scene = Scene::open();
    let hoarders = Version::ALL.map(|version| {
        let switch = scene.join(version, 5 + u32::from(version.wire()));
        let name = name_of(&switch);
        (name, std::thread::spawn(move || hoard(&switch, version)))
    });
    while !hoarders.iter().all(|(_, hoarder)| hoarder.is_finished()) {
        let heap = scene.controller.state().heap;
        assert!(heap < scene.before.heap + 2 * HOARD_MAX, "{heap} bytes");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    for (name, hoarder) in hoarders {
        hoarder.join().expect("no complaint");
        let why = scene.controller.await_end(name);
        assert!(why.contains("does not read"), "{why}");
    }
    scene.close();
}

/// Its flood is cut into visits of 64 KB like any other's, and the witnesses have their turn
/// between them.
#[test]
fn a_switch_that_floods_and_reads_disturbs_nobody() {
    let scene = Scene::open();
    for version in Version::ALL {
        let flooder = scene.join(version, 5);
        let mut reading =
            Peer::over(flooder.socket().try_clone().expect("a socket"), WITHIN).expect("it stands");
        let reader = std::thread::spawn(move || while reading.receive().is_ok() {});
        let mut socket = flooder.socket();
        let requests: Vec<u8> = (1..1000).flat_map(|number| packet_in(version, number)).collect();
        for _ in 0..200 {
            socket.write_all(&requests).expect("the controller reads");
        }
        socket.shutdown(std::net::Shutdown::Both).expect("it stands");
        reader.join().expect("no complaint");
        let why = scene.controller.await_end(name_of(&flooder));
        assert!(!why.contains("does not read"), "{why}");
    }
    scene.close();
}
