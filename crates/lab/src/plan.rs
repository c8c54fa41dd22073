//! A plan: what one figure or table of a paper is made of, as a TOML file that a person can read
//! and change.
//!
//! A plan has the source, a sentence of what is expected, forms (`quick`, `full` and, where that is
//! longer still, `long`) and runs. A run is a product: subjects × workers × switches × spreads ×
//! rates × knobs; each combination is a point ([`expand`]), with one value for each metric and
//! repeat. What is drawn of it stands in `[[plot]]` and `[[paper]]` ([`crate::figure`]).
//!
//! An unknown key or a combination that cannot be is refused with file, line and what is accepted.

pub mod catalogue;
mod check;
mod controller;
pub mod expand;
mod knobs;
mod metric;
mod rate;

pub use controller::ControllerCommand;
pub(crate) use controller::OURS;
pub use knobs::PlanKnobs;
pub use metric::PlanMetric;
pub use rate::OfferedRate;

use crate::results;
use aldis_emulator::load::DemandSpread;
use serde::Deserialize;
use std::fmt;
use std::path::Path;
use toml::Spanned;

/// The largest plan that is read, in bytes.
const FILE_MAX: u64 = 256 * 1024;

/// A plan as it was read.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `maestro/figure-7`: the folder of its results.
    pub name: String,
    /// What it says.
    pub said: PlanFile,
    /// The file's text, which is kept with the results.
    pub text: String,
}

/// What a plan's file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanFile {
    /// What the figure shows.
    pub title: String,
    /// What it reproduces: `Maestro, figure 7`.
    pub source: String,
    /// What is expected to be seen, in a sentence.
    pub expected: String,
    /// What a reader has to know of the settings, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// At most a minute.
    pub quick: PlanForm,
    /// Every point, as often and as long as it takes to tell one from another.
    pub full: PlanForm,
    /// The same for as long as the paper measured; the full form stands for it where there is none.
    pub long: Option<PlanForm>,
    /// Controllers that only this plan knows.
    #[serde(default, rename = "controller")]
    pub controllers: Vec<Spanned<ControllerCommand>>,
    /// What is run.
    #[serde(rename = "run")]
    pub runs: Vec<Spanned<PlanRun>>,
    /// What is drawn.
    #[serde(default, rename = "plot")]
    pub plots: Vec<crate::figure::Plot>,
    /// What the paper has.
    #[serde(default, rename = "paper")]
    pub papers: Vec<crate::figure::Paper>,
}

/// How thoroughly a plan is run.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanForm {
    /// What it may take on two cores, in seconds: its budget.
    pub seconds: u32,
    /// How often each measured point is repeated, in turn with the others.
    #[serde(default = "one")]
    pub repeats: u32,
    /// Before anything is measured, in milliseconds.
    #[serde(default = "half_a_second")]
    pub warm_up_ms: u32,
    /// How long each point is measured, in milliseconds; of a run with steps, each step.
    pub measure_ms: u32,
    /// Probing switches, where a run has any: stands for the run's own number.
    pub probes: Option<u32>,
    /// How many requests each simulated point serves, about.
    #[serde(default = "five_million")]
    pub simulated_requests: u64,
}

fn one() -> u32 {
    1
}

fn half_a_second() -> u32 {
    500
}

fn five_million() -> u64 {
    5_000_000
}

/// A product of what is varied.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanRun {
    /// Designs by name, `null` (the null controller), or controllers of other projects.
    pub subjects: Vec<String>,
    /// What stands on the x axis.
    pub x: PlanAxis,
    /// The word on the x axis where that is `case`.
    pub case: Option<String>,
    /// The legend's name, with `{subject}`, `{workers}`, `{switches}`, `{macs}`, `{spread}`,
    /// `{rate}`, `{ibt}`, `{bdu-us}` and `{prt}` replaced; without it, the subject and whatever
    /// else has several values.
    pub series: Option<String>,
    /// What is measured.
    pub metrics: Vec<PlanMetric>,
    /// Workers.
    #[serde(default = "one_worker")]
    pub workers: Vec<usize>,
    /// Switches, beside those that probe.
    #[serde(default = "of_the_paper")]
    pub switches: Vec<u32>,
    /// Addresses a switch.
    #[serde(default = "a_thousand")]
    pub macs: Vec<u32>,
    /// How a rate is divided among the switches.
    #[serde(default = "even", deserialize_with = "rate::spreads")]
    pub spread: Vec<DemandSpread>,
    /// What all switches together offer.
    #[serde(default = "full")]
    pub rates: Vec<OfferedRate>,
    /// Rates that follow each other in one point, instead of `rates`.
    #[serde(default)]
    pub steps: Vec<OfferedRate>,
    /// Input batching thresholds: with fixed batching.
    #[serde(default)]
    pub ibt: Vec<usize>,
    /// Batching delay upper bounds, in microseconds: with adaptive batching.
    #[serde(default)]
    pub bdu_us: Vec<u64>,
    /// Pending request thresholds.
    #[serde(default)]
    pub prt: Vec<usize>,
    /// What else is different from the designs.
    #[serde(default)]
    pub knobs: PlanKnobs,
    /// One request outstanding a switch: cbench's latency mode.
    #[serde(default)]
    pub latency: bool,
    /// So many requests outstanding a switch, instead of as many as its socket takes.
    pub outstanding: Option<u32>,
    /// Workers that spin instead of sleep.
    #[serde(default)]
    pub poll: bool,
    /// Probing switches.
    #[serde(default)]
    pub probes: u32,
    /// Requests a second of each.
    #[serde(default = "five")]
    pub probe_rate: f64,
    /// Do not tell the controller beforehand where the addresses live.
    #[serde(default)]
    pub no_teach: bool,
    /// Switches that connect at once (cbench's `-i`).
    pub connect_group: Option<u32>,
    /// The pause behind such a group, in milliseconds (cbench's `-I`).
    #[serde(default)]
    pub connect_pause_ms: u32,
    /// Whether a point with as many workers as there are cores is measured too, with the load on
    /// the same cores: for CPU time and shares, since its rate says nothing.
    #[serde(default)]
    pub share_cores: bool,
    /// Whether what does not fit on the machine is simulated; else it is left out.
    #[serde(default = "yes")]
    pub simulate: bool,
    /// Only in these forms; the long one has what the full one has.
    pub forms: Option<Vec<results::RunForm>>,
    /// What is varied less in the quick form.
    #[serde(default)]
    pub quick: Fewer,
}

