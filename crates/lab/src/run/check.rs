//! How well a simulation predicts this machine: the same points simulated, with costs that were
//! measured, and run.
//!
//! A controller is a process with one worker on one core, the load is on another, and queues are
//! always full. Nothing of such a run goes into the costs: those come from [`crate::calibrate`].

use super::measure::{MeasureBench, throughput};
use super::simulated::SimulationBench;
use crate::calibrate::Conditions;
use crate::plan::Plan;
use crate::plan::expand::PlanPoint;
use crate::results::{self, ValueOrigin};
use aldis_engine::sim::SimOutcome;
use aldis_engine::{pin, sim};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What a round may take.
const WITHIN: Duration = Duration::from_secs(120);

/// How often each is simulated, with other chances: a threshold that adapts climbs sooner or later.
const SEEDS: u64 = 5;

/// The designs whose visits are as different as they get: by shares, 64 KB each, 2 KB each.
const DESIGNS: [&str; 3] = ["fair-rounds", "maestro-static-partition", "maestro-round-robin"];

/// The last of them once more with batches that do not adapt: a threshold that walks differs from
/// run to run.
const FIXED: (&str, usize) = ("maestro-round-robin", 1_000);

/// How far simulated throughput may lie from what was measured, as a part of it: as far as means of
/// such runs differ from hour to hour on a virtual machine.
pub const THROUGHPUT_OFF_MAX: f64 = 0.15;

/// How far apart the simulated and the measured deviation from the fair share may be, as parts of
/// that share: one point of percent.
pub const FAIRNESS_OFF_MAX: f64 = 0.01;

/// One design, simulated and measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checked {
    /// The design, and what is different from its preset.
    pub design: String,
    /// Answers a second: the mean of what was measured, as the costs under load are means.
    pub measured_rps: f64,
    /// Twice the standard error of that, where there are several runs.
    pub measured_rps_error: Option<f64>,
    /// The least and the most of it.
    pub measured_rps_range: (f64, f64),
    /// Answers a second: the mean of several simulations.
    pub simulated_rps: f64,
    /// The largest deviation of a switch from its share, as a part of it: the mean of the runs.
    /// With a core that is the slower one by chance, runs lie in two heaps, and their median in
    /// either.
    pub measured_deviation: f64,
    /// The same of the simulations.
    pub simulated_deviation: f64,
    /// The worker's CPU time a request in the run with the median rate, in nanoseconds, where the
    /// system says it.
    pub measured_cpu_ns: Option<f64>,
    /// Whether the load had no time to spare in a run, so that it was measured instead of the
    /// controller.
    pub generator_limited: bool,
}

impl Checked {
    /// How much more throughput was simulated than measured, as a part of what was measured.
    pub fn off(&self) -> f64 {
        self.simulated_rps / self.measured_rps - 1.0
    }

    /// How much farther from its share than in the runs the worst switch is in the simulation, as a
    /// part of the share.
    pub fn fairness_off(&self) -> f64 {
        self.simulated_deviation - self.measured_deviation
    }

    /// Whether both are within [`THROUGHPUT_OFF_MAX`] and [`FAIRNESS_OFF_MAX`], of a run that shows
    /// the controller and not the limit of the load.
    pub fn is_within(&self) -> bool {
        self.misses().is_empty()
    }

    /// What keeps it from that, some words each.
    fn misses(&self) -> Vec<String> {
        let throughput = (self.off().abs() > THROUGHPUT_OFF_MAX)
            .then(|| format!("throughput {:+.1} %", self.off() * 100.0));
        let fairness = (self.fairness_off().abs() > FAIRNESS_OFF_MAX)
            .then(|| format!("fairness {:+.2} points", self.fairness_off() * 100.0));
        let limited = self.generator_limited.then(|| "generator-limited".to_owned());
        [throughput, fairness, limited].into_iter().flatten().collect()
    }
}

/// Whether the simulation predicts all of them, in a sentence that names those that it does not;
/// one at least.
pub fn verdict(rows: &[Checked]) -> String {
    let bounds = format!(
        "within {:.0} % of the measured throughput and {:.0} point of the measured fairness",
        THROUGHPUT_OFF_MAX * 100.0,
        FAIRNESS_OFF_MAX * 100.0
    );
    let missed = |row: &Checked| format!("{} ({})", row.design, row.misses().join(", "));
    let missed: Vec<String> = rows.iter().filter(|row| !row.is_within()).map(missed).collect();
    let (all, good) = (rows.len(), rows.len() - missed.len());
    match missed.is_empty() {
        true => format!("All {all} designs are {bounds}."),
        false => format!("{good} of {all} designs are {bounds}; not {}.", missed.join(", ")),
    }
}

