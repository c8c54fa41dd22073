//! How much is offered, as a plan says it: a number of requests a second, a part of what the
//! controller can do, or as much as the sockets take.

use aldis_emulator::load::{DemandSpread, RATE_MAX};
use serde::{Deserialize, Deserializer, de};
use std::fmt;

/// The largest multiple of the capacity.
const TIMES_MAX: f64 = 100.0;

/// What all switches offer together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OfferedRate {
    /// Queues that are always full.
    Full,
    /// So many requests a second: the papers' constants.
    Rps(f64),
    /// So many times what the controller served with queues always full, at the start of the run.
    Times(f64),
}

impl fmt::Display for OfferedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OfferedRate::Full => f.write_str("full"),
            OfferedRate::Times(times) => write!(f, "{times}x"),
            OfferedRate::Rps(rps) if *rps >= 100_000.0 => write!(f, "{}M", rps / 1e6),
            OfferedRate::Rps(rps) if *rps >= 1000.0 => write!(f, "{}k", rps / 1e3),
            OfferedRate::Rps(rps) => write!(f, "{rps}"),
        }
    }
}

impl<'de> Deserialize<'de> for OfferedRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "a rate is a number of requests a second, \"full\" or \"0.82x\""
        )]
        enum RateText {
            Number(f64),
            Word(String),
        }
        let refused = |what: String| {
            de::Error::custom(format!(
                "{what} is no rate; write requests a second up to 1e9, \"full\", or \"0.82x\" for a part of the capacity"
            ))
        };
        match RateText::deserialize(from)? {
            RateText::Number(rps) if rps > 0.0 && rps <= RATE_MAX => Ok(OfferedRate::Rps(rps)),
            RateText::Number(rps) => Err(refused(rps.to_string())),
            RateText::Word(word) if word == "full" => Ok(OfferedRate::Full),
            RateText::Word(word) => {
                let times = word.strip_suffix('x').and_then(|times| times.parse::<f64>().ok());
                let times = times.filter(|times| *times > 0.0 && *times <= TIMES_MAX);
                times.map(OfferedRate::Times).ok_or_else(|| refused(format!("\"{word}\"")))
            }
        }
    }
}

/// `even`, `near-uniform`, `skewed` or `zipf:S`.
pub(super) fn spreads<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<DemandSpread>, D::Error> {
    Vec::<String>::deserialize(from)?.iter().map(|word| spread(word)).collect()
}

fn spread<E: de::Error>(word: &str) -> Result<DemandSpread, E> {
    let exponent = word.strip_prefix("zipf:").and_then(|exponent| exponent.parse::<f64>().ok());
    match (word, exponent) {
        ("even", _) => Ok(DemandSpread::Even),
        ("near-uniform", _) => Ok(DemandSpread::NearUniform),
        ("skewed", _) => Ok(DemandSpread::Zipf(1.0)),
        (_, Some(exponent)) if (0.0..=10.0).contains(&exponent) => Ok(DemandSpread::Zipf(exponent)),
        _ => Err(de::Error::custom(format!(
            "\"{word}\" is no spread; accepted are even, near-uniform, skewed and zipf:S, S from 0 to 10"
        ))),
    }
}

/// The word for a spread.
pub(super) fn word(spread: DemandSpread) -> String {
    match spread {
        DemandSpread::Even => "even".into(),
        DemandSpread::NearUniform => "near-uniform".into(),
        DemandSpread::Zipf(1.0) => "skewed".into(),
        DemandSpread::Zipf(exponent) => format!("zipf:{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Debug)]
    struct RateAndPoints {
        rates: Vec<OfferedRate>,
        #[serde(deserialize_with = "spreads")]
        spread: Vec<DemandSpread>,
    }

    #[test]
    fn rates_and_spreads_are_read_and_said_again() {
        let text = "rates = [4_000_000, 60000, 1.4e6, 850000, 20, \"full\", \"0.82x\"]\n\
                    spread = [\"even\", \"near-uniform\", \"skewed\", \"zipf:0.5\"]";
        let both: RateAndPoints = toml::from_str(text).unwrap();
        let said: Vec<String> = both.rates.iter().map(OfferedRate::to_string).collect();
        assert_eq!(said, ["4M", "60k", "1.4M", "0.85M", "20", "full", "0.82x"]);
        let said: Vec<String> = both.spread.into_iter().map(word).collect();
        assert_eq!(said, ["even", "near-uniform", "skewed", "zipf:0.5"]);
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for wrong in ["0", "-1", "nan", "2e9", "\"\"", "\"x\"", "\"0x\"", "\"101x\"", "\"nanx\""] {
            let text = format!("spread = []\nrates = [{wrong}]");
            let refused = toml::from_str::<RateAndPoints>(&text).unwrap_err();
            assert!(refused.message().contains("is no rate"), "{wrong}: {refused}");
        }
        for wrong in ["flat", "zipf:", "zipf:-1", "zipf:11"] {
            let text = format!("rates = []\nspread = [\"{wrong}\"]");
            let refused = toml::from_str::<RateAndPoints>(&text).unwrap_err();
            assert!(refused.message().contains("is no spread"), "{wrong}: {refused}");
        }
    }
}
