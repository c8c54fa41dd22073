//! The manifest of an application: what it is, what it wants to see, its limits, and what it asks
//! to be granted. All of it is described in `docs/sandbox.md`.

use std::fmt;
use std::ops::RangeInclusive;

use aldis_control::EventKind;
use serde::Deserialize;

use crate::grants::Grants;
use crate::limits::{
    BATCH_MS, COUNTS_MAX, FAILURES, MANIFEST_BYTES_MAX, MEMORY_BYTES, MESSAGES_PER_SECOND,
    NAME_LEN_MAX, START_MS, TABLE_ELEMENTS,
};

/// The version of the contract (`wit/aldis-app.wit`) that this controller offers.
pub const CONTRACT: &str = "0.1";

/// A manifest that was read and is in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Manifest {
    /// The application's name.
    pub name: String,
    /// Its version, in its author's words.
    pub version: String,
    /// What it does, in a sentence.
    pub description: String,
    /// How many instances run.
    pub instances: Instances,
    /// The events that it is handed.
    pub events: Vec<EventKind>,
    /// Milliseconds between two calls of `tick`; 0 for none.
    pub tick_ms: u32,
    /// Bytes of a frame that it is handed at most.
    pub frame_bytes: usize,
    /// Names that it counts under.
    pub counts: Vec<String>,
    /// What becomes of its flows when it stops.
    pub flows: FlowsOnStop,
    /// Its limits.
    pub limits: AppLimits,
    /// What it asks for.
    pub grants: Grants,
    /// Its own settings, as TOML, where an operator says no others.
    pub config: String,
}

/// How many instances of an application run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instances {
    /// One: its state is one, and workers wait for each other.
    #[default]
    One,
    /// One for each worker, with a state of its own each.
    PerWorker,
}

/// What becomes of the flows of an application that is stopped, removed or replaced. Those of one
/// that failed stay, and so do all of them when the controller ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowsOnStop {
    /// They stay on the switches; a version that comes later owns them.
    #[default]
    Stay,
    /// They are removed, also when another version comes in its place.
    Go,
    /// The version that comes in its place owns them; without one they are removed.
    HandOver,
}

/// The limits of one instance.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AppLimits {
    /// Linear memory, in bytes.
    pub memory_bytes: usize,
    /// Time of one call, in milliseconds; of a batch less for a while after a failure
    /// ([`TRIAL_SHARE`](crate::limits::TRIAL_SHARE)).
    pub batch_ms: u64,
    /// Time of the first call, in milliseconds.
    pub start_ms: u64,
    /// Elements of all tables together.
    pub table_elements: usize,
    /// Messages to switches in a second.
    pub messages_per_second: u64,
    /// Failures within ten seconds after which it is quarantined.
    pub failures: u32,
}

impl Default for AppLimits {
    fn default() -> Self {
        AppLimits {
            memory_bytes: MEMORY_BYTES.0,
            batch_ms: BATCH_MS.0,
            start_ms: START_MS.0,
            table_elements: TABLE_ELEMENTS.0,
            messages_per_second: MESSAGES_PER_SECOND.0,
            failures: FAILURES,
        }
    }
}

/// As it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ManifestText {
    contract: String,
    name: String,
    version: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    instances: Instances,
    #[serde(default = "usual_events")]
    events: Vec<String>,
    #[serde(default)]
    tick_ms: u32,
    #[serde(default = "whole_frames")]
    frame_bytes: usize,
    #[serde(default)]
    counts: Vec<String>,
    #[serde(default)]
    flows: FlowsOnStop,
    #[serde(default)]
    limits: AppLimits,
    #[serde(default)]
    grants: Grants,
    #[serde(default)]
    config: toml::Table,
}

fn usual_events() -> Vec<String> {
    [EventKind::FlowRequest, EventKind::Up, EventKind::Down].map(|kind| kind.name().into()).into()
}

fn whole_frames() -> usize {
    usize::from(u16::MAX)
}

/// What is wrong with a manifest: the field, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManifestError {
    /// The field, or the line, as it is written.
    pub field: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "manifest.toml: {}: {}", self.field, self.reason)
    }
}

impl std::error::Error for ManifestError {}

fn wrong(field: &str, reason: impl Into<String>) -> ManifestError {
    ManifestError { field: field.to_owned(), reason: reason.into() }
}

