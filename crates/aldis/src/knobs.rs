//! `[knobs]` and `--set`: single knobs over those of the design.
//!
//! A knob that would do nothing under the design is refused like one that is out of range: it was
//! set for a purpose.

use std::time::Duration;

use aldis_control::batching::{Bdu, Ibt};
use aldis_engine::Design;
use aldis_engine::design::{Batching, Contradiction, Read, Write};
use serde::{Deserialize, Deserializer, de};

/// Keys that count at once when the file is read again.
pub(crate) const LIVE: [&str; 4] = ["ibt", "bdu-us", "prt", "shed"];

/// Keys that count only after a restart.
#[cfg(feature = "http")]
const AFTER_RESTART: [&str; 10] = [
    "max-read-bytes",
    "batching",
    "write",
    "core-binding",
    "request-binding",
    "output-batching",
    "priorities",
    "io-threads",
    "period-ms",
    "hysteresis-pct",
];

/// The key, where it counts only after a restart.
#[cfg(feature = "http")]
pub(crate) fn waiting(key: &str) -> Option<&'static str> {
    AFTER_RESTART.into_iter().find(|waits| *waits == key)
}

/// What was said of each knob. Keys are the papers' words.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RunKnobs {
    max_read_bytes: Option<Natural>,
    batching: Option<BatchingText>,
    #[serde(deserialize_with = "ibt")]
    pub(crate) ibt: Option<Ibt>,
    #[serde(deserialize_with = "bdu")]
    pub(crate) bdu_us: Option<Bdu>,
    write: Option<WriteText>,
    core_binding: Option<bool>,
    request_binding: Option<bool>,
    output_batching: Option<bool>,
    priorities: Option<bool>,
    pub(crate) prt: Option<Prt>,
    pub(crate) shed: Option<bool>,
    io_threads: Option<Natural>,
    period_ms: Option<Natural>,
    hysteresis_pct: Option<Natural>,
}

/// A set of knobs that is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KnobsError {
    /// The keys that it may be about, the likeliest first.
    pub(crate) keys: &'static [&'static str],
    /// The sentence.
    pub(crate) why: String,
}

impl RunKnobs {
    /// These, and those of `other` where it has any.
    pub(crate) fn or_rather(self, other: RunKnobs) -> RunKnobs {
        RunKnobs {
            max_read_bytes: other.max_read_bytes.or(self.max_read_bytes),
            batching: other.batching.or(self.batching),
            ibt: other.ibt.or(self.ibt),
            bdu_us: other.bdu_us.or(self.bdu_us),
            write: other.write.or(self.write),
            core_binding: other.core_binding.or(self.core_binding),
            request_binding: other.request_binding.or(self.request_binding),
            output_batching: other.output_batching.or(self.output_batching),
            priorities: other.priorities.or(self.priorities),
            prt: other.prt.or(self.prt),
            shed: other.shed.or(self.shed),
            io_threads: other.io_threads.or(self.io_threads),
            period_ms: other.period_ms.or(self.period_ms),
            hysteresis_pct: other.hysteresis_pct.or(self.hysteresis_pct),
        }
    }

    /// The preset with these knobs.
    ///
    /// # Errors
    /// A knob that is out of range, does nothing under this design, or contradicts another.
    pub(crate) fn over(&self, preset: Design) -> Result<Design, KnobsError> {
        let design = Design {
            read: self.read(&preset)?,
            read_max: self.max_read_bytes.map_or(preset.read_max, |Natural(bytes)| bytes),
            batching: self.batching(&preset)?,
            write: self.write.map_or(preset.write, Write::from),
            core_binding: self.core_binding.unwrap_or(preset.core_binding),
            request_binding: self.request_binding.unwrap_or(preset.request_binding),
            output_batching: self.output_batching.unwrap_or(preset.output_batching),
            prt: self.prt.map_or(preset.prt, |Prt(requests)| requests),
            shed: self.shed(&preset)?,
            priorities: self.priorities.unwrap_or(preset.priorities),
            ..preset
        };
        let refused = |why: Contradiction| KnobsError { keys: keys(why), why: why.to_string() };
        design.check().map_err(refused).map(|()| design)
    }

