//! Weights, as an operator writes them: which switch is due how much.
//!
//! A rule names switches and their weight; the first rule that names a switch counts, and a switch
//! that no rule names has weight 1. Switches are named by a datapath id in any usual notation, by
//! its first octets (`00:00:00:00:00:00:01:*`), by the first and the last of a range (`1-100`), or
//! all of them (`*`).

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use aldis_wire::DatapathId;

use crate::fair::Weight;
use crate::limits::{WEIGHT_MAX, WEIGHT_RULES_MAX};

/// Characters of an operator's text that a complaint repeats.
const QUOTE_MAX: usize = 64;

/// Some switches, named in one of the ways above: those whose datapath ids lie in a range.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Switches(RangeInclusive<u64>);

impl Switches {
    /// Whether this one is among them.
    pub fn contains(&self, dpid: DatapathId) -> bool {
        self.0.contains(&dpid.0)
    }

    /// Whether some switch is among both.
    pub fn overlaps(&self, other: &Switches) -> bool {
        self.0.start() <= other.0.end() && other.0.start() <= self.0.end()
    }
}

/// In a way that can be read again: a datapath id, the first and the last of a range, or `*`.
impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self.0.start(), *self.0.end()) {
            (0, u64::MAX) => f.write_str("*"),
            (one, other) if one == other => write!(f, "{}", DatapathId(one)),
            (first, last) => write!(f, "{}-{}", DatapathId(first), DatapathId(last)),
        }
    }
}

impl FromStr for Switches {
    type Err = Why;

    fn from_str(text: &str) -> Result<Switches, Why> {
        ids(text).map(Switches)
    }
}

/// A rule, as an operator writes it: `1-100=4`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct WeightRule {
    /// The switches, in one of the ways above.
    pub switches: String,
    /// What is due to each of them, compared to others: 1 to [`WEIGHT_MAX`].
    pub weight: i64,
}

/// `SWITCHES=N`
impl FromStr for WeightRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (switches, weight) = text.split_once('=').ok_or_else(|| Why::NoRule.to_string())?;
        let weight = weight.trim().parse().map_err(|_| Why::NotANumber.to_string())?;
        let added = Weights::default().add(switches, weight);
        added.map_err(|refused| refused.why.to_string())?;
        Ok(WeightRule { switches: switches.trim().to_owned(), weight })
    }
}

/// The weights of all switches there may be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Weights {
    rules: Vec<(RangeInclusive<u64>, Weight)>,
}

impl Weights {
    /// The weight of a switch.
    pub fn of(&self, dpid: DatapathId) -> Weight {
        let named = self.rules.iter().find(|(ids, _)| ids.contains(&dpid.0));
        named.map_or(Weight::ONE, |(_, weight)| *weight)
    }

    /// The switches that rules name one by one, in the order of the rules.
    pub fn named(&self) -> impl Iterator<Item = DatapathId> {
        let one = |(ids, _): &(RangeInclusive<u64>, Weight)| {
            (ids.start() == ids.end()).then_some(*ids.start())
        };
        self.rules.iter().filter_map(one).map(DatapathId)
    }

    /// Adds a rule behind those that are there.
    ///
    /// # Errors
    /// What makes no sense about it, and nothing was added.
    pub fn add(&mut self, switches: &str, weight: i64) -> Result<(), Refused> {
        let refused = |why| Refused { rule: quote(switches), why };
        if self.rules.len() == WEIGHT_RULES_MAX {
            return Err(refused(Why::TooManyRules));
        }
        let ids = ids(switches).map_err(refused)?;
        let weight = to_weight(weight).map_err(refused)?;
        self.rules.push((ids, weight));
        Ok(())
    }
}

/// Rules as text: `SWITCHES = WEIGHT`, one a line; empty lines and what follows a `#` are passed
/// over.
impl FromStr for Weights {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Weights, Refused> {
        let mut weights = Weights::default();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
        for line in lines.filter(|line| !line.is_empty()) {
            let refused = |why| Refused { rule: quote(line), why };
            let (switches, weight) = line.split_once('=').ok_or_else(|| refused(Why::NoRule))?;
            let weight = weight.trim().parse().map_err(|_| refused(Why::NotANumber))?;
            weights.add(switches, weight)?;
        }
        Ok(weights)
    }
}

