//! One simulated point: the same workers, on cores that are not there ([`aldis_engine::sim`]).
//!
//! How long is simulated follows from how many requests a point serves, so that 64 workers take no longer to simulate than
//! one. A part of the capacity is a part of what the simulation itself serves with queues always full.

use crate::plan::expand::{Point, Subject};
use crate::plan::{Form, Rate, Run};
use aldis_control::Recipe;
use aldis_emulator::load::{RATE_MAX, turns_of};
use aldis_engine::sim::{self, Costs, Offer, Outcome, Plan, Responder, Switch};
use std::time::Duration;

/// The shortest and the longest that is measured, of simulated time: some rounds of Maestro's batches, and what is enough for
/// a switch that asks five times a second.
const LENGTH_MIN: Duration = Duration::from_millis(10);
const LENGTH_MAX: Duration = Duration::from_secs(5);

/// The least number of rounds in which the load goes over all of its switches.
const ROUNDS: u32 = 4;

/// The most requests that a simulated point offers.
const OFFERED_MAX: f64 = 12e6;

/// How long is simulated to learn what a design with one worker can do, in seconds.
const PILOT_SECONDS: f64 = 0.05;

/// How often probing switches ask, all together: more often than in a measurement, which lasts so much longer, but seldom enough that
/// each remains one that asks for little. One that asks several times a round waits for rounds.
const PROBES_PER_LENGTH: f64 = 200.0;

/// The highest rate of a simulated probing switch, and the largest part of all requests that those which probe may have.
const PROBE_RATE_MAX: f64 = 2_000.0;
const PROBE_PART_MAX: f64 = 0.01;

/// What a simulation needs beside its point.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) probes: u32,
    pub(super) probe_rate: f64,
    pub(super) requests: u64,
    pub(super) costs: Costs,
    pub(super) seed: u64,
}

/// What was simulated: the probing switches apart.
pub(super) struct Simulated {
    /// Of the switches that do not probe.
    pub(super) outcome: Outcome,
    pub(super) probes: Vec<sim::Served>,
    /// What all switches together were to offer, in requests a second; infinite where they are always full.
    pub(super) offered: f64,
    pub(super) io_threads: usize,
}

impl Stage {
    /// For a run in one form.
    pub(super) fn new(run: &Run, form: &Form, costs: Costs, seed: u64) -> Stage {
        Stage {
            probes: run.probes_in(form),
            probe_rate: run.probe_rate,
            requests: form.simulated_requests,
            costs,
            seed,
        }
    }

    /// Simulates a point.
    ///
    /// # Errors
    /// What cannot be simulated, without the plan and the point.
    pub(super) fn simulate(&self, point: &Point) -> Result<Simulated, String> {
        let pilot = PILOT_SECONDS / point.workers as f64;
        let pilot = self.outcome(&point.at_full(), None, pilot, 0)?.throughput();
        if pilot <= 0.0 {
            return Err("nothing was answered in the simulation".into());
        }
        let rate = match point.rates.as_slice() {
            [Rate::Rps(rps)] => Some(*rps),
            [Rate::Times(times)] => Some((times * pilot).min(RATE_MAX)),
            _ => None,
        };
        let served = rate.map_or(pilot, |rate| rate.min(pilot));
        // What is offered and not served waits in memory.
        let seconds = (self.requests as f64 / served).min(OFFERED_MAX / rate.unwrap_or(1.0));
        let mut outcome = self.outcome(point, rate, seconds, self.probes)?;
        let probes = outcome.switches.split_off(point.switches as usize);
        let io_threads = outcome.snapshot.workers.len().saturating_sub(point.workers);
        Ok(Simulated { outcome, probes, offered: rate.unwrap_or(f64::INFINITY), io_threads })
    }

    fn outcome(
        &self,
        point: &Point,
        rate: Option<f64>,
        seconds: f64,
        probes: u32,
    ) -> Result<Outcome, String> {
        let Subject::Design(design) = &point.subject else {
            return Err("only designs of ours can be simulated".into());
        };
        let turns = |place| turns_of(place, point.switches);
        let [_, round] = rate.map_or([Duration::ZERO; 2], |_| turns(0));
        let length =
            Duration::from_secs_f64(seconds).clamp(LENGTH_MIN.max(ROUNDS * round), LENGTH_MAX);
        let offer = |(place, part): (u32, f64)| match (rate, turns(place)) {
            (None, _) => Offer::Full,
            (Some(rate), [first, every]) => {
                Offer::Turns { rate: (rate * part).clamp(0.001, RATE_MAX), first, every }
            }
        };
        let parts = point.spread.parts(point.switches, self.seed);
        let mut switches: Vec<Switch> = (0..).zip(parts).map(offer).map(Switch::new).collect();
        let often = probe_rate(probes, length, rate.unwrap_or(RATE_MAX)).max(self.probe_rate);
        let probing = Switch::new(Offer::Poisson(often));
        switches.extend((0..probes).map(|_| probing.clone()));
        let plan = Plan {
            warm_up: (length / 4).max(round),
            duration: length,
            seed: self.seed,
            costs: self.costs,
            ..Plan::new(*design, point.workers, switches)
        };
        let recipe = Recipe::default().with(Responder::default);
        sim::run(&plan, &recipe).map_err(|refused| refused.to_string())
    }
}

/// How often each of so many probing switches is to ask, in requests a second, where the others offer `rate`.
fn probe_rate(probes: u32, length: Duration, rate: f64) -> f64 {
    let together = (PROBES_PER_LENGTH / length.as_secs_f64()).min(rate * PROBE_PART_MAX);
    (together / f64::from(probes.max(1))).min(PROBE_RATE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_switches_share_what_they_ask() {
        let length = Duration::from_millis(200);
        assert_eq!(probe_rate(20, length, 1e7), 50.0);
        assert_eq!(probe_rate(1, length, 1e7), 1_000.0);
        // Nor do they make a load of their own, or one of them ask without pause.
        assert_eq!(probe_rate(20, length, 1e4), 5.0);
        assert_eq!(probe_rate(1, Duration::from_millis(1), 1e7), PROBE_RATE_MAX);
    }
}
