//! A flow as JSON: as it is shown, and as it is asked for. Fields and actions are in the words of
//! `docs/http.md`; what is shown can be said again.

use std::collections::BTreeMap;
use std::str::FromStr;

use aldis_apps::spelling::{Matching, Number, Spelled, Then, beginning, instructions, spelled};
use aldis_control::Cookie;
use aldis_wire::DatapathId;
use aldis_wire::msg::{
    Action, Field, FlowMod, FlowModCommand, FlowModFlags, FlowStats, GroupNo, Instruction, PortNo,
    TableNo,
};
use serde::{Deserialize, Serialize};
#[cfg(test)]
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Flow {
    /// Its table
    pub table: u8,
    /// The higher of two that match wins
    pub priority: u16,
    /// The mark that its maker put on it
    #[cfg_attr(test, schema(example = "0xa1d1000000000000"))]
    pub cookie: String,
    /// The application that made it, by its cookie; absent where none of those that run did
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "route-flow"))]
    pub owner: Option<String>,
    /// Which packets it is about: fields and their values, all of which must match
    #[serde(rename = "match")]
    #[cfg_attr(test, schema(example = json!({"in_port": "1", "eth_type": "0x0800", "ipv4_dst": "10.0.0.0/8"})))]
    pub matching: BTreeMap<String, String>,
    /// What it does at once, in this order; none of these, and nothing below, drops the packet
    #[cfg_attr(test, schema(example = json!(["output:2"])))]
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
fn in_words(instructions: &[Instruction]) -> (Vec<String>, Vec<String>) {
    let (actions, then) = spelled(instructions);
    let actions = actions.iter().map(|Spelled(action)| action.to_string());
    (actions.collect(), then.iter().map(|Spelled(then)| then.to_string()).collect())
}

/// What is to be done to the flows of a switch.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Of which switch, however its datapath id is written; not where the path says it
    #[cfg_attr(test, schema(value_type = Option<String>, example = "1"))]
    #[serde(default)]
    pub switch: Option<Spelled<DatapathId>>,
    /// What is done
    #[serde(default)]
    pub command: FlowCommand,
    /// In which table; 0 where it is absent, and every table for deletions
    #[serde(default)]
    pub table: Option<u8>,
    /// 32768 where it is absent
    #[serde(default)]
    pub priority: Option<u16>,
    /// The mark on a new flow, or on those that are meant: a number, or hexadecimal digits behind `0x`
    #[cfg_attr(test, schema(value_type = Option<String>, example = "0x7"))]
    #[serde(default)]
    pub cookie: Option<Spelled<Number>>,
    /// For changes and deletions: which bits of the cookie have to be as `cookie` says
    #[cfg_attr(test, schema(value_type = Option<String>))]
    #[serde(default)]
    pub cookie_mask: Option<Spelled<Number>>,
    /// Which packets it is about; every packet where it is absent. What a field needs (`eth_type` for `ipv4_dst`) is added
    #[serde(default, rename = "match")]
    #[cfg_attr(test, schema(value_type = std::collections::HashMap<String, String>))]
    pub matching: Matching,
    /// What it does at once, in this order
    #[serde(default)]
    #[cfg_attr(test, schema(value_type = Vec<String>, example = json!(["output:2"])))]
    pub actions: Vec<Spelled<Action>>,
    /// What else it does: `write:ACTION`, `clear`, `goto-table:N`, `meter:N`
    #[serde(default)]
    #[cfg_attr(test, schema(value_type = Vec<String>))]
    pub then: Vec<Spelled<Then>>,
    /// Removed after so many seconds without a packet; 0 for never
    #[serde(default)]
    pub idle_timeout_s: u16,
    /// Removed after so many seconds in any case; 0 for never
    #[serde(default)]
    pub hard_timeout_s: u16,
    /// `send-flow-rem`, `check-overlap`, `reset-counts`, `no-pkt-counts`, `no-byt-counts`
    #[serde(default)]
    #[cfg_attr(test, schema(value_type = Vec<String>))]
    pub flags: Vec<Spelled<Flag>>,
    /// For deletions: only flows with an output to this port
    #[serde(default)]
    #[cfg_attr(test, schema(value_type = Option<String>))]
    pub out_port: Option<Spelled<PortNo>>,
    /// For deletions: only flows that lead to this group
    #[serde(default)]
    pub out_group: Option<u32>,
}

/// What is done to flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FlowCommand {
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
            FlowCommand::Add => FlowModCommand::ADD,
            FlowCommand::Modify => FlowModCommand::MODIFY,
            FlowCommand::ModifyStrict => FlowModCommand::MODIFY_STRICT,
            FlowCommand::Delete => FlowModCommand::DELETE,
            FlowCommand::DeleteStrict => FlowModCommand::DELETE_STRICT,
        };
        let deletes = matches!(self.command, FlowCommand::Delete | FlowCommand::DeleteStrict);
        let new = FlowMod::delete(self.matching.0.clone());
        let cookie = self.cookie.map_or(0, |Spelled(Number(cookie))| cookie);
        // A deletion that names a cookie means the flows that have it.
        let whole = if deletes && self.cookie.is_some() { u64::MAX } else { 0 };
        FlowMod {
            command,
            table_id: TableNo(self.table.unwrap_or(if deletes { TableNo::ALL.0 } else { 0 })),
            priority: self.priority.unwrap_or(new.priority),
            cookie,
            cookie_mask: self.cookie_mask.map_or(whole, |Spelled(Number(mask))| mask),
            idle_timeout: self.idle_timeout_s,
            hard_timeout: self.hard_timeout_s,
            flags: self.flags.iter().fold(new.flags, |all, Spelled(Flag(flag))| all | *flag),
            out_port: self.out_port.map_or(new.out_port, |Spelled(port)| port),
            out_group: self.out_group.map_or(new.out_group, GroupNo),
            instructions: instructions(self.actions.clone(), self.then.clone()),
            ..new
        }
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

#[cfg(test)]
mod tests;
