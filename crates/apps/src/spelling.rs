//! How flows and rules are spelled in JSON and TOML: one spelling for REST, the configuration file
//! and the store.
//!
//! A match is a table of fields and values, an action is a text (`output:2`), and the other
//! instructions are texts beside the actions (`goto-table:4`, see [`Then`]). A value may stand as a
//! number where its text would be one.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use aldis_wire::msg::{Action, Field, Instruction, Match, MeterNo, TableNo};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Characters of a text that an error repeats.
const QUOTE_MAX: usize = 64;

/// The beginning of a text, for an error that repeats it.
pub fn beginning(text: &str) -> String {
    text.chars().take(QUOTE_MAX).collect()
}

/// A value that is spelled as text, or as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spelled<T>(pub T);

impl<T: fmt::Display> Serialize for Spelled<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Spelled<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Either<T> {
            type Value = Spelled<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Spelled<T>, E> {
                text.parse().map(Spelled).map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Spelled<T>, E> {
                self.visit_str(&number.to_string())
            }

            /// TOML knows no other integers.
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Spelled<T>, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => Err(E::invalid_type(de::Unexpected::Signed(number), &self)),
                }
            }
        }

        from.deserialize_any(Either(PhantomData))
    }
}

/// Which packets a flow or a rule is about: fields with their values, completed by what the fields
/// need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matching(pub Match);

impl Matching {
    /// The fields by their names.
    pub fn in_words(&self) -> BTreeMap<String, String> {
        self.0.fields.iter().map(Field::in_words).collect()
    }
}

impl Serialize for Matching {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.in_words().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Matching {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Matching;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of fields and their values, such as { eth-type = 0x0806 }")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Matching, A::Error> {
                let mut fields = vec![];
                while let Some((name, Spelled(value))) =
                    map.next_entry::<String, Spelled<String>>()?
                {
                    fields.push(field(&name, &value).map_err(de::Error::custom)?);
                }
                matching(fields).map_err(de::Error::custom)
            }
        }

        from.deserialize_map(Fields)
    }
}

/// As a query spells it: `in_port=1,ipv4_dst=10.0.0.0/8`.
impl FromStr for Matching {
    type Err = String;

    fn from_str(text: &str) -> Result<Matching, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let fields = parts.map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            field(name, value)
        });
        matching(fields.collect::<Result<_, _>>()?)
    }
}

fn field(name: &str, value: &str) -> Result<Field, String> {
    Field::named(name, value).map_err(|why| format!("{}: {why}", beginning(name)))
}

fn matching(fields: Vec<Field>) -> Result<Matching, String> {
    Match { fields }.completed().map(Matching).map_err(|why| why.to_string())
}

/// What a flow does beside the actions that it carries out at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Then {
    /// `write:ACTION`: an action for the end of the pipeline.
    Write(Action),
    /// `clear`, `goto-table:N`, `meter:N`, `write-metadata:N/MASK`.
    Instruction(Instruction),
}

impl FromStr for Then {
    type Err = String;

    fn from_str(text: &str) -> Result<Then, String> {
        let refused = || {
            let accepted = "write:ACTION, clear, goto-table:N, meter:N, write-metadata:N/MASK";
            format!("{:?}; accepted: {accepted}", beginning(text))
        };
        let Some((name, value)) = text.split_once(':') else {
            let clear = Then::Instruction(Instruction::ClearActions(vec![]));
            return Some(clear).filter(|_| text == "clear").ok_or_else(refused);
        };
        let number = |text: &str| text.parse::<Number>().map(|Number(number)| number);
        let narrow = |most: u64| number(value).ok().filter(|&n| n <= most).ok_or_else(refused);
        Ok(Then::Instruction(match name {
            "write" => {
                let written = value.parse().map(Then::Write);
                return written.map_err(|why| format!("{:?}: {why}", beginning(text)));
            }
            // The last number stands for every table, and no flow leads there.
            "goto-table" => Instruction::GotoTable(TableNo(narrow(254)? as u8)),
            "meter" => Instruction::Meter(MeterNo(narrow(u32::MAX.into())? as u32)),
            "write-metadata" => {
                let (metadata, mask) =
                    value.split_once('/').unwrap_or((value, "0xffffffffffffffff"));
                Instruction::WriteMetadata { metadata: number(metadata)?, mask: number(mask)? }
            }
            _ => return Err(refused()),
        }))
    }
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instruction = match self {
            Then::Write(action) => return write!(f, "write:{action}"),
            Then::Instruction(instruction) => instruction,
        };
        match instruction {
            Instruction::ApplyActions(_) => f.write_str("apply"),
            Instruction::WriteActions(_) => f.write_str("write"),
            Instruction::ClearActions(_) => f.write_str("clear"),
            Instruction::GotoTable(TableNo(table)) => write!(f, "goto-table:{table}"),
            Instruction::Meter(MeterNo(meter)) => write!(f, "meter:{meter}"),
            Instruction::WriteMetadata { metadata, mask: u64::MAX } => {
                write!(f, "write-metadata:{metadata:#x}")
            }
            Instruction::WriteMetadata { metadata, mask } => {
                write!(f, "write-metadata:{metadata:#x}/{mask:#x}")
            }
            Instruction::Experimenter { experimenter, .. } => {
                write!(f, "experimenter:{experimenter:#010x}")
            }
            Instruction::Unknown { kind, .. } => write!(f, "unknown:{kind}"),
        }
    }
}

/// Instructions as they are spelled: the actions that are carried out at once, and the rest.
pub fn spelled(instructions: &[Instruction]) -> (Vec<Spelled<Action>>, Vec<Spelled<Then>>) {
    let (mut actions, mut then) = (vec![], vec![]);
    for instruction in instructions {
        match instruction {
            Instruction::ApplyActions(list) => actions.extend(list.iter().cloned().map(Spelled)),
            Instruction::WriteActions(list) => {
                then.extend(list.iter().cloned().map(Then::Write).map(Spelled));
            }
            other => then.push(Spelled(Then::Instruction(other.clone()))),
        }
    }
    (actions, then)
}

/// The instructions, in the order in which a switch carries them out (1.3.5 §5.9).
pub fn instructions(actions: Vec<Spelled<Action>>, then: Vec<Spelled<Then>>) -> Vec<Instruction> {
    let mut all: Vec<Instruction> = vec![];
    let mut writes = vec![];
    for Spelled(then) in then {
        match then {
            Then::Instruction(instruction) => all.push(instruction),
            Then::Write(action) => writes.push(action),
        }
    }
    if !actions.is_empty() {
        let actions = actions.into_iter().map(|Spelled(action)| action);
        all.push(Instruction::ApplyActions(actions.collect()));
    }
    if !writes.is_empty() {
        all.push(Instruction::WriteActions(writes));
    }
    all.sort_by_key(|instruction| match instruction {
        Instruction::Meter(_) => 0,
        Instruction::ApplyActions(_) => 1,
        Instruction::ClearActions(_) => 2,
        Instruction::WriteActions(_) => 3,
        _ => 4,
    });
    all
}

/// A number of 64 bits, decimal or hexadecimal behind `0x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number(pub u64);

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Number, String> {
        let number = match text.strip_prefix("0x") {
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                u64::from_str_radix(digits, 16).ok()
            }
            Some(_) => None,
            None => text.parse().ok(),
        };
        let refused = || format!("{:?} is no number of 64 bits", beginning(text));
        number.map(Number).ok_or_else(refused)
    }
}
