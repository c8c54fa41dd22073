//! What comes between: a second that passes, and the end of the engine.

use std::sync::Mutex;
use std::time::Instant;

use aldis_wire::Version;

use crate::combinations::{self, everywhere};
use crate::pump::Pump;
use crate::stage::{PATIENCE, Stage};

/// An application speaks every second, and requests that are on their way lose nothing by it.
#[test]
fn a_second_passes_while_requests_are_on_their_way() {
    everywhere(&combinations::covering(), |combination| {
        let stage = Stage::open(combination);
        stage.play("a second passes", |stage| {
            let deadline = Instant::now() + PATIENCE;
            std::thread::scope(|scope| {
                for version in Version::ALL {
                    let mut pump = Pump::join(stage, version);
                    scope.spawn(move || {
                        while pump.ticks == 0 {
                            assert!(Instant::now() < deadline, "it is never a second later");
                            pump.ask(200).expect("answers");
                        }
                    });
                }
            });
        });
        stage.close();
    });
}

/// The engine is stopped while switches ask: every thread ends, and every connection.
#[test]
fn it_stops_under_load() {
    everywhere(&combinations::covering(), |combination| {
        let stage = Stage::open(combination);
        let pumps = Version::ALL.map(|version| Mutex::new(Pump::join(&stage, version)));
        std::thread::scope(|scope| {
            for pump in &pumps {
                scope.spawn(|| {
                    let mut pump = pump.lock().expect("nobody else has it");
                    while pump.ask(200).is_ok() {}
                });
            }
            let deadline = Instant::now() + PATIENCE;
            while stage.engine.snapshot().total.requests < 2_000 {
                assert!(Instant::now() < deadline, "nothing is asked");
                std::thread::yield_now();
            }
            stage.close();
        });
    });
}
