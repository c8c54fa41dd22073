//! The application: it has each switch keep the rules, and decides what comes to the controller.

use std::collections::HashMap;
use std::sync::Arc;

use aldis_control::app::{Event, EventCtx, Next, Parallel, Slots};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PartId, Publishers};
use aldis_control::{App, Batch, EventKind, Output, Part, Tables, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use super::plan;
use super::rule::{CompiledRule, Rule, Verdict};
use crate::match_bits::PacketBits;
use crate::reconcile::{
    Desired, DesiredItem, DesiredPublisher, FlowReconciler, FlowStatuses, Owner, StatusPublisher,
};

/// Rules that there may be: each has a priority of its own, above those of other flows.
pub const RULES_MAX: usize = 4000;

/// Switches whose rules a worker remembers; behind that it begins anew.
const SWITCHES_MAX: usize = 16_384;

/// The part of the World that says of each switch which rules are there.
pub type AclRuleStatuses = FlowStatuses<Acl>;

/// The part of the World that says which rules there are, in order.
pub type DesiredAclRules = Desired<CompiledRule>;

impl DesiredItem for CompiledRule {
    const PART: &'static str = "acl-book";
}

/// The application: one instance for each worker.
#[derive(Clone, Debug)]
pub struct Acl {
    /// Those that it begins with.
    rules: Arc<[CompiledRule]>,
    /// Which rules are for which switch, as far as this worker has asked.
    places: RulesBySwitch,
}

/// The indices, among all rules of one version, of those that are at each switch.
#[derive(Clone, Debug, Default)]
struct RulesBySwitch {
    version: u64,
    of: HashMap<DatapathId, Box<[usize]>>,
}

impl RulesBySwitch {
    fn at(&mut self, desired: &DesiredAclRules, switch: &SwitchInfo) -> &[usize] {
        if self.version != desired.version() || self.of.len() == SWITCHES_MAX {
            self.version = desired.version();
            self.of.clear();
        }
        self.of.entry(switch.dpid).or_insert_with(|| places(desired, switch).collect())
    }
}

fn places(desired: &DesiredAclRules, switch: &SwitchInfo) -> impl Iterator<Item = usize> {
    let rules = desired.items().iter().take(RULES_MAX).enumerate();
    rules.filter_map(|(place, compiled)| compiled.rule.is_at(switch).then_some(place))
}

impl Acl {
    /// With these rules until there are others, [`RULES_MAX`] at most; those behind are left out.
    pub fn new(rules: impl IntoIterator<Item = Arc<Rule>>) -> Acl {
        Acl {
            rules: rules.into_iter().map(CompiledRule::new).collect(),
            places: RulesBySwitch::default(),
        }
    }
}

fn verdict(desired: &DesiredAclRules, places: &[usize], in_port: PortNo, frame: &[u8]) -> Verdict {
    let seen = PacketBits::of(in_port, frame);
    let mut rules = places.iter().map(|&place| &desired.items()[place]);
    let first = rules.find(|compiled| compiled.pattern.matches(&seen));
    first.map_or(Verdict::Allow, |compiled| compiled.rule.verdict)
}

impl Owner for Acl {
    const PART: &'static str = "acl-rules";
}

impl App for Acl {
    type Slot = Parallel<FlowReconciler>;

    const NAME: &'static str = "acl";
    const EVENTS: &'static [EventKind] = &[
        EventKind::Joining,
        EventKind::Down,
        EventKind::FlowRequest,
        EventKind::FlowRemoved,
        EventKind::Error,
        EventKind::Reply,
        EventKind::Second,
    ];

    const READS: &'static [PartId] = &[DesiredAclRules::ID];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> FlowReconciler {
        FlowReconciler::new::<Acl>()
    }

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, Self::Slot>, out: &mut Output) {
        let desired = batch.world.part::<DesiredAclRules>();
        if desired.items().is_empty() {
            return;
        }
        batch.each(|request| {
            let places = self.places.at(desired, request.switch);
            match verdict(desired, places, request.in_port(), request.frame) {
                Verdict::Allow | Verdict::Mirror(_) => Next::Continue,
                Verdict::Deny => {
                    // Sent nowhere, so that the switch forgets it.
                    if let Some(packet) = request.packet().filter(|packet| packet.data.is_empty()) {
                        out.answer(request, packet);
                    }
                    Next::Stop
                }
            }
        });
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let desired = ctx.world.part::<DesiredAclRules>();
        let plan = || {
            let here: Vec<_> =
                places(desired, ctx.switch).map(|place| &desired.items()[place]).collect();
            plan::plan(&here, Tables::Guarded.are_guarded(ctx.switch))
        };
        let here = (ctx.now, ctx.switch, ctx.account);
        match ctx.slot.event::<Acl>(here, event, desired.version(), plan, out) {
            true => Next::Stop,
            false => Next::Continue,
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(StatusPublisher::<Acl>::default())
            .and(DesiredPublisher::new(Arc::clone(&self.rules)))
    }
}