fn to_weight(weight: i64) -> Result<Weight, Why> {
    let in_range = u32::try_from(weight).ok().and_then(Weight::new);
    in_range.ok_or(match weight {
        0 => Why::Zero,
        ..0 => Why::Negative(weight),
        _ => Why::TooLarge(weight),
    })
}

fn ids(switches: &str) -> Result<RangeInclusive<u64>, Why> {
    let switches = switches.trim();
    if let Some(octets) = switches.strip_suffix('*') {
        return beginning_with(octets).ok_or(Why::NotSwitches);
    }
    let id =
        |text: &str| text.trim().parse().map(|DatapathId(id)| id).map_err(|_| Why::NotSwitches);
    match switches.split_once('-') {
        None => id(switches).map(|id| id..=id),
        Some((first, last)) => match (id(first)?, id(last)?) {
            (first, last) if first > last => Err(Why::Backwards),
            (first, last) => Ok(first..=last),
        },
    }
}

/// The ids that begin with these octets: none to seven, each as two hexadecimal digits and a colon.
fn beginning_with(octets: &str) -> Option<RangeInclusive<u64>> {
    let (mut first, mut free) = (0u64, u64::BITS);
    for octet in octets.split_terminator(':') {
        let hex = octet.len() == 2 && octet.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !hex || free == 8 {
            return None;
        }
        free -= 8;
        first |= u64::from_str_radix(octet, 16).ok()? << free;
    }
    let whole = octets.is_empty() || octets.ends_with(':');
    let rest = u64::MAX >> (u64::BITS - free);
    whole.then_some(first..=first | rest)
}

fn quote(text: &str) -> String {
    text.trim().chars().take(QUOTE_MAX).collect()
}

/// A rule that is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The rule, or the switches that it names; its beginning, where it is long.
    pub rule: String,
    /// Why.
    pub why: Why,
}

/// Why a rule about weights is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// There is no `=` in it.
    NoRule,
    /// It does not name switches in any way that is known.
    NotSwitches,
    /// The range ends before it begins.
    Backwards,
    /// The weight is no whole number.
    NotANumber,
    /// The weight is 0.
    Zero,
    /// The weight is below 0.
    Negative(i64),
    /// The weight is above [`WEIGHT_MAX`].
    TooLarge(i64),
    /// There are [`WEIGHT_RULES_MAX`] rules already.
    TooManyRules,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "weight of \"{}\": {}", self.rule, self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NoRule => f.write_str("no rule; write the switches, = and the weight"),
            Why::NotSwitches => f.write_str(
                "no such switches; write a datapath id, its first octets as 00:00:00:00:00:00:01:*, a range as 1-100, \
                 or * for all",
            ),
            Why::Backwards => f.write_str("the range ends before it begins; swap its ends"),
            Why::NotANumber => write!(f, "not a number; give a whole number from 1 to {WEIGHT_MAX}"),
            Why::Zero => f.write_str("0 would never serve the switch; give 1 or more"),
            Why::Negative(weight) => write!(f, "{weight} is below 0; give 1 or more"),
            Why::TooLarge(weight) => {
                write!(f, "{weight} would leave nothing to the others; give {WEIGHT_MAX} or less")
            }
            Why::TooManyRules => {
                write!(f, "more than {WEIGHT_RULES_MAX} rules; use ranges or first octets")
            }
        }
    }
}

