//! Load: emulated switches that connect, shake hands, tell where their hosts live, and offer flow requests.
//!
//! A run has four phases, entered by all switches together: *connect* (until every handshake is over), *teach* (every
//! address is seen once, so that the controller knows where it lives), *warm up* and *measure*. Each generator thread is
//! one loop over its own switches; a visit reads, counts the answers, and writes new requests for them at once.
//!
//! **What is an answer.** A request is done when the first FLOW_MOD or PACKET_OUT for it arrives; what follows for the same
//! request counts as a stray. Its number is its xid and, with buffers, its buffer id. A FLOW_MOD or PACKET_OUT that
//! names a buffer answers that buffer's request, whatever its xid; one without a buffer answers the request with its xid;
//! and a PACKET_OUT that carries the frame answers the request whose number stands in the frame.

mod course;
mod failure;
mod generator;
mod outstanding;
mod packet_in;
mod report;
mod sequence;
mod switch;
mod timing;

pub use failure::Failure;
pub use report::{Counts, Report};
pub use sequence::Destinations;

use crate::descriptors;
use aldis_wire::Version;
use course::{Course, Step};
use generator::Generator;
use sequence::{Homes, Round};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Most switches in a run.
pub const SWITCHES_MAX: u32 = 10_000;
/// Most addresses a switch.
pub const MACS_MAX: u32 = 1_000_000;
/// Most ports a switch: a FEATURES_REPLY of 1.0 has to hold them all.
pub const PORTS_MAX: u32 = 1_000;
/// Most requests a switch may have outstanding.
pub const WINDOW_MAX: u32 = 1 << 18;
/// Most generator threads.
pub const THREADS_MAX: usize = 64;

/// Descriptors beside the switches' sockets.
const DESCRIPTORS_SPARE: u64 = 64;

/// How requests follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// One request outstanding a switch, the delay of each recorded: cbench's latency mode.
    Latency,
    /// So many outstanding a switch, 1 to [`WINDOW_MAX`]; each answer makes room for the next.
    Window(u32),
    /// As many as the socket takes: cbench's throughput mode.
    Full,
}

/// How fast requests are offered, in requests a second; at most what the mode allows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    /// As fast as the mode allows.
    Unlimited,
    /// All switches together, evenly.
    Total(f64),
    /// Each switch.
    PerSwitch(f64),
}

/// A run of load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the controller listens.
    pub controller: SocketAddr,
    /// The version that the switches speak.
    pub version: Version,
    /// How many switches: 1 to [`SWITCHES_MAX`].
    pub switches: u32,
    /// Addresses a switch: 1 to [`MACS_MAX`].
    pub macs: u32,
    /// Ports a switch: 2 to [`PORTS_MAX`].
    pub ports: u32,
    /// Whether the switches keep packets and name them by buffer id, or send `NO_BUFFER`.
    pub buffered: bool,
    /// Who is spoken to.
    pub destinations: Destinations,
    /// Whether the controller is told where all addresses live before anything is measured.
    pub teach: bool,
    /// How requests follow each other.
    pub mode: Mode,
    /// How fast.
    pub rate: Rate,
    /// Ends the run early, when each switch has offered so many requests and none is outstanding.
    pub requests_per_switch: Option<u64>,
    /// Generator threads: 1 to [`THREADS_MAX`].
    pub threads: usize,
    /// Loops before the measured ones.
    pub warm_up: u32,
    /// Measured loops, one at least.
    pub loops: u32,
    /// Length of a loop, a millisecond at least.
    pub loop_length: Duration,
    /// How long to wait behind the last handshake.
    pub settle: Duration,
    /// Switches that connect at once; then [`Load::connect_pause`] passes.
    pub connect_group: u32,
    /// The pause between groups of connecting switches.
    pub connect_pause: Duration,
    /// How long connecting and shaking hands may take, the pauses excluded.
    pub handshake_deadline: Duration,
    /// A switch that waits for so long without any answer gives up all that it has outstanding.
    pub patience: Duration,
}

impl Load {
    /// One switch with 100,000 addresses on 4 ports, OpenFlow 1.0 with buffers, in latency mode: ten loops of a second
    /// behind one to warm up.
    pub fn new(controller: SocketAddr) -> Load {
        Load {
            controller,
            version: Version::V10,
            switches: 1,
            macs: 100_000,
            ports: 4,
            buffered: true,
            destinations: Destinations::All,
            teach: true,
            mode: Mode::Latency,
            rate: Rate::Unlimited,
            requests_per_switch: None,
            threads: 1,
            warm_up: 1,
            loops: 10,
            loop_length: Duration::from_secs(1),
            settle: Duration::ZERO,
            connect_group: SWITCHES_MAX,
            connect_pause: Duration::ZERO,
            handshake_deadline: Duration::from_secs(30),
            patience: Duration::from_secs(5),
        }
    }

    /// Who is spoken to in fact: a switch with one address has only the extra one to speak to.
    pub fn destinations_in_fact(&self) -> Destinations {
        self.homes().destinations()
    }

    fn homes(&self) -> Homes {
        Homes::new(self.macs, self.ports, self.destinations)
    }

