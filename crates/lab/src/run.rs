//! Runs a plan: its points one after the other, measured over loopback or simulated, into a folder
//! of results.
//!
//! A measured point has a controller as a child process (`controller_process.rs`, `launcher.rs`) on
//! cores of its own and the load on the others (`measure.rs`). Repeats go round all points before
//! the next (A B A B), so that what a machine does in an hour falls on all alike. Simulated points
//! follow, several at a time. Rows are written as soon as a point has them, and a run that is
//! stopped, loses a controller, or takes much longer than its budget, keeps what it has and says
//! that it is partial.

pub mod check;
mod controller_process;
mod controller_stats;
mod cores;
mod folder;
pub mod launcher;
mod measure;
mod process;
mod rows;
mod seconds;
mod simulated;

use crate::calibrate::{self, Calibration, Conditions, MachineInfo};
use crate::plan::expand::{Expansion, PlanPoint, PointSubject};
use crate::plan::{Plan, PlanForm, PlanRun};
use crate::results::{self, Meta, ResultsWriter, ValueOrigin};
use aldis_engine::{pin, sim};
use measure::MeasureBench;
use simulated::{Simulated, SimulationBench};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub use seconds::estimate;

/// How long the costs of a simulation are measured where no file has them.
const CALIBRATE: Duration = Duration::from_secs(5);

/// In so many sittings.
const SITTINGS: usize = 5;

/// How often a wait looks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The most points that are simulated at a time.
const SIMULATED_AT_A_TIME: usize = 8;

/// What all plans of a command have in common.
pub struct Lab<'a> {
    /// Our own program, whose `run` and `bench null` are started.
    pub aldis: PathBuf,
    /// The folder of all results.
    pub out: PathBuf,
    /// Which form.
    pub form: results::RunForm,
    /// What all chance follows from.
    pub seed: u64,
    /// What the steps of a worker cost; measured when it is first needed, where nothing is given.
    pub costs: Option<sim::Costs>,
    /// The commit of the repository that the program lies in, when it runs.
    pub commit: String,
    /// The command that ran it.
    pub command: String,
    /// What a plan may take beyond its budget before the rest of it is left out.
    pub overtime: Duration,
    /// Set when everything is to end.
    pub stop: &'a AtomicBool,
}

