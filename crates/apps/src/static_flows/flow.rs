//! A static flow, as it is configured, and what its values may be.

use std::sync::Arc;

use aldis_control::Tables;
use aldis_control::switch::SwitchInfo;
use aldis_control::weights::Switches;
use aldis_wire::msg::{Instruction, Match, TableNo};

use crate::reconcile::DesiredFlow;

/// The highest priority of a static flow: those of rules about packets are above.
pub const PRIORITY_MAX: u16 = 60_000;

/// The last table that a flow can be in.
pub const TABLE_MAX: u8 = 254;

/// A flow, as the configuration, a request or the store has it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "super::form::Form", into = "super::form::Form"))]
pub struct StaticFlow {
    /// By this name it is shown. There is no other of the same name.
    pub name: Arc<str>,
    /// The switches that have it.
    pub switches: Switches,
    /// Its table; where none is said, that of the flows that forward ([`Tables::forwarding`]).
    pub table: Option<TableNo>,
    /// The higher of two matching flows wins.
    pub priority: u16,
    /// Which packets: [`Match::completed`].
    pub match_: Match,
    /// What it does with them; nothing drops them.
    pub instructions: Vec<Instruction>,
}

/// A value that a flow cannot have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadValue {
    /// The key that has it.
    pub key: &'static str,
    /// Why, in one sentence.
    pub why: String,
}

impl StaticFlow {
    /// Whether its values are in range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), BadValue> {
        let refused = |key, why| Err(BadValue { key, why });
        if self.priority > PRIORITY_MAX {
            let why = format!("priority {}; accepted are 0 to {PRIORITY_MAX}", self.priority);
            return refused("priority", why);
        }
        if let Some(TableNo(table)) = self.table.filter(|table| table.0 > TABLE_MAX) {
            return refused("table", format!("table {table}; accepted are 0 to {TABLE_MAX}"));
        }
        let table = self.table.unwrap_or(TableNo(0));
        let leads_back =
            |it: &Instruction| matches!(it, Instruction::GotoTable(to) if to.0 <= table.0);
        if self.instructions.iter().any(leads_back) {
            let why = "goto-table leads to later tables only, above the table of the flow";
            return refused("then", why.into());
        }
        Ok(())
    }

    pub(super) fn wanted(&self, switch: &SwitchInfo, tables: Tables) -> DesiredFlow {
        let mut flow = aldis_wire::msg::FlowMod::add(self.match_.clone())
            .table(self.table.unwrap_or_else(|| tables.forwarding(switch)))
            .priority(self.priority);
        flow.instructions.clone_from(&self.instructions);
        DesiredFlow { name: Arc::clone(&self.name), flow }
    }
}
