//! A scenario, as TOML: a network, and steps with what must come of each. Every mistake is told
//! with the file, the line and the key.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use aldis_apps::spelling::Spelled;
use aldis_emulator::network::script::seconds;
use aldis_emulator::network::{ScriptAction, ScriptStep};
use aldis_emulator::topology::{Shape, Topology};
use aldis_plain::plain;
use aldis_wire::Version;
use aldis_wire::msg::Field;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_spanned::Spanned;

use super::frame::{FrameFields, HostName};

/// Most bytes of a file, and most steps of a scenario.
const FILE_LEN_MAX: usize = 1 << 20;
const STEPS_MAX: usize = 1000;
/// The longest that one step waits, in seconds.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// How long what must come is waited for where a step does not say.
const WITHIN: Duration = Duration::from_secs(2);
/// How long it is waited where nothing may come.
const QUIET: Duration = Duration::from_millis(300);

/// What is tried with an application.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    /// The file, as people name it.
    pub(super) name: String,
    pub(super) topology: Topology,
    /// The versions of OpenFlow that it is tried with, one after the other.
    pub(super) versions: Vec<Version>,
    /// The applications of the controller behind the one that is tested.
    pub(super) apps: Vec<String>,
    /// Failures of the application that are no mistake.
    pub(super) failures: u64,
    /// Commands that may be refused.
    pub(super) refused: u64,
    pub(super) steps: Vec<ScenarioStep>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) struct ScenarioStep {
    /// Where it stands in the file, from 1; 0 where there is no file.
    pub(super) line: usize,
    pub(super) within: Duration,
    pub(super) what: StepKind,
}

/// What a step does, or looks at.
#[derive(Clone, Debug)]
pub(super) enum StepKind {
    /// A host sends a frame.
    Send(Box<SendStep>),
    /// A host pings another one; whether that is answered.
    Ping(HostName, HostName, bool),
    /// Every host pings every other one, and is answered.
    PingAll,
    /// Time passes.
    Wait(Duration),
    /// Something happens to the network.
    Act(ScriptAction),
    /// Flows are there, or are not.
    Flow(FlowStep),
    /// A line of the log has these words.
    Log(String),
    /// The application counted.
    Count(String, CountIs),
    /// It answers a request over HTTP: the path behind its name, and words of the answer.
    Get(String, String),
}

/// A frame, and what must come of it.
#[derive(Clone, Debug)]
pub(super) struct SendStep {
    pub(super) from: HostName,
    pub(super) frame: FrameFields,
    /// These hosts receive it, and no others; nothing said is nothing wanted.
    pub(super) received_by: Option<Vec<HostName>>,
    /// It has these fields then.
    pub(super) with: Option<FrameFields>,
    /// The sender receives a frame with these fields.
    pub(super) answered_with: Option<FrameFields>,
}

/// Flows of a switch, or of all.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct FlowStep {
    /// The switch, as `s1`; any where none is said.
    pub(super) switch: Option<SwitchName>,
    /// Fields that they match, among others.
    #[serde(rename = "match", default)]
    pub(super) matching: FieldWords,
    /// What they do, as `["output:2"]`; all of it, in this order.
    pub(super) actions: Option<Vec<String>>,
    /// The application that made them; the one that is tested where none is said.
    pub(super) owner: Option<String>,
    /// How many there are; at least one where that is not said.
    pub(super) count: Option<u64>,
}

/// What a count must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CountIs {
    Exactly(u64),
    AtLeast(u64),
}

/// A switch by its name, `s1`: its number, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SwitchName(pub(super) u32);

impl<'de> Deserialize<'de> for SwitchName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.strip_prefix('s').and_then(|digits| digits.parse().ok());
        number.filter(|number| *number > 0).map(SwitchName).ok_or_else(|| {
            D::Error::custom(format!("\"{text}\" is no switch: they are called s1, s2 and so on"))
        })
    }
}

