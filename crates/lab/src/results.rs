//! What an experiment found, as files that outlive the program: a folder a plan,
//! `OUT/maestro/figure-7/`.
//!
//! - `meta.toml`: what ran, where, from which seed, and whether it ended: see [`Meta`].
//! - `points.csv`: one point a line, flushed as it is found, so that a run that dies leaves what it
//!   had: see [`Point`].
//! - `plan.toml`: the plan's text, word for word, so that the figure can be drawn and the run
//!   repeated.
//!
//! A folder says that it is partial until [`ResultsWriter::finish`] says otherwise. What is read
//! may come from anywhere: sizes have bounds, and an error names the file and the line. Figures are
//! drawn elsewhere.

mod csv;
mod meta;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use meta::{Meta, RunForm};

/// The file that says what ran.
pub const META: &str = "meta.toml";
/// The file of points.
pub const POINTS: &str = "points.csv";
/// The plan's text.
pub const PLAN: &str = "plan.toml";

/// The largest file of points that is read, in bytes: half a million lines and more.
pub const POINTS_BYTES_MAX: u64 = 64 << 20;
/// The largest `meta.toml` or `plan.toml` that is read, in bytes.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;
/// The longest name of a series, metric, unit or category, in bytes: a legend has no room for more.
pub const NAME_BYTES_MAX: usize = 120;
/// The most repeats of a point.
pub const REPEATS_MAX: u32 = 10_000;
/// How deep below the folder that is asked for results are looked for.
const DEPTH_MAX: usize = 4;
/// The most folders of results that are read at once: ten times the papers' figures.
const FOLDERS_MAX: usize = 400;

/// One measured (or simulated) value.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The legend's name: a design preset or a foreign controller.
    pub series: String,
    /// Where it stands on the axis: a number or a category. In a distribution the sample's number.
    pub x: X,
    /// What was measured: `throughput`, `probing-delay-mean`, `deviation`.
    pub metric: String,
    /// How much, finite, in `unit`.
    pub value: f64,
    /// The unit of `value`: `rps`, `ms`, `%`; empty for a plain number.
    pub unit: String,
    /// Which repetition of the same point, from 0, below [`REPEATS_MAX`].
    pub repeat: u32,
    /// Whether a clock or a simulation said so.
    pub origin: ValueOrigin,
    /// What is to be known before it is believed.
    pub mark: ValueMark,
}

/// A place on the axis: a number or a category.
#[derive(Clone, PartialEq, PartialOrd, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or a category's name")]
pub enum X {
    /// A number, finite.
    Number(f64),
    /// A category.
    Word(String),
}

impl fmt::Display for X {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            X::Number(number) => write!(f, "{number}"),
            X::Word(word) => f.write_str(word),
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ValueOrigin {
    /// From a run on this machine.
    Measured,
    /// From simulated cores and sockets.
    Simulated,
}

/// What is to be known of a value before it is believed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ValueMark {
    /// Nothing.
    None,
    /// The emulator was less than 5 % idle: the value is a bound of its own, and meets no goal.
    GeneratorLimited,
}

/// A folder of results as it is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// What ran.
    pub meta: Meta,
    /// The points in the order in which they were found.
    pub points: Vec<Point>,
    /// The plan's text, where a copy lies beside.
    pub plan: Option<String>,
    /// The last line of the points was cut off, and is left out.
    pub cut: bool,
}

impl Results {
    /// Reads a folder.
    ///
    /// # Errors
    /// Which file and line cannot be used, and why. A last line without an end is no error: see
    /// [`Results::cut`].
    pub fn read(folder: &Path) -> Result<Results, ResultsError> {
        let meta = folder.join(META);
        let meta = Meta::parse(&text(&meta, TEXT_BYTES_MAX)?).map_err(|why| at(&meta, why))?;
        let plan = folder.join(PLAN);
        let plan = plan.exists().then(|| text(&plan, TEXT_BYTES_MAX)).transpose()?;
        let points = folder.join(POINTS);
        let bytes = bytes(&points, POINTS_BYTES_MAX)?;
        let (points, cut) = csv::parse(&bytes).map_err(|why| at(&points, why))?;
        Ok(Results { meta, points, plan, cut })
    }

    /// Whether not everything is here that the plan asked for.
    pub fn partial(&self) -> bool {
        self.meta.partial || self.cut
    }
}

/// The folders below `dir` (or `dir` itself) that hold results, in the order of their paths.
///
/// # Errors
/// What cannot be read, or that there are far too many.
pub fn find(dir: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let mut found = Vec::new();
    search(dir, DEPTH_MAX, &mut found)?;
    found.sort();
    Ok(found)
}

