//! Saving a result: one JSON file, or three of CSV, or all four, with what it takes to know where
//! the figures come from.

mod atomic_file;

use super::table::{self, ReportRow};
use aldis_emulator::load::{Delays, Served};
use aldis_lab::calibrate::{MachineInfo, today};
use atomic_file::AtomicFile;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// A result.
pub(super) struct SavedResult<'a> {
    pub(super) seed: u64,
    pub(super) rows: &'a [ReportRow],
    /// How each switch was served; none where nothing was offered.
    pub(super) served: Vec<Served>,
    /// Whose delays they are, and which.
    pub(super) delays: Vec<(&'static str, &'a Delays)>,
}

/// Where to.
#[derive(Clone, Debug)]
pub(super) struct SaveTarget {
    /// The file of JSON, if there is to be one.
    json: Option<PathBuf>,
    /// The name of the files of CSV without what each adds to it, if there are to be any.
    csv: Option<PathBuf>,
    /// When the run began, to the second, UTC.
    time: String,
}

impl SaveTarget {
    /// What `path` stands for. A directory that is not there is made.
    ///
    /// # Errors
    /// A sentence: it cannot be made, or the file's directory is not there.
    pub(super) fn new(path: &Path) -> Result<SaveTarget, String> {
        let time = now();
        let is_dir = path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/');
        if is_dir {
            std::fs::create_dir_all(path)
                .map_err(|error| cannot("make the directory", path, &error))?;
            let base = path.join(format!("bench-{}", time.replace([':', '-'], "")));
            return Ok(SaveTarget { json: Some(with(&base, ".json")), csv: Some(base), time });
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
            return Err(format!(
                "cannot save to {}: there is no directory {}",
                path.display(),
                dir.display()
            ));
        }
        match path.extension().is_some_and(|extension| extension == "csv") {
            true => Ok(SaveTarget { json: None, csv: Some(path.with_extension("")), time }),
            false => Ok(SaveTarget { json: Some(path.into()), csv: None, time }),
        }
    }

    /// The same for one of several runs.
    pub(super) fn of_switches(&self, switches: u32) -> SaveTarget {
        let named = |path: &PathBuf| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let extension =
                path.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
            path.with_file_name(format!("{stem}-{switches}-switches{extension}"))
        };
        SaveTarget {
            json: self.json.as_ref().map(named),
            csv: self.csv.as_ref().map(named),
            ..self.clone()
        }
    }

    /// Whether the files can be written, before anything is measured for them.
    ///
    /// # Errors
    /// A sentence: which cannot, and why.
    pub(super) fn check(&self) -> Result<(), String> {
        self.paths().iter().try_for_each(|path| place(path).map(drop))
    }

    fn paths(&self) -> Vec<PathBuf> {
        let tables = |base: &PathBuf| TABLES.map(|end| with(base, end));
        self.json.iter().cloned().chain(self.csv.iter().flat_map(tables)).collect()
    }

    /// Writes the files; which they are.
    ///
    /// # Errors
    /// A sentence: which could not be written, and why. What was there before is there still, in
    /// place of all of them.
    pub(super) fn write(&self, finding: &SavedResult<'_>) -> Result<String, String> {
        let origin = origin(finding.seed, &self.time);
        let mut texts = Vec::new();
        if self.json.is_some() {
            texts.push(whole(finding, origin.clone()).to_string() + "\n");
        }
        if self.csv.is_some() {
            let object = Value::Object(table::object(finding.rows));
            texts.extend([summary(&origin, &object), switches(finding), delays(finding)]);
        }
        let places: Vec<AtomicFile> =
            self.paths().iter().map(|path| place(path)).collect::<Result<_, _>>()?;
        let written = places.iter().zip(&texts).try_for_each(|(place, text)| {
            place.write(text).map_err(|error| cannot(SAVE, &place.named, &error))
        });
        let settled = written.and_then(|()| {
            places.iter().try_for_each(|place| {
                place.settle().map_err(|error| cannot(SAVE, &place.named, &error))
            })
        });
        if settled.is_err() {
            places.iter().for_each(AtomicFile::forget);
        }
        let names: Vec<_> = places.iter().map(|place| place.named.display().to_string()).collect();
        settled.map(|()| names.join(", "))
    }
}

/// What the files of CSV add to their name: the rows, each switch, and the delays.
const TABLES: [&str; 3] = [".csv", "-switches.csv", "-delays.csv"];

const SAVE: &str = "save the result to";

fn place(path: &Path) -> Result<AtomicFile, String> {
    AtomicFile::new(path).map_err(|error| cannot(SAVE, path, &error))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

fn with(base: &Path, end: &str) -> PathBuf {
    let mut path = base.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// Now, UTC, to the second: `2026-11-21T10:20:30Z`.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let second = since.as_secs() % 86_400;
    format!("{}T{:02}:{:02}:{:02}Z", today(), second / 3600, second / 60 % 60, second % 60)
}

/// What ran where.
fn origin(seed: u64, time: &str) -> Value {
    let machine = MachineInfo::here();
    let command: Vec<String> = std::env::args().map(|arg| quoted(&arg)).collect();
    json!({
        "aldis": env!("CARGO_PKG_VERSION"),
        "commit": commit(),
        "date": time,
        "command": command.join(" "),
        "seed": seed,
        "machine": { "cpu": machine.cpu, "cores": machine.cores, "kernel": machine.kernel },
    })
}

/// An argument as a shell takes it.
fn quoted(arg: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%[]".contains(c);
    match !arg.is_empty() && arg.chars().all(is_plain) {
        true => arg.into(),
        false => format!("'{}'", arg.replace('\'', "'\\''")),
    }
}

/// The commit of the tree that this program lies in, with a `+` where the tree differs from it;
/// `unknown` where it lies in none.
fn commit() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let dir = program.parent().unwrap_or(Path::new("/"));
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(dir).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let describe = || {
        let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
        let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
        Some(if changed.is_empty() { commit } else { commit + "+" })
    };
    describe().unwrap_or("unknown".into())
}

