//! Offered load: packets that hosts send to each other at rates that are asked for, and what became
//! of them.
//!
//! The rates, their division among the switches (Maestro's figure 6) and over time are those of
//! `aldis bench`. Here the switches forward: what is offered are packets of hosts, and how many of
//! them become flow requests is for the controller's flows to decide. All the hosts of a switch
//! share its part, taking turns.

mod running;

pub(super) use running::RunningLoad;

use crate::load::{Delays, DemandSpread, OnOff, RateStep, STEPS_MAX};
use crate::topology::Topology;
use std::time::Duration;

use super::frame;
use super::script::PINGS_MAX;

/// The highest rate, in packets a second of all hosts together.
pub const HOST_LOAD_RATE_MAX: f64 = 1_000_000.0;
/// Most other hosts that one sends to.
pub const PEERS_MAX: u32 = 1_000;
/// Most packets of a flow.
pub const FLOW_PACKETS_MAX: u32 = 1_000_000;
/// The shortest and the longest frame, in bytes without the checksum.
pub const FRAME_LEN: std::ops::RangeInclusive<u32> =
    frame::LOAD_LEN_MIN as u32..=frame::LOAD_LEN_MAX as u32;
/// The longest that load may be offered: a week.
const LENGTH_MAX: Duration = Duration::from_secs(7 * 86_400);

/// What hosts offer. They find each other with a ping beforehand, so that addresses are known when
/// it begins.
#[derive(Clone, PartialEq, Debug)]
pub struct HostLoad {
    /// Packets a second of all hosts together, above 0 and at most [`HOST_LOAD_RATE_MAX`]: one rate
    /// after another.
    pub steps: Vec<RateStep>,
    /// How a rate is divided among the switches that have hosts.
    pub spread: DemandSpread,
    /// Whether switches' hosts offer only now and then.
    pub on_off: Option<OnOff>,
    /// How many others each host sends to, 1 to [`PEERS_MAX`]: drawn once, from the network's seed.
    pub peers: u32,
    /// How many packets of a host follow each other to one peer and from one UDP port, 1 to
    /// [`FLOW_PACKETS_MAX`]; then it chooses a peer again, and the next port.
    pub flow_packets: u32,
    /// Bytes of a frame without the checksum, [`FRAME_LEN`].
    pub frame_len: u32,
    /// Over IPv6.
    pub v6: bool,
}

impl HostLoad {
    /// One rate for so long, evenly, every packet a flow of its own to one of four peers.
    pub fn new(rate: f64, length: Duration) -> HostLoad {
        HostLoad {
            steps: vec![RateStep { rate, length }],
            spread: DemandSpread::Even,
            on_off: None,
            peers: 4,
            flow_packets: 1,
            frame_len: 100,
            v6: false,
        }
    }

    /// Whether a network can have it: a sentence where not.
    pub(super) fn check(&self, topology: &Topology) -> Result<(), String> {
        let hosts = topology.hosts().len() as u64;
        if hosts < 2 {
            return Err(format!("there are {hosts} hosts, and load needs two"));
        }
        if self.steps.is_empty() || self.steps.len() > STEPS_MAX {
            return Err(format!("1 to {STEPS_MAX} steps of load are wanted"));
        }
        if self.steps.iter().any(|step| !(step.rate > 0.0 && step.rate <= HOST_LOAD_RATE_MAX)) {
            return Err(format!(
                "the hosts of a network offer up to {HOST_LOAD_RATE_MAX} packets a second"
            ));
        }
        if self.length() > LENGTH_MAX || self.length().is_zero() {
            return Err("load lasts above 0 seconds, and a week at most".into());
        }
        if !(1..=PEERS_MAX).contains(&self.peers)
            || !(1..=FLOW_PACKETS_MAX).contains(&self.flow_packets)
        {
            return Err(format!(
                "1 to {PEERS_MAX} peers a host, and 1 to {FLOW_PACKETS_MAX} packets a flow are possible"
            ));
        }
        if !FRAME_LEN.contains(&self.frame_len) {
            return Err(format!(
                "a frame of load has {} to {} bytes",
                FRAME_LEN.start(),
                FRAME_LEN.end()
            ));
        }
        match hosts * u64::from(self.peers) > PINGS_MAX {
            true => Err(format!(
                "{hosts} hosts with {} peers each are more than {PINGS_MAX} pairs that have to find each other: fewer peers",
                self.peers
            )),
            false => Ok(()),
        }
    }

    /// How long it lasts.
    pub fn length(&self) -> Duration {
        self.steps.iter().map(|step| step.length).fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// What became of it.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct HostLoadFate {
    /// Pairs of hosts that were to find each other.
    pub pairs: usize,
    /// Those that did; between the others nothing was sent.
    pub found: usize,
    /// How long that took, before anything was offered.
    pub finding: Duration,
    /// The rates, one after another; those that did not begin are left out.
    pub phases: Vec<OfferedPhase>,
    /// The switches with hosts, in the order of their numbers.
    pub switches: Vec<OfferedSwitch>,
}

/// A time of one rate.
#[derive(Clone, PartialEq, Debug)]
pub struct OfferedPhase {
    /// Packets a second that were asked for.
    pub rate: f64,
    /// For how long they were to be offered.
    pub planned: Duration,
    /// For how long they were: less than that where the run was told to stop.
    pub length: Duration,
    /// Packets that became due.
    pub due: u64,
    /// Those that were sent.
    pub sent: u64,
    /// Due, and not sent because this process did not keep up: then it is the emulator that was
    /// measured.
    pub missed: u64,
    /// Due, and not sent because no host at that switch knew the address of a peer.
    pub unaddressed: u64,
    /// Packets that reached the host they were sent to.
    pub arrived: u64,
    /// Further copies of them.
    pub again: u64,
    /// From sending to the first arrival, in nanoseconds; as exact as this process has turns.
    pub delay: Delays,
}

/// What the hosts of one switch offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfferedSwitch {
    /// The switch.
    pub switch: u32,
    /// Packets that its hosts sent.
    pub sent: u64,
    /// Those of them that arrived.
    pub arrived: u64,
}
