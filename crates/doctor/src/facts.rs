//! Facts: what was gathered, before it is judged.
//!
//! What was not looked at is absent, and no diagnosis is made of it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

/// Everything that was gathered.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What the controller says.
    pub controller: ControllerFacts,
    /// What Open vSwitch says; absent where there is none here.
    pub ovs: Option<OvsFacts>,
    /// What the kernel says.
    pub machine: MachineFacts,
    /// What could not be looked at, a sentence each.
    pub not_seen: Vec<String>,
}

/// Whether the controller answers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    /// It does.
    Yes,
    /// Nothing accepts connections there.
    #[default]
    NoListener,
    /// Something does, and says no: a key that it does not take, or no HTTP.
    No(String),
}

/// What the controller says over REST.
#[derive(Clone, Debug, Default)]
pub struct ControllerFacts {
    /// Where it was asked, as `http://127.0.0.1:8080`.
    pub url: String,
    /// Whether it is on this machine.
    pub is_here: bool,
    /// Whether it answers.
    pub answer: Answer,
    /// Whether it is there, and what it knows to be wrong by itself.
    pub health: HealthFacts,
    /// Its switches, at the begin and at the end of the time that was watched.
    pub switches: [Vec<SwitchFacts>; 2],
    /// How long was watched, in seconds.
    pub watched_s: f64,
    /// The links between its switches.
    pub links: Vec<LinkFacts>,
    /// The hosts that it has seen.
    pub hosts: Vec<HostFacts>,
    /// Its applications, at the begin and at the end of the time that was watched.
    pub apps: [AppsFacts; 2],
    /// Its guests, at the begin and at the end of the time that was watched.
    pub guests: [Vec<GuestFacts>; 2],
    /// Flows by switch, of those that were asked.
    pub flows: BTreeMap<String, Vec<FlowFacts>>,
    /// Switches that did not answer in time, with what was said instead.
    pub silent: BTreeMap<String, String>,
    /// How far its clock is ahead of the one here, in seconds: where it is here, how far the clock
    /// was put back since it started.
    pub clock_ahead_s: Option<f64>,
}

/// `/api/v1/health`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HealthFacts {
    /// Switches that are connected.
    pub switches: usize,
    /// When it started, in UTC (RFC 3339), by its clock at that time.
    pub up_since: String,
    /// Seconds since it started.
    pub up_for_s: f64,
    /// What it knows to be wrong.
    pub findings: Vec<KnownFacts>,
}

/// Something that the controller knows to be wrong.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KnownFacts {
    /// The name of the diagnosis.
    pub id: String,
    /// What it is about: a switch, an address, a file.
    pub about: String,
    /// What was seen last, in words.
    pub evidence: String,
    /// How often it was seen.
    pub count: u64,
    /// How long ago it was seen last, in seconds.
    pub last_s_ago: f64,
}

/// One of `/api/v1/switches`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SwitchFacts {
    /// Sixteen hexadecimal digits.
    pub dpid: String,
    /// Where it connects from.
    pub address: String,
    /// As `1.3`.
    pub version: String,
    /// `up` or `not-reading`.
    pub state: String,
    /// What was counted.
    pub counters: CounterFacts,
}

/// What was counted for a switch since it connected.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CounterFacts {
    /// Flow requests that were handed to the applications.
    pub requests: u64,
    /// Flow requests that were dropped because their port flooded.
    pub sheds: u64,
    /// Bytes that wait for it to read.
    pub bytes_waiting: u64,
}

/// One of `/api/v1/links`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LinkFacts {
    /// One end.
    pub a: EndFacts,
    /// The other.
    pub b: EndFacts,
    /// `up`, `one-way` or `unproven`.
    pub state: String,
    /// When it was found, in UTC (RFC 3339), by the controller's clock.
    pub since: String,
    /// How long ago that was, in seconds; none where it cannot be read.
    #[serde(skip)]
    pub found_s_ago: Option<f64>,
}

/// An end of a link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EndFacts {
    /// The switch.
    pub dpid: String,
    /// The port.
    pub port: u32,
}

/// One of `/api/v1/hosts`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Its address.
    pub mac: String,
    /// 0 where its frames carry none.
    pub vlan: u16,
    /// Its addresses.
    pub ips: Vec<String>,
    /// The switch that it is at.
    pub dpid: String,
    /// The port there.
    pub port: u32,
}

/// `/api/v1/apps`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppsFacts {
    /// The applications.
    pub apps: Vec<AppFacts>,
    /// Which see which event, in order.
    pub sequences: Vec<SequenceFacts>,
}

