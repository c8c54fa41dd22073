//! The application: it has each switch keep the flows that are meant for it.

use std::sync::Arc;

use aldis_control::app::{Event, EventCtx, Next, Parallel};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PartId, Publishers};
use aldis_control::{App, EventKind, Output, Part, Tables, Time};

use super::StaticFlow;
use crate::reconcile::{
    Desired, DesiredItem, DesiredPlan, DesiredPublisher, FLOWS_MAX, FlowReconciler, FlowStatus,
    FlowStatuses, Owner, Status, StatusPublisher,
};

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
