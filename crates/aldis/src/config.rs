//! The configuration: the settings of a controller, with their defaults, out of a TOML file or
//! without one.
//!
//! Every key has a default. An unknown key or a value out of range is refused with the file, the
//! line, the key and what would be accepted; nothing is guessed.

mod dhcp;
mod guests;
mod initial;
pub(crate) mod location;
mod monitor;
mod network;
mod paths;
mod rules;
mod sequence;
mod session;
/// The 32 bytes of a key.
#[cfg(feature = "sandbox")]
fn key_of(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    let mut key = [0; 32];
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, at) in key.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests;
pub(crate) mod value;

#[cfg(feature = "config")]
use std::fs::File;
#[cfg(feature = "config")]
use std::io::Read;
use std::net::SocketAddr;
#[cfg(feature = "config")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use aldis_apps::Acl;
use aldis_apps::acl::Rule;
use aldis_apps::learning_switch::{self, Seed};
use aldis_apps::static_flows::StaticFlow;
use aldis_apps::topology::RecordedTags;
use aldis_control::account::SWITCH_BYTES;
use aldis_control::weights::WeightRule;
use aldis_control::{App, AppSet, Tables};
use aldis_engine::design;
use aldis_engine::limits::WORKERS_MAX;
use aldis_engine::{Design, pin};
use aldis_guest::GuestSpec;
use serde::Deserialize;
use tracing::warn;

pub(crate) use initial::Initial;
use location::location;
#[cfg(feature = "config")]
use location::{explain, line_at};
use value::Within;
pub(crate) use value::{LogFormat, LogLevel, Workers};

use crate::app_registry::{AppName, AppRegistry, with_startable, without_leftovers};
#[cfg(feature = "http")]
use crate::http::Section;
use crate::knobs::{KnobsError, LIVE, RunKnobs, Setting};
use crate::room::MemoryBudget;
use crate::weights::{WeightRules, WeightsTable};

/// The ports that switches try: the one that IANA gave OpenFlow, and the one that was in use
/// before.
const PORTS: [u16; 2] = [6653, 6633];

const MIB: u64 = 1024 * 1024;

/// The largest configuration file that is read, in bytes.
#[cfg(feature = "config")]
const FILE_MAX: u64 = 1024 * 1024;

