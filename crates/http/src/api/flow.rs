//! A flow as JSON: as it is shown, and as it is asked for. Fields and actions are in the words of `docs/http.md`; what is shown
//! can be said again.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use aldis_control::Cookie;
use aldis_wire::DatapathId;
use aldis_wire::msg::{
    Action, Field, FlowMod, FlowModCommand, FlowModFlags, FlowStats, GroupNo, Instruction, Match,
    MeterNo, PortNo, TableNo,
};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::apps::Apps;

/// Flags of a flow, as they are shown and said.
const FLAGS: [(FlowModFlags, &str); 5] = [
    (FlowModFlags::SEND_FLOW_REM, "send-flow-rem"),
    (FlowModFlags::CHECK_OVERLAP, "check-overlap"),
    (FlowModFlags::RESET_COUNTS, "reset-counts"),
    (FlowModFlags::NO_PKT_COUNTS, "no-pkt-counts"),
    (FlowModFlags::NO_BYT_COUNTS, "no-byt-counts"),
];

/// A flow that is on a switch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Flow {
    /// Its table
    pub table: u8,
    /// The higher of two that match wins
    pub priority: u16,
    /// The mark that whoever made it put on it
    #[schema(example = "0xa1d1000000000000")]
    pub cookie: String,
    /// The application that made it, by its cookie; absent where none of those that run did
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "route-flow")]
    pub owner: Option<String>,
    /// Which packets it is about: fields and their values, all of which must match
    #[serde(rename = "match")]
    #[schema(example = json!({"in_port": "1", "eth_type": "0x0800", "ipv4_dst": "10.0.0.0/8"}))]
    pub matching: BTreeMap<String, String>,
    /// What it does at once, in this order; none of these, and nothing below, drops the packet
    #[schema(example = json!(["output:2"]))]
    pub actions: Vec<String>,
    /// What else it does: `write:ACTION`, `clear`, `goto-table:N`, `meter:N`, `write-metadata:N/MASK`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<String>,
    /// Removed after so many seconds without a packet; 0 for never
    pub idle_timeout_s: u16,
    /// Removed after so many seconds in any case; 0 for never
    pub hard_timeout_s: u16,
    /// `send-flow-rem`, `check-overlap`, `reset-counts`, `no-pkt-counts`, `no-byt-counts`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Packets that matched, where the switch counts them
    pub packets: Option<u64>,
    /// Their bytes
    pub bytes: Option<u64>,
    /// Seconds since it was made
    pub age_s: f64,
}

impl Flow {
    /// As a switch told it; the owner is one of these applications.
    pub(super) fn of(stats: &FlowStats, owners: &Owners) -> Flow {
        let counted = |number: u64| Some(number).filter(|&number| number != u64::MAX);
        let (actions, then) = in_words(&stats.instructions);
        let flags = FLAGS.iter().filter(|(flag, _)| stats.flags.contains(*flag));
        Flow {
            table: stats.table_id.0,
            priority: stats.priority,
            cookie: format!("{:#x}", stats.cookie),
            owner: owners.of(stats.cookie),
            matching: stats.match_.fields.iter().map(Field::in_words).collect(),
            actions,
            then,
            idle_timeout_s: stats.idle_timeout,
            hard_timeout_s: stats.hard_timeout,
            flags: flags.map(|(_, name)| (*name).to_owned()).collect(),
            packets: counted(stats.packet_count),
            bytes: counted(stats.byte_count),
            age_s: f64::from(stats.duration_sec) + f64::from(stats.duration_nsec) / 1e9,
        }
    }
}

/// Applications, by the marks that their flows have.
#[derive(Clone, Debug)]
pub(super) struct Owners(Vec<(Cookie, String)>);

impl Owners {
    /// The applications that run.
    pub(super) fn new(apps: Apps) -> Owners {
        Owners(apps.apps.into_iter().map(|app| (Cookie::of(&app.name), app.name)).collect())
    }

    /// Which of them made the flow with this cookie.
    fn of(&self, cookie: u64) -> Option<String> {
        let mut made = self.0.iter().filter(|(mark, _)| Cookie(cookie).same_app(*mark));
        made.next().map(|(_, name)| name.clone())
    }
}

