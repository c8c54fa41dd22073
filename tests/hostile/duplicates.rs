//! Connections that claim a datapath id that another one has.

use std::time::{Duration, Instant};

use aldis_emulator::peer::{Part, Peer, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;

use crate::served::Settings;
use crate::{FEATURES_REQUEST, Scene, barrier_request, expect_alive, name_of};

const NUMBER: u32 = 5;

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
    peer.play(Part { version, number: NUMBER, ports: 2 }, FEATURES_REQUEST).expect("a handshake");
    peer
}

#[test]
fn a_switch_that_answers_keeps_its_name() {
    for scene in scenes() {
        for version in Version::ALL {
            let part = Part { version, number: NUMBER, ports: 2 };
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
            let part = Part { version, number: NUMBER, ports: 2 };
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
        let part = Part { version, number: NUMBER, ports: 2 };
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
