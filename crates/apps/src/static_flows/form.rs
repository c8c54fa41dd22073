//! A static flow as JSON and TOML have it.

use aldis_control::weights::Switches;
use aldis_wire::msg::{Action, DEFAULT_PRIORITY, TableNo};
use serde::{Deserialize, Serialize};

use super::StaticFlow;
use crate::spelling::{Matching, Spelled, Then, instructions, spelled};

/// See [`StaticFlow`]. The name may be absent, where the path of a request or a key of the store
/// has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    #[serde(default)]
    name: Option<String>,
    switch: Spelled<Switches>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table: Option<u8>,
    #[serde(default)]
    priority: Option<u16>,
    #[serde(default, rename = "match")]
    matching: Matching,
    #[serde(default)]
    actions: Vec<Spelled<Action>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    then: Vec<Spelled<Then>>,
}

impl From<Form> for StaticFlow {
    fn from(form: Form) -> StaticFlow {
        StaticFlow {
            name: form.name.unwrap_or_default().into(),
            switches: form.switch.0,
            table: form.table.map(TableNo),
            priority: form.priority.unwrap_or(DEFAULT_PRIORITY),
            match_: form.matching.0,
            instructions: instructions(form.actions, form.then),
        }
    }
}

impl From<StaticFlow> for Form {
    fn from(flow: StaticFlow) -> Form {
        let (actions, then) = spelled(&flow.instructions);
        Form {
            name: Some(flow.name.to_string()),
            switch: Spelled(flow.switches),
            table: flow.table.map(|TableNo(table)| table),
            priority: Some(flow.priority),
            matching: Matching(flow.match_),
            actions,
            then,
        }
    }
}
