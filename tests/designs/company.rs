//! Switches beside others.

use std::sync::atomic::{AtomicBool, Ordering};

use aldis_control::session::{Close, Refusal};
use aldis_emulator::load::{self, Load, Mode};
use aldis_engine::design::Read;
use aldis_wire::Version;

use crate::combinations::{self, READS, everywhere};
use crate::order::flood_with_fences;
use crate::pump::{Pump, while_others_ask};
use crate::stage::{PATIENCE, Stage};
use crate::switch::{FEATURES_REQUEST, barrier_request, connect, join, part};

/// Six switches with many outstanding, with and without buffers.
pub(crate) fn every_request_is_answered_once(stage: &Stage, version: Version) {
    const REQUESTS: u64 = 1_000;
    for buffered in [true, false] {
        let load = Load {
            version,
            switches: 6,
            macs: 200,
            buffered,
            // Where several workers serve a switch, one of them may be overtaken by all others:
            // four windows are remembered, and so all requests there are.
            mode: Mode::Window(256),
            requests_per_switch: Some(REQUESTS),
            warm_up: 0,
            loops: 30,
            ..Load::new(stage.address())
        };
        let counts = load::run(&load).unwrap_or_else(|failure| panic!("{failure}")).counts;
        assert_eq!((counts.offered, counts.answered), (6 * REQUESTS, 6 * REQUESTS));
        // Without a buffer a flow and the packet answer each request, and the second of them is a
        // stray.
        let strays_max = if buffered { 0 } else { 6 * REQUESTS };
        assert!(counts.lost == 0 && counts.strays <= strays_max, "{counts:?}");
    }
}

/// While others ask without a pause, switches shake hands and are answered, and one that claims the
/// name of a busy switch is turned away.
pub(crate) fn newcomers(stage: &Stage, version: Version) {
    let mut incumbent = Pump::join(stage, version);
    let number = incumbent.number;
    let done = AtomicBool::new(false);
    while_others_ask(stage, version, 2, || {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    incumbent.ask(100).expect("it keeps its name");
                }
            });
            let mut pretender = connect(stage, version);
            let played = pretender.play(part(version, number), FEATURES_REQUEST);
            let ended = played.and_then(|_| pretender.expect_close());
            let why = ended.map(|()| stage.await_down(number));
            done.store(true, Ordering::Relaxed);
            assert_eq!(why.expect("an end"), Close::Refused(Refusal::AlreadyConnected));
        });
        for _ in 0..3 {
            Pump::join(stage, version).ask(10).expect("answers");
        }
    });
}

/// Bursts with pauses, so that workers sleep and are woken all the time. A wake-up that is lost
/// leaves a switch without an answer.
#[test]
fn no_wake_up_is_lost() {
    const THREADS: u32 = 3;
    const SWITCHES: usize = 6;
    const ROUNDS: u32 = 150;
    let mut combinations = combinations::covering();
    combinations.iter_mut().for_each(|combination| combination.workers = 4);
    everywhere(&combinations, |combination| {
        let stage = Stage::open(combination);
        stage.play("no wake-up is lost", |stage| {
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let version = Version::ALL[thread as usize % 2];
                    let mut switches: Vec<_> =
                        (0..SWITCHES).map(|_| Pump::join(stage, version)).collect();
                    scope.spawn(move || {
                        for round in 0..ROUNDS {
                            let which = (round * 7 + thread) as usize % SWITCHES;
                            switches[which].ask(1 + round % 23).expect("answers");
                            if round % 5 == thread {
                                // Long enough for every worker to lie down.
                                std::thread::park_timeout(std::time::Duration::from_millis(1));
                            }
                        }
                    });
                }
            });
        });
        stage.close();
    });
}

/// Two busy switches share a worker: one of them has to move, and nothing of either is lost or
/// changes places.
#[test]
fn a_switch_moves_and_nothing_is_lost() {
    let dynamic = READS.into_iter().find(|read| matches!(read, Read::DynamicPartition { .. }));
    let mut combinations = combinations::of(dynamic.expect("it is one of them"));
    combinations.retain(|combination| combination.workers == 3);
    combinations.iter_mut().for_each(|combination| combination.workers = 2);
    everywhere(&combinations, |combination| {
        let stage = Stage::open(combination);
        stage.play("a switch moves", |stage| {
            // Connections are dealt to the workers in turn: the first and the third have the same
            // home.
            let [first, idle, third] = std::array::from_fn(|_| join(stage, Version::V13));
            let deadline = std::time::Instant::now() + PATIENCE;
            let mut busy = [first, third];
            while stage.engine.snapshot().total.moves == 0 {
                assert!(std::time::Instant::now() < deadline, "nobody moves");
                std::thread::scope(|scope| {
                    for (peer, _) in &mut busy {
                        scope.spawn(|| flood_with_fences(peer, Version::V13, false));
                    }
                });
            }
            let moves = busy.iter().chain([&idle]).filter_map(|(_, number)| stage.counts(*number));
            assert!(moves.map(|counts| counts.moves).sum::<u64>() > 0, "it is counted");
            for (peer, _) in &mut busy {
                flood_with_fences(peer, Version::V13, false);
            }
        });
        stage.close();
    });
}

/// The rest of the handshake of a switch whose name is free again.
#[test]
fn a_name_is_free_when_its_switch_is_gone() {
    everywhere(&combinations::named(), |combination| {
        let stage = Stage::open(combination);
        stage.play("a name is free again", |stage| {
            let version = Version::V13;
            while_others_ask(stage, version, 1, || {
                let (peer, number) = join(stage, version);
                drop(peer);
                stage.await_down(number);
                let mut heir = connect(stage, version);
                heir.play(part(version, number), barrier_request(version)).expect("a handshake");
                stage.await_up(number);
            });
        });
        stage.close();
    });
}
