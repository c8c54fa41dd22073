//! Reports of what was found: one HTML file that opens offline, Markdown with pictures for the
//! documents, and tables for a terminal.
//!
//! A report is made of folders of [`results`] alone. The figures come from the copy of the plan
//! beside the points, so that a report of old results stays what it was. What a person has to say
//! of an experiment, what agrees with the paper and what does not, is a Markdown file of its own,
//! `experiments/maestro/figure-7.md`, which a report takes in and never writes. Its numbers are
//! taken from the results. An experiment that ran on several machines has one page, and the machine
//! with the most cores stands first on it.

mod discussion;
mod html;
mod markdown;
mod prose;
mod tables;
mod text;

pub use discussion::check as check_discussion;

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use aldis_emulator::load::CONGESTION;
use serde::Deserialize;

use crate::figure::{self, Paper, Plot};
use crate::plan::catalogue;
use crate::plot::Figure;
use crate::results::{
    self, NAME_BYTES_MAX, PLAN, Results, ResultsError, RunForm, TEXT_BYTES_MAX, ValueMark,
    ValueOrigin,
};

/// All experiments of a report, in the papers' order; others come behind those of the catalogue, by
/// name, numbers by size. Those of one plan follow each other, most cores first.
#[derive(Clone, PartialEq, Debug)]
pub struct PapersReport {
    /// What could be read.
    pub experiments: Vec<ReportedExperiment>,
    /// Folders that could not be read, and why, a sentence each.
    pub refused: Vec<String>,
}

/// One experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct ReportedExperiment {
    /// What was found.
    pub results: Results,
    /// Where it lies.
    pub folder: PathBuf,
    /// What is drawn of it.
    pub figures: Vec<Figure>,
    /// What the papers say in words: whose, what, where.
    pub says: Vec<PaperSentence>,
    /// What a person says of it, in Markdown, with the numbers of these results.
    pub discussion: Option<String>,
    /// The file of that, without its folder: `figure-7.md` or `figure-7.16-cores.md`.
    pub discussion_file: String,
    /// Whether the plan has anything of a paper to compare with.
    pub has_paper: bool,
    /// What could not be drawn, and why, a sentence each.
    pub problems: Vec<String>,
    /// What tells these results from others of the same plan, `16 cores`; nothing where there are
    /// no others.
    pub machine: Option<String>,
}

/// A sentence of a paper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaperSentence {
    /// Its system.
    pub series: String,
    /// What it says.
    pub sentence: String,
    /// Where.
    pub from: String,
}

/// What a report reads of a plan; a plan says more.
#[derive(Deserialize)]
struct ReportPlan {
    #[serde(default)]
    plot: Vec<Plot>,
    #[serde(default)]
    paper: Vec<Paper>,
}

impl PapersReport {
    /// Reads all results below `dir`, and below `discussions`, where that is given, what a person
    /// says of each.
    ///
    /// # Errors
    /// That there are no results, or what keeps the folder from being searched. Single results that
    /// cannot be read are told in the report.
    pub fn read(dir: &Path, discussions: Option<&Path>) -> Result<PapersReport, ResultsError> {
        let folders = results::find(dir)?;
        if folders.is_empty() {
            let why = format!("no results in {}: no folder there has a meta.toml", dir.display());
            return Err(ResultsError(format!("{why}; `aldis lab run` makes some")));
        }
        let mut report = PapersReport { experiments: Vec::new(), refused: Vec::new() };
        for folder in folders {
            match ReportedExperiment::read(&folder, discussions) {
                Ok(experiment) => report.experiments.push(experiment),
                Err(refused) => report.refused.push(refused.to_string()),
            }
        }
        report.experiments.sort_by_key(|experiment| {
            let meta = &experiment.results.meta;
            (place(&meta.plan), Reverse(meta.machine.cores))
        });
        report.tell_machines_apart();
        Ok(report)
    }

    /// Says of which machine results are where a plan has several. Two of one plan from machines
    /// with as many cores would be one page's two answers: the second is refused.
    fn tell_machines_apart(&mut self) {
        let of = |one: &ReportedExperiment| {
            let meta = &one.results.meta;
            (meta.plan.clone(), meta.machine.cores)
        };
        self.experiments.dedup_by(|second, first| {
            let same = of(second) == of(first);
            if same {
                let (plan, cores) = of(first);
                let [first, second] = [first, second].map(|one| one.folder.display().to_string());
                self.refused.push(format!(
                    "{second}: {first} has results of {plan} from a machine with {cores} cores already; name one of both"
                ));
            }
            same
        });
        for part in self.experiments.chunk_by_mut(same_plan).filter(|part| part.len() > 1) {
            for one in part {
                one.machine = Some(cores(one.results.meta.machine.cores));
            }
        }
    }

