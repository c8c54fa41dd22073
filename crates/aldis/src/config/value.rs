//! What stands behind the keys: each value with its range, and a sentence for what is outside it.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// A number of workers, 1 to 256: a worker's number is the highest byte of its transaction ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Workers(pub(crate) usize);

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seconds(pub(super) Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = i64::deserialize(from)?;
        match u64::try_from(seconds) {
            Ok(seconds @ 1..=3600) => Ok(Seconds(Duration::from_secs(seconds))),
            _ => Err(de::Error::custom(format!("{seconds} seconds; accepted are 1 to 3600"))),
        }
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Within<const MIN: u64, const MAX: u64>(pub(super) u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(from)?;
        match u64::try_from(number) {
            Ok(within) if (MIN..=MAX).contains(&within) => Ok(Within(within)),
            _ => Err(de::Error::custom(format!("{number}; accepted are {MIN} to {MAX}"))),
        }
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

/// How a line of the log looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
    /// For systemd's journal.
    Journald,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            "journald" => Ok(LogFormat::Journald),
            _ => Err(format!(
                "there is no log format \"{name}\"; the formats are: text, json, journald"
            )),
        }
    }
}

impl<'de> Deserialize<'de> for LogFormat {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        parsed(from)
    }
}

pub(crate) fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: std::fmt::Display>>(
    from: D,
) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(de::Error::custom)
}
