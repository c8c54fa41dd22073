//! How long a plan takes, about: what its budget is checked against, and what a progress bar shows.
//!
//! The figures are those of two cores of a server of 2023, rounded up; a slower machine takes
//! longer.

use super::measure::{CAPACITY_LENGTH, CAPACITY_WARM_UP};
use super::simulated::{CAPACITY_PART, least};
use crate::plan::expand::{PlanPoint, PointSubject};
use crate::plan::{Plan, PlanForm, PlanRun};
use crate::results::{self, ValueOrigin};
use std::collections::HashSet;
use std::time::Duration;

/// To start and end a controller of ours, and another one.
const START_S: f64 = 0.3;
const START_FOREIGN_S: f64 = 2.0;

/// To connect a switch, and to tell an address: in seconds.
const CONNECT_S: f64 = 60e-6;
const TEACH_S: f64 = 0.5e-6;

/// What a worker serves where rates follow each other, about, in requests a second: of a design
/// that batches.
const STEP_RPS: f64 = 4e6;

/// To simulate a request, on each of two threads, and what comes before.
const SIMULATE_S: f64 = 40e-9;
const PILOT_S: f64 = 0.1;

/// How long a plan's form takes on a machine with so many cores.
///
/// # Errors
/// A combination that cannot be.
pub fn estimate(plan: &Plan, form: results::RunForm, cores: usize) -> Result<Duration, String> {
    Ok(of_all(plan, &plan.form(form), &plan.expand(form, cores)?.points))
}

/// How long all points take, with their repeats.
pub(super) fn of_all(plan: &Plan, form: &PlanForm, points: &[PlanPoint]) -> Duration {
    let mut known = HashSet::new();
    let seconds = |point: &PlanPoint| {
        let run = plan.said.runs[point.run].get_ref();
        let once = of(run, form, point).as_secs_f64();
        let measured = point.origin == ValueOrigin::Measured;
        let first = measured && point.needs_capacity() && known.insert(point.capacity_key());
        let full = (CAPACITY_WARM_UP + CAPACITY_LENGTH).as_secs_f64();
        let capacity = if first { full + around(run, point) } else { 0.0 };
        let repeats = if measured { form.repeats } else { 1 };
        capacity + once * f64::from(repeats)
    };
    Duration::from_secs_f64(points.iter().map(seconds).sum())
}

/// How long a point takes once.
pub(super) fn of(run: &PlanRun, form: &PlanForm, point: &PlanPoint) -> Duration {
    let seconds = match point.origin {
        ValueOrigin::Simulated if point.rates.len() > 1 => {
            let ms = f64::from(form.measure_ms) * point.rates.len() as f64;
            let requests = ms / 1e3 * point.workers as f64 * STEP_RPS;
            (PILOT_S + requests * SIMULATE_S) / 2.0
        }
        ValueOrigin::Simulated => {
            let first = if point.needs_capacity() { 2.0 * CAPACITY_PART } else { 0.0 };
            let requests = form.simulated_requests as f64 * (1.0 + first);
            let least = match &point.subject {
                PointSubject::Design(design) => least(design).as_secs_f64(),
                _ => 0.0,
            };
            let requests = requests.max(least * point.workers as f64 * STEP_RPS * (2.0 + first));
            (PILOT_S + requests * SIMULATE_S) / 2.0
        }
        ValueOrigin::Measured => {
            let steps = point.rates.len().max(1) as f64;
            let ms = f64::from(form.warm_up_ms) + f64::from(form.measure_ms) * steps;
            around(run, point) + ms / 1e3
        }
    };
    Duration::from_secs_f64(seconds)
}

/// What comes before and after a measurement.
fn around(run: &PlanRun, point: &PlanPoint) -> f64 {
    let switches = f64::from(point.switches);
    let start =
        if matches!(point.subject, PointSubject::Foreign(_)) { START_FOREIGN_S } else { START_S };
    let teach = if run.no_teach { 0.0 } else { switches * f64::from(point.macs) * TEACH_S };
    let groups = run.connect_group.map_or(0, |group| point.switches / group.max(1));
    let pauses = f64::from(groups) * f64::from(run.connect_pause_ms) / 1e3;
    start + switches * CONNECT_S + teach + pauses
}