    /// The keys whose values differ.
    pub(crate) fn differing(&self, other: &RunKnobs) -> impl Iterator<Item = &'static str> {
        let keys = [
            ("max-read-bytes", self.max_read_bytes != other.max_read_bytes),
            ("batching", self.batching != other.batching),
            ("ibt", self.ibt != other.ibt),
            ("bdu-us", self.bdu_us != other.bdu_us),
            ("write", self.write != other.write),
            ("core-binding", self.core_binding != other.core_binding),
            ("request-binding", self.request_binding != other.request_binding),
            ("output-batching", self.output_batching != other.output_batching),
            ("priorities", self.priorities != other.priorities),
            ("prt", self.prt != other.prt),
            ("shed", self.shed != other.shed),
            ("io-threads", self.io_threads != other.io_threads),
            ("period-ms", self.period_ms != other.period_ms),
            ("hysteresis-pct", self.hysteresis_pct != other.hysteresis_pct),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key)
    }

    fn shed(&self, preset: &Design) -> Result<bool, KnobsError> {
        match self.shed {
            Some(_) if !preset.read.sheds() => {
                Err(idle(&["shed"], preset, "sheds nothing: only fair-rounds does"))
            }
            shed => Ok(shed.unwrap_or(preset.shed)),
        }
    }

    fn read(&self, preset: &Design) -> Result<Read, KnobsError> {
        let mut read = preset.read;
        if let Some(Natural(threads)) = self.io_threads {
            let Read::SharedQueue { io_threads, .. } = &mut read else {
                return Err(idle(&["io-threads"], preset, "has none: only shared queues do"));
            };
            *io_threads = threads;
        }
        if let Some(Natural(ms)) = self.period_ms {
            let Read::DynamicPartition { period, .. } = &mut read else {
                let why = "divides switches once and for all, or not at all: only dynamic partition has a period";
                return Err(idle(&["period-ms"], preset, why));
            };
            *period = Duration::from_millis(ms as u64);
        }
        if let Some(Natural(percent)) = self.hysteresis_pct {
            let Read::DynamicPartition { hysteresis, .. } = &mut read else {
                let why = "moves no switch to another worker: only dynamic partition does";
                return Err(idle(&["hysteresis-pct"], preset, why));
            };
            *hysteresis = u32::try_from(percent).unwrap_or(u32::MAX);
        }
        Ok(read)
    }

    fn batching(&self, preset: &Design) -> Result<Batching, KnobsError> {
        let batching = match (self.batching, preset.batching) {
            (None, batching) => batching,
            (Some(BatchingText::PerRead), _) => Batching::PerRead,
            (Some(BatchingText::Adaptive), batching @ Batching::Adaptive(_)) => batching,
            (Some(BatchingText::Adaptive), _) => Batching::ADAPTIVE,
            (Some(BatchingText::Fixed), batching @ Batching::Fixed(_)) => batching,
            (Some(BatchingText::Fixed), _) => match self.ibt {
                Some(ibt) => Batching::Fixed(ibt),
                None => return Err(no_threshold()),
            },
        };
        match (batching, self.ibt, self.bdu_us) {
            (Batching::PerRead | Batching::Adaptive(_), Some(_), _) => Err(idle(
                &["ibt"],
                preset,
                "does not follow it here: with it choose batching = \"fixed\"",
            )),
            (Batching::PerRead | Batching::Fixed(_), _, Some(_)) => Err(idle(
                &["bdu-us"],
                preset,
                "does not follow it here: with it choose batching = \"adaptive\"",
            )),
            (Batching::Fixed(_), Some(ibt), _) => Ok(Batching::Fixed(ibt)),
            (Batching::Adaptive(_), _, Some(bdu)) => Ok(Batching::Adaptive(bdu)),
            _ => Ok(batching),
        }
    }
}

fn idle(keys: &'static [&'static str], design: &Design, why: &str) -> KnobsError {
    KnobsError { keys, why: format!("design {} {why}", design.name) }
}

fn no_threshold() -> KnobsError {
    let why = "fixed batching needs its threshold: give ibt too, in requests".to_owned();
    KnobsError { keys: &["batching"], why }
}

/// The keys of the knobs that go together badly.
fn keys(why: Contradiction) -> &'static [&'static str] {
    match why {
        Contradiction::ImmediateAndTogether => &["write", "output-batching"],
        Contradiction::ThresholdOfNothing => &["prt", "request-binding"],
        Contradiction::NothingMayWait => &["prt"],
        Contradiction::QueueOfSeveral => &["batching", "ibt", "bdu-us"],
        Contradiction::IoThreads(_) => &["io-threads"],
        Contradiction::Period(_) => &["period-ms"],
        Contradiction::Hysteresis(_) => &["hysteresis-pct"],
        Contradiction::ReadMax(_) => &["max-read-bytes"],
    }
}