/// What instructions do, in words: the actions done at once, and the rest.
pub(super) fn in_words(instructions: &[Instruction]) -> (Vec<String>, Vec<String>) {
    let (mut actions, mut then) = (vec![], vec![]);
    for instruction in instructions {
        match instruction {
            Instruction::ApplyActions(list) => actions.extend(list.iter().map(Action::in_words)),
            Instruction::WriteActions(list) => {
                then.extend(list.iter().map(|action| format!("write:{}", action.in_words())));
            }
            Instruction::ClearActions(_) => then.push("clear".into()),
            Instruction::GotoTable(TableNo(table)) => then.push(format!("goto-table:{table}")),
            Instruction::Meter(MeterNo(meter)) => then.push(format!("meter:{meter}")),
            Instruction::WriteMetadata { metadata, mask: u64::MAX } => {
                then.push(format!("write-metadata:{metadata:#x}"));
            }
            Instruction::WriteMetadata { metadata, mask } => {
                then.push(format!("write-metadata:{metadata:#x}/{mask:#x}"));
            }
            Instruction::Experimenter { experimenter, .. } => {
                then.push(format!("experimenter:{experimenter:#010x}"));
            }
            Instruction::Unknown { kind, .. } => then.push(format!("unknown:{kind}")),
        }
    }
    (actions, then)
}

/// What is to be done to the flows of a switch.
#[derive(Clone, PartialEq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Of which switch, however its datapath id is written; not where the path says it
    #[schema(value_type = Option<String>, example = "1")]
    #[serde(default)]
    pub switch: Option<Read<DatapathId>>,
    /// What is done
    #[serde(default)]
    pub command: Command,
    /// In which table; 0 where it is absent, and every table for deletions
    #[serde(default)]
    pub table: Option<u8>,
    /// 32768 where it is absent
    #[serde(default)]
    pub priority: Option<u16>,
    /// The mark on a new flow, or on those that are meant: a number, or hexadecimal digits behind `0x`
    #[schema(value_type = Option<String>, example = "0x7")]
    #[serde(default)]
    pub cookie: Option<Read<Number>>,
    /// For changes and deletions: which bits of the cookie have to be as `cookie` says
    #[schema(value_type = Option<String>)]
    #[serde(default)]
    pub cookie_mask: Option<Read<Number>>,
    /// Which packets it is about; every packet where it is absent. What a field needs (`eth_type` for `ipv4_dst`) is added
    #[serde(default, rename = "match")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub matching: Matching,
    /// What it does at once, in this order
    #[serde(default)]
    #[schema(value_type = Vec<String>, example = json!(["output:2"]))]
    pub actions: Vec<Read<Action>>,
    /// What else it does: `write:ACTION`, `clear`, `goto-table:N`, `meter:N`
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub then: Vec<Read<Then>>,
    /// Removed after so many seconds without a packet; 0 for never
    #[serde(default)]
    pub idle_timeout_s: u16,
    /// Removed after so many seconds in any case; 0 for never
    #[serde(default)]
    pub hard_timeout_s: u16,
    /// `send-flow-rem`, `check-overlap`, `reset-counts`, `no-pkt-counts`, `no-byt-counts`
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub flags: Vec<Read<Flag>>,
    /// For deletions: only flows with an output to this port
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub out_port: Option<Read<PortNo>>,
    /// For deletions: only flows that lead to this group
    #[serde(default)]
    pub out_group: Option<u32>,
}

/// What is done to flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = FlowCommand)]
pub enum Command {
    /// One is added, in place of one with the same match and priority
    #[default]
    Add,
    /// What all that match do is changed
    Modify,
    /// What the one with exactly this match and priority does is changed
    ModifyStrict,
    /// All that match are removed
    Delete,
    /// The one with exactly this match and priority is removed
    DeleteStrict,
}