/// Runs of controllers, between which costs are measured.
#[derive(Debug)]
pub struct Check<'a> {
    aldis: &'a Path,
    plan: Plan,
    points: Vec<PlanPoint>,
    /// What was measured of each point.
    runs: Vec<Vec<CheckedRun>>,
    stop: &'a AtomicBool,
}

impl<'a> Check<'a> {
    /// Under these conditions, each run for so long after twice as long a warm-up. `aldis` is our
    /// own program. There is nothing to run on a machine with one core.
    ///
    /// # Errors
    /// A sentence: what cannot be run so.
    pub fn new(
        aldis: &'a Path,
        conditions: Conditions,
        length: Duration,
        stop: &'a AtomicBool,
    ) -> Result<Check<'a>, String> {
        let plan = Plan::parse("calibration", "calibration.toml", text(conditions, length))
            .map_err(|refused| refused.to_string())?;
        let mut points = plan.expand(results::RunForm::Quick, pin::cores().len().max(1))?.points;
        points.retain(|point| point.origin == ValueOrigin::Measured);
        let runs = vec![Vec::new(); points.len()];
        Ok(Check { aldis, plan, points, runs, stop })
    }

    /// Measures each once, another one first each time; `progress` is told what is measured now.
    ///
    /// # Errors
    /// A sentence: what failed, or that it was told to stop.
    pub fn round(&mut self, progress: &mut dyn FnMut(&str)) -> Result<(), String> {
        let form = self.plan.form(results::RunForm::Quick);
        let first = self.runs.first().map_or(0, Vec::len);
        let until = Instant::now() + WITHIN;
        for place in (first..).take(self.points.len()) {
            let at = place % self.points.len();
            let point = &self.points[at];
            progress(&name(point));
            let run = self.plan.said.runs[point.run].get_ref();
            let Check { aldis, stop, .. } = *self;
            let bench = MeasureBench { aldis, run, form: &form, seed: 1, until, stop };
            self.runs[at].push(CheckedRun::of(&bench, point)?);
        }
        Ok(())
    }

    /// Simulates each with these costs. At least one round has to be over.
    ///
    /// # Errors
    /// A sentence: what cannot be simulated.
    pub fn compare(
        mut self,
        costs: sim::Costs,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<Checked>, String> {
        let form = self.plan.form(results::RunForm::Quick);
        let mut checked = Vec::with_capacity(self.points.len());
        for (point, runs) in self.points.iter().zip(&mut self.runs) {
            progress(&format!("{}, simulated", name(point)));
            let run = self.plan.said.runs[point.run].get_ref();
            let simulated: Result<Vec<SimOutcome>, String> = (1..=SEEDS)
                .map(|seed| {
                    Ok(SimulationBench::new(run, &form, costs, seed).simulate(point)?.outcome)
                })
                .collect();
            checked.push(Checked::new(name(point), runs, &simulated?));
        }
        Ok(checked)
    }
}

/// What one run found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedRun {
    pub(crate) rps: f64,
    pub(crate) deviation: f64,
    pub(crate) cpu_ns: Option<f64>,
    pub(crate) generator_limited: bool,
}

impl CheckedRun {
    fn of(bench: &MeasureBench<'_>, point: &PlanPoint) -> Result<CheckedRun, String> {
        let run = bench.measure(point, 0.0)?;
        let answered = run.report.answered().max(1);
        Ok(CheckedRun {
            rps: throughput(&run.report),
            deviation: run.report.fairness(&run.load).worst().abs(),
            cpu_ns: run.cpu_ns.map(|ns| ns as f64 / answered as f64),
            generator_limited: run.report.is_generator_limited(),
        })
    }
}