/// Lists that stand for those of the run in the quick form.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fewer {
    /// See [`PlanRun::subjects`], and so on.
    pub subjects: Option<Vec<String>>,
    /// Workers.
    pub workers: Option<Vec<usize>>,
    /// Switches.
    pub switches: Option<Vec<u32>>,
    /// Addresses a switch.
    pub macs: Option<Vec<u32>>,
    /// Rates.
    pub rates: Option<Vec<OfferedRate>>,
    /// Thresholds.
    pub ibt: Option<Vec<usize>>,
    /// Bounds.
    pub bdu_us: Option<Vec<u64>>,
    /// Thresholds.
    pub prt: Option<Vec<usize>>,
}

fn one_worker() -> Vec<usize> {
    vec![1]
}

fn of_the_paper() -> Vec<u32> {
    vec![79]
}

fn a_thousand() -> Vec<u32> {
    vec![1000]
}

fn even() -> Vec<DemandSpread> {
    vec![DemandSpread::Even]
}

fn full() -> Vec<OfferedRate> {
    vec![OfferedRate::Full]
}

fn five() -> f64 {
    5.0
}

fn yes() -> bool {
    true
}

/// What stands on the x axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanAxis {
    /// The number of workers.
    Workers,
    /// Requests a second offered, as a number.
    Rate,
    /// The rate as the plan says it, as a word.
    Load,
    /// The number of switches.
    Switches,
    /// Addresses a switch.
    Macs,
    /// The input batching threshold.
    Ibt,
    /// The batching delay upper bound, in microseconds.
    BduUs,
    /// The pending request threshold.
    Prt,
    /// The subject, as a word.
    Subject,
    /// The run's `case`, as a word.
    Case,
}

/// The sentence that says which plan cannot be used and why, with the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanError(String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Reads a file. The plan's name is the file's, with the folder it is in where that is one of
    /// the papers'.
    ///
    /// # Errors
    /// Which file and line are wrong, and why.
    pub fn read(path: &Path) -> Result<Plan, PlanError> {
        let shown = path.display();
        let failed = |error: std::io::Error| PlanError(format!("cannot read {shown}: {error}"));
        if std::fs::metadata(path).map_err(failed)?.len() > FILE_MAX {
            return Err(PlanError(format!(
                "{shown} is larger than {FILE_MAX} bytes, and so no plan"
            )));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Plan::parse(&catalogue::name_of(path), &shown.to_string(), text)
    }

    /// The same from its text; `file` is what an error names.
    ///
    /// # Errors
    /// Which line is wrong, and why.
    pub fn parse(name: &str, file: &str, text: String) -> Result<Plan, PlanError> {
        let said: PlanFile = toml::from_str(&text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            PlanError(match error.span() {
                Some(span) => format!("{file}:{}: {message}", place(&text, span.start)),
                None => format!("{file}: {message}"),
            })
        })?;
        let plan = Plan { name: name.to_owned(), said, text };
        plan.check()
            .map_err(|(at, why)| PlanError(format!("{file}:{}: {why}", line_at(&plan.text, at))))?;
        Ok(plan)
    }

    /// One of its forms.
    pub fn form(&self, form: results::RunForm) -> PlanForm {
        match form {
            results::RunForm::Quick => self.said.quick,
            results::RunForm::Full => self.said.full,
            results::RunForm::Long => self.said.long.unwrap_or(self.said.full),
        }
    }

    /// The controller of another project that has this name.
    pub fn controller(&self, name: &str) -> Option<ControllerCommand> {
        let mut own = self.said.controllers.iter().map(|own| own.get_ref());
        own.find(|own| own.name == name).cloned().or_else(|| catalogue::controller(name))
    }
}

/// `LINE: KEY`, as far as there is a key in the line.
fn place(text: &str, at: usize) -> String {
    let line = line_at(text, at);
    let key = text.lines().nth(line - 1).and_then(|line| line.split_once('='));
    key.map_or_else(|| line.to_string(), |(key, _)| format!("{line}: {}", key.trim()))
}

/// The number of the line that holds this byte.
fn line_at(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