/// Everything that can be set.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Addresses to listen on.
    #[serde(deserialize_with = "crate::address::addresses")]
    pub(crate) listen: Vec<SocketAddr>,
    /// The address of the HTTP server, and access to it.
    #[cfg(feature = "http")]
    pub(crate) http: Section,
    /// Number of workers; by the machine when absent.
    pub(crate) workers: Option<Workers>,
    /// The applications, in order; the usual ones where it does not say.
    apps: Option<Vec<AppName>>,
    /// Those that there are.
    #[serde(skip)]
    pub(crate) registry: AppRegistry,
    /// In which order they see what.
    #[serde(rename = "sequence")]
    sequences: Vec<sequence::ToldSequence>,
    /// How switches are shared among workers: a preset.
    #[serde(rename = "design", deserialize_with = "value::parsed")]
    pub(crate) preset: Design,
    /// What is different from the preset.
    pub(crate) knobs: RunKnobs,
    /// The knobs and weights of the command line, which go before those of the file.
    #[serde(skip)]
    pub(crate) set: Vec<Setting>,
    #[serde(skip)]
    pub(crate) weight: Vec<WeightRule>,
    /// The preset with these knobs, once it is settled.
    #[serde(skip)]
    pub(crate) design: Design,
    /// What the file says of weights.
    #[serde(rename = "weights")]
    table: WeightsTable,
    /// The weights, the command line's first, once they are settled.
    #[serde(skip)]
    pub(crate) rules: WeightRules,
    /// The default rules.
    #[serde(skip)]
    pub(crate) said: WeightRules,
    /// What the controller begins with, once the store was read.
    #[serde(skip)]
    pub(crate) initial: Option<Initial>,
    /// The probes of the controller that is played back.
    #[serde(skip)]
    pub(crate) recorded_tags: Option<Arc<RecordedTags>>,
    /// Where is kept what outlives the controller.
    #[cfg(feature = "store")]
    pub(crate) store: Option<PathBuf>,
    /// Where the packages of installed applications are kept.
    #[cfg(feature = "sandbox")]
    pub(crate) app_folder: Option<PathBuf>,
    /// The Ed25519 keys, as hexadecimal digits, of which one has to have signed a package; any
    /// package is taken where there is none.
    #[cfg(feature = "sandbox")]
    app_keys: Vec<String>,
    /// Where counters are written to.
    pub(crate) stats: Option<PathBuf>,
    /// Whether workers spin instead of sleep.
    pub(crate) poll: bool,
    /// How much is logged.
    pub(crate) log: LogLevel,
    /// How lines of the log look; as standard error wants them when absent.
    pub(crate) log_format: Option<LogFormat>,
    /// Memory that the controller may have, in MiB; what there is when absent.
    memory_mib: Option<Within<64, 16_777_216>>,
    /// Memory for the newest minutes of the control channel, in MiB; none when absent.
    recording_mib: Option<Within<1, 1_048_576>>,
    session: session::SessionTable,
    pub(crate) tls: super::secure::TlsTable,
    learning_switch: session::LearningSwitchTable,
    pub(crate) monitor: monitor::MonitorTable,
    /// The rules of the application `acl`, in order.
    #[serde(rename = "acl")]
    acl_rules: Vec<rules::ToldRule<Rule>>,
    /// What the application `static-flows` keeps.
    #[serde(rename = "static-flow")]
    static_flow: Vec<rules::ToldRule<StaticFlow>>,
    /// The controllers to which the switches are presented.
    guest: Vec<rules::ToldRule<GuestSpec>>,
    /// Those that the program adds.
    #[serde(skip)]
    pub(crate) further_guests: Vec<GuestSpec>,
    topology: network::TopologySettings,
    hosts: network::HostsSettings,
    /// The servers that the application `dhcp` believes.
    dhcp_server: Vec<dhcp::DhcpTable>,
    pub(crate) routing: paths::RoutingTable,
    pub(crate) route_flow: paths::RouteFlowTable,
    #[serde(skip)]
    source: Option<ConfigFile>,
}

