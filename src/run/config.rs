//! The settings of `aldis run`: a TOML file, or none.
//!
//! Every key has a default. An unknown key or a value out of range is refused with the file, the line, the key and what
//! would be accepted; nothing is guessed.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{self, Seed};
use aldis_control::{App, session};
use aldis_engine::{Design, pin};
use serde::{Deserialize, Deserializer, de};

/// The ports that switches try: the one that IANA gave OpenFlow, and the one that everybody used before.
const PORTS: [u16; 2] = [6653, 6633];

/// The largest configuration file that is read, in bytes.
const FILE_MAX: u64 = 1024 * 1024;

/// Everything that can be set.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Addresses to listen on.
    #[serde(deserialize_with = "addresses")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Number of workers; by the machine when absent.
    pub(crate) workers: Option<Workers>,
    /// The applications, in order.
    pub(crate) apps: Vec<AppName>,
    /// How switches are shared among workers.
    #[serde(deserialize_with = "parsed")]
    pub(crate) design: Design,
    /// Whether workers spin instead of sleep.
    pub(crate) poll: bool,
    /// How much is logged.
    pub(crate) log: LogLevel,
    session: SessionSettings,
    learning_switch: LearningSwitchSettings,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: PORTS.map(|port| SocketAddr::from(([0, 0, 0, 0], port))).into(),
            workers: None,
            apps: vec![AppName::LearningSwitch],
            design: Design::default(),
            poll: false,
            log: LogLevel(tracing::Level::INFO),
            session: SessionSettings::default(),
            learning_switch: LearningSwitchSettings::default(),
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
        let size =
            fs::metadata(path).map_err(|error| format!("cannot read {shown}: {error}"))?.len();
        if size > FILE_MAX {
            return Err(format!(
                "{shown} is larger than {FILE_MAX} bytes, and so no configuration file"
            ));
        }
        let text =
            fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{shown}:{}", explain(&text, &error)))
    }

    /// The engine's part.
    pub(crate) fn engine(&self) -> aldis_engine::Config {
        aldis_engine::Config {
            listen: self.listen.clone(),
            workers: self.workers.map_or_else(pin::workers_default, |Workers(count)| count),
            design: self.design,
            spin: self.poll,
            session: session::Config {
                handshake_within: self.session.handshake_within_s.0,
                echo_every: self.session.echo_every_s.0,
                echo_within: self.session.echo_within_s.0,
                delete_flows: self.session.delete_flows,
                ..session::Config::default()
            },
        }
    }

    /// The learning switch's part.
    pub(crate) fn learning_switch(&self) -> learning_switch::Config {
        learning_switch::Config {
            idle_timeout_s: self.learning_switch.idle_timeout_s,
            ..learning_switch::Config::new(Seed::new(random()))
        }
    }
}

/// `[session]`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct SessionSettings {
    /// Beacon's knob: delete the flows that a switch has when it connects.
    delete_flows: bool,
    handshake_within_s: Seconds,
    echo_every_s: Seconds,
    echo_within_s: Seconds,
}

impl Default for SessionSettings {
    fn default() -> Self {
        let session = session::Config::default();
        SessionSettings {
            delete_flows: session.delete_flows,
            handshake_within_s: Seconds(session.handshake_within),
            echo_every_s: Seconds(session.echo_every),
            echo_within_s: Seconds(session.echo_within),
        }
    }
}

/// `[learning-switch]`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct LearningSwitchSettings {
    /// Seconds after which a flow that carries nothing is removed, 1 to 65535; 0 keeps it for ever.
    idle_timeout_s: u16,
}

impl Default for LearningSwitchSettings {
    fn default() -> Self {
        LearningSwitchSettings {
            idle_timeout_s: learning_switch::Config::new(Seed::new([0; 16])).idle_timeout_s,
        }
    }
}

/// A number of workers, 1 to 256: a worker's number is the highest byte of its transaction ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Workers(usize);

impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .ok()
            .filter(|count| (1..=256).contains(count))
            .map(Workers)
            .ok_or_else(|| format!("the number of workers is {text}, and has to be from 1 to 256"))
    }
}

impl<'de> Deserialize<'de> for Workers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        i64::deserialize(from)?.to_string().parse().map_err(de::Error::custom)
    }
}

/// A time of 1 to 3600 seconds.
#[derive(Clone, Copy, Debug)]
struct Seconds(Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = i64::deserialize(from)?;
        match u64::try_from(seconds) {
            Ok(seconds @ 1..=3600) => Ok(Seconds(Duration::from_secs(seconds))),
            _ => Err(de::Error::custom(format!("{seconds} seconds; accepted are 1 to 3600"))),
        }
    }
}