/// What a run tells while it runs.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'a> {
    /// The costs of a simulation are being measured.
    Calibrating,
    /// A plan begins, with so many points and about so many seconds.
    Begins(&'a Plan, usize, Duration),
    /// The next point, and what it takes about.
    Point(&'a PlanPoint, Duration),
    /// A point is done, or was left out.
    Done(Duration),
    /// Something that a person wants to know now: a controller that is missing, or that died.
    Told(&'a str),
}

/// What came of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunEnd {
    /// Where the results are.
    pub folder: PathBuf,
    /// Rows that were written.
    pub rows: usize,
    /// Why something is missing, if anything is.
    pub partial: Option<String>,
}

/// Why there are no results, or no more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFailure(String);

impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunFailure {}

type Tell<'a> = &'a mut dyn FnMut(RunEvent<'_>);

impl Lab<'_> {
    /// Runs a plan and writes its results. Controllers end with the calling thread, whatever ends
    /// that.
    ///
    /// # Errors
    /// Results cannot be written, or nothing could be simulated. What was written before stays, and
    /// says that it is partial. A controller that fails is no error: see [`RunEnd::partial`].
    pub fn run(&mut self, plan: &Plan, tell: Tell<'_>) -> Result<RunEnd, RunFailure> {
        let of = |why: String| RunFailure(format!("{}: {why}", plan.name));
        let expansion = plan.expand(self.form, pin::cores().len().max(1)).map_err(of)?;
        if expansion.points.iter().any(|point| point.origin == ValueOrigin::Simulated) {
            self.calibrate(tell).map_err(of)?;
        }
        let meta = self.meta(plan);
        let writer = ResultsWriter::create(&self.out, &meta, &plan.text)
            .map_err(|refused| of(refused.to_string()))?;
        let form = plan.form(self.form);
        let all = seconds::of_all(plan, &form, &expansion.points);
        tell(RunEvent::Begins(plan, expansion.points.len() * form.repeats as usize, all));
        let budget = Duration::from_secs(form.seconds.into());
        let mut running = PlanRunning {
            deadline: Instant::now() + budget + self.overtime,
            lab: self,
            plan,
            form,
            writer,
            rows: 0,
            notes: Vec::new(),
            faults: Vec::new(),
            dropped: HashSet::new(),
            capacities: HashMap::new(),
        };
        let ran = running.run(&expansion, tell);
        running.end(meta, expansion.notes, ran)
    }

    fn calibrate(&mut self, tell: Tell<'_>) -> Result<(), String> {
        if self.costs.is_none() {
            tell(RunEvent::Calibrating);
            let sit = |_| {
                let length = CALIBRATE / SITTINGS as u32;
                calibrate::run(length, Conditions::default(), self.stop, &mut |_| {})
            };
            let sittings: Result<Vec<_>, _> = (0..SITTINGS).map(sit).collect();
            let sittings = sittings.map_err(|failure| failure.to_string())?;
            self.costs = Some(crate::simulate::costs(&Calibration::of(&sittings).values().costs));
        }
        Ok(())
    }

    fn meta(&self, plan: &Plan) -> Meta {
        Meta {
            plan: plan.name.clone(),
            source: plan.said.source.clone(),
            title: plan.said.title.clone(),
            form: self.form,
            aldis: env!("CARGO_PKG_VERSION").into(),
            commit: self.commit.clone(),
            command: self.command.clone(),
            seed: i64::try_from(self.seed).unwrap_or(i64::MAX),
            date: calibrate::today(),
            partial: false,
            why: None,
            notes: Vec::new(),
            machine: MachineInfo::here(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A plan that is being run.
struct PlanRunning<'a, 'b> {
    lab: &'a Lab<'b>,
    plan: &'a Plan,
    form: PlanForm,
    /// When the rest is left out.
    deadline: Instant,
    writer: ResultsWriter,
    rows: usize,
    notes: Vec<String>,
    /// What went wrong, a sentence each.
    faults: Vec<String>,
    /// Subjects that are missing or failed: they are not tried again.
    dropped: HashSet<String>,
    capacities: HashMap<String, f64>,
}

impl PlanRunning<'_, '_> {
    fn run(&mut self, expansion: &Expansion, tell: Tell<'_>) -> Result<(), String> {
        self.look_for_foreign(&expansion.points, tell);
        let (measured, simulated): (Vec<&PlanPoint>, Vec<&PlanPoint>) =
            expansion.points.iter().partition(|point| point.origin == ValueOrigin::Measured);
        for repeat in 0..self.form.repeats {
            for &point in &measured {
                let length = seconds::of(self.run_of(point), &self.form, point);
                if self.lab.is_stopped() || self.is_late(tell) {
                    return Ok(());
                }
                if !self.dropped.contains(point.subject.name()) {
                    tell(RunEvent::Point(point, length));
                    self.measure(point, repeat, tell)?;
                }
                tell(RunEvent::Done(length));
            }
        }
        self.simulate(&simulated, tell)
    }

    fn run_of(&self, point: &PlanPoint) -> &PlanRun {
        self.plan.said.runs[point.run].get_ref()
    }

    /// Says which controllers of other projects are not here.
    fn look_for_foreign(&mut self, points: &[PlanPoint], tell: Tell<'_>) {
        for point in points {
            let PointSubject::Foreign(controller) = &point.subject else { continue };
            if self.dropped.contains(&controller.name) {
                continue;
            }
            if let Err(missing) = controller_process::present(controller) {
                tell(RunEvent::Told(&missing));
                self.dropped.insert(controller.name.clone());
                self.notes.push(missing);
            }
        }
    }

    fn measure(&mut self, point: &PlanPoint, repeat: u32, tell: Tell<'_>) -> Result<(), String> {
        let (run, form) = (self.run_of(point).clone(), self.form);
        let aldis = self.lab.aldis.clone();
        let bench = MeasureBench {
            aldis: &aldis,
            run: &run,
            form: &form,
            seed: self.lab.seed.wrapping_add(repeat.into()),
            until: self.deadline,
            stop: self.lab.stop,
        };
        let measured = self.capacity(&bench, point);
        match measured.and_then(|capacity| bench.measure(point, capacity)) {
            Ok(measured) => self.write(rows::of_measured(point, &run, repeat, &measured)),
            Err(_) if self.lab.is_stopped() => Ok(()),
            Err(why) => {
                self.fault(point, &why, tell);
                Ok(())
            }
        }
    }

    /// Whether the plan has had its time and more, which is then told, once.
    fn is_late(&mut self, tell: Tell<'_>) -> bool {
        let late = Instant::now() >= self.deadline;
        if late {
            let (budget, overtime) = (self.form.seconds, self.lab.overtime.as_secs());
            let sentence = format!(
                "{}: after its {budget} s and {overtime} s more not everything was run; the rest is left out",
                self.plan.name
            );
            tell(RunEvent::Told(&sentence));
            self.faults.push(sentence);
        }
        late
    }

    /// What the point's rates are parts of: measured once.
    fn capacity(&mut self, bench: &MeasureBench<'_>, point: &PlanPoint) -> Result<f64, String> {
        if !point.needs_capacity() {
            return Ok(0.0);
        }
        let key = point.capacity_key();
        if let Some(known) = self.capacities.get(&key) {
            return Ok(*known);
        }
        let (capacity, limited) = bench.capacity(point)?;
        if limited {
            let (name, workers) = (point.subject.name(), point.workers);
            self.notes.push(format!(
                "{name}, {workers} worker{}, {} switches: the load was less than 5 % idle while the capacity was measured, which may be more than its rates are parts of.",
                if workers == 1 { "" } else { "s" },
                point.switches
            ));
        }
        self.capacities.insert(key, capacity);
        Ok(capacity)
    }

    fn fault(&mut self, point: &PlanPoint, why: &str, tell: Tell<'_>) {
        let file = self.writer.folder().join(results::POINTS);
        let sentence = format!(
            "{}, {}: {why}; {} keeps what came before, and the rest of {} is left out",
            self.plan.name,
            point.label(),
            file.display(),
            point.subject.name()
        );
        tell(RunEvent::Told(&sentence));
        self.dropped.insert(point.subject.name().to_owned());
        self.faults.push(sentence);
    }

    /// Simulates all of them, some at a time; rows are written in the order of the points.
    fn simulate(&mut self, points: &[&PlanPoint], tell: Tell<'_>) -> Result<(), String> {
        let Some(costs) = self.lab.costs else { return Ok(()) };
        let stages = points.iter().map(|point| {
            let stage = SimulationBench::new(self.run_of(point), &self.form, costs, self.lab.seed);
            ((*point).clone(), stage)
        });
        let outcomes = in_threads(stages.collect());
        let mut waiting: HashMap<usize, Result<Simulated, String>> = HashMap::new();
        for (index, &point) in points.iter().enumerate() {
            let run = self.run_of(point).clone();
            let length = seconds::of(&run, &self.form, point);
            tell(RunEvent::Point(point, length));
            while !waiting.contains_key(&index) {
                if self.lab.is_stopped() || self.is_late(tell) {
                    return Ok(());
                }
                match outcomes.recv_timeout(LOOK_EVERY) {
                    Ok((index, outcome)) => drop(waiting.insert(index, outcome)),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err("a simulation broke off".into());
                    }
                }
            }
            match waiting.remove(&index) {
                Some(Ok(simulated)) => {
                    self.write(rows::of_simulated(point, &run, &simulated))?;
                }
                Some(Err(why)) => self.fault(point, &why, tell),
                None => {}
            }
            tell(RunEvent::Done(length));
        }
        Ok(())
    }

    fn write(&mut self, rows: Vec<results::Point>) -> Result<(), String> {
        for row in rows {
            self.writer.point(&row).map_err(|refused| refused.to_string())?;
            self.rows += 1;
        }
        Ok(())
    }

    fn end(
        self,
        meta: Meta,
        notes: Vec<String>,
        ran: Result<(), String>,
    ) -> Result<RunEnd, RunFailure> {
        let of = |why: String| RunFailure(format!("{}: {why}", self.plan.name));
        let mut faults = self.faults;
        if self.lab.is_stopped() {
            faults.push("It was told to stop before everything was run.".into());
        }
        // Nothing more can be written: what is there says that it is partial.
        ran.map_err(of)?;
        let why = (!faults.is_empty()).then(|| faults.join(" · "));
        let meta = Meta {
            partial: why.is_some(),
            why: why.clone(),
            notes: notes.into_iter().chain(self.notes).collect(),
            ..meta
        };
        let folder = self.writer.finish(&meta).map_err(|refused| of(refused.to_string()))?;
        Ok(RunEnd { folder, rows: self.rows, partial: why })
    }
}

/// Simulates on threads of their own, which are left behind when they are not waited for any more:
/// a simulation cannot be interrupted, and ends with the process.
fn in_threads(
    stages: Vec<(PlanPoint, SimulationBench)>,
) -> Receiver<(usize, Result<Simulated, String>)> {
    let (sender, outcomes) = channel();
    let stages = Arc::new((AtomicUsize::new(0), stages));
    for _ in 0..pin::cores().len().clamp(1, SIMULATED_AT_A_TIME).min(stages.1.len()) {
        let (stages, sender) = (Arc::clone(&stages), sender.clone());
        std::thread::spawn(move || {
            loop {
                let index = stages.0.fetch_add(1, Ordering::Relaxed);
                let Some((point, stage)) = stages.1.get(index) else { return };
                if sender.send((index, stage.simulate(point))).is_err() {
                    return;
                }
            }
        });
    }
    outcomes
}