impl Checked {
    /// Of runs, which are put in order, and simulations; one of each at least.
    pub(crate) fn new(
        design: String,
        runs: &mut [CheckedRun],
        simulated: &[SimOutcome],
    ) -> Checked {
        let middle = runs.len() / 2;
        let deviations: Vec<f64> = runs.iter().map(|run| run.deviation).collect();
        let measured_deviation = mean(&deviations).0;
        let deviations: Vec<f64> = simulated.iter().map(SimOutcome::deviation_max).collect();
        let simulated_deviation = mean(&deviations).0;
        let served: Vec<f64> = simulated.iter().map(SimOutcome::throughput).collect();
        runs.sort_by(|one, other| one.rps.total_cmp(&other.rps));
        let rates: Vec<f64> = runs.iter().map(|run| run.rps).collect();
        let (measured_rps, error) = mean(&rates);
        Checked {
            design,
            measured_rps,
            measured_rps_error: error,
            measured_rps_range: (rates[0], rates[rates.len() - 1]),
            simulated_rps: mean(&served).0,
            measured_deviation,
            simulated_deviation,
            measured_cpu_ns: runs[middle].cpu_ns,
            generator_limited: runs.iter().any(|run| run.generator_limited),
        }
    }
}

/// The mean of values, one at least, and twice its standard error, where there are several.
fn mean(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = 2.0 * (squares / (count - 1.0) / count).sqrt();
    (mean, (values.len() > 1).then_some(error))
}

/// The design, and what is different from its preset.
fn name(point: &PlanPoint) -> String {
    [point.subject.name(), &*point.settings.join(" ")].join(" ").trim_end().to_owned()
}

fn text(Conditions { switches, macs }: Conditions, length: Duration) -> String {
    let (ms, warm_up) = (length.as_millis(), 2 * length.as_millis());
    let (fixed, ibt) = FIXED;
    let run = |subjects: &str| {
        format!(
            "[[run]]\nsubjects = {subjects}\nx = \"subject\"\nworkers = [1]\nswitches = [{switches}]\n\
             macs = [{macs}]\nmetrics = [\"throughput\"]\n"
        )
    };
    format!(
        "title = \"A calibration\"\nsource = \"ours\"\nexpected = \"both alike\"\n\
         [quick]\nseconds = 60\nwarm-up-ms = {warm_up}\nmeasure-ms = {ms}\nsimulated-requests = 20_000_000\n\
         [full]\nseconds = 60\nwarm-up-ms = 500\nmeasure-ms = 2000\n\
         {}{}ibt = [{ibt}]\n",
        run(&format!("{DESIGNS:?}")),
        run(&format!("[{fixed:?}]")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_is_twice_the_standard_one() {
        assert_eq!(mean(&[7.0]), (7.0, None));
        // A standard deviation of one, three times.
        let (middle, error) = mean(&[1.0, 2.0, 3.0]);
        assert_eq!(middle, 2.0);
        assert!((error.unwrap() - 2.0 / 3.0_f64.sqrt()).abs() < 1e-9, "{error:?}");
    }

    fn row(design: &str, simulated_rps: f64, simulated_deviation: f64) -> Checked {
        Checked {
            design: design.into(),
            measured_rps: 1e6,
            measured_rps_error: None,
            measured_rps_range: (1e6, 1e6),
            simulated_rps,
            measured_deviation: 0.02,
            simulated_deviation,
            measured_cpu_ns: None,
            generator_limited: false,
        }
    }

    #[test]
    fn a_design_is_within_both_bounds_or_off() {
        for (simulated_rps, simulated_deviation, is_within) in [
            (1e6, 0.02, true),
            (1.149e6, 0.029, true),
            (0.851e6, 0.011, true),
            (1.151e6, 0.02, false),
            (0.849e6, 0.02, false),
            (1e6, 0.031, false),
            (1e6, 0.009, false),
        ] {
            let row = row("beacon", simulated_rps, simulated_deviation);
            assert_eq!(row.is_within(), is_within, "{row:?}");
        }
        assert!(!Checked { generator_limited: true, ..row("beacon", 1e6, 0.02) }.is_within());
    }

    #[test]
    fn the_verdict_names_those_that_are_off() {
        let good = || row("fair-rounds", 1.1e6, 0.025);
        let bounds = "within 15 % of the measured throughput and 1 point of the measured fairness";
        assert_eq!(verdict(&[good(), good()]), format!("All 2 designs are {bounds}."));
        let off = [good(), row("nox", 1.2e6, 0.05), row("beacon", 0.5e6, 0.02)];
        assert_eq!(
            verdict(&off),
            format!(
                "1 of 3 designs are {bounds}; not nox (throughput +20.0 %, fairness +3.00 points), beacon (throughput -50.0 %)."
            )
        );
    }
}