impl core::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn weight(weights: &Weights, dpid: u64) -> u32 {
        weights.of(DatapathId(dpid)).number()
    }

    #[test]
    fn the_first_rule_that_names_a_switch_counts() {
        let text = "
            # the core
            00:00:00:00:00:00:00:07 = 4
            1-100 = 2          # and the edge
            of:00000000000000ff=3
            00:00:00:00:00:00:01:* = 5
            0x200 - openflow:600 = 6
            9 = 900
        ";
        let weights: Weights = text.parse().unwrap();
        let expected = [
            (7, 4),
            (1, 2),
            (9, 2),
            (100, 2),
            (101, 1),
            (255, 3),
            (256, 5),
            (511, 5),
            (512, 6),
            (600, 6),
            (601, 1),
            (0, 1),
            (u64::MAX, 1),
        ];
        for (dpid, number) in expected {
            assert_eq!(weight(&weights, dpid), number, "{dpid}");
        }
        assert_eq!(weight(&Weights::default(), 7), 1);
        assert!(weights.named().eq([7, 255, 9].map(DatapathId)));
    }

    #[test]
    fn any_number_of_octets_is_a_beginning() {
        assert_eq!(ids("*"), Ok(0..=u64::MAX));
        assert_eq!(ids("00:*"), Ok(0..=u64::MAX >> 8));
        assert_eq!(ids("ff:*"), Ok(0xff << 56..=u64::MAX));
        assert_eq!(ids("01:02:03:04:05:06:07:*"), Ok(0x0102030405060700..=0x01020304050607ff));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_sentence() {
        let refused = |text: &str| text.parse::<Weights>().unwrap_err().to_string();
        assert_eq!(
            refused("1 = 0"),
            "weight of \"1\": 0 would never serve the switch; give 1 or more"
        );
        assert_eq!(refused("1=-3"), "weight of \"1\": -3 is below 0; give 1 or more");
        assert_eq!(
            refused("1-9=1001"),
            "weight of \"1-9\": 1001 would leave nothing to the others; give 1000 or less"
        );
        assert_eq!(
            refused("9-1=1"),
            "weight of \"9-1\": the range ends before it begins; swap its ends"
        );
        assert_eq!(
            refused("1 4"),
            "weight of \"1 4\": no rule; write the switches, = and the weight"
        );
        for number in ["", "1.5", "x", "99999999999999999999"] {
            let why = alloc::format!("1={number}").parse::<Weights>().unwrap_err().why;
            assert_eq!(why, Why::NotANumber, "{number}");
        }
    }

    #[test]
    fn what_names_no_switch_is_refused() {
        for switches in [
            "",
            "s1",
            "0x",
            "1*",
            "0:*",
            "000:*",
            "+1:*",
            "00*",
            "::*",
            ":*",
            "1-",
            "-",
            "1-2-3",
            "**",
            "00:00:00:00:00:00:00:01:*",
            "00:00:00:00:00:00:00:*:01",
        ] {
            assert_eq!(ids(switches), Err(Why::NotSwitches), "{switches}");
        }
    }

    #[test]
    fn the_number_of_rules_and_the_length_of_a_complaint_are_bounded() {
        let mut weights = Weights::default();
        for dpid in 0..WEIGHT_RULES_MAX {
            weights.add(&dpid.to_string(), 2).unwrap();
        }
        assert_eq!(weights.add("9999", 2).unwrap_err().why, Why::TooManyRules);
        assert_eq!(weight(&weights, 9999), 1);
        let long = "ü".repeat(10_000).parse::<Weights>().unwrap_err();
        assert_eq!(long.rule.chars().count(), QUOTE_MAX);
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[0-9a-fx:*=#\\- \n]{0,60}", dpid: u64) {
            if let Ok(weights) = text.parse::<Weights>() {
                prop_assert!((1..=WEIGHT_MAX).contains(&weight(&weights, dpid)));
            }
        }

        #[test]
        fn a_switch_is_named_by_its_first_octets(dpid: u64, octets in 0..8usize, other: u64) {
            let mut text = String::new();
            for octet in &dpid.to_be_bytes()[..octets] {
                text.push_str(&alloc::format!("{octet:02x}:"));
            }
            let named = ids(&alloc::format!("{text}*")).unwrap();
            prop_assert!(named.contains(&dpid));
            let same = other.to_be_bytes()[..octets] == dpid.to_be_bytes()[..octets];
            prop_assert_eq!(named.contains(&other), same);
        }
    }

    #[test]
    fn a_rule_of_its_own_is_checked_alike() {
        let rule = WeightRule { switches: "1-9".into(), weight: 4 };
        assert_eq!("1-9 = 4".parse(), Ok(rule));
        for (text, accepted) in [
            ("1", "write the switches"),
            ("1=0", "1 or more"),
            ("1=-4", "below 0"),
            ("1=1001", "1000 or less"),
            ("s1=4", "datapath id"),
            ("# 1=2", "datapath id"),
            ("1=2\n3=4", "from 1 to 1000"),
        ] {
            let refused = text.parse::<WeightRule>().unwrap_err();
            assert!(refused.contains(accepted), "{text}: {refused}");
        }
    }
}
