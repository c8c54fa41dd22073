//! The settings of `aldis run`: a TOML file, or none.
//!
//! Every key has a default. An unknown key or a value out of range is refused with the file, the line, the key and what
//! would be accepted; nothing is guessed.

mod begins;
mod dhcp;
mod monitor;
mod network;
mod paths;
pub(super) mod place;
mod rules;
mod sequence;
mod session;
pub(super) mod value;

use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use aldis_apps::Acl;
use aldis_apps::learning_switch::{self, Seed};
use aldis_control::account::SWITCH_BYTES;
use aldis_control::{App, Recipe, Tables};
use aldis_engine::design;
use aldis_engine::limits::WORKERS_MAX;
use aldis_engine::{Design, pin};
use serde::Deserialize;

pub(crate) use begins::Begins;
use place::{explain, line_at, place};
use value::Within;
pub(crate) use value::{LogFormat, LogLevel, Workers};

use crate::catalogue::{AppName, without_leftovers};

use super::http::Section;
use super::knobs::{Knobs, LIVE, Refused, Setting};
use super::room::Room;
use super::weights::{Rule, Rules, Table};

/// The ports that switches try: the one that IANA gave OpenFlow, and the one that everybody used before.
const PORTS: [u16; 2] = [6653, 6633];

const MIB: u64 = 1024 * 1024;

/// The largest configuration file that is read, in bytes.
const FILE_MAX: u64 = 1024 * 1024;

/// Everything that can be set.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Addresses to listen on.
    #[serde(deserialize_with = "crate::address::addresses")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Where people are served over HTTP, and who may ask.
    pub(crate) http: Section,
    /// Number of workers; by the machine when absent.
    pub(crate) workers: Option<Workers>,
    /// The applications, in order.
    pub(crate) apps: Vec<AppName>,
    /// In which order they see what.
    #[serde(rename = "sequence")]
    sequences: Vec<sequence::Told>,
    /// How switches are shared among workers: a preset.
    #[serde(rename = "design", deserialize_with = "value::parsed")]
    pub(crate) preset: Design,
    /// What is different from the preset.
    pub(crate) knobs: Knobs,
    /// The preset with these knobs, once it is settled.
    #[serde(skip)]
    pub(crate) design: Design,
    /// What the file says of weights.
    #[serde(rename = "weights")]
    table: Table,
    /// The weights, the command line's first, once they are settled.
    #[serde(skip)]
    pub(crate) rules: Rules,
    /// Those that count where nobody set others.
    #[serde(skip)]
    pub(crate) said: Rules,
    /// What is kept, and what the controller begins with therefore.
    #[serde(skip)]
    pub(crate) begins: Option<Begins>,
    /// Where is kept what outlives the controller.
    pub(crate) store: Option<PathBuf>,
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
    session: session::Session,
    pub(crate) tls: super::secure::Settings,
    learning_switch: session::LearningSwitch,
    pub(crate) monitor: monitor::Settings,
    /// The rules of the application `acl`, in order.
    #[serde(rename = "acl")]
    acl_rules: Vec<rules::AclRule>,
    /// What the application `static-flows` keeps.
    #[serde(rename = "static-flow")]
    static_flow: Vec<rules::StaticFlow>,
    topology: network::TopologySettings,
    hosts: network::HostsSettings,
    /// The servers that the application `dhcp` believes.
    dhcp_server: Vec<dhcp::Told>,
    pub(crate) routing: paths::Routing,
    pub(crate) route_flow: paths::RouteFlow,
    #[serde(skip)]
    source: Option<Source>,
}