    /// The page: HTML that needs nothing from outside.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// What the plans draw as tables, for a terminal, the papers' values in the rows below ours;
    /// empty where no plan draws one.
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// Writes the page.
    ///
    /// # Errors
    /// What the system refuses, with the file's name.
    pub fn write_html(&self, path: &Path) -> Result<(), ResultsError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make(folder)?;
        }
        results::write(path, &self.html())
    }

    /// Writes `README.md`, and a page an experiment with its pictures beside. Returns how many
    /// files.
    ///
    /// # Errors
    /// What the system refuses, with the file's name.
    pub fn write_markdown(&self, dir: &Path) -> Result<usize, ResultsError> {
        let files = markdown::files(self);
        for (name, text) in &files {
            let path = dir.join(name);
            make(path.parent().unwrap_or(dir))?;
            results::write(&path, text)?;
        }
        Ok(files.len())
    }
}

fn make(folder: &Path) -> Result<(), ResultsError> {
    fs::create_dir_all(folder)
        .map_err(|error| ResultsError(format!("cannot make {}: {error}", folder.display())))
}

impl ReportedExperiment {
    fn read(folder: &Path, discussions: Option<&Path>) -> Result<ReportedExperiment, ResultsError> {
        let results = Results::read(folder)?;
        // A name that leads elsewhere is refused before a file is looked for by it, or written.
        let name = results::folder_of(&results.meta.plan)?;
        let machine = format!("{}-cores.md", results.meta.machine.cores);
        let discussion = discussions.and_then(|dir| {
            [&*machine, "md"]
                .map(|extension| dir.join(name.with_added_extension(extension)))
                .into_iter()
                .find(|path| path.is_file())
        });
        let mut experiment = ReportedExperiment::new(results, folder);
        if let Some(path) = discussion {
            let file = path.file_name().unwrap_or_default();
            experiment.discussion_file = file.to_string_lossy().into_owned();
            experiment.discuss(&path)?;
        }
        Ok(experiment)
    }

    /// Takes in what a person says, with the numbers of these results. A quick run has fewer
    /// points: where it lacks a value, the discussion is left out, and the page says so.
    fn discuss(&mut self, path: &Path) -> Result<(), ResultsError> {
        let text = results::text(path, TEXT_BYTES_MAX)?;
        let first = self.figures.first().and_then(|figure| figure.plot.metrics().next());
        let metric = first.map(|axis| axis.metric.clone()).unwrap_or_default();
        match discussion::render(&text, &self.results.points, &metric) {
            Ok(text) => self.discussion = Some(text),
            Err(why) => {
                let why = format!("{}, {why}", path.display());
                if self.results.meta.form != RunForm::Quick && !self.results.partial() {
                    return Err(ResultsError(why));
                }
                self.problems
                    .push(format!("The discussion, which this run lacks values for: {why}."));
            }
        }
        Ok(())
    }

    /// Draws the results of a folder.
    fn new(results: Results, folder: &Path) -> ReportedExperiment {
        let mut problems = Vec::new();
        let plan = parse(results.plan.as_deref(), &folder.join(PLAN)).unwrap_or_else(|why| {
            problems.push(why);
            ReportPlan { plot: Vec::new(), paper: Vec::new() }
        });
        let draw = |plot: &Plot| Figure::new(plot, &results.points, &plan.paper);
        let figures: Vec<Figure> = plan.plot.iter().map(draw).collect();
        let has_paper = !plan.paper.is_empty();
        for figure in &figures {
            let title = &figure.plot.title;
            problems.extend(figure.left_out.iter().map(|why| format!("{title}: {why}.")));
            if figure.is_empty() {
                problems.push(format!("{title}: there is no value to draw."));
            }
        }
        let says = plan.paper.into_iter().filter_map(|paper| {
            let Paper { series, says, from, .. } = paper;
            let series = figure::called(&series, true);
            says.map(|sentence| PaperSentence { series, sentence, from })
        });
        let says = says.collect();
        ReportedExperiment {
            results,
            folder: folder.into(),
            figures,
            says,
            discussion: None,
            discussion_file: String::new(),
            has_paper,
            problems,
            machine: None,
        }
    }

