//! How well a simulation predicts this machine: the same points simulated, with costs that were measured, and run.
//!
//! A controller is a process with one worker on one core, the load is on another, and queues are always full. Nothing of such a run
//! goes into the costs: those come from [`crate::calibrate`].

use super::measure::{Bench, throughput};
use super::simulated::Stage;
use crate::calibrate::Conditions;
use crate::plan::Plan;
use crate::results::{self, Origin};
use aldis_emulator::load::IDLE_MIN;
use aldis_engine::{pin, sim};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What all of it may take.
const WITHIN: Duration = Duration::from_secs(300);

/// The designs whose visits are as different as they get: by shares, 64 KB each, 2 KB each.
const DESIGNS: [&str; 3] = ["fair-rounds", "maestro-static-partition", "maestro-round-robin"];

/// One design, simulated and measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checked {
    /// The design.
    pub design: String,
    /// Answers a second.
    pub measured_rps: f64,
    /// Answers a second.
    pub simulated_rps: f64,
    /// The largest deviation of a switch from its share, as a part of it.
    pub measured_deviation: f64,
    /// See above.
    pub simulated_deviation: f64,
    /// The worker's CPU time a request, in nanoseconds, where the system says it.
    pub measured_cpu_ns: Option<f64>,
    /// Whether the load had no time to spare, so that it was measured instead of the controller.
    pub generator_limited: bool,
}

impl Checked {
    /// How much more throughput was simulated than measured, as a part of what was measured.
    pub fn off(&self) -> f64 {
        self.simulated_rps / self.measured_rps - 1.0
    }
}

/// Simulates and measures under these conditions; `aldis` is our own program. None on a machine with one core.
///
/// # Errors
/// A sentence: what failed, or that it was told to stop.
pub fn check(
    aldis: &Path,
    costs: sim::Costs,
    conditions: Conditions,
    stop: &AtomicBool,
) -> Result<Vec<Checked>, String> {
    let plan = Plan::parse("calibration", "calibration.toml", text(conditions))
        .map_err(|refused| refused.to_string())?;
    let form = plan.form(results::Form::Quick);
    let points = plan.expand(results::Form::Quick, pin::cores().len().max(1))?.points;
    let mut checked = Vec::new();
    for point in points.iter().filter(|point| point.origin == Origin::Measured) {
        let run = plan.said.runs[point.run].get_ref();
        let until = Instant::now() + WITHIN;
        let measured =
            Bench { aldis, run, form: &form, seed: 1, until, stop }.measure(point, 0.0)?;
        let simulated = Stage::new(run, &form, costs, 1).simulate(point)?;
        let answered = measured.report.answered();
        checked.push(Checked {
            design: point.subject.name().to_owned(),
            measured_rps: throughput(&measured.report),
            simulated_rps: simulated.outcome.throughput(),
            measured_deviation: measured.report.fairness(&measured.load).worst().abs(),
            simulated_deviation: simulated.outcome.deviation_max(),
            measured_cpu_ns: measured.cpu_ns.map(|ns| ns as f64 / answered.max(1) as f64),
            generator_limited: measured.report.idle < IDLE_MIN,
        });
    }
    Ok(checked)
}

fn text(Conditions { switches, macs }: Conditions) -> String {
    format!(
        "title = \"A calibration\"\nsource = \"ours\"\nexpected = \"both alike\"\n\
         [quick]\nseconds = 60\nwarm-up-ms = 3000\nmeasure-ms = 3000\nsimulated-requests = 20_000_000\n\
         [full]\nseconds = 60\nwarm-up-ms = 500\nmeasure-ms = 2000\n\
         [[run]]\nsubjects = {DESIGNS:?}\nx = \"subject\"\nworkers = [1]\nswitches = [{switches}]\n\
         macs = [{macs}]\nmetrics = [\"throughput\"]\n"
    )
}
