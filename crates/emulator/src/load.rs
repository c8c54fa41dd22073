//! Load: emulated switches that connect, shake hands, tell where their hosts live, and offer flow
//! requests.
//!
//! A run has four phases, entered by all switches together: *connect* (until every handshake is
//! over), *teach* (every address is seen once, so that the controller knows where it lives), *warm
//! up* and *measure*. Each generator thread is one loop over its own switches; a visit reads,
//! counts the answers, and writes new requests for them at once.
//!
//! **What is an answer.** A request is done when the first FLOW_MOD or PACKET_OUT for it arrives;
//! what follows for the same request counts as a stray. The request's number is its xid, with
//! buffers its buffer id, and it stands in its frame. Controllers choose their own xids, so which
//! request an answer is for is found out in this order:
//!
//! 1. A buffer id names the request, whatever else the message says.
//! 2. A PACKET_OUT that carries one of our frames names it by the number in the frame.
//! 3. A FLOW_MOD that adds or changes a rule for exactly one of our source addresses names the
//!    oldest request of that address that waits; one that also has the xid of a request of that
//!    address names this one.
//! 4. Anything else names the request with its xid, if there is one.

mod answer;
mod check;
mod coordinator;
mod cpu_time;
mod demand;
mod failure;
pub mod fairness;
mod generator;
mod handshakes;
mod outstanding;
pub(crate) mod pace;
mod packet_in;
mod phase;
mod ports;
mod probing;
mod report;
pub(crate) mod rng;
mod roles;
mod sequence;
mod slow_readers;
mod switch;
mod timing;

pub use crate::stream::CONGESTION;
pub use coordinator::{Gate, LoadOutcome, Moment, Watch, measure, run, run_and_tell};
pub(crate) use cpu_time::{CpuTime, Spent};
pub(crate) use demand::Volume;
pub use demand::{DemandRate, DemandSpread, ON_OFF_MAX, OnOff, RATE_MAX, RateStep, STEPS_MAX};
pub use failure::LoadFailure;
pub use handshakes::{Handshakes, handshakes};
pub use pace::turns_of;
pub(crate) use probing::Probing;
pub(crate) use report::delays;
pub use report::{
    Delays, Forms, IDLE_MIN, Lap, LoadReport, PortCounts, Probes, ReportPhase, RequestCounts,
    Served, SlowReaders,
};
pub use sequence::Destinations;

use crate::SwitchTls;
use aldis_wire::Version;
use roles::SwitchRole;
use sequence::Homes;
use std::net::SocketAddr;
use std::time::Duration;

/// Most switches in a run.
pub const SWITCHES_MAX: u32 = 10_000;
/// Most addresses a switch.
pub const MACS_MAX: u32 = 1_000_000;
/// Most ports a switch.
pub const PORTS_MAX: u32 = 4_095;
/// Most ports of a switch that speaks OpenFlow 1.0: its FEATURES_REPLY of at most 65,535 bytes has
/// to hold them all, 48 bytes each behind 32 of its own (1.0 §5.3.1).
pub const PORTS_MAX_V10: u32 = 1_364;
/// Most requests a switch may have outstanding.
pub const WINDOW_MAX: u32 = 1 << 18;
/// How many times as much as another a hot port may send.
pub const HOT_PORT_MAX: u32 = 1_000;
/// The highest rate of a probing switch, in requests a second.
pub const PROBE_RATE_MAX: f64 = 100.0;
/// The highest rate at which a switch reads slowly, in bytes a second.
pub const SLOW_RATE_MAX: u64 = 1_000_000_000;
/// The most that a switch may count beside the others, and the inverse of the least.
pub const WEIGHT_MAX: f64 = 1_000_000.0;
/// Most generator threads, beside those of the switches that probe and that read badly.
pub const THREADS_MAX: usize = 64;

/// Most parts of a run.
pub const PARTS_MAX: u32 = 64;
/// The highest datapath id: the addresses of a switch's hosts have 16 bits for it.
const DPID_MAX: u32 = 65_535;

/// How many requests of a probing switch may be outstanding: more than it sends in the time it
/// waits for them.
const PROBE_WINDOW: u32 = 1024;
/// Most addresses of a probing switch: it would be long in speaking for more.
const PROBE_MACS_MAX: u32 = 100;

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

/// Which of several generators this one is, that together make one run: each plays every `of`th
/// switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GeneratorPart {
    /// From 0, below `of`.
    pub index: u32,
    /// 1, which is all of it, to [`PARTS_MAX`].
    pub of: u32,
}