impl Manifest {
    /// The kinds of events that it asks for, and those that its workers have to be called for in
    /// any case: up and down, because its host keeps account of the switches.
    pub fn is_called_for(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::Up | EventKind::Down => true,
            EventKind::Timer => self.tick_ms > 0,
            kind => self.sees(kind),
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// The first field that is missing, unknown or out of range.
    pub fn read(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        if bytes.len() > MANIFEST_BYTES_MAX {
            return Err(wrong("size", format!("more than {MANIFEST_BYTES_MAX} bytes")));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("text", "not UTF-8"))?;
        let read: ManifestText = toml::from_str(text).map_err(|error| in_line(text, &error))?;
        check_contract(&read.contract)?;
        check_words(&read)?;
        check_limits(&read)?;
        Ok(Manifest {
            events: events(&read.events)?,
            name: read.name,
            version: read.version,
            description: read.description,
            instances: read.instances,
            tick_ms: read.tick_ms,
            frame_bytes: read.frame_bytes,
            counts: read.counts,
            flows: read.flows,
            limits: read.limits,
            grants: read.grants,
            config: read.config.to_string(),
        })
    }

    /// Whether it is handed this kind of event.
    #[inline]
    pub fn sees(&self, kind: EventKind) -> bool {
        self.events.contains(&kind)
    }
}

/// A mistake of TOML or of its values, with its line.
fn in_line(text: &str, error: &toml::de::Error) -> ManifestError {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    wrong(&format!("line {line}"), aldis_plain::plain(error.message()))
}

/// Before 1.0, versions with the same first two numbers are compatible.
fn check_contract(asked: &str) -> Result<(), ManifestError> {
    let patch = asked.strip_prefix(CONTRACT).and_then(|rest| match rest {
        "" => Some(()),
        _ => rest.strip_prefix('.').and_then(|patch| patch.parse::<u16>().ok()).map(|_| ()),
    });
    patch.ok_or_else(|| {
        let reason =
            format!("\"{asked}\" is not the version that this controller offers, {CONTRACT}");
        wrong("contract", reason)
    })
}

fn check_words(read: &ManifestText) -> Result<(), ManifestError> {
    if !is_name(&read.name) {
        let reason = format!(
            "\"{}\" is no name: lower-case letters, digits and \"-\", a letter first, up to {NAME_LEN_MAX}",
            read.name
        );
        return Err(wrong("name", reason));
    }
    if read.version.is_empty() || read.version.len() > NAME_LEN_MAX {
        return Err(wrong("version", format!("1 to {NAME_LEN_MAX} letters are wanted")));
    }
    if read.counts.len() > COUNTS_MAX {
        return Err(wrong("counts", format!("more than {COUNTS_MAX}")));
    }
    let is_count = |name: &String| {
        !name.is_empty()
            && name.len() <= NAME_LEN_MAX
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match read.counts.iter().find(|name| !is_count(name)) {
        Some(name) => Err(wrong("counts", format!("\"{name}\": letters, digits and \"_\" alone"))),
        None => Ok(()),
    }
}

/// Whether a name can stand in a path, a table of TOML and a line of the log.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= NAME_LEN_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn check_limits(read: &ManifestText) -> Result<(), ManifestError> {
    let limits = &read.limits;
    let page = 64 << 10;
    within("limits.memory-bytes", limits.memory_bytes as u64, page..=MEMORY_BYTES.1 as u64)?;
    within("limits.batch-ms", limits.batch_ms, 1..=BATCH_MS.1)?;
    within("limits.start-ms", limits.start_ms, 1..=START_MS.1)?;
    within("limits.table-elements", limits.table_elements as u64, 1..=TABLE_ELEMENTS.1 as u64)?;
    within("limits.messages-per-second", limits.messages_per_second, 1..=MESSAGES_PER_SECOND.1)?;
    within("limits.failures", limits.failures.into(), 1..=1000)?;
    within("frame-bytes", read.frame_bytes as u64, 14..=u16::MAX.into())?;
    within("tick-ms", read.tick_ms.into(), 0..=86_400_000)?;
    match read.grants.kv_above() {
        Some(most) => Err(wrong("grants.kv-bytes", format!("more than {most}"))),
        None => Ok(()),
    }
}

fn within(field: &str, value: u64, range: RangeInclusive<u64>) -> Result<(), ManifestError> {
    let (least, most) = (range.start(), range.end());
    match range.contains(&value) {
        true => Ok(()),
        false => Err(wrong(field, format!("{value} is not within {least} to {most}"))),
    }
}

/// The kinds that have a record. The timer is `tick-ms`.
fn events(names: &[String]) -> Result<Vec<EventKind>, ManifestError> {
    let read = |name: &String| match name.parse::<EventKind>() {
        Ok(EventKind::Timer) => Err(wrong("events", "\"timer\" is asked for by tick-ms")),
        Ok(EventKind::Publication) => Err(wrong("events", "\"publication\" is not offered")),
        Ok(kind) => Ok(kind),
        Err(error) => Err(wrong("events", error.to_string())),
    };
    names.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "contract = \"0.1\"\nname = \"hub\"\nversion = \"1\"\n";

    fn read(more: &str) -> Result<Manifest, ManifestError> {
        Manifest::read(format!("{LEAST}{more}").as_bytes())
    }

    #[test]
    fn the_least_manifest_has_the_usual_limits() {
        let manifest = read("").unwrap();
        assert_eq!(manifest.limits, AppLimits::default());
        assert!(manifest.sees(EventKind::FlowRequest) && !manifest.sees(EventKind::Second));
        assert_eq!((manifest.instances, manifest.frame_bytes), (Instances::One, 65_535));
        assert_eq!(manifest.flows, FlowsOnStop::Stay);
        assert_eq!(read("flows = \"hand-over\"").unwrap().flows, FlowsOnStop::HandOver);
        assert_eq!(manifest.config, "");
    }

    #[test]
    fn the_settings_of_an_application_are_its_own_to_read() {
        let manifest =
            read("[config]\nport = 22\nknocks = [7, 8]\n[config.more]\na = \"b\"").unwrap();
        let config: toml::Table = manifest.config.parse().unwrap();
        assert_eq!(config["port"].as_integer(), Some(22));
        assert_eq!(config["more"]["a"].as_str(), Some("b"));
    }

    #[test]
    fn every_mistake_names_its_field_and_the_reason() {
        let cases = [
            ("wings = 2", "line 4", "wings"),
            ("events = [\"packet-in\"]", "events", "flow-request"),
            ("events = [\"timer\"]", "events", "tick-ms"),
            ("frame-bytes = 7", "frame-bytes", "14 to 65535"),
            ("counts = [\"a b\"]", "counts", "a b"),
            ("flows = \"vanish\"", "line 4", "hand-over"),
            ("[limits]\nbatch-ms = 0", "limits.batch-ms", "1 to 1000"),
            ("[limits]\nmemory-bytes = -1", "line 5", "whole number"),
            ("[limits]\nmemory-bytes = 1", "limits.memory-bytes", "65536"),
            ("[grants]\nmessages = [\"hello\"]", "line 5", "packet-out"),
            ("[grants]\nfiles = [\"/etc\"]", "line 5", "files"),
            ("[grants]\nkv-bytes = 100_000_000", "grants.kv-bytes", "67108864"),
        ];
        for (more, field, reason) in cases {
            let error = read(more).unwrap_err();
            assert!(error.field == field && error.reason.contains(reason), "{error}");
        }
    }

    #[test]
    fn another_contract_and_impossible_names_are_refused() {
        let cases = [
            (LEAST.replace("0.1", "0.2"), "contract"),
            (LEAST.replace("0.1", "0.1x"), "contract"),
            (LEAST.replace("hub", "../hub"), "name"),
            (LEAST.replace("hub", ""), "name"),
            (LEAST.replace("\"1\"", "\"\""), "version"),
            (LEAST.replace("name", "nome"), "line 2"),
        ];
        for (text, field) in cases {
            let error = Manifest::read(text.as_bytes()).unwrap_err();
            assert_eq!(error.field, field, "{error}");
        }
        assert!(Manifest::read(LEAST.replace("0.1", "0.1.7").as_bytes()).is_ok());
        assert_eq!(Manifest::read(&[0xff]).unwrap_err().field, "text");
        assert_eq!(Manifest::read(&[b'#'; MANIFEST_BYTES_MAX + 1]).unwrap_err().field, "size");
    }
}