/// An application by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AppName {
    /// [`LearningSwitch`]
    LearningSwitch,
}

impl AppName {
    const ALL: [AppName; 1] = [AppName::LearningSwitch];

    /// The name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            AppName::LearningSwitch => LearningSwitch::NAME,
        }
    }
}

impl FromStr for AppName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        AppName::ALL.into_iter().find(|app| app.name() == name).ok_or_else(|| {
            let names: Vec<_> = AppName::ALL.iter().map(AppName::name).collect();
            format!(
                "there is no application \"{name}\"; the applications are: {}",
                names.join(", ")
            )
        })
    }
}

impl<'de> Deserialize<'de> for AppName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        parsed(from)
    }
}

/// How much is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogLevel(pub(crate) tracing::Level);

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = ["error", "warn", "info", "debug", "trace"].contains(&name);
        match name.parse() {
            Ok(level) if known => Ok(LogLevel(level)),
            _ => Err(format!(
                "there is no log level \"{name}\"; the levels are: error, warn, info, debug, trace"
            )),
        }
    }
}

impl<'de> Deserialize<'de> for LogLevel {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        parsed(from)
    }
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: std::fmt::Display>>(
    from: D,
) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(de::Error::custom)
}

fn addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SocketAddr>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    if texts.is_empty() {
        return Err(de::Error::custom("at least one address is needed, such as \"0.0.0.0:6653\""));
    }
    let address = |text: &String| {
        let refused =
            || de::Error::custom(format!("\"{text}\" is no address; write it as \"0.0.0.0:6653\""));
        text.parse().map_err(|_| refused())
    };
    texts.iter().map(address).collect()
}

/// Bytes that nobody outside can know: the keys that the standard library draws from the system for its hash maps.
fn random() -> [u8; 16] {
    let draw = || RandomState::new().build_hasher().finish();
    let (low, high) = (u128::from(draw()), u128::from(draw()));
    (low | high << 64).to_le_bytes()
}

/// `LINE: KEY: what is wrong`, as far as the error says where it is.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let Some(span) = error.span() else { return format!(" {message}") };
    let before = &text[..span.start.min(text.len())];
    let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
    let key =
        text.lines().nth(line - 1).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
    match key {
        Some(key) => format!("{line}: {key}: {message}"),
        None => format!("{line}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn every_key_is_read() {
        let text = r#"
            listen = ["127.0.0.1:7000"]
            workers = 3
            apps = ["learning-switch"]
            design = "static-partition"
            poll = true
            log = "debug"
            [session]
            delete-flows = true
            handshake-within-s = 5
            echo-every-s = 7
            echo-within-s = 9
            [learning-switch]
            idle-timeout-s = 30
        "#;
        let config: Config = toml::from_str(text).unwrap();
        let engine = config.engine();
        assert_eq!((engine.workers, engine.spin, engine.listen[0].port()), (3, true, 7000));
        assert!(engine.session.delete_flows);
        assert_eq!(engine.session.echo_within, Duration::from_secs(9));
        assert_eq!(config.learning_switch().idle_timeout_s, 30);
        assert_eq!(config.log, LogLevel(tracing::Level::DEBUG));
    }

    #[test]
    fn an_error_names_line_key_and_what_is_accepted() {
        let cases = [
            ("poll = true\nworkers = 0\n", "2: workers: ", "from 1 to 256"),
            ("workers = \"two\"\n", "1: workers: ", "two"),
            ("\n\ndesign = \"beacom\"\n", "3: design: ", "static-partition"),
            ("apps = [\"learning-switch\",\n \"hubb\"]\n", "1: apps: ", "learning-switch"),
            ("listen = [\"here\"]\n", "1: listen: ", "0.0.0.0:6653"),
            ("listen = []\n", "1: listen: ", "at least one"),
            ("log = \"loud\"\n", "1: log: ", "trace"),
            ("wrokers = 1\n", "1: wrokers: ", "workers"),
            ("[session]\necho-every-s = 0\n", "2: echo-every-s: ", "1 to 3600"),
            ("workers = \n", "1", ""),
        ];
        for (text, place, accepted) in cases {
            let refusal = refusal(text);
            assert!(
                refusal.starts_with(place) && refusal.contains(accepted),
                "{text:?}: {refusal}"
            );
            assert_eq!(refusal.lines().count(), 1, "{refusal}");
        }
    }
}
