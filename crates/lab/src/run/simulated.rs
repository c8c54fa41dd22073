//! One simulated point: the same workers, on cores that are not there ([`aldis_engine::sim`]).
//!
//! How long is simulated follows from how many requests a point serves, so that 64 workers take no
//! longer to simulate than one. A part of the capacity is a part of what the simulation itself
//! serves with queues always full, for long enough that batches have the size that they stay at.

use super::controller_stats::ControllerCounters;
use super::measure::SAMPLE_EVERY;
use crate::plan::expand::{PlanPoint, PointSubject};
use crate::plan::{OfferedRate, PlanForm, PlanRun};
use aldis_control::AppSet;
use aldis_control::stats::Snapshot;
use aldis_emulator::load::{RATE_MAX, turns_of};
use aldis_engine::Design;
use aldis_engine::design::Read;
use aldis_engine::sim::{self, Costs, Offer, SimOutcome, SimPlan, SimResponder, SimulatedSwitch};
use std::time::Duration;

/// The shortest and the longest that is measured, of simulated time: some rounds of Maestro's
/// batches, and what is enough for a switch that asks five times a second.
const LENGTH_MIN: Duration = Duration::from_millis(10);
const LENGTH_MAX: Duration = Duration::from_secs(5);

/// How many of its periods a simulated dynamic partition sees at least, and how many come before:
/// it has divided the switches then.
const PERIODS_MIN: u32 = 10;
const PERIODS_BEFORE: u32 = 2;

/// For how long a switch with a rate makes up for what it could not send: as the load generator
/// does.
const MAKES_UP_FOR: Duration = Duration::from_millis(100);

/// The least number of rounds in which the load goes over all of its switches.
const ROUNDS: u32 = 4;

/// How long is simulated to learn about what a design with one worker can do, in seconds.
const PILOT_SECONDS: f64 = 0.05;

/// The part of a point's requests that is served to learn what a design can do, where its rate is a
/// part of that: as many again come before.
pub(super) const CAPACITY_PART: f64 = 0.125;

/// How often probing switches ask, all together: more often than in a measurement, which lasts so
/// much longer, but seldom enough that each remains one that asks for little. One that asks several
/// times a round waits for rounds.
const PROBES_PER_LENGTH: f64 = 200.0;

/// The highest rate of a simulated probing switch, and the largest part of all requests that those
/// which probe may have.
const PROBE_RATE_MAX: f64 = 2_000.0;
const PROBE_PART_MAX: f64 = 0.01;

/// What a simulation needs beside its point.
#[derive(Clone)]
pub(super) struct SimulationBench {
    pub(super) probes: u32,
    pub(super) probe_rate: f64,
    pub(super) requests: u64,
    /// How long each of several rates is offered, and how long the first one before.
    pub(super) step: Duration,
    pub(super) warm_up: Duration,
    pub(super) costs: Costs,
    pub(super) seed: u64,
}

/// How long is simulated, in seconds of the simulation.
#[derive(Clone, Copy)]
struct SimulatedSpan {
    measured: f64,
    before: f64,
}

impl SimulatedSpan {
    /// A quarter as long goes before.
    fn of(measured: f64) -> SimulatedSpan {
        SimulatedSpan { measured, before: measured / 4.0 }
    }
}

/// What was simulated: the probing switches apart.
pub(super) struct Simulated {
    /// Of the switches that do not probe.
    pub(super) outcome: SimOutcome,
    pub(super) probes: Vec<sim::SimServed>,
    /// What all switches together were to offer, in requests a second, and for how long; nothing
    /// where they are always full.
    pub(super) steps: Vec<(f64, Duration)>,
    /// The engine's counters when measuring began and at its end, with the time since; and in
    /// between, where rates follow each other.
    pub(super) counters: Vec<(Duration, ControllerCounters)>,
}

impl SimulationBench {
    /// For a run in one form.
    pub(super) fn new(run: &PlanRun, form: &PlanForm, costs: Costs, seed: u64) -> SimulationBench {
        SimulationBench {
            probes: run.probes_in(form),
            probe_rate: run.probe_rate,
            requests: form.simulated_requests,
            step: Duration::from_millis(form.measure_ms.into()),
            warm_up: Duration::from_millis(form.warm_up_ms.into()),
            costs,
            seed,
        }
    }

    /// Simulates a point.
    ///
    /// # Errors
    /// What cannot be simulated, without the plan and the point.
    pub(super) fn simulate(&self, point: &PlanPoint) -> Result<Simulated, String> {
        let pilot = PILOT_SECONDS / point.workers as f64;
        let pilot = self.full(point, SimulatedSpan::of(pilot))?;
        let requests = self.requests as f64;
        let capacity = match point.needs_capacity() {
            true => {
                let seconds = requests * CAPACITY_PART / pilot;
                self.full(point, SimulatedSpan { measured: seconds, before: seconds })?
            }
            false => pilot,
        };
        let rate = |rate: &OfferedRate| match rate {
            OfferedRate::Full => f64::INFINITY,
            OfferedRate::Rps(rps) => *rps,
            OfferedRate::Times(times) => (times * capacity).min(RATE_MAX),
        };
        let rates: Vec<f64> = point.rates.iter().map(rate).collect();
        let (span, steps) = match rates.as_slice() {
            [] => (SimulatedSpan::of(requests / pilot), vec![]),
            [rate] => (SimulatedSpan::of(requests / rate.min(pilot)), vec![(*rate, Duration::MAX)]),
            // Rates that follow each other take the time that they are given.
            several => {
                let steps = several.iter().map(|rate| (*rate, self.step)).collect();
                let measured = self.step.as_secs_f64() * several.len() as f64;
                (SimulatedSpan { measured, before: self.warm_up.as_secs_f64() }, steps)
            }
        };
        let steps: Vec<_> = steps.into_iter().filter(|(rate, _)| rate.is_finite()).collect();
        self.outcome(point, &steps, span, self.probes)
    }