    /// What stands above the discussion.
    fn discussed(&self) -> &'static str {
        match self.has_paper {
            true => "What agrees with the paper, and what does not",
            false => "What agrees with the expectation, and what does not",
        }
    }

    /// The name in links: `maestro-figure-7`, `maestro-figure-7-16-cores`.
    fn anchor(&self) -> String {
        self.name().replace('/', "-")
    }

    /// What its pictures are called: as the plan, and where the plan has results of several
    /// machines, as the machine too: `maestro/figure-7-16-cores`.
    fn name(&self) -> String {
        let machine = self.machine.iter().map(|machine| format!("-{}", machine.replace(' ', "-")));
        std::iter::once(self.results.meta.plan.clone()).chain(machine).collect()
    }

    /// Why not everything is here; nothing where everything is.
    fn partial(&self) -> Option<String> {
        let meta = &self.results.meta;
        let mut reasons: Vec<String> = Vec::new();
        if meta.partial {
            reasons.push(meta.why.clone().unwrap_or_else(|| "the run did not end".into()));
        }
        if self.results.cut {
            reasons.push("the last line of the points was cut off, and is left out".into());
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// What was simulated, in a sentence; nothing where nothing was.
    fn simulated(&self) -> Option<String> {
        let points = &self.results.points;
        let simulated = points.iter().filter(|point| point.origin == ValueOrigin::Simulated);
        let mut series: Vec<String> = Vec::new();
        let mut count = 0;
        for point in simulated {
            count += 1;
            let called = figure::called(&point.series, false);
            if !series.contains(&called) {
                series.push(called);
            }
        }
        let all = points.len();
        (count > 0).then(|| {
            let of = if count == all { format!("All {all}") } else { format!("{count} of {all}") };
            format!("{of} values are simulated ({}), drawn hollow and dashed.", series.join("; "))
        })
    }

    /// How many values the generator limited, in a sentence; nothing where it limited none.
    fn limited(&self) -> Option<String> {
        let points = &self.results.points;
        let count = points.iter().filter(|point| point.mark == ValueMark::GeneratorLimited).count();
        (count > 0).then(|| {
            format!(
                "{count} of {} values are generator-limited: the emulator was less than 5 % idle, and the controller could \
                 have served more. They meet no goal.",
                points.len()
            )
        })
    }

    /// What is to be known of how it was found: a name and words each.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let meta = &self.results.meta;
        let machine = &meta.machine;
        let machine = format!("{}, {}, {}", machine.cpu, cores(machine.cores), machine.kernel);
        let measured =
            self.results.points.iter().any(|point| point.origin == ValueOrigin::Measured);
        let load = measured.then(|| {
            ("Load", format!("sent by TCP {CONGESTION}, whatever the system's choice is"))
        });
        let facts = [
            ("Source", meta.source.clone()),
            ("Form", meta.form.name().into()),
            ("Command", meta.command.clone()),
            ("Aldis", format!("{}, commit {}", meta.aldis, meta.commit)),
            ("Seed", meta.seed.to_string()),
            ("Date", meta.date.clone()),
            ("Machine", machine),
            ("Values", self.results.points.len().to_string()),
        ];
        facts.into_iter().chain(load).collect()
    }
}

/// Whether both are of one plan, and so of one page.
fn same_plan(one: &ReportedExperiment, other: &ReportedExperiment) -> bool {
    one.results.meta.plan == other.results.meta.plan
}

/// `1 core`, `16 cores`.
fn cores(count: usize) -> String {
    format!("{count} core{}", if count == 1 { "" } else { "s" })
}

/// Where a plan stands among others: its place in the catalogue, and its name with all numbers
/// equally long.
fn place(plan: &str) -> (usize, String) {
    let known = catalogue::names().position(|name| name == plan).unwrap_or(usize::MAX);
    let mut name = String::new();
    for piece in plan.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let number = piece.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let _ = match number {
            "" => write!(name, "{piece}"),
            number => write!(name, "{number:0>NAME_BYTES_MAX$}{}", &piece[number.len()..]),
        };
    }
    (known, name)
}

/// What a plan's copy says of the figures, or why it cannot be used.
fn parse(text: Option<&str>, path: &Path) -> Result<ReportPlan, String> {
    let path: PathBuf = path.into();
    let text =
        text.ok_or_else(|| format!("There is no {}: nothing says what to draw.", path.display()))?;
    let plan: ReportPlan = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        format!("{}, line {line}: {message}.", path.display())
    })?;
    figure::check(&plan.plot, &plan.paper).map_err(|why| format!("{}: {why}.", path.display()))?;
    Ok(plan)
}

#[cfg(test)]
mod tests;