/// The file that it was read from, so that errors found later name their place.
#[derive(Clone, Debug)]
struct ConfigFile {
    path: PathBuf,
    text: String,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: PORTS.map(|port| SocketAddr::from(([0, 0, 0, 0], port))).into(),
            #[cfg(feature = "http")]
            http: Section::default(),
            workers: None,
            apps: None,
            registry: AppRegistry::default(),
            sequences: vec![],
            preset: Design::default(),
            knobs: RunKnobs::default(),
            set: vec![],
            weight: vec![],
            design: Design::default(),
            table: WeightsTable::default(),
            rules: WeightRules::default(),
            said: WeightRules::default(),
            initial: None,
            recorded_tags: None,
            #[cfg(feature = "store")]
            store: None,
            #[cfg(feature = "sandbox")]
            app_folder: None,
            #[cfg(feature = "sandbox")]
            app_keys: vec![],
            stats: None,
            poll: false,
            log: LogLevel(tracing::Level::INFO),
            log_format: None,
            memory_mib: None,
            recording_mib: None,
            session: session::SessionTable::default(),
            tls: super::secure::TlsTable::default(),
            learning_switch: session::LearningSwitchTable::default(),
            monitor: monitor::MonitorTable::default(),
            acl_rules: vec![],
            static_flow: vec![],
            guest: vec![],
            further_guests: vec![],
            topology: network::TopologySettings::default(),
            hosts: network::HostsSettings::default(),
            dhcp_server: vec![],
            routing: paths::RoutingTable::default(),
            route_flow: paths::RouteFlowTable::default(),
            source: None,
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// One sentence that names the file, and the line and the key where it is about one.
    #[cfg(feature = "config")]
    pub(crate) fn read(path: &Path) -> Result<Config, String> {
        let shown = path.display();
        let mut text = String::new();
        let file =
            File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_string(&mut text));
        let size = file.map_err(|error| format!("cannot read {shown}: {error}"))?;
        if size as u64 > FILE_MAX {
            return Err(format!(
                "{shown} is larger than {FILE_MAX} bytes, and so no configuration file"
            ));
        }
        let config: Config =
            toml::from_str(&text).map_err(|error| format!("{shown}:{}", explain(&text, &error)))?;
        Ok(Config { source: Some(ConfigFile { path: path.to_owned(), text }), ..config })
    }

    /// Puts the command line's knobs and rules before the file's, both over the preset, and the
    /// rules that are kept behind them.
    ///
    /// # Errors
    /// One sentence that begins with the place of what is wrong.
    pub(crate) fn settle(self, kept: &[WeightRule]) -> Result<Config, String> {
        let said = |knobs: RunKnobs, setting: &Setting| knobs.or_rather(setting.knobs.clone());
        let knobs = self.set.iter().fold(self.knobs.clone(), said);
        let design = knobs.over(self.preset);
        let design = design.map_err(|refused| self.location_of(&refused) + &refused.why)?;
        let workers = self.workers();
        if let design::Read::SharedQueue { io_threads, .. } = design.read
            && io_threads + workers > WORKERS_MAX
        {
            return Err(format!(
                "{io_threads} I/O threads and {workers} workers; accepted are {WORKERS_MAX} threads together"
            ));
        }
        let mut all = WeightRules::default();
        for rule in &self.weight {
            all.add(rule.clone()).map_err(|why| format!("--weight: {why}"))?;
        }
        for (at, rule) in self.table.rules() {
            all.add(rule).map_err(|why| self.location_at(at) + &why)?;
        }
        for rule in kept {
            all.add(rule.clone()).map_err(|why| format!("the store: weights: {why}"))?;
        }
        Ok(Config { knobs, design, said: all.clone(), rules: all, ..self })
    }

    /// The memory that is divided.
    pub(crate) fn room(&self) -> MemoryBudget {
        self.memory_mib.map_or_else(MemoryBudget::here, |Within(mib)| MemoryBudget::of(mib * MIB))
    }

    /// Bytes for the newest minutes of the control channel.
    #[cfg(feature = "http")]
    pub(crate) fn recording_bytes(&self) -> Option<usize> {
        self.recording_mib.map(|Within(mib)| usize::try_from(mib * MIB).unwrap_or(usize::MAX))
    }

    /// With so many MiB for them.
    #[cfg(feature = "cli")]
    pub(crate) fn set_recording(&mut self, mib: u64) {
        self.recording_mib = Some(Within(mib));
    }

    /// Bytes that are kept on account of each switch.
    fn switch_bytes(&self) -> usize {
        let usual = || self.room().switch_bytes(SWITCH_BYTES);
        self.session.switch_bytes().unwrap_or_else(usual)
    }

    /// Number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.workers.map_or_else(pin::workers_default, |Workers(count)| count)
    }

    /// With these applications, in this order; what the file says of applications does not count.
    pub(crate) fn set_apps(&mut self, apps: Vec<AppName>) {
        self.apps = Some(apps);
        self.sequences.clear();
    }

    /// The applications that run, in order.
    pub(crate) fn apps(&self) -> &[AppName] {
        self.apps.as_deref().unwrap_or(self.registry.usual())
    }

    /// Whether an application runs.
    pub(crate) fn runs(&self, name: &str) -> bool {
        self.apps().iter().any(|app| app.name() == name)
    }

    /// Warns of keys in an old spelling, with what to write instead.
    pub(crate) fn warn_of_old_spellings(&self) {
        let acl = self.acl_rules.iter().filter_map(rules::ToldRule::<Rule>::old_spelling);
        let flows = self.static_flow.iter().filter_map(rules::ToldRule::<StaticFlow>::old_spelling);
        for (at, why) in acl.chain(flows) {
            warn!("{}{why}", self.location_at(at));
        }
    }

    /// The applications, which can work together.
    ///
    /// # Errors
    /// One sentence that begins with the place of what is wrong, where that is in a file.
    pub(crate) fn app_set(&self) -> Result<AppSet, String> {
        rules::acl(&self.acl_rules).map_err(|(at, why)| self.location_at(at) + &why)?;
        rules::static_flows(&self.static_flow).map_err(|(at, why)| self.location_at(at) + &why)?;
        guests::guests(&self.guest).map_err(|(at, why)| self.location_at(at) + &why)?;
        dhcp::trust(&self.dhcp_server).map_err(|why| self.location_of_file() + &why)?;
        let mut app_set = AppSet::default().switch_bytes(self.switch_bytes());
        for app in self.apps() {
            let added = self.registry.add_to(app_set, app, self);
            let location = || app.at().map_or_else(String::new, |at| self.location_at(at));
            app_set = added.map_err(|why| location() + &why)?;
        }
        let app_set = without_leftovers(app_set, self.apps());
        let app_set = with_startable(app_set, self);
        let sequences = self.sequences.iter().map(sequence::ToldSequence::sequence);
        let of_author = self.registry.sequences().filter(|_| self.apps.is_none());
        let sequences = sequences.chain(of_author);
        let app_set = sequences
            .fold(app_set, |app_set, sequence| app_set.sequence(sequence.kind, sequence.apps));
        app_set.graph().map_err(|wrong| {
            let told = wrong.sequence().and_then(|at| self.sequences.get(at));
            told.map_or_else(String::new, |told| self.location_at(told.place(&wrong)))
                + &wrong.to_string()
        })?;
        Ok(app_set)
    }

    /// Whose packages are installed.
    ///
    /// # Errors
    /// One sentence: a key is none.
    #[cfg(feature = "sandbox")]
    pub(crate) fn trust(&self) -> Result<aldis_sandbox::Trust, String> {
        let keys = self.app_keys.iter().map(|key| {
            key_of(key).ok_or_else(|| {
                let why = format!("app-keys: \"{key}\" is no key: 64 hexadecimal digits are one");
                self.location_of_file() + &why
            })
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let anyone = keys.is_empty();
        Ok(if anyone { aldis_sandbox::Trust::Anyone } else { aldis_sandbox::Trust::Keys(keys) })
    }

    /// The engine's part.
    pub(crate) fn engine(&self) -> aldis_engine::Config {
        aldis_engine::Config {
            listen: if self.tls.only() { vec![] } else { self.listen.clone() },
            workers: self.workers(),
            design: self.design,
            spin: self.poll,
            knobs: design::Knobs {
                weights: self.rules.weights().clone(),
                received_max: Some(self.room().received()),
                ..design::Knobs::default()
            },
            session: self.session.config(),
        }
    }

    /// The learning switch's part.
    pub(crate) fn learning_switch(&self) -> learning_switch::LearningConfig {
        learning_switch::LearningConfig {
            idle_timeout_s: self.learning_switch.idle_timeout_s,
            tables: self.tables(),
            ..learning_switch::LearningConfig::new(Seed::random())
        }
    }

    /// The servers that `dhcp` believes, likewise.
    pub(crate) fn dhcp_servers(&self) -> aldis_apps::dhcp::Trust {
        dhcp::trust(&self.dhcp_server).unwrap_or_default()
    }

    /// The guests; none where they are refused, which [`Config::app_set`] says.
    pub(crate) fn guests(&self) -> Vec<GuestSpec> {
        let mut guests = guests::guests(&self.guest).unwrap_or_default();
        guests.extend(self.further_guests.iter().cloned());
        guests
    }

    /// Which tables the flows of applications go to: behind the rules, where there are any to come.
    pub(crate) fn tables(&self) -> Tables {
        match self.runs(Acl::NAME) {
            true => Tables::Guarded,
            false => Tables::One,
        }
    }

    /// The settings of the search for links.
    pub(crate) fn topology(&self) -> aldis_apps::topology::TopologyConfig {
        self.topology.config()
    }

    /// The settings of the table of hosts.
    pub(crate) fn hosts(&self) -> aldis_apps::hosts::HostsConfig {
        self.hosts.config(self.room())
    }

    /// The tables and keys that need a restart, of those that differ.
    pub(crate) fn changed(&self, other: &Config) -> Vec<&'static str> {
        let keys = [
            ("listen", self.listen != other.listen),
            #[cfg(feature = "http")]
            ("http", self.http.at != other.http.at),
            ("workers", self.workers != other.workers),
            ("apps", self.apps() != other.apps()),
            ("[[sequence]]", sequence::differ(&self.sequences, &other.sequences)),
            ("design", self.preset.name != other.preset.name),
            #[cfg(feature = "store")]
            ("store", self.store != other.store),
            ("poll", self.poll != other.poll),
            ("log", self.log != other.log),
            ("log-format", self.log_format != other.log_format),
            ("memory-mib", self.memory_mib != other.memory_mib),
            ("recording-mib", self.recording_mib != other.recording_mib),
            ("[tls]", self.tls.differ(&other.tls)),
            ("[session]", self.session != other.session),
            ("[learning-switch]", self.learning_switch != other.learning_switch),
            ("[monitor]", self.monitor != other.monitor),
            ("[[dhcp-server]]", self.dhcp_server != other.dhcp_server),
            ("[topology]", self.topology != other.topology),
            ("[hosts]", self.hosts != other.hosts),
            ("[routing]", self.routing != other.routing),
            ("[route-flow]", self.route_flow != other.route_flow),
        ];
        let keys = keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key);
        let knobs = self.knobs.differing(&other.knobs).filter(|key| !LIVE.contains(key));
        keys.chain(knobs).collect()
    }

    /// The path of the configuration file, as errors begin with it; empty where there is none.
    fn location_of_file(&self) -> String {
        let file = self.source.as_ref().map(|source| format!("{}: ", source.path.display()));
        file.unwrap_or_default()
    }

    /// Where the first of the keys was said that was.
    fn location_of(&self, refused: &KnobsError) -> String {
        let location = refused.keys.iter().find_map(|key| {
            let set = self.set.iter().any(|setting| setting.key == *key);
            match set {
                true => Some(format!("--set {key}: ")),
                false => self.source.as_ref()?.location_of_knob(key),
            }
        });
        location.unwrap_or_default()
    }

    /// This place of the file, and the key there.
    fn location_at(&self, at: usize) -> String {
        self.source.as_ref().map_or_else(String::new, |source| source.location_at(at))
    }
}

impl ConfigFile {
    fn location_at(&self, at: usize) -> String {
        format!("{}:{}", self.path.display(), location(&self.text, at))
    }

    /// Where the file has a key of `[knobs]`.
    #[cfg(feature = "config")]
    fn location_of_knob(&self, key: &str) -> Option<String> {
        let ConfigFile { path, text } = self;
        let table = toml::de::DeTable::parse(text).ok()?.into_inner();
        let knobs = table.get("knobs")?.get_ref().as_table()?;
        let (said, _) = knobs.iter().find(|(said, _)| said.get_ref() == key)?;
        Some(format!("{}:{}: {key}: ", path.display(), line_at(text, said.span().start)))
    }

    /// Without a file there is none.
    #[cfg(not(feature = "config"))]
    fn location_of_knob(&self, _: &str) -> Option<String> {
        None
    }
}
