//! `[weights]` and `--weight`: which switch is due how much, a rule a line. The first rule that
//! names a switch counts.
//!
//! ```toml
//! [weights]
//! "00:00:00:00:00:00:00:01" = 4
//! "00:00:00:00:00:00:02:*" = 2
//! ```

use std::collections::HashSet;
use std::fmt;

use aldis_control::limits::WEIGHT_MAX;
use aldis_control::weights::{WeightRule, Weights};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_spanned::Spanned;
use tracing::warn;

use crate::config::Config;

/// Absent switches that are named; the others are counted.
const ABSENT_SHOWN: usize = 8;

/// Rules in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeightRules {
    rules: Vec<WeightRule>,
    weights: Weights,
}

/// What `[weights]` holds: its rules in the file's order, each with the place of its key.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeightsTable(Vec<(Spanned<String>, i64)>);

impl WeightRules {
    /// These, in order.
    ///
    /// # Errors
    /// Why one of them is refused.
    pub(crate) fn of(rules: &[WeightRule]) -> Result<WeightRules, String> {
        let mut all = WeightRules::default();
        rules.iter().try_for_each(|rule| all.add(rule.clone()))?;
        Ok(all)
    }

    /// Adds a rule behind those that are there.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn add(&mut self, rule: WeightRule) -> Result<(), String> {
        let added = self.weights.add(&rule.switches, rule.weight);
        added.map_err(|refused| refused.why.to_string())?;
        self.rules.push(rule);
        Ok(())
    }

    /// The weights of all switches.
    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The rules, in order.
    #[cfg(feature = "http")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WeightRule> {
        self.rules.iter()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The sentence about switches that rules name one by one and that are not `here`; none where
    /// all are.
    pub(crate) fn absent(&self, here: &HashSet<u64>) -> Option<String> {
        let absent: Vec<_> = self.weights.named().filter(|dpid| !here.contains(&dpid.0)).collect();
        let (shown, more) = absent.split_at(absent.len().min(ABSENT_SHOWN));
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        let more =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        (!absent.is_empty()).then(|| {
            format!(
                "no such switch is connected, though it was given a weight: {}{more}; perhaps an id is mistyped",
                shown.join(", ")
            )
        })
    }

    /// What is different in `new`: a line for each rule, old and new.
    pub(crate) fn changes(&self, new: &WeightRules) -> Vec<String> {
        if self.rules == new.rules {
            return Vec::new();
        }
        let of = |rules: &WeightRules, switches: &str| {
            let rule = rules.rules.iter().find(|rule| rule.switches == switches);
            rule.map_or_else(|| "no rule".to_owned(), |rule| rule.weight.to_string())
        };
        let gone = self
            .rules
            .iter()
            .filter(|old| !new.rules.iter().any(|rule| rule.switches == old.switches));
        let lines = new.rules.iter().chain(gone).filter_map(|WeightRule { switches, .. }| {
            let (before, after) = (of(self, switches), of(new, switches));
            (before != after).then(|| format!("weight of {switches}: {before} → {after}"))
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            vec!["weights: the order of the rules changed".into()]
        } else {
            lines
        }
    }
}

/// Says so where weights change nothing.
pub(crate) fn warn_if_idle(Config { rules, design, .. }: &Config) {
    if !rules.is_empty() && !design.read.weighs() {
        warn!("weights change nothing here: design {} does not weigh switches", design.name);
    }
}

impl WeightsTable {
    /// The rules, and where in the file the key of each begins.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (usize, WeightRule)> {
        self.0.iter().map(|(switches, weight)| {
            let rule = WeightRule { switches: switches.get_ref().clone(), weight: *weight };
            (switches.span().start, rule)
        })
    }
}

impl<'de> Deserialize<'de> for WeightsTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = WeightsTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a table of switches and weights, such as \"00:00:00:00:00:00:00:01\" = 4",
                )
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightsTable, A::Error> {
                let mut rules: Vec<(Spanned<String>, i64)> = Vec::new();
                while let Some((switches, WeightNumber(weight))) = map.next_entry()? {
                    rules.push((switches, weight));
                }
                // The keys of a table come sorted.
                rules.sort_by_key(|(switches, _)| switches.span().start);
                Ok(WeightsTable(rules))
            }
        }
        from.deserialize_map(InOrder)
    }
}

/// A weight as it stands in a file.
struct WeightNumber(i64);

impl<'de> Deserialize<'de> for WeightNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = WeightNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 1 to {WEIGHT_MAX}")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<WeightNumber, E> {
                Ok(WeightNumber(number))
            }
        }
        from.deserialize_any(Whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::DatapathId;

    fn rules(text: &str) -> WeightRules {
        let table: WeightsTable = toml::from_str(text).unwrap();
        let mut rules = WeightRules::default();
        table.rules().for_each(|(_, rule)| rules.add(rule).unwrap());
        rules
    }

    #[test]
    fn the_first_rule_of_the_file_counts_and_not_the_first_of_the_alphabet() {
        let weights = rules("\"9\" = 5\n\"1-9\" = 2\n\"*\" = 3\n\"1\" = 7\n");
        let weights = [9, 1, 10].map(|dpid| weights.weights().of(DatapathId(dpid)).number());
        assert_eq!(weights, [5, 2, 3]);
    }

    #[test]
    fn a_weight_that_is_no_whole_number_is_refused() {
        for weight in ["1.5", "\"x\"", "true", "[1]"] {
            let refused = toml::from_str::<WeightsTable>(&format!("\"1\" = {weight}")).unwrap_err();
            assert!(refused.message().contains("a whole number from 1 to 1000"), "{refused}");
        }
    }

    #[test]
    fn switches_that_did_not_come_are_named() {
        let rules = rules("\"1\" = 4\n\"2\" = 4\n\"10-99\" = 2");
        let sentence = rules.absent(&HashSet::from([1, 3])).unwrap();
        assert!(sentence.contains("weight: 0000000000000002; "), "{sentence}");
        assert_eq!(rules.absent(&HashSet::from([1, 2])), None);
        let many: Vec<String> = (0..20).map(|dpid| format!("\"{dpid}\" = 2")).collect();
        let sentence = self::rules(&many.join("\n")).absent(&HashSet::new()).unwrap();
        assert!(sentence.contains("0000000000000007 and 12 more;"), "{sentence}");
    }

    #[test]
    fn what_changed_is_told_rule_by_rule() {
        let old = rules("\"1\" = 1\n\"2\" = 2\n\"3\" = 3\n");
        let new = rules("\"2\" = 5\n\"1\" = 1\n\"4\" = 4\n");
        assert_eq!(
            old.changes(&new),
            ["weight of 2: 2 → 5", "weight of 4: no rule → 4", "weight of 3: 3 → no rule"]
        );
        assert!(old.changes(&old).is_empty());
        let swapped = rules("\"2\" = 2\n\"1\" = 1\n\"3\" = 3\n");
        assert_eq!(old.changes(&swapped), ["weights: the order of the rules changed"]);
    }
}
