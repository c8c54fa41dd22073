//! Connections that claim a datapath id that another one has.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aldis_emulator::peer::{Peer, PeerPart, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;

use crate::served::Settings;
use crate::witness::packet_in;
use crate::{FEATURES_REQUEST, Scene, WITHIN, barrier_request, expect_alive, is_end, name_of};

const NUMBER: u32 = 5;

/// Longer than a switch has to answer when another connection claims its name: a second.
const TOO_LONG: Duration = Duration::from_millis(1500);

fn scenes() -> [Scene; 2] {
    // With two workers the question and its answer go from one to the other.
    [1, 2].map(|workers| {
        Scene::open_with(Settings { workers, handshake_within: Duration::from_secs(3) })
    })
}

/// A connection that has said that it is switch [`NUMBER`].
fn claim(scene: &Scene, version: Version) -> Peer {
    let mut peer = scene.connect();
    peer.send(&hello(version)).expect("the controller reads");
    peer.play(PeerPart { version, number: NUMBER, ports: 2 }, FEATURES_REQUEST)
        .expect("a handshake");
    peer
}

#[test]
fn a_switch_that_answers_keeps_its_name() {
    for scene in scenes() {
        for version in Version::ALL {
            let part = PeerPart { version, number: NUMBER, ports: 2 };
            let mut incumbent = scene.join(version, NUMBER);
            let mut newcomer = claim(&scene, version);
            incumbent.play(part, kind::ECHO_REQUEST).expect("the question");
            newcomer.expect_close().expect("the end");
            let why = scene.controller.await_end(name_of(&newcomer));
            assert!(
                why.contains("another connection has the same datapath id and is alive"),
                "{why}"
            );
            expect_alive(&mut incumbent, version);
            let name = name_of(&incumbent);
            drop(incumbent);
            scene.controller.await_end(name);
        }
        scene.close();
    }
}

#[test]
fn a_switch_that_is_silent_yields_within_a_second() {
    for scene in scenes() {
        for version in Version::ALL {
            let incumbent = scene.join(version, NUMBER);
            let asked = Instant::now();
            let mut newcomer = claim(&scene, version);
            let part = PeerPart { version, number: NUMBER, ports: 2 };
            newcomer.play(part, barrier_request(version)).expect("the rest of the handshake");
            // A second to answer; the rest is for a machine that is busy with something else.
            assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
            let why = scene.controller.await_end(name_of(&incumbent));
            assert!(why.contains("connected again"), "{why}");
            scene.controller.await_up(name_of(&newcomer));
            expect_alive(&mut newcomer, version);
            let name = name_of(&newcomer);
            drop(newcomer);
            scene.controller.await_end(name);
        }
        scene.close();
    }
}

#[test]
fn one_newcomer_waits_for_the_answer_and_the_others_are_sent_away() {
    for scene in scenes() {
        let version = Version::V13;
        let mut incumbent = scene.join(version, NUMBER);
        let waiting = claim(&scene, version);
        for _ in 0..20 {
            let other = claim(&scene, version);
            let why = scene.controller.await_end(name_of(&other));
            assert!(why.contains("is being decided on"), "{why}");
        }
        let part = PeerPart { version, number: NUMBER, ports: 2 };
        incumbent.play(part, kind::ECHO_REQUEST).expect("the question");
        let why = scene.controller.await_end(name_of(&waiting));
        assert!(why.contains("is alive"), "{why}");
        expect_alive(&mut incumbent, version);
        let name = name_of(&incumbent);
        drop(incumbent);
        scene.controller.await_end(name);
        scene.close();
    }
}

/// The answer to this echo request.
fn echo_reply(version: Version, request: &[u8]) -> [u8; 8] {
    let xid = u32::from_be_bytes([request[4], request[5], request[6], request[7]]);
    bare(version, kind::ECHO_REPLY, xid)
}

/// The controller's process gets no time of its machine while the question is out, and the switch
/// answers right after that.
#[test]
fn the_time_that_the_controller_was_away_costs_no_switch_its_name() {
    // The witnesses wait as long as it is away, and may.
    for workers in [1, 2] {
        let scene = Scene::open_with(Settings { workers, handshake_within: WITHIN });
        for version in Version::ALL {
            let mut incumbent = scene.join(version, NUMBER);
            let newcomer = claim(&scene, version);
            let question = incumbent.expect(kind::ECHO_REQUEST).expect("the question");
            scene.controller.is_away_for(TOO_LONG);
            // Its own machine may have been busy, too.
            std::thread::sleep(Duration::from_millis(150));
            incumbent.send(&echo_reply(version, &question)).expect("the connection stands");
            let why = scene.controller.await_end(name_of(&newcomer));
            assert!(why.contains("is alive"), "{why}");
            expect_alive(&mut incumbent, version);
            let name = name_of(&incumbent);
            drop(incumbent);
            scene.controller.await_end(name);
        }
        scene.close();
    }
}

/// What a switch has to say stands in the queues before its answer, and the controller, which gets
/// little of its machine, takes longer than a second to come there.
#[test]
fn an_answer_that_waits_to_be_read_is_in_time() {
    let scene = Scene::open_with(Settings { workers: 1, handshake_within: 3 * WITHIN });
    let version = Version::V10;
    let mut incumbent = scene.join(version, NUMBER);
    let name = name_of(&incumbent);
    let requests: Vec<u8> = (1..1000).flat_map(|number| packet_in(version, number)).collect();
    let mut sending = incumbent.socket().try_clone().expect("a socket");
    let slowed = scene.controller.slowed();
    let newcomer = claim(&scene, version);
    let question = incumbent.expect(kind::ECHO_REQUEST).expect("the question");
    let asked = Instant::now();
    let decided = AtomicBool::new(false);
    let why = std::thread::scope(|scope| {
        scope.spawn(move || {
            sending.write_all(&requests.repeat(900)).expect("the controller reads");
            sending.write_all(&echo_reply(version, &question)).expect("the controller reads");
        });
        let (reading, over) = (&mut incumbent, &decided);
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let noise = reading.expect_silence(Duration::from_millis(100));
                assert!(!noise.is_err_and(|unexpected| is_end(&unexpected)), "it was superseded");
            }
        });
        let why = scene.controller.await_end_within(name_of(&newcomer), 3 * WITHIN);
        decided.store(true, Ordering::Relaxed);
        why
    });
    drop(slowed);
    assert!(why.contains("is alive"), "{why}");
    assert!(asked.elapsed() > TOO_LONG, "{:?}: the queue was too short", asked.elapsed());
    expect_alive(&mut incumbent, version);
    drop(incumbent);
    scene.controller.await_end(name);
    scene.close();
}

/// A connection that claims a name and goes leaves no question behind that costs a silent switch
/// its connection.
#[test]
fn a_newcomer_that_goes_leaves_the_switch_in_peace() {
    for scene in scenes() {
        let version = Version::V13;
        let mut incumbent = scene.join(version, NUMBER);
        let newcomer = claim(&scene, version);
        incumbent.expect(kind::ECHO_REQUEST).expect("the question");
        let name = name_of(&newcomer);
        drop(newcomer);
        scene.controller.await_end(name);
        std::thread::sleep(TOO_LONG);
        expect_alive(&mut incumbent, version);
        let name = name_of(&incumbent);
        drop(incumbent);
        scene.controller.await_end(name);
        scene.close();
    }
}