/// All of it: the rows, each switch, and every delay with how often it was seen.
fn whole(finding: &SavedResult<'_>, origin: Value) -> Value {
    let mut whole = table::object(finding.rows);
    let switch = |served: &Served| {
        json!({
            "dpid": served.dpid, "weight": served.weight,
            "due": served.demand.is_finite().then_some(served.demand),
            "answered": served.answered, "share": served.share, "deviation": served.deviation(),
        })
    };
    let served: Vec<Value> = finding.served.iter().map(switch).collect();
    whole.insert("origin".into(), origin);
    whole.insert("per_switch".into(), served.into());
    for (of, delays) in &finding.delays {
        whole.insert(format!("{of}_delay_histogram_ns"), histogram(delays));
    }
    Value::Object(whole)
}

/// Pairs of the highest delay that counts as the same, and how often it was seen.
fn histogram(delays: &Delays) -> Value {
    delays
        .iter_recorded()
        .map(|seen| json!([seen.value_iterated_to(), seen.count_at_value()]))
        .collect()
}

/// A line for each figure of the rows: its name, with dots between the levels, and its value.
fn summary(origin: &Value, rows: &Value) -> String {
    let mut text = String::from("key,value\n");
    flatten("origin", origin, &mut text);
    for (key, value) in rows.as_object().into_iter().flatten() {
        flatten(key, value, &mut text);
    }
    text
}

fn flatten(key: &str, value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(name, value)| flatten(&format!("{key}.{name}"), value, text));
        }
        Value::Array(list) => {
            list.iter()
                .zip(1..)
                .for_each(|(value, index)| flatten(&format!("{key}.{index}"), value, text));
        }
        Value::String(words) => {
            let _ = writeln!(text, "{key},{}", cell(words));
        }
        Value::Null => {
            let _ = writeln!(text, "{key},");
        }
        Value::Bool(_) | Value::Number(_) => {
            let _ = writeln!(text, "{key},{value}");
        }
    }
}

/// Words in CSV (RFC 4180).
fn cell(words: &str) -> String {
    match words.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", words.replace('"', "\"\"")),
        false => words.into(),
    }
}

fn switches(finding: &SavedResult<'_>) -> String {
    let mut text = String::from("dpid,weight,due,answered,share,deviation\n");
    for served in &finding.served {
        let due = if served.demand.is_finite() { served.demand.to_string() } else { "full".into() };
        let deviation = served.deviation().map_or(String::new(), |off| off.to_string());
        let Served { dpid, weight, answered, share, .. } = served;
        let _ = writeln!(text, "{dpid},{weight},{due},{answered},{share},{deviation}");
    }
    text
}

/// The distribution of the delays: which, up to how many nanoseconds, how often, and the part of
/// all up to there.
fn delays(finding: &SavedResult<'_>) -> String {
    let mut text = String::from("of,delay_ns,count,cumulative\n");
    for (of, delays) in &finding.delays {
        let mut seen = 0;
        for step in delays.iter_recorded() {
            seen += step.count_at_value();
            let part = seen as f64 / delays.len() as f64;
            let (delay, count) = (step.value_iterated_to(), step.count_at_value());
            let _ = writeln!(text, "{of},{delay},{count},{part:.6}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_they_have_to_be() {
        assert_eq!(quoted("--on-off=1,2"), "--on-off=1,2");
        assert_eq!((quoted(""), quoted("it's")), ("''".into(), "'it'\\''s'".into()));
        assert_eq!(
            (cell("a,b"), cell("a\"b"), cell("ab")),
            ("\"a,b\"".into(), "\"a\"\"b\"".into(), "ab".into())
        );
    }

    #[test]
    fn a_summary_has_a_line_for_each_figure() {
        let rows = json!({ "rate": { "loops": [1, 2.5], "limited": false }, "why": null, "who": "me, you" });
        let expected = "key,value\norigin.date,today\nrate.limited,false\nrate.loops.1,1\nrate.loops.2,2.5\nwho,\"me, you\"\nwhy,\n";
        assert_eq!(summary(&json!({ "date": "today" }), &rows), expected);
    }

    #[test]
    fn runs_of_a_range_have_files_of_their_own() {
        let target = SaveTarget::new(Path::new("result.csv")).unwrap().of_switches(4);
        assert_eq!((target.json, target.csv), (None, Some("result-4-switches".into())));
        let target = SaveTarget::new(Path::new("/dev/full")).unwrap();
        assert_eq!((target.json, target.csv), (Some("/dev/full".into()), None));
        assert!(
            SaveTarget::new(Path::new("/no/such/place/x.json"))
                .unwrap_err()
                .contains("no directory /no/such/place")
        );
    }
}