/// An application.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppFacts {
    /// Its name.
    pub name: String,
    /// `running`, `failed`, and so on.
    pub state: String,
    /// Why it does not run.
    pub reason: Option<String>,
    /// Of its package, where it was installed from one.
    pub version: Option<String>,
    /// What it did.
    pub counted: Option<AppCounts>,
}

/// What an application did.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppCounts {
    /// What it counts itself; of an application in a sandbox also the requests that it kept from
    /// those behind it (`stopped`) and the messages that it sent (`messages`).
    pub own: BTreeMap<String, u64>,
}

/// The applications that see an event.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SequenceFacts {
    /// The event.
    pub on: String,
    /// In order.
    pub apps: Vec<String>,
}

/// One of `/api/v1/guests`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GuestFacts {
    /// Its name.
    pub name: String,
    /// `serving`, `away` and so on.
    pub state: String,
    /// Why, where there is more to say.
    pub reason: Option<String>,
    /// Where it listens.
    pub connect: String,
    /// What was counted.
    pub counts: GuestTally,
}

/// What was counted of a guest.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GuestTally {
    /// Requests that it was handed.
    pub requests: u64,
    /// Requests that came while it was away or paused.
    pub missed: u64,
    /// Messages that it sent.
    pub messages: u64,
}

/// One of a switch's flows.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FlowFacts {
    /// Its table.
    pub table: u8,
    /// Its priority.
    pub priority: u16,
    /// The application that installed it, where that is known.
    pub owner: Option<String>,
    /// Which packets it is about.
    #[serde(rename = "match")]
    pub matching: BTreeMap<String, String>,
    /// What it does at once.
    pub actions: Vec<String>,
    /// What it does then.
    pub then: Vec<String>,
    /// Packets that it matched.
    pub packets: Option<u64>,
}

/// What Open vSwitch says.
#[derive(Clone, Debug, Default)]
pub struct OvsFacts {
    /// Its bridges.
    pub bridges: Vec<BridgeFacts>,
    /// Whether it has a certificate and a key to show.
    pub has_certificate: bool,
    /// Whether it is installed, and its database does not run.
    pub is_down: bool,
}

/// A bridge.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BridgeFacts {
    /// Its name.
    pub name: String,
    /// Sixteen hexadecimal digits; absent before the daemon took it over.
    pub dpid: Option<String>,
    /// Versions that it may speak, as `OpenFlow13`; every one where it is empty.
    pub protocols: Vec<String>,
    /// The controllers that it is told to connect to.
    pub controllers: Vec<TargetFacts>,
    /// Its flows as `ovs-ofctl` prints them, where it was asked.
    pub flows: Option<Vec<String>>,
}

/// A controller that a bridge is told to connect to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TargetFacts {
    /// As `tcp:127.0.0.1:6653`.
    pub target: String,
    /// Whether it is connected; the database is told every five seconds.
    pub is_connected: bool,
    /// `master`, `slave` or `other`.
    pub role: String,
    /// What went wrong last.
    pub last_error: String,
    /// As `BACKOFF`.
    pub state: String,
    /// Whether its address is one of this machine.
    pub is_here: bool,
    /// What became of a connection to it from here; absent where that was not tried.
    pub tried: Option<Tried>,
}

/// What becomes of a connection to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tried {
    /// It was accepted.
    Accepted,
    /// Nothing listens there.
    Refused,
    /// Nothing came back in time.
    Silent,
    /// There is no way there.
    NoRoute,
}

/// What the kernel says.
#[derive(Clone, Debug, Default)]
pub struct MachineFacts {
    /// Sockets that listen, by port.
    pub listeners: Vec<ListenerFacts>,
    /// The process of the controller, where it is here and can be seen.
    pub process: Option<ProcessFacts>,
    /// The part of the time that was watched in which a virtual processor had to wait for a real
    /// one: 0 to 1.
    pub stolen: Option<f64>,
    /// The part of the time in which the processes of this group were held back by its quota.
    pub throttled: Option<f64>,
    /// How long threads of the controller waited for a processor that others had, as a part of the
    /// time that was watched; above 1 where several waited.
    pub waited: Option<f64>,
    /// The governor of the frequency, where all processors have this one.
    pub governor: Option<String>,
    /// The frequency now, as a part of the highest: 0 to 1.
    pub frequency: Option<f64>,
    /// Seconds since 1970, as the clock has it.
    pub clock_s: Option<f64>,
}

/// A socket that listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerFacts {
    /// Where.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
    /// The process, where it can be seen: its number and its name.
    pub process: Option<(u32, String)>,
}

/// The process of the controller.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessFacts {
    /// Its number.
    pub pid: u32,
    /// Files and sockets that it has open.
    pub files: usize,
    /// The most that it may have open.
    pub files_max: usize,
    /// Ports that it listens on.
    pub ports: Vec<u16>,
}