/// `--set KEY=VALUE`: one knob.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Setting {
    /// Its key.
    pub(crate) key: String,
    /// That knob alone.
    pub(crate) knobs: RunKnobs,
}

#[cfg(feature = "config")]
impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) =
            text.split_once('=').ok_or("no setting; write it as KEY=VALUE, such as bdu-us=300")?;
        let (key, value) = (key.trim().to_owned(), value.trim());
        let typed = match (value.parse(), value.parse()) {
            (Ok(number), _) => toml::Value::Integer(number),
            (_, Ok(on)) => toml::Value::Boolean(on),
            _ => toml::Value::String(value.to_owned()),
        };
        let table = toml::Table::from_iter([(key.clone(), typed)]);
        let knobs =
            RunKnobs::deserialize(table).map_err(|error| aldis_plain::plain(error.message()))?;
        Ok(Setting { key, knobs })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum BatchingText {
    PerRead,
    Fixed,
    Adaptive,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WriteText {
    Batched,
    Immediate,
    PerLoop,
}

impl From<WriteText> for Write {
    fn from(name: WriteText) -> Write {
        match name {
            WriteText::Batched => Write::Batched,
            WriteText::Immediate => Write::Immediate,
            WriteText::PerLoop => Write::PerLoop,
        }
    }
}

/// A whole number that is not negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Natural(usize);

impl<'de> Deserialize<'de> for Natural {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(from)?;
        let natural = usize::try_from(number).map(Natural);
        natural
            .map_err(|_| de::Error::custom(format!("{number} is below 0; give a number above it")))
    }
}

/// A pending request threshold, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prt(pub(crate) Option<usize>);

impl<'de> Deserialize<'de> for Prt {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "give a number of requests from 1 on, or \"none\"")]
        enum KnobText {
            Requests(i64),
            Word(String),
        }
        match KnobText::deserialize(from)? {
            KnobText::Requests(requests @ 1..) => Ok(Prt(usize::try_from(requests).ok())),
            KnobText::Requests(0) => Err(de::Error::custom(Contradiction::NothingMayWait)),
            KnobText::Word(word) if word == "none" => Ok(Prt(None)),
            KnobText::Requests(_) | KnobText::Word(_) => Err(de::Error::custom(
                "no pending request threshold; give a number of requests from 1 on, or \"none\"",
            )),
        }
    }
}

fn ibt<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Ibt>, D::Error> {
    let Natural(requests) = Natural::deserialize(from)?;
    Ibt::new(requests).map(Some).map_err(de::Error::custom)
}

