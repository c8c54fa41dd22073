//! What came of a simulation.

use core::time::Duration;

use aldis_control::Time;
use aldis_control::fair::{Demand, Weight, max_min};
use aldis_control::session::Close;
use aldis_control::stats::{Distribution, Snapshot};

/// What came of it all.
#[derive(Clone, PartialEq, Debug)]
pub struct SimOutcome {
    /// How long was measured.
    pub measured: Duration,
    /// What the switches saw, in their order.
    pub switches: Vec<SimServed>,
    /// The engine's own counters, from the beginning to the end; I/O threads, where the design has
    /// them, come first.
    pub snapshot: Snapshot,
    /// Steps that the workers made.
    pub steps: u64,
}

/// What one switch saw.
#[derive(Clone, PartialEq, Debug)]
pub struct SimServed {
    /// What it was due.
    pub weight: Weight,
    /// What it wanted while it was measured, in requests a second; infinite where it was always
    /// full.
    pub demand: f64,
    /// Whether its handshake was done.
    pub up: bool,
    /// Requests that became due, from the beginning to the end.
    pub offered: u64,
    /// Of them, those that were answered.
    pub answered: u64,
    /// Answers that came while it was measured.
    pub answered_measured: u64,
    /// From becoming due to the answer, in nanoseconds, of requests that became due while it was
    /// measured. Empty where it was always full and without a limit.
    pub delay_ns: Distribution,
    /// Fences that were answered.
    pub fences: u64,
    /// Of them, those that were not answered between what came before them and what came after.
    pub disorder: u64,
    /// Answers to requests that were answered before, or never made.
    pub strays: u64,
    /// Bytes of it that were unread at the end.
    pub unread: usize,
    /// When its connection was closed, and why.
    pub closed: Option<(Time, Close)>,
}

impl SimOutcome {
    /// Answers a second, all switches together.
    pub fn throughput(&self) -> f64 {
        let answered: u64 = self.switches.iter().map(|switch| switch.answered_measured).sum();
        answered as f64 / self.measured.as_secs_f64()
    }

    /// Of each switch its fairness deviation: what it received, less its weighted max-min share,
    /// over that share (Maestro §4.1); 0 where it was due nothing.
    pub fn deviations(&self) -> Vec<f64> {
        let demands: Vec<Demand> = self
            .switches
            .iter()
            .map(|switch| Demand { rate: switch.demand, weight: switch.weight })
            .collect();
        let shares = max_min(self.throughput(), &demands);
        let received = self.switches.iter().map(|switch| switch.answered_measured as f64);
        let received = received.map(|answered| answered / self.measured.as_secs_f64());
        let deviation = |(received, share): (f64, f64)| {
            if share > 0.0 { (received - share) / share } else { 0.0 }
        };
        received.zip(shares).map(deviation).collect()
    }

    /// The largest of them, without its sign.
    pub fn deviation_max(&self) -> f64 {
        self.deviations().into_iter().map(f64::abs).fold(0.0, f64::max)
    }
}