/// As it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ScenarioText {
    #[serde(default = "usual_topology")]
    topology: Spanned<String>,
    #[serde(default = "both")]
    openflow: Vec<VersionName>,
    #[serde(default)]
    apps: Vec<String>,
    #[serde(default)]
    failures: u64,
    #[serde(default)]
    refused: u64,
    #[serde(default, rename = "step")]
    steps: Vec<Spanned<StepText>>,
}

fn usual_topology() -> Spanned<String> {
    Spanned::new(0..0, "linear,3".to_owned())
}

fn both() -> Vec<VersionName> {
    vec![VersionName(Version::V13), VersionName(Version::V10)]
}

struct VersionName(Version);

impl<'de> Deserialize<'de> for VersionName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match String::deserialize(from)?.as_str() {
            "1.0" => Ok(VersionName(Version::V10)),
            "1.3" => Ok(VersionName(Version::V13)),
            other => {
                Err(D::Error::custom(format!("\"{other}\" is no version: \"1.0\" or \"1.3\"")))
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct StepText {
    send: Option<HostName>,
    frame: Option<FrameFields>,
    received_by: Option<Vec<HostName>>,
    with: Option<FrameFields>,
    answered_with: Option<FrameFields>,
    ping: Option<(HostName, HostName)>,
    answered: Option<bool>,
    pingall: Option<bool>,
    wait: Option<TimeText>,
    #[serde(rename = "do")]
    act: Option<ActText>,
    flow: Option<FlowStep>,
    log: Option<String>,
    count: Option<String>,
    is: Option<u64>,
    at_least: Option<u64>,
    get: Option<String>,
    has: Option<String>,
    within: Option<TimeText>,
}

/// A time, as `"200ms"`.
struct TimeText(Duration);

impl<'de> Deserialize<'de> for TimeText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let time = seconds(&text).filter(|time| *time <= WAIT_MAX);
        time.map(TimeText).ok_or_else(|| {
            D::Error::custom(format!("\"{text}\" is no time: write 250ms or 5s, 600s at most"))
        })
    }
}

/// What may happen to a network, as `aldis emulate --at` has it, without the time.
struct ActText(ScriptAction);

impl<'de> Deserialize<'de> for ActText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let step = ScriptStep::from_str(&format!("0s {text}"));
        step.map(|step| ActText(step.action)).map_err(D::Error::custom)
    }
}