    /// Requests a second and switch, if the rate is limited.
    fn rate_per_switch(&self) -> Option<f64> {
        match self.rate {
            Rate::Unlimited => None,
            Rate::Total(rate) => Some(rate / f64::from(self.switches)),
            Rate::PerSwitch(rate) => Some(rate),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        let checks = [
            ((1..=SWITCHES_MAX).contains(&self.switches), "the number of switches", "1 to 10,000"),
            (
                (1..=MACS_MAX).contains(&self.macs),
                "the number of addresses a switch",
                "1 to 1,000,000",
            ),
            ((2..=PORTS_MAX).contains(&self.ports), "the number of ports", "2 to 1,000"),
            (self.window_is_valid(), "the number of requests outstanding", "1 to 262,144"),
            (self.rate_is_valid(), "the rate", "above 0 and at most 1,000,000,000 a second"),
            ((1..=THREADS_MAX).contains(&self.threads), "the number of threads", "1 to 64"),
            (self.loops >= 1, "the number of loops", "1 or more"),
            (self.loop_length.as_millis() >= 1, "the length of a loop", "a millisecond or more"),
            (self.connect_group >= 1, "the number of switches that connect at once", "1 or more"),
        ];
        match checks.into_iter().find(|&(holds, ..)| !holds) {
            Some((_, field, accepted)) => Err(Failure::OutOfRange { field, accepted }),
            None => Ok(()),
        }
    }

    fn window_is_valid(&self) -> bool {
        !matches!(self.mode, Mode::Window(window) if !(1..=WINDOW_MAX).contains(&window))
    }

    fn rate_is_valid(&self) -> bool {
        match self.rate {
            Rate::Unlimited => true,
            Rate::Total(rate) | Rate::PerSwitch(rate) => rate > 0.0 && rate <= 1e9,
        }
    }
}

/// What a run tells while it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// So many switches have shaken hands.
    Connected(u32),
    /// So many switches have told where their addresses live.
    Taught(u32),
    /// The measured loops begin now.
    MeasureBegins,
    /// The measured loops ended now.
    MeasureEnds,
}

/// How often [`Moment`]s that count are told.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Runs the load to its end.
///
/// # Errors
/// See [`Failure`]; every switch is disconnected by then.
pub fn run(load: &Load) -> Result<Report, Failure> {
    run_and_tell(load, &mut |_| {})
}

/// Like [`run`]; `tell` is called on this thread as the run goes on.
///
/// # Errors
/// Those of [`run`].
pub fn run_and_tell(load: &Load, tell: &mut dyn FnMut(Moment)) -> Result<Report, Failure> {
    load.check()?;
    let needed = u64::from(load.switches) + DESCRIPTORS_SPARE;
    let allowed = descriptors::allow(needed)?;
    if allowed < needed {
        return Err(Failure::Descriptors { needed, allowed });
    }
    let course = Course::new(load);
    let round = Round::new(&load.homes());
    std::thread::scope(|scope| {
        let spawn = |index| {
            let (course, round) = (&course, round.clone());
            let thread = std::thread::Builder::new().name(format!("load-{index}"));
            thread.spawn_scoped(scope, move || {
                let outcome = Generator::new(load, course, round, index).and_then(Generator::run);
                course.left(outcome.is_err());
                outcome
            })
        };
        let threads = (0..load.threads).map(spawn).collect::<Result<Vec<_>, _>>();
        if threads.is_err() {
            course.abort();
        }
        let mut report = Report::empty(load.switches);
        report.connected_in = conduct(load, &course, tell);
        for thread in threads? {
            let outcome = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            report.merge(&outcome?);
        }
        Ok(report)
    })
}

/// Leads all threads through the phases; returns early when one of them has failed. Answers how long connecting took.
fn conduct(load: &Load, course: &Course, tell: &mut dyn FnMut(Moment)) -> Duration {
    let begun = Instant::now();
    let all = await_all(load, course, Step::Connected, &mut |done| tell(Moment::Connected(done)));
    let connected_in = begun.elapsed();
    if all {
        conduct_connected(load, course, tell);
    }
    connected_in
}

fn conduct_connected(load: &Load, course: &Course, tell: &mut dyn FnMut(Moment)) {
    course.pass(Instant::now() + load.settle);
    course.begin(Step::Taught);
    if !await_all(load, course, Step::Taught, &mut |done| tell(Moment::Taught(done))) {
        return;
    }
    let start = course.start_offering();
    if course.pass(start + load.loop_length * load.warm_up) {
        tell(Moment::MeasureBegins);
        course.pass(start + load.loop_length * (load.warm_up + load.loops));
        tell(Moment::MeasureEnds);
    }
}

/// Waits until every switch has taken the step; whether all did.
fn await_all(load: &Load, course: &Course, step: Step, tell: &mut dyn FnMut(u32)) -> bool {
    loop {
        let done = course.done(step);
        tell(done);
        if done == load.switches {
            return true;
        }
        if !course.await_change(step, done, TELL_EVERY) {
            return false;
        }
    }
}
