//! Named flows, kept on their switches: sent when a switch joins, as far as they are not there
//! already, read back, restored when they are removed, and their errors shown by name
//! ([`StaticFlowStatuses`] says of each what became of it). Which flows they are is a part of the
//! World too ([`DesiredStaticFlows`]), and others take their place while it runs.

#[cfg(feature = "serde")]
mod form;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use aldis_control::app::{Event, EventCtx, Next, Parallel};
use aldis_control::switch::SwitchInfo;
use aldis_control::weights::Switches;
use aldis_control::world::{PartId, Publishers};
use aldis_control::{App, EventKind, Output, Part, Tables, Time};
use aldis_wire::msg::{Instruction, Match, TableNo};

use crate::reconcile::{
    Desired, DesiredFlow, DesiredItem, DesiredPlan, DesiredPublisher, FlowReconciler, FlowStatus,
    FlowStatuses, Owner, Status, StatusPublisher,
};

pub use crate::reconcile::FLOWS_MAX;

/// The highest priority of a static flow: those of rules about packets are above.
pub const PRIORITY_MAX: u16 = 60_000;

/// The last table that a flow can be in.
pub const TABLE_MAX: u8 = 254;

/// A flow, as the configuration, a request or the store has it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "form::Form", into = "form::Form"))]
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

/// The part of the World that says of each switch what became of its flows.
pub type StaticFlowStatuses = FlowStatuses<StaticFlows>;

/// The part of the World that says which flows there should be. A flow in it never changes: it is
/// replaced.
pub type DesiredStaticFlows = Desired<Arc<StaticFlow>>;

impl DesiredItem for Arc<StaticFlow> {
    const PART: &'static str = "static-flow-book";
}

/// The application: one instance for each worker.
#[derive(Clone, Debug)]
pub struct StaticFlows {
    /// Those that it begins with.
    flows: Arc<[Arc<StaticFlow>]>,
    tables: Tables,
}

impl StaticFlows {
    /// Keeps these flows, [`FLOWS_MAX`] at each switch at most, until there are others.
    pub fn new(flows: impl IntoIterator<Item = Arc<StaticFlow>>, tables: Tables) -> StaticFlows {
        StaticFlows { flows: flows.into_iter().collect(), tables }
    }

    fn plan(&self, desired: &DesiredStaticFlows, switch: &SwitchInfo) -> DesiredPlan {
        let here = |flow: &&Arc<StaticFlow>| flow.switches.contains(switch.dpid);
        let (mut wanted, mut others) = (vec![], vec![]);
        for flow in desired.items().iter().filter(here) {
            if wanted.len() < FLOWS_MAX {
                wanted.push(flow.wanted(switch, self.tables));
            } else {
                let why = format!("{FLOWS_MAX} flows of one switch are kept, and no more");
                others.push(FlowStatus {
                    name: Arc::clone(&flow.name),
                    status: Status::Unsupported(why),
                });
            }
        }
        (wanted, others)
    }
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

    fn wanted(&self, switch: &SwitchInfo, tables: Tables) -> DesiredFlow {
        let mut flow = aldis_wire::msg::FlowMod::add(self.match_.clone())
            .table(self.table.unwrap_or_else(|| tables.forwarding(switch)))
            .priority(self.priority);
        flow.instructions.clone_from(&self.instructions);
        DesiredFlow { name: Arc::clone(&self.name), flow }
    }
}

impl Owner for StaticFlows {
    const PART: &'static str = "static-flows";
}

impl App for StaticFlows {
    type Slot = Parallel<FlowReconciler>;

    const NAME: &'static str = "static-flows";
    const EVENTS: &'static [EventKind] = &[
        EventKind::Joining,
        EventKind::Down,
        EventKind::FlowRemoved,
        EventKind::Error,
        EventKind::Reply,
        EventKind::Second,
    ];

    const READS: &'static [PartId] = &[DesiredStaticFlows::ID];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> FlowReconciler {
        FlowReconciler::new::<StaticFlows>()
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let desired = ctx.world.part::<DesiredStaticFlows>();
        let plan = || self.plan(desired, ctx.switch);
        let here = (ctx.now, ctx.switch, ctx.account);
        match ctx.slot.event::<StaticFlows>(here, event, desired.version(), plan, out) {
            true => Next::Stop,
            false => Next::Continue,
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(StatusPublisher::<StaticFlows>::default())
            .and(DesiredPublisher::new(Arc::clone(&self.flows)))
    }
}