impl Scenario {
    /// The network that an application is tried in where its author wrote no scenario: three
    /// switches in a line with a host each, and all pairs ping. The hub behind the application
    /// floods what it does not answer.
    pub(super) fn usual() -> Scenario {
        let topology = "linear,3".parse::<Shape>().and_then(|shape| shape.lay_out(None, 1));
        let ping = ScenarioStep { line: 0, within: WITHIN, what: StepKind::PingAll };
        Scenario {
            name: "three switches in a line".to_owned(),
            topology: topology.expect("a shape of the emulator"),
            versions: vec![Version::V13, Version::V10],
            apps: vec!["hub".to_owned()],
            failures: 0,
            refused: 0,
            steps: vec![ping],
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `FILE:LINE: KEY: what is wrong`.
    pub(super) fn read(file: &Path) -> Result<Scenario, String> {
        let shown = file.display().to_string();
        let (mut bytes, most) = (Vec::new(), FILE_LEN_MAX as u64);
        let read = File::open(file).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
        read.map_err(|why| format!("cannot read {shown}: {why}"))?;
        if bytes.len() > FILE_LEN_MAX {
            return Err(format!("{shown}: a scenario has {FILE_LEN_MAX} bytes at most"));
        }
        let text = String::from_utf8(bytes).map_err(|_| format!("{shown}: this is not UTF-8"))?;
        Scenario::of(&shown, &text).map_err(|wrong| format!("{shown}:{wrong}"))
    }

    /// `LINE: KEY: what is wrong`, where something is.
    fn of(name: &str, text: &str) -> Result<Scenario, String> {
        let read: ScenarioText = toml::from_str(text).map_err(|error| explain(text, &error))?;
        let at = read.topology.span().start;
        let shape = read.topology.get_ref().parse::<Shape>();
        let topology = shape.and_then(|shape| shape.lay_out(None, 1));
        let topology = topology.map_err(|why| format!("{}: topology: {why}", line(text, at)))?;
        if read.steps.len() > STEPS_MAX {
            return Err(format!("1: step: there are more than {STEPS_MAX} steps"));
        }
        let hosts = topology.hosts().len() as u32;
        let step = |step: Spanned<StepText>| {
            let line = line(text, step.span().start);
            let told = |(key, why): (&str, String)| format!("{line}: {key}: {why}");
            step.into_inner().read(line, hosts).map_err(told)
        };
        Ok(Scenario {
            name: name.to_owned(),
            versions: read.openflow.into_iter().map(|version| version.0).collect(),
            apps: read.apps,
            failures: read.failures,
            refused: read.refused,
            steps: read.steps.into_iter().map(step).collect::<Result<_, _>>()?,
            topology,
        })
    }

    /// What its steps do to the network, so that it is made fit for that.
    pub(super) fn script(&self) -> Vec<ScriptStep> {
        let acts = self.steps.iter().filter_map(|step| match step.what {
            StepKind::Act(action) => Some(ScriptStep { at: Duration::ZERO, action }),
            _ => None,
        });
        acts.collect()
    }
}

/// The files of scenarios that lie beside a manifest: all `tests/*.toml` of a folder, and
/// `tests/NAME.toml` and `tests/NAME-*.toml` of a module of Python that has the folder with others.
pub(super) fn beside(source: &Path) -> Vec<PathBuf> {
    let module = source.extension().is_some_and(|is| is == "py");
    let stem = source.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = if module { source.parent().unwrap_or(Path::new("")) } else { source };
    let entries = std::fs::read_dir(folder.join("tests")).into_iter().flatten();
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|is| is == "toml"))
        .filter(|file| {
            let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            let rest = name.strip_prefix(stem);
            !module || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
        .collect();
    files.sort();
    files
}

impl StepText {
    /// The key that is wrong, and why, where one is.
    fn read(self, line: usize, hosts: u32) -> Result<ScenarioStep, (&'static str, String)> {
        self.check_company()?;
        let within = self.within.as_ref().map(|time| time.0);
        let named = [self.send].into_iter().flatten().chain(self.ping.map(|ping| ping.0));
        let named = named.chain(self.ping.map(|ping| ping.1));
        let named = named.chain(self.received_by.iter().flatten().copied());
        let named = named.chain(self.frame.as_ref().and_then(FrameFields::to));
        if let Some(HostName(absent)) = named.clone().find(|host| host.0 > hosts) {
            return Err(("step", format!("there is no host h{absent}: the topology has {hosts}")));
        }
        let quiet = self.received_by.as_ref().is_some_and(Vec::is_empty);
        let usual = if quiet { QUIET } else { WITHIN };
        let what = self.kind()?;
        Ok(ScenarioStep { line, within: within.unwrap_or(usual), what })
    }

    /// Refuses keys that say nothing in this step.
    fn check_company(&self) -> Result<(), (&'static str, String)> {
        let verbs = [
            ("send", self.send.is_some()),
            ("ping", self.ping.is_some()),
            ("pingall", self.pingall.is_some()),
            ("wait", self.wait.is_some()),
            ("do", self.act.is_some()),
            ("flow", self.flow.is_some()),
            ("log", self.log.is_some()),
            ("count", self.count.is_some()),
            ("get", self.get.is_some()),
        ];
        let mut said = verbs.iter().filter(|(_, is)| *is).map(|(name, _)| *name);
        let names = verbs.map(|(name, _)| name).join(", ");
        let Some(verb) = said.next() else {
            return Err((
                "step",
                format!("it says nothing to do; one of these is wanted: {names}"),
            ));
        };
        if let Some(other) = said.next() {
            return Err((other, format!("a step does one thing, and {verb} is said already")));
        }
        let company = [
            ("frame", self.frame.is_some(), "send"),
            ("received-by", self.received_by.is_some(), "send"),
            ("with", self.with.is_some(), "send"),
            ("answered-with", self.answered_with.is_some(), "send"),
            ("answered", self.answered.is_some(), "ping"),
            ("is", self.is.is_some(), "count"),
            ("at-least", self.at_least.is_some(), "count"),
            ("has", self.has.is_some(), "get"),
        ];
        match company.into_iter().find(|(_, is, of)| *is && *of != verb) {
            Some((key, _, of)) => Err((key, format!("it belongs to {of}, and this is {verb}"))),
            None => Ok(()),
        }
    }

    fn kind(self) -> Result<StepKind, (&'static str, String)> {
        if let Some(from) = self.send {
            return Ok(StepKind::Send(Box::new(self.sent(from)?)));
        }
        if let Some((from, to)) = self.ping {
            return match from == to {
                true => Err(("ping", "a host cannot ping itself".to_owned())),
                false => Ok(StepKind::Ping(from, to, self.answered.unwrap_or(true))),
            };
        }
        if let Some(name) = self.count {
            let is = match (self.is, self.at_least) {
                (Some(number), None) => CountIs::Exactly(number),
                (None, Some(number)) => CountIs::AtLeast(number),
                _ => return Err(("count", "one of is and at-least is wanted".to_owned())),
            };
            return Ok(StepKind::Count(name, is));
        }
        let others = [
            self.pingall.map(|_| StepKind::PingAll),
            self.wait.map(|time| StepKind::Wait(time.0)),
            self.act.map(|act| StepKind::Act(act.0)),
            self.flow.map(StepKind::Flow),
            self.log.map(StepKind::Log),
            self.get.map(|path| StepKind::Get(path, self.has.unwrap_or_default())),
        ];
        others.into_iter().flatten().next().ok_or(("step", "it says nothing to do".to_owned()))
    }

    fn sent(self, from: HostName) -> Result<SendStep, (&'static str, String)> {
        let frame = self.frame.unwrap_or_default();
        let fields = [("frame", Some(&frame)), ("with", self.with.as_ref())];
        for (key, fields) in
            fields.into_iter().chain([("answered-with", self.answered_with.as_ref())])
        {
            if let Some(wrong) = fields.and_then(FrameFields::mistake) {
                return Err((key, wrong.to_owned()));
            }
        }
        if self.with.is_some() && self.received_by.as_ref().is_none_or(Vec::is_empty) {
            return Err(("with", "received-by has to name the hosts that receive it".to_owned()));
        }
        Ok(SendStep {
            from,
            frame,
            received_by: self.received_by,
            with: self.with,
            answered_with: self.answered_with,
        })
    }
}

/// Fields by name, spelled as the controller spells them; what a field needs besides is not asked
/// for.
#[derive(Clone, Default, Debug)]
pub(super) struct FieldWords(pub(super) BTreeMap<String, String>);

impl<'de> Deserialize<'de> for FieldWords {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let said = BTreeMap::<String, Spelled<String>>::deserialize(from)?;
        let words = said.into_iter().map(|(name, Spelled(value))| {
            let field = Field::named(&name, &value);
            field.map(|field| field.in_words()).map_err(|why| format!("{name}: {why}"))
        });
        words.collect::<Result<_, _>>().map(FieldWords).map_err(D::Error::custom)
    }
}

/// `LINE: KEY: what is wrong`, as far as the error says where it is.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let message = plain(&error.message().lines().collect::<Vec<_>>().join("; "));
    let at = error.span().map_or(0, |at| at.start);
    let number = line(text, at);
    let told = text.lines().nth(number - 1).unwrap_or_default();
    match told.split_once('=').map(|(key, _)| key.trim()) {
        Some(key) if !key.starts_with('#') => format!("{number}: {key}: {message}"),
        _ => format!("{number}: {message}"),
    }
}

