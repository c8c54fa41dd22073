//! Under full load a flow request costs no allocation, anywhere in the process.
//!
//! The controller runs in this process under an allocator that counts; the load comes from another
//! one.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{self, Seed};
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::{AppSet, session};
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine};
use aldis_testkit::counting::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Requests that are watched, once the tables and buffers have their size.
const WATCHED: u64 = 400_000;

/// Timers and lists that reach their size late; a hundredth of a thousandth of the requests.
const BESIDES_MAX: u64 = WATCHED / 100_000;

struct Deaf;

impl EventSink for Deaf {
    fn emit(&self, event: ControllerEvent) {
        drop(event);
    }
}

/// A load that ends with the test.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `requests` have been served.
fn await_requests(engine: &Engine, requests: u64, load: &mut Load) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while engine.stats()[0].requests.get() < requests {
        assert!(
            Instant::now() < deadline,
            "only {} requests came",
            engine.stats()[0].requests.get()
        );
        assert!(load.0.try_wait().unwrap().is_none(), "the load ended before the test did");
        std::thread::yield_now();
    }
}

fn allocations_under(load: &[&str]) -> u64 {
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers: 1,
        design: Design::default(),
        spin: false,
        knobs: Knobs::default(),
        session: session::Config::default(),
    };
    let app_set = AppSet::default()
        .with(|| LearningSwitch::new(learning_switch::LearningConfig::new(Seed::new([7; 16]))));
    let engine = Engine::start(&config, app_set, Arc::new(Deaf)).unwrap();
    let address = engine.listening()[0].to_string();
    let bench =
        ["bench", &address, "-s", "8", "-M", "1000", "--outstanding", "100", "-l", "60", "-w", "0"];
    let load = Command::new(env!("CARGO_BIN_EXE_aldis"))
        .args(bench)
        .args(load)
        .stdout(Stdio::null())
        .spawn();
    let mut load = Load(load.unwrap());
    let served = || engine.stats()[0].requests.get();
    await_requests(&engine, WATCHED, &mut load);
    let before = (served(), allocations());
    await_requests(&engine, before.0 + WATCHED, &mut load);
    let allocations = allocations() - before.1;
    drop(load);
    engine.stop();
    allocations
}

#[test]
fn a_flow_request_costs_no_allocation() {
    for load in
        [&["--openflow", "1.0"][..], &["--openflow", "1.3"], &["--openflow", "1.3", "--no-buffer"]]
    {
        let allocations = allocations_under(load);
        assert!(
            allocations <= BESIDES_MAX,
            "{allocations} allocations for {WATCHED} requests, {load:?}"
        );
    }
}