    /// What is served with queues always full, in requests a second.
    fn full(&self, point: &PlanPoint, span: SimulatedSpan) -> Result<f64, String> {
        let served = self.outcome(&point.at_full(), &[], span, 0)?.outcome.throughput();
        if served <= 0.0 {
            return Err("nothing was answered in the simulation".into());
        }
        Ok(served)
    }

    /// What comes of it at these rates, one after another; with queues always full where there are
    /// none.
    fn outcome(
        &self,
        point: &PlanPoint,
        steps: &[(f64, Duration)],
        span: SimulatedSpan,
        probes: u32,
    ) -> Result<Simulated, String> {
        let PointSubject::Design(design) = &point.subject else {
            return Err("only designs of ours can be simulated".into());
        };
        let turns = |place| turns_of(place, point.switches);
        let round = if steps.is_empty() { Duration::ZERO } else { turns(0)[1] };
        let longest = if steps.len() > 1 { Duration::MAX } else { LENGTH_MAX };
        let length = |seconds| Duration::from_secs_f64(seconds).min(longest);
        let period = period(design);
        let before = length(span.before).max(LENGTH_MIN / 4).max(round);
        let before = before.max(PERIODS_BEFORE * period);
        let length = length(span.measured).max(LENGTH_MIN).max(ROUNDS * round);
        let length = length.max(PERIODS_MIN * period);
        let mut shifted = steps.to_vec();
        if let Some((_, first)) = shifted.first_mut() {
            *first = first.saturating_add(before);
        }
        let offer = |(place, part): (u32, f64)| match (shifted.is_empty(), turns(place)) {
            (true, _) => Offer::Full,
            (false, [first, every]) => {
                let part = |(rate, length): &(f64, Duration)| {
                    ((rate * part).clamp(0.001, RATE_MAX), *length)
                };
                let steps = shifted.iter().map(part).collect();
                Offer::Turns { steps, first, every, makes_up_for: MAKES_UP_FOR }
            }
        };
        let parts = point.spread.parts(point.switches, self.seed);
        let mut switches: Vec<SimulatedSwitch> =
            (0..).zip(parts).map(offer).map(SimulatedSwitch::new).collect();
        let least = steps.iter().map(|(rate, _)| *rate).fold(RATE_MAX, f64::min);
        let often = probe_rate(probes, length, least).max(self.probe_rate);
        let probing = SimulatedSwitch::new(Offer::Poisson(often));
        switches.extend((0..probes).map(|_| probing.clone()));
        let plan = SimPlan {
            warm_up: before,
            duration: length,
            seed: self.seed,
            costs: self.costs,
            ..SimPlan::new(*design, point.workers, switches)
        };
        let app_set = AppSet::default().with(SimResponder::default);
        let every = if steps.len() > 1 { SAMPLE_EVERY } else { Duration::MAX };
        let mut counters = Vec::new();
        let mut watch =
            |at, snapshot: &Snapshot| counters.push((at, ControllerCounters::from(snapshot)));
        let outcome = sim::run_and_watch(&plan, &app_set, every, &mut watch);
        let mut outcome = outcome.map_err(|refused| refused.to_string())?;
        let probes = outcome.switches.split_off(point.switches as usize);
        Ok(Simulated { outcome, probes, steps: steps.to_vec(), counters })
    }
}

/// How often a design divides its switches anew; never where it does not.
pub(super) fn period(design: &Design) -> Duration {
    match design.read {
        Read::DynamicPartition { period, .. } => period,
        _ => Duration::ZERO,
    }
}

/// How long a point of such a design is simulated at least.
pub(super) fn least(design: &Design) -> Duration {
    (PERIODS_BEFORE + PERIODS_MIN) * period(design)
}

/// How often each of so many probing switches is to ask, in requests a second, where the others
/// offer `rate`.
fn probe_rate(probes: u32, length: Duration, rate: f64) -> f64 {
    let together = (PROBES_PER_LENGTH / length.as_secs_f64()).min(rate * PROBE_PART_MAX);
    (together / f64::from(probes.max(1))).min(PROBE_RATE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::results::RunForm;

    const DIVIDED: &str = r#"
title = "t"
source = "s"
expected = "e"
[quick]
seconds = 9
measure-ms = 1000
simulated-requests = 10_000
[full]
seconds = 9
measure-ms = 1000
[[run]]
subjects = ["maestro-dynamic-partition"]
x = "workers"
workers = [2]
switches = [3]
metrics = ["throughput"]
knobs.period-ms = 20
[[plot]]
kind = "lines"
title = "t"
y = { metric = "throughput" }
"#;

    #[test]
    fn a_dynamic_partition_sees_ten_of_its_periods() {
        let plan = Plan::parse("mine", "mine.toml", DIVIDED.into()).unwrap();
        let points = plan.expand(RunForm::Quick, 2).unwrap().points;
        let run = plan.said.runs[0].get_ref();
        let bench = SimulationBench::new(run, &plan.said.quick, Costs::default(), 1);
        let simulated = bench.simulate(&points[0]).unwrap();
        assert!(simulated.outcome.measured >= Duration::from_millis(200));
        let short = Plan::parse("mine", "mine.toml", DIVIDED.replace("20\n", "10\n")).unwrap();
        let point = &short.expand(RunForm::Quick, 2).unwrap().points[0];
        let half = bench.simulate(point).unwrap().outcome.measured;
        assert!((Duration::from_millis(100)..Duration::from_millis(200)).contains(&half));
    }

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