impl Change {
    /// As the switch is told.
    pub(super) fn flow_mod(&self) -> FlowMod {
        let command = match self.command {
            Command::Add => FlowModCommand::ADD,
            Command::Modify => FlowModCommand::MODIFY,
            Command::ModifyStrict => FlowModCommand::MODIFY_STRICT,
            Command::Delete => FlowModCommand::DELETE,
            Command::DeleteStrict => FlowModCommand::DELETE_STRICT,
        };
        let deletes = matches!(self.command, Command::Delete | Command::DeleteStrict);
        let new = FlowMod::delete(self.matching.0.clone());
        let cookie = self.cookie.map_or(0, |Read(Number(cookie))| cookie);
        // A deletion that names a cookie means the flows that have it.
        let whole = if deletes && self.cookie.is_some() { u64::MAX } else { 0 };
        FlowMod {
            command,
            table_id: TableNo(self.table.unwrap_or(if deletes { TableNo::ALL.0 } else { 0 })),
            priority: self.priority.unwrap_or(new.priority),
            cookie,
            cookie_mask: self.cookie_mask.map_or(whole, |Read(Number(mask))| mask),
            idle_timeout: self.idle_timeout_s,
            hard_timeout: self.hard_timeout_s,
            flags: self.flags.iter().fold(new.flags, |all, Read(Flag(flag))| all | *flag),
            out_port: self.out_port.map_or(new.out_port, |Read(port)| port),
            out_group: self.out_group.map_or(new.out_group, GroupNo),
            instructions: instructions(&self.actions, &self.then),
            ..new
        }
    }
}

/// In the order in which a switch carries them out.
pub(super) fn instructions(actions: &[Read<Action>], then: &[Read<Then>]) -> Vec<Instruction> {
    let mut all: Vec<Instruction> = vec![];
    let mut writes = vec![];
    for Read(then) in then {
        match then {
            Then::Instruction(instruction) => all.push(instruction.clone()),
            Then::Write(action) => writes.push(action.clone()),
        }
    }
    if !actions.is_empty() {
        let actions = actions.iter().map(|Read(action)| action.clone());
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

/// A value that stands as text, or as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read<T>(pub T);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Text(text) = Text::deserialize(from)?;
        text.parse().map(Read).map_err(de::Error::custom)
    }
}

/// Text, or a number as text.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
        }
        from.deserialize_any(Either)
    }
}

/// A number, decimal or hexadecimal behind `0x`.
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

/// A flag of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag(FlowModFlags);

impl FromStr for Flag {
    type Err = String;

    fn from_str(text: &str) -> Result<Flag, String> {
        let named = FLAGS.iter().find(|(_, name)| *name == text);
        let accepted = FLAGS.map(|(_, name)| name).join(", ");
        let refused = || format!("{:?}; accepted: {accepted}", beginning(text));
        named.map(|(flag, _)| Flag(*flag)).ok_or_else(refused)
    }
}

/// What a flow does beside its actions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Then {
    /// This.
    Instruction(Instruction),
    /// An action for later.
    Write(Action),
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
        Ok(match name {
            "write" => {
                return value.parse().map(Then::Write).map_err(|why| format!("{text:?}: {why}"));
            }
            // The last number stands for every table, and none goes there.
            "goto-table" => Then::Instruction(Instruction::GotoTable(TableNo(narrow(254)? as u8))),
            "meter" => {
                Then::Instruction(Instruction::Meter(MeterNo(narrow(u32::MAX.into())? as u32)))
            }
            "write-metadata" => {
                let (metadata, mask) =
                    value.split_once('/').unwrap_or((value, "0xffffffffffffffff"));
                let (metadata, mask) = (number(metadata)?, number(mask)?);
                Then::Instruction(Instruction::WriteMetadata { metadata, mask })
            }
            _ => return Err(refused()),
        })
    }
}

/// Which packets, completed by what its fields need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matching(pub Match);

impl<'de> Deserialize<'de> for Matching {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Matching;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields and their values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Matching, A::Error> {
                let mut fields = vec![];
                while let Some((name, Text(value))) = map.next_entry::<String, Text>()? {
                    fields.push(field(&name, &value).map_err(de::Error::custom)?);
                }
                matching(fields).map_err(de::Error::custom)
            }
        }
        from.deserialize_map(Fields)
    }
}

/// As it stands in a query: `in_port=1,ipv4_dst=10.0.0.0/8`.
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

/// As much of somebody's text as is repeated to them.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests;