fn bdu<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bdu>, D::Error> {
    let Natural(us) = Natural::deserialize(from)?;
    Bdu::new(Duration::from_micros(us as u64)).map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knobs(text: &str) -> RunKnobs {
        toml::from_str(text).unwrap()
    }

    fn over(design: &str, text: &str) -> Result<Design, KnobsError> {
        knobs(text).over(design.parse().unwrap())
    }

    #[test]
    fn nothing_said_is_the_preset() {
        for design in Design::ALL {
            assert_eq!(RunKnobs::default().over(design), Ok(design));
        }
    }

    #[test]
    fn every_knob_is_turned() {
        let text = "
            max-read-bytes = 4096
            batching = \"fixed\"
            ibt = 70
            write = \"immediate\"
            core-binding = false
            output-batching = false
            priorities = true
            request-binding = false
            prt = 99
            io-threads = 3
        ";
        let preset: Design = "maestro-shared-queue".parse().unwrap();
        let expected = Design {
            read: Read::SharedQueue { io_threads: 3, per_switch: false },
            read_max: 4096,
            batching: Batching::Fixed(Ibt::new(70).unwrap()),
            write: Write::Immediate,
            core_binding: false,
            request_binding: false,
            output_batching: false,
            priorities: true,
            prt: Some(99),
            ..preset
        };
        assert_eq!(knobs(text).over(preset), Ok(expected));
        assert_eq!(over("maestro-shared-queue", "prt = \"none\"").unwrap().prt, None);
        let both = over("maestro-dynamic-partition", "period-ms = 50\nhysteresis-pct = 0").unwrap();
        let period = Duration::from_millis(50);
        assert_eq!(both.read, Read::DynamicPartition { period, hysteresis: 0 });
        assert!(over("fair-rounds", "").unwrap().shed);
        assert!(!over("fair-rounds", "shed = false").unwrap().shed);
        let adaptive = over("beacon", "batching = \"adaptive\"\nbdu-us = 300").unwrap().batching;
        assert_eq!(adaptive, Batching::Adaptive(Bdu::new(Duration::from_micros(300)).unwrap()));
        assert_eq!(over("beacon", "batching = \"adaptive\"").unwrap().batching, Batching::ADAPTIVE);
        let unbound = over("maestro-round-robin", "request-binding = false\nprt = 9").unwrap();
        assert_eq!((unbound.request_binding, unbound.prt), (false, Some(9)));
        for binds in [false, true] {
            let queue = over("beacon-queue", &format!("request-binding = {binds}\nprt = 9"));
            assert_eq!(queue.map(|it| (it.request_binding, it.prt)), Ok((binds, Some(9))));
        }
    }

    #[test]
    fn what_does_nothing_or_contradicts_is_refused_with_its_key() {
        let refused = [
            ("fair-rounds", "io-threads = 2", "io-threads", "only shared queues"),
            ("maestro-static-partition", "period-ms = 100", "period-ms", "only dynamic"),
            ("maestro-dynamic-partition", "period-ms = 1", "period-ms", "10 ms or more"),
            ("beacon", "hysteresis-pct = 1", "hysteresis-pct", "only dynamic"),
            ("maestro-dynamic-partition", "hysteresis-pct = 101", "hysteresis-pct", "0 to 100"),
            ("maestro-round-robin", "ibt = 100", "ibt", "\"fixed\""),
            ("fair-rounds", "bdu-us = 100", "bdu-us", "\"adaptive\""),
            ("nox", "batching = \"fixed\"", "batching", "give ibt"),
            ("fair-rounds", "write = \"immediate\"", "write", "choose one"),
            ("beacon-immediate", "output-batching = true", "write", "choose one"),
            ("fair-rounds", "prt = 5", "prt", "request binding off"),
            ("beacon", "shed = false", "shed", "only fair-rounds"),
            ("beacon-queue", "io-threads = 0", "io-threads", "1 to 256"),
            ("beacon-queue-per-switch", "batching = \"adaptive\"", "batching", "per-read"),
            ("nox", "max-read-bytes = 3", "max-read-bytes", "1024 to 1048576"),
        ];
        for (design, text, key, accepted) in refused {
            let KnobsError { keys, why } = over(design, text).unwrap_err();
            assert!(keys[0] == key && why.contains(accepted), "{design}, {text}: {keys:?}, {why}");
        }
    }

    #[test]
    fn a_setting_on_the_command_line_is_a_knob() {
        for (text, same) in [
            ("bdu-us=300", "bdu-us = 300"),
            ("write = immediate", "write = \"immediate\""),
            ("core-binding=false", "core-binding = false"),
            ("prt=none", "prt = \"none\""),
            ("shed=false", "shed = false"),
        ] {
            assert_eq!(text.parse::<Setting>().unwrap().knobs, knobs(same));
        }
        for (text, accepted) in [
            ("bdu-us", "KEY=VALUE"),
            ("bdu-us=0", "for example 150"),
            ("bdu-us=9999999", "1s or less"),
            ("ibt=0", "1 request or more"),
            ("ibt=-1", "below 0"),
            ("prt=0", "1 or more"),
            ("prt=few", "or \"none\""),
            ("write=later", "`batched`, `immediate`, `per-loop`"),
            ("bud-us=1", "`bdu-us`"),
        ] {
            let why = text.parse::<Setting>().unwrap_err();
            assert!(why.contains(accepted), "{text}: {why}");
        }
    }

    #[test]
    fn what_comes_later_goes_before() {
        let both = knobs("ibt = 20\nprt = 3").or_rather(knobs("prt = 4"));
        assert_eq!(both, knobs("ibt = 20\nprt = 4"));
        let changed = knobs("io-threads = 2\nprt = 3");
        assert!(changed.differing(&knobs("prt = 4")).eq(["prt", "io-threads"]));
    }
}
