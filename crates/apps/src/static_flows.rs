//! Named flows, kept on their switches: sent when a switch joins, as far as they are not there
//! already, read back, restored when they are removed, and their errors shown by name
//! ([`StaticFlows`] says of each what became of it). Which flows they are is a part of the World
//! too ([`StaticFlowBook`]), and others take their place while it runs.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use aldis_control::app::{Event, EventCtx, Next, Parallel};
use aldis_control::switch::SwitchInfo;
use aldis_control::weights::Switches;
use aldis_control::world::{PartId, Publishers};
use aldis_control::{App, EventKind, Output, Part, Tables, Time};
use aldis_wire::msg::{Instruction, Match, TableNo};

use crate::kept::{
    Book, Clerk, Entry, Keeper, Kept, KeptFlows, Plan, Status, Wanted, Whose, Written,
};

pub use crate::kept::FLOWS_MAX;

/// The highest priority of a static flow: those of rules about packets are above.
pub const PRIORITY_MAX: u16 = 60_000;

/// The last table that a flow can be in.
pub const TABLE_MAX: u8 = 254;

/// A flow, as it is configured.
#[derive(Clone, PartialEq, Eq, Debug)]
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
pub type StaticFlows = KeptFlows<Pusher>;

/// The part of the World that says which flows there should be. Nobody changes a flow in it: there
/// is another one then.
pub type StaticFlowBook = Book<Arc<StaticFlow>>;

impl Written for Arc<StaticFlow> {
    const BOOK: &'static str = "static-flow-book";
}

/// The application: one instance for each worker.
#[derive(Clone, Debug)]
pub struct Pusher {
    /// Those that it begins with.
    flows: Arc<[Arc<StaticFlow>]>,
    tables: Tables,
}

impl Pusher {
    /// Keeps these flows, [`FLOWS_MAX`] at each switch at most, until there are others.
    pub fn new(flows: impl IntoIterator<Item = Arc<StaticFlow>>, tables: Tables) -> Pusher {
        Pusher { flows: flows.into_iter().collect(), tables }
    }

    fn plan(&self, book: &StaticFlowBook, switch: &SwitchInfo) -> Plan {
        let here = |flow: &&Arc<StaticFlow>| flow.switches.contains(switch.dpid);
        let (mut wanted, mut others) = (vec![], vec![]);
        for flow in book.items().iter().filter(here) {
            if wanted.len() < FLOWS_MAX {
                wanted.push(flow.wanted(switch, self.tables));
            } else {
                let why = format!("{FLOWS_MAX} flows of one switch are kept, and no more");
                others
                    .push(Entry { name: Arc::clone(&flow.name), status: Status::Unsupported(why) });
            }
        }
        (wanted, others)
    }
}

impl StaticFlow {
    fn wanted(&self, switch: &SwitchInfo, tables: Tables) -> Wanted {
        let mut flow = aldis_wire::msg::FlowMod::add(self.match_.clone())
            .table(self.table.unwrap_or_else(|| tables.forwarding(switch)))
            .priority(self.priority);
        flow.instructions.clone_from(&self.instructions);
        Wanted { name: Arc::clone(&self.name), flow }
    }
}

impl Whose for Pusher {
    const PART: &'static str = "static-flows";
}

impl App for Pusher {
    type Slot = Parallel<Kept>;

    const NAME: &'static str = "static-flows";
    const EVENTS: &'static [EventKind] = &[
        EventKind::Joining,
        EventKind::Down,
        EventKind::FlowRemoved,
        EventKind::Error,
        EventKind::Reply,
        EventKind::Second,
    ];

    const READS: &'static [PartId] = &[StaticFlowBook::ID];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> Kept {
        Kept::new::<Pusher>()
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let book = ctx.world.part::<StaticFlowBook>();
        let plan = || self.plan(book, ctx.switch);
        let here = (ctx.now, ctx.switch, ctx.account);
        match ctx.slot.event::<Pusher>(here, event, book.edition(), plan, out) {
            true => Next::Stop,
            false => Next::Continue,
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(Keeper::<Pusher>::default()).and(Clerk::new(Arc::clone(&self.flows)))
    }
}