/// The number of the line that holds this byte, from 1.
fn line(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = r#"
topology = "single,3"
openflow = ["1.3"]
apps = ["learning-switch"]

[[step]]
send = "h1"
frame = { to = "h2", tcp_dst = 22 }
received-by = ["h2"]
with = { ipv4_src = "10.0.0.1" }

[[step]]
send = "h1"
frame = { arp_tpa = "10.0.0.100" }
answered-with = { arp_op = 2 }
within = "5s"

[[step]]
ping = ["h1", "h2"]
answered = false

[[step]]
do = "link-down s1 h1"

[[step]]
flow = { switch = "s1", match = { ipv4_dst = "10.0.0.2" }, count = 1 }

[[step]]
count = "opened"
at-least = 1
"#;

    #[test]
    fn a_scenario_is_read_with_its_lines() {
        let scenario = Scenario::of("all.toml", ALL).unwrap();
        assert_eq!((scenario.steps.len(), scenario.script().len()), (6, 1));
        assert_eq!(scenario.versions, [Version::V13]);
        let lines: Vec<usize> = scenario.steps.iter().map(|step| step.line).collect();
        assert_eq!(lines, [6, 12, 18, 22, 25, 28]);
        let StepKind::Send(sent) = &scenario.steps[0].what else { panic!("{scenario:?}") };
        assert_eq!(
            (sent.from, sent.received_by.as_deref()),
            (HostName(1), Some(&[HostName(2)][..]))
        );
        assert_eq!(scenario.steps[1].within, Duration::from_secs(5));
        let StepKind::Flow(flow) = &scenario.steps[4].what else { panic!("{scenario:?}") };
        assert_eq!(flow.matching.0.get("ipv4_dst").map(String::as_str), Some("10.0.0.2"));
    }

    #[test]
    fn every_mistake_names_its_line_and_its_key() {
        for (line, key, wrong, words) in [
            (2, "topology", ALL.replace("single,3", "circle,3"), "circle"),
            (3, "openflow", ALL.replace("\"1.3\"", "\"1.5\""), "1.0"),
            (8, "frame", ALL.replace("tcp_dst = 22", "tcp_dst = 70000"), "65535"),
            (8, "frame", ALL.replace("tcp_dst", "tcp_dest"), "tcp_dst"),
            (6, "step", ALL.replace("[\"h2\"]", "[\"h9\"]"), "h9"),
            (9, "received-by", ALL.replace("[\"h2\"]", "[\"s2\"]"), "s2"),
            (16, "within", ALL.replace("5s", "5 s"), "no time"),
            (18, "answered", ALL.replace("ping = [\"h1\", \"h2\"]", "wait = \"1s\""), "ping"),
            (23, "do", ALL.replace("link-down", "link-dawn"), "link-down"),
            (26, "flow", ALL.replace("ipv4_dst = \"10.0.0.2\"", "ipv4_dst = \"x\""), "ipv4_dst"),
            (28, "count", ALL.replace("at-least = 1", ""), "at-least"),
            (28, "count", ALL.replace("at-least = 1", "log = \"x\"\nat-least = 1"), "one thing"),
        ] {
            let told = Scenario::of("x", &wrong).unwrap_err();
            assert!(told.starts_with(&format!("{line}: {key}: ")), "{line} {key}: {told}");
            assert!(told.contains(words), "{told}");
        }
        let empty = Scenario::of("x", "[[step]]\n").unwrap_err();
        assert!(empty.starts_with("1: step: it says nothing to do"), "{empty}");
    }

    #[test]
    fn a_file_that_is_too_large_for_a_scenario_is_not_read_to_its_end() {
        let why = Scenario::read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(why, "/dev/zero: a scenario has 1048576 bytes at most");
    }

    #[test]
    fn scenarios_lie_beside_the_manifest() {
        let of = |source: &str| beside(Path::new(source));
        assert!(of("/nowhere/at/all").is_empty());
        assert!(of("src/app.py").is_empty());
    }
}