fn search(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), ResultsError> {
    if dir.join(META).is_file() {
        if found.len() == FOLDERS_MAX {
            let why = format!("more than {FOLDERS_MAX} folders of results; name one of them");
            return Err(ResultsError(format!("{}: {why}", dir.display())));
        }
        found.push(dir.to_path_buf());
        return Ok(());
    }
    let failed = |error| ResultsError(format!("cannot read {}: {error}", dir.display()));
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // The entry's own kind: links are not followed, and so there is no way round.
        if depth > 0 && entry.file_type().map_err(failed)?.is_dir() {
            search(&entry.path(), depth - 1, found)?;
        }
    }
    Ok(())
}

/// Writes a folder of results, point by point.
#[derive(Debug)]
pub struct ResultsWriter {
    folder: PathBuf,
    points: File,
}

impl ResultsWriter {
    /// Makes `out/PLAN/` and says in it that it is partial because the run has not ended. Results
    /// of the same plan that are there already are replaced.
    ///
    /// # Errors
    /// What the system refuses, with the file's name; a plan's name that is none.
    pub fn create(out: &Path, meta: &Meta, plan: &str) -> Result<ResultsWriter, ResultsError> {
        let folder = out.join(folder_of(&meta.plan)?);
        fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, error))?;
        let unfinished = Meta {
            partial: true,
            why: Some("the run has not ended, or something ended it".into()),
            ..meta.clone()
        };
        write(&folder.join(META), &unfinished.text())?;
        write(&folder.join(PLAN), plan)?;
        let path = folder.join(POINTS);
        let mut points = File::create(&path).map_err(|error| cannot_write(&path, error))?;
        points.write_all(csv::HEADER.as_bytes()).map_err(|error| cannot_write(&path, error))?;
        Ok(ResultsWriter { folder, points })
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends a point; it is with the system when this returns.
    ///
    /// # Errors
    /// A point that could not be read again, or what the system refuses. What was written before
    /// stays.
    pub fn point(&mut self, point: &Point) -> Result<(), ResultsError> {
        let path = self.folder.join(POINTS);
        let line =
            csv::line(point).map_err(|why| ResultsError(format!("{}: {why}", path.display())))?;
        self.points.write_all(line.as_bytes()).map_err(|error| cannot_write(&path, error))
    }

    /// Ends the folder with what is known now: notes, and whether and why the results are partial
    /// after all.
    ///
    /// # Errors
    /// What the system refuses, with the file's name.
    pub fn finish(self, meta: &Meta) -> Result<PathBuf, ResultsError> {
        let path = self.folder.join(POINTS);
        self.points.sync_all().map_err(|error| cannot_write(&path, error))?;
        write(&self.folder.join(META), &meta.text())?;
        Ok(self.folder)
    }
}

/// The folder of a plan's results below the folder of all: the plan's name, which may not lead
/// elsewhere.
pub(crate) fn folder_of(plan: &str) -> Result<PathBuf, ResultsError> {
    let word = |word: &str| {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        !word.is_empty() && !word.starts_with('.') && word.chars().all(letter)
    };
    match plan.len() <= NAME_BYTES_MAX && plan.split('/').count() <= 3 && plan.split('/').all(word)
    {
        true => Ok(PathBuf::from(plan)),
        false => Err(ResultsError(format!(
            "`{plan}` is no plan's name; accepted are up to three words of letters, digits, `-`, `_` and `.` with `/` between them"
        ))),
    }
}

/// The sentence that says which file cannot be used and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultsError(pub(crate) String);

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ResultsError {}

/// A fault in a file: on which line, from 1, and what is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
struct LineFault {
    line: usize,
    why: String,
}

fn at(path: &Path, LineFault { line, why }: LineFault) -> ResultsError {
    ResultsError(format!("{}, line {line}: {why}", path.display()))
}

fn cannot_write(path: &Path, error: io::Error) -> ResultsError {
    ResultsError(format!("cannot write {}: {error}", path.display()))
}

/// Writes a file whole or not at all, beside the one that is meant and then in its place.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), ResultsError> {
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let written = File::create(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&draft);
        cannot_write(path, error)
    })
}

/// The content of a file that may be anything.
fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, ResultsError> {
    let failed =
        |error: io::Error| ResultsError(format!("cannot read {}: {error}", path.display()));
    let mut content = Vec::new();
    // One byte more than is accepted, whatever the file's size is said to be.
    File::open(path).map_err(failed)?.take(most + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > most {
        return Err(ResultsError(format!("{} is larger than {most} bytes", path.display())));
    }
    Ok(content)
}

pub(crate) fn text(path: &Path, most: u64) -> Result<String, ResultsError> {
    let content = bytes(path, most)?;
    String::from_utf8(content)
        .map_err(|_| ResultsError(format!("{} is not written in UTF-8", path.display())))
}

#[cfg(test)]
mod tests;