/// A run of load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the controller listens.
    pub controller: SocketAddr,
    /// How they speak TLS, if they do.
    pub secure: Option<SwitchTls>,
    /// The version that the switches speak.
    pub version: Version,
    /// How many switches: 1 to [`SWITCHES_MAX`], with those that storm, probe and read badly.
    pub switches: u32,
    /// The datapath id of the first switch, 1 to 55,535; the others follow.
    pub first_dpid: u32,
    /// Addresses a switch: 1 to [`MACS_MAX`].
    pub macs: u32,
    /// Ports a switch: 2 to [`PORTS_MAX`], with OpenFlow 1.0 to [`PORTS_MAX_V10`].
    pub ports: u32,
    /// Whether the switches keep packets and name them by buffer id, or send `NO_BUFFER`.
    pub buffered: bool,
    /// Which destinations requests name.
    pub destinations: Destinations,
    /// Whether the controller is told where all addresses live before anything is measured.
    pub teach: bool,
    /// How requests follow each other.
    pub mode: Mode,
    /// How fast.
    pub rate: DemandRate,
    /// How the rate is divided among the switches.
    pub spread: DemandSpread,
    /// Whether switches offer only now and then; with a rate only.
    pub on_off: Option<OnOff>,
    /// Decides what is left to chance: which switch has which part of the rate, when each is on,
    /// and when the probes are sent.
    pub seed: u64,
    /// How much each switch counts in a fair division: cycled over the switches, all equal where
    /// there are none; each at most [`WEIGHT_MAX`] and at least its inverse.
    pub weights: Vec<f64>,
    /// How many times as many requests port 1 of switch 1 sends as each other port of it: 1, which
    /// is none, to [`HOT_PORT_MAX`].
    pub hot_port: u32,
    /// Further switches, whose queues are always full whatever the others offer.
    pub storms: u32,
    /// Further switches, which send [`Load::probe_rate`] requests a second, whether or not the
    /// earlier ones were answered.
    pub probes: u32,
    /// Above 0, at most [`PROBE_RATE_MAX`].
    pub probe_rate: f64,
    /// Further switches, whose queues are always full and which read at [`Load::slow_rate`].
    pub slow: u32,
    /// In bytes a second: 1 to [`SLOW_RATE_MAX`].
    pub slow_rate: u64,
    /// Further switches, whose queues are always full and which never read.
    pub dead: u32,
    /// Ends the run early, when each switch that counts has offered so many requests and none is
    /// outstanding.
    pub requests_per_switch: Option<u64>,
    /// Generator threads: 1 to [`THREADS_MAX`].
    pub threads: usize,
    /// Whether the threads of the load look for answers without ever sleeping, so that no
    /// controller pays for waking them. Each needs a core of its own.
    pub poll: bool,
    /// Which of several generators this one is.
    pub part: GeneratorPart,
    /// Loops before the measured ones.
    pub warm_up: u32,
    /// Measured loops, one at least.
    pub loops: u32,
    /// Loops behind the measured ones, of which nothing is counted.
    pub cool_down: u32,
    /// Phases of about as many loops each into which the measured ones are cut, where the rate has
    /// no steps: 1 to [`STEPS_MAX`] and no more than there are loops.
    pub slices: u32,
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
    /// One switch with 100,000 addresses on 4 ports, OpenFlow 1.0 with buffers, in latency mode:
    /// ten loops of a second behind one to warm up.
    pub fn new(controller: SocketAddr) -> Load {
        Load {
            controller,
            secure: None,
            version: Version::V10,
            switches: 1,
            first_dpid: 1,
            macs: 100_000,
            ports: 4,
            buffered: true,
            destinations: Destinations::All,
            teach: true,
            mode: Mode::Latency,
            rate: DemandRate::Unlimited,
            spread: DemandSpread::Even,
            on_off: None,
            seed: 1,
            weights: Vec::new(),
            hot_port: 1,
            storms: 0,
            probes: 0,
            probe_rate: 5.0,
            slow: 0,
            slow_rate: 1_000,
            dead: 0,
            requests_per_switch: None,
            threads: 1,
            poll: false,
            part: GeneratorPart { index: 0, of: 1 },
            warm_up: 1,
            loops: 10,
            cool_down: 0,
            slices: 1,
            loop_length: Duration::from_secs(1),
            settle: Duration::ZERO,
            connect_group: SWITCHES_MAX,
            connect_pause: Duration::ZERO,
            handshake_deadline: Duration::from_secs(30),
            patience: Duration::from_secs(5),
        }
    }

    /// Which destinations requests name in fact: a switch with one address has only the extra one
    /// to speak to.
    pub fn destinations_in_fact(&self) -> Destinations {
        self.homes(SwitchRole::Normal).destinations()
    }

    /// How much switch `number` counts in a fair division.
    pub fn weight(&self, number: u32) -> f64 {
        match self.weights.len() {
            0 => 1.0,
            len => self.weights[(number as usize - 1) % len],
        }
    }

    /// Whether one port of switch 1 sends more than the others.
    pub fn has_hot_port(&self) -> bool {
        self.hot_port > 1
    }

    fn homes(&self, role: SwitchRole) -> Homes {
        let macs = match role {
            SwitchRole::Probe => self.macs.min(PROBE_MACS_MAX),
            _ => self.macs,
        };
        Homes::new(macs, self.ports, self.destinations)
    }

    /// How requests of such a switch follow each other.
    fn mode_of(&self, role: SwitchRole) -> Mode {
        match role {
            SwitchRole::Normal => self.mode,
            SwitchRole::Probe => Mode::Window(PROBE_WINDOW),
            SwitchRole::Storm | SwitchRole::Slow | SwitchRole::Dead => Mode::Full,
        }
    }

    /// How many requests such a switch may offer in this run.
    fn quota_of(&self, role: SwitchRole) -> u64 {
        match (role, self.requests_per_switch) {
            (SwitchRole::Normal | SwitchRole::Storm, Some(requests)) => requests,
            _ => u64::MAX,
        }
    }

    /// Whether such a switch has a rate.
    fn is_rated(&self, role: SwitchRole) -> bool {
        match role {
            SwitchRole::Normal => self.rate != DemandRate::Unlimited,
            SwitchRole::Probe => true,
            SwitchRole::Storm | SwitchRole::Slow | SwitchRole::Dead => false,
        }
    }
}