/// The file that it was read from, for those who find something wrong with it later.
#[derive(Clone, Debug)]
struct Source {
    path: PathBuf,
    text: String,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: PORTS.map(|port| SocketAddr::from(([0, 0, 0, 0], port))).into(),
            http: Section::default(),
            workers: None,
            apps: AppName::defaults(),
            sequences: vec![],
            preset: Design::default(),
            knobs: Knobs::default(),
            design: Design::default(),
            table: Table::default(),
            rules: Rules::default(),
            said: Rules::default(),
            begins: None,
            store: None,
            stats: None,
            poll: false,
            log: LogLevel(tracing::Level::INFO),
            log_format: None,
            memory_mib: None,
            session: session::Session::default(),
            tls: super::secure::Settings::default(),
            learning_switch: session::LearningSwitch::default(),
            monitor: monitor::Settings::default(),
            acl_rules: vec![],
            static_flow: vec![],
            topology: network::TopologySettings::default(),
            hosts: network::HostsSettings::default(),
            dhcp_server: vec![],
            routing: paths::Routing::default(),
            route_flow: paths::RouteFlow::default(),
            source: None,
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// One sentence that names the file, and the line and the key where it is about one.
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
        Ok(Config { source: Some(Source { path: path.to_owned(), text }), ..config })
    }

    /// Puts the command line's knobs and rules before the file's, both over the preset, and the rules that are kept behind
    /// them.
    ///
    /// # Errors
    /// One sentence that begins with the place of what is wrong.
    pub(crate) fn settle(
        self,
        settings: &[Setting],
        rules: &[Rule],
        kept: &[Rule],
    ) -> Result<Config, String> {
        let said = |knobs: Knobs, setting: &Setting| knobs.or_rather(setting.knobs.clone());
        let knobs = settings.iter().fold(self.knobs.clone(), said);
        let design = knobs.over(self.preset);
        let design = design.map_err(|refused| self.place_of(settings, &refused) + &refused.why)?;
        let workers = self.workers();
        if let design::Read::SharedQueue { io_threads, .. } = design.read
            && io_threads + workers > WORKERS_MAX
        {
            return Err(format!(
                "{io_threads} I/O threads and {workers} workers; accepted are {WORKERS_MAX} threads together"
            ));
        }
        let mut all = Rules::default();
        for rule in rules {
            all.add(rule.clone()).map_err(|why| format!("--weight: {why}"))?;
        }
        for (at, rule) in self.table.rules() {
            all.add(rule).map_err(|why| self.place_at(at) + &why)?;
        }
        for rule in kept {
            all.add(rule.clone()).map_err(|why| format!("the store: weights: {why}"))?;
        }
        Ok(Config { knobs, design, said: all.clone(), rules: all, ..self })
    }

    /// The memory that is divided.
    pub(crate) fn room(&self) -> Room {
        self.memory_mib.map_or_else(Room::here, |Within(mib)| Room::of(mib * MIB))
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
    pub(crate) fn with_apps(self, apps: Vec<AppName>) -> Config {
        Config { apps, sequences: vec![], ..self }
    }

    /// The applications, which can work together.
    ///
    /// # Errors
    /// One sentence that begins with the place of what is wrong, where that is in a file.
    pub(crate) fn recipe(&self) -> Result<Recipe, String> {
        rules::acl(&self.acl_rules).map_err(|(at, why)| self.place_at(at) + &why)?;
        rules::static_flows(&self.static_flow).map_err(|(at, why)| self.place_at(at) + &why)?;
        dhcp::trust(&self.dhcp_server).map_err(|why| self.place_of_file() + &why)?;
        let recipe = Recipe::default().switch_bytes(self.switch_bytes());
        let recipe = self.apps.iter().fold(recipe, |recipe, app| app.add_to(recipe, self));
        let recipe = without_leftovers(recipe, &self.apps);
        let sequences = self.sequences.iter().map(sequence::Told::sequence);
        let recipe =
            sequences.fold(recipe, |recipe, sequence| recipe.sequence(sequence.on, sequence.apps));
        recipe.graph().map_err(|wrong| {
            let told = wrong.sequence().and_then(|at| self.sequences.get(at));
            told.map_or_else(String::new, |told| self.place_at(told.place(&wrong)))
                + &wrong.to_string()
        })?;
        Ok(recipe)
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
    pub(crate) fn learning_switch(&self) -> learning_switch::Config {
        learning_switch::Config {
            idle_timeout_s: self.learning_switch.idle_timeout_s,
            tables: self.tables(),
            ..learning_switch::Config::new(Seed::random())
        }
    }

    /// Who `dhcp` believes to be a server, likewise.
    pub(crate) fn dhcp_servers(&self) -> aldis_apps::dhcp::Trust {
        dhcp::trust(&self.dhcp_server).unwrap_or_default()
    }

    /// Which tables the flows of applications go to: behind the rules, where there are any to come.
    pub(crate) fn tables(&self) -> Tables {
        match self.apps.iter().any(|app| app.name() == Acl::NAME) {
            true => Tables::Guarded,
            false => Tables::One,
        }
    }

    /// The settings of the search for links.
    pub(crate) fn topology(&self) -> aldis_apps::topology::Config {
        self.topology.config()
    }

    /// The settings of the table of hosts.
    pub(crate) fn hosts(&self) -> aldis_apps::hosts::Config {
        self.hosts.config(self.room())
    }

    /// The tables and keys that need a restart, of those that differ.
    pub(crate) fn changed(&self, other: &Config) -> Vec<&'static str> {
        let keys = [
            ("listen", self.listen != other.listen),
            ("http", self.http.at != other.http.at),
            ("workers", self.workers != other.workers),
            ("apps", self.apps != other.apps),
            ("[[sequence]]", sequence::differ(&self.sequences, &other.sequences)),
            ("design", self.preset.name != other.preset.name),
            ("store", self.store != other.store),
            ("poll", self.poll != other.poll),
            ("log", self.log != other.log),
            ("log-format", self.log_format != other.log_format),
            ("memory-mib", self.memory_mib != other.memory_mib),
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

    /// The file.
    fn place_of_file(&self) -> String {
        let file = self.source.as_ref().map(|source| format!("{}: ", source.path.display()));
        file.unwrap_or_default()
    }

    /// Where the first of the keys was said that was.
    fn place_of(&self, settings: &[Setting], refused: &Refused) -> String {
        let place = refused.keys.iter().find_map(|key| {
            let set = settings.iter().any(|setting| setting.key == *key);
            if set { Some(format!("--set {key}: ")) } else { self.place_of_knob(key) }
        });
        place.unwrap_or_default()
    }

    /// Where the file has a key of `[knobs]`.
    fn place_of_knob(&self, key: &str) -> Option<String> {
        let Source { path, text } = self.source.as_ref()?;
        let table = toml::de::DeTable::parse(text).ok()?.into_inner();
        let knobs = table.get("knobs")?.get_ref().as_table()?;
        let (said, _) = knobs.iter().find(|(said, _)| said.get_ref() == key)?;
        Some(format!("{}:{}: {key}: ", path.display(), line_at(text, said.span().start)))
    }

    /// This place of the file, and the key there.
    fn place_at(&self, at: usize) -> String {
        let place =
            |Source { path, text }: &Source| format!("{}:{}", path.display(), place(text, at));
        self.source.as_ref().map(place).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_apps::{hosts, topology};
    use aldis_control::On;
    use aldis_control::batching::Bdu;
    use aldis_control::session;
    use aldis_wire::DatapathId;
    use std::time::Duration;

    fn refusal(text: &str) -> String {
        explain(text, &toml::from_str::<Config>(text).expect_err("it has to be refused"))
    }

    #[test]
    fn an_empty_file_is_the_default() {
        let config: Config = toml::from_str("").unwrap();
        assert_eq!(config.listen, Config::default().listen);
        assert_eq!(config.engine().session, session::Config::default());
    }

    #[test]
    fn the_example_of_the_documentation_is_accepted() {
        let page = include_str!("../../docs/configuration.md");
        let example = page.split("```").nth(1).and_then(|text| text.strip_prefix("toml")).unwrap();
        let config: Config = toml::from_str(example).unwrap();
        let config = config.settle(&[], &[], &[]).unwrap();
        assert_eq!(config.rules.weights().of(DatapathId(0x02_07)).number(), 2);
    }

    #[test]
    fn every_key_is_read() {
        let text = r#"
            listen = ["127.0.0.1:7000"]
            http = "[::1]:7001"
            workers = 3
            apps = ["learning-switch"]
            sequence = [{ on = "lldp", apps = [] }]
            design = "maestro-round-robin"
            stats = "/tmp/stats.json"
            poll = true
            log = "debug"
            log-format = "json"
            memory-mib = 512
            [knobs]
            bdu-us = 300
            [weights]
            "2" = 4
            [session]
            delete-flows = true
            handshake-within-s = 5
            echo-every-s = 7
            echo-within-s = 9
            stuck-within-s = 11
            switch-mib-max = 5
            [learning-switch]
            idle-timeout-s = 30
            [monitor]
            interval-s = 30
            ports = true
            flows = false
            tables = true
            queues = false
            flows-max = 9
            [topology]
            probe-every-s = 7
            probes-per-s-max = 90
            far-with-hosts = true
            [hosts]
            hosts-max = 1000
            port-hosts-max = 30
            ageing-s = 60
        "#;
        let config: Config = toml::from_str(text).unwrap();
        let config = config.settle(&[], &[], &[]).unwrap();
        let engine = config.engine();
        assert_eq!((engine.workers, engine.spin, engine.listen[0].port()), (3, true, 7000));
        assert!(config.http.at == "[::1]:7001".parse().ok() && engine.session.delete_flows);
        let sequences = config.recipe().unwrap().graph().unwrap().sequences;
        assert!(!sequences.iter().any(|(on, _)| *on == On::Lldp));
        assert_eq!(sequences.iter().filter(|it| it.1.contains(&"learning-switch")).count(), 3);
        assert_eq!(engine.session.echo_within, Duration::from_secs(9));
        assert_eq!(engine.session.stuck_within, Duration::from_secs(11));
        assert_eq!(config.learning_switch().idle_timeout_s, 30);
        let monitor = config.monitor.settings();
        assert_eq!((monitor.interval, monitor.flows_max), (Duration::from_secs(30), 9));
        assert_eq!(monitor.kinds, [true, false, true, false]);
        let topology::Config { interval, probes_per_s_max, far_with_hosts } = config.topology();
        assert_eq!((interval.as_secs(), probes_per_s_max, far_with_hosts), (7, 90, true));
        let hosts::Config { hosts_max, port_hosts_max, ageing, .. } = config.hosts();
        assert_eq!((hosts_max, port_hosts_max, ageing.as_secs()), (1000, 30, 60));
        assert_eq!(config.log, LogLevel(tracing::Level::DEBUG));
        assert_eq!(config.log_format, Some(LogFormat::Json));
        assert_eq!(engine.knobs.received_max, Some(64 << 20));
        assert_eq!(config.switch_bytes(), 5 << 20);
        assert_eq!(config.route_flow.paths_max(config.room()), 131_072);
        assert_eq!(config.stats, Some("/tmp/stats.json".into()));
        assert_eq!(engine.knobs.weights.of(DatapathId(2)).number(), 4);
        let bdu = Bdu::new(Duration::from_micros(300)).unwrap();
        assert_eq!(engine.design.batching, design::Batching::Adaptive(bdu));
    }

    #[test]
    fn an_error_names_line_key_and_what_is_accepted() {
        let cases = [
            ("poll = true\nworkers = 0\n", "2: workers: ", "from 1 to 256"),
            ("workers = \"two\"\n", "1: workers: ", "two"),
            ("\n\ndesign = \"beacom\"\n", "3: design: ", "fair-rounds"),
            ("[knobs]\nbdu-us = 0\n", "2: bdu-us: ", "for example 150"),
            ("[knobs]\nibt = 9\n", "2: ibt: ", "10 requests or more"),
            ("[knobs]\nibt = -9\n", "2: ibt: ", "below 0"),
            ("[knobs]\n\nbatching = \"big\"\n", "3: batching: ", "`per-read`"),
            ("[knobs]\nbutching = 1\n", "2: butching: ", "`batching`"),
            ("[weights]\n\"2\" = 1.5\n", "2: \"2\": ", "from 1 to 1000"),
            ("weights = 3\n", "1: weights: ", "a table of switches"),
            ("apps = [\"learning-switch\",\n \"hubb\"]\n", "1: apps: ", "did you mean `hub`?"),
            ("listen = [\"here\"]\n", "1: listen: ", "here:6653"),
            ("listen = true\n", "1: listen: true is given", "0.0.0.0:6653"),
            ("listen = [\n 6653,\n 99999]\n", "3: listen: ", "0 to 65535"),
            ("apps = 3\n", "1: apps: the number 3 is given where a list is wanted", ""),
            ("poll = \"yes\"\n", "1: poll: the text \"yes\" is given", "true or false"),
            ("[route-flow]\nidle-timeout-s = 99999\n", "2: idle-timeout-s: ", "0 to 65535"),
            ("[hosts]\nhost-max = 3\n", "2: host-max: ", "did you mean `hosts-max`?"),
            ("listen = []\n", "1: listen: ", "at least one"),
            ("http = \"on\"\n", "1: http: ", "\"off\""),
            ("log = \"loud\"\n", "1: log: ", "trace"),
            ("wrokers = 1\n", "1: wrokers: ", "did you mean `workers`?"),
            ("[[sequence]]\non = \"packet-in\"\napps = []", "2: on: ", "flow-request"),
            ("[[sequence]]\non = \"up\"\n", "1: ", "apps"),
            ("[session]\necho-every-s = 0\n", "2: echo-every-s: ", "1 to 3600"),
            ("memory-mib = 1\n", "1: memory-mib: ", "64 to 16777216"),
            ("[session]\nswitch-mib-max = 0\n", "2: switch-mib-max: ", "1 to 4096"),
            ("[monitor]\nflows-max = 9000\n", "2: flows-max: ", "0 to 4096"),
            ("[hosts]\nageing-s = 7\n", "2: ageing-s: ", "8 to 86400"),
            ("[topology]\nprobes-per-s-max = -1\n", "2: probes-per-s-max: ", "1 to 1000000"),
            ("workers = \n", "1", ""),
        ];
        for (text, place, accepted) in cases {
            let refusal = refusal(text);
            assert!(
                refusal.starts_with(place) && refusal.contains(accepted),
                "{text:?}: {refusal}"
            );
            assert_eq!(refusal.lines().count(), 1, "{refusal}");
            for word in ["expected", "invalid type", "sequence,", "unknown field"] {
                assert!(text == "workers = \n" || !refusal.contains(word), "{refusal}");
            }
        }
    }

    fn unsettled(text: &str, settings: &[&str], rules: &[&str]) -> String {
        let source = Some(Source { path: "a.toml".into(), text: text.to_owned() });
        let config = Config { source, ..toml::from_str(text).unwrap() };
        let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
        let rules: Vec<Rule> = rules.iter().map(|text| text.parse().unwrap()).collect();
        config.settle(&settings, &rules, &[]).expect_err("it has to be refused")
    }

    #[test]
    fn applications_that_cannot_work_together_are_refused_with_their_place() {
        let cases = [
            ("apps = [\"learning-switch\", \"learning-switch\"]", "the application", "twice"),
            (
                "apps = [\"learning-switch\"]\n[[sequence]]\non = \"up\"\napps = [\n  \"hub\"]",
                "a.toml:5: apps: there is no application \"hub\"",
                "learning-switch",
            ),
            (
                "apps = [\"learning-switch\"]\n[[sequence]]\non = \"up\"\napps = [\"learning-switch\"]",
                "a.toml:4: apps: the application \"learning-switch\" does not start on \"up\"",
                "flow-request, lldp",
            ),
            (
                "[[sequence]]\non = \"up\"\napps = []\n[[sequence]]\non = \"up\"\napps = []",
                "a.toml:5: on: there are two sequences on \"up\"",
                "one order",
            ),
        ];
        for (text, place, accepted) in cases {
            let source = Some(Source { path: "a.toml".into(), text: text.to_owned() });
            let config = Config { source, ..toml::from_str(text).unwrap() };
            let refusal = config.recipe().expect_err("it has to be refused");
            assert!(refusal.starts_with(place) && refusal.contains(accepted), "{refusal}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_its_place() {
        let cases: [(&str, &[&str], &str, &str); 6] = [
            ("design = \"nox\"\n[knobs]\nprt = 5\n", &[], "a.toml:3: prt: ", "binding off"),
            ("knobs.io-threads = 5\n", &[], "a.toml:1: io-threads: ", "shared queues"),
            ("[knobs]\nwrite = \"immediate\"", &[], "a.toml:2: write: ", "choose one"),
            (
                "design = \"nox\"\n[knobs]\nwrite = \"immediate\"",
                &["write=batched", "ibt=10"],
                "--set ibt: ",
                "fixed",
            ),
            ("[weights]\n\"2\" = 1\n\"1\" = 0\n", &[], "a.toml:3: \"1\": ", "1 or more"),
            ("[weights]\ns1 = 4\n", &[], "a.toml:2: s1: ", "a datapath id"),
        ];
        for (text, settings, place, accepted) in cases {
            let refusal = unsettled(text, settings, &[]);
            assert!(
                refusal.starts_with(place) && refusal.contains(accepted),
                "{text:?}: {refusal}"
            );
            assert_eq!(refusal.lines().count(), 1, "{refusal}");
        }
        let crowd = "workers = 255\ndesign = \"beacon-queue\"";
        assert!(unsettled(crowd, &[], &[]).contains("256 threads together"));
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let text = "design = \"maestro-round-robin\"\n[knobs]\nbdu-us = 1\n[weights]\n\"1\" = 2";
        let config: Config = toml::from_str(text).unwrap();
        let rules = ["1-9=7".parse().unwrap()];
        let config = config.settle(&["bdu-us=9".parse().unwrap()], &rules, &[]).unwrap();
        let bdu = Bdu::new(Duration::from_micros(9)).unwrap();
        assert_eq!(config.design.batching, design::Batching::Adaptive(bdu));
        assert_eq!(config.rules.weights().of(DatapathId(1)).number(), 7);
    }
}
