//! Access control: ordered rules that say which packets pass, which do not, and which are copied to
//! a port besides. The first rule that matches a packet counts, and what no rule matches passes.
//!
//! The rules are installed when a switch joins, before its first request. Where a switch has
//! several tables they have the first, and the flows of all others are behind it
//! ([`Tables::Guarded`]): a packet that passes goes on there. A switch with one table can be told
//! what to drop; what it cannot be told is refused with the reason, and shown
//! ([`AclRuleStatuses`]). Requests that come to the controller all the same are decided by the same
//! rules before other applications see them.
//!
//! Rules name fields of packets and not places of hosts, and so a host that moves is under the same
//! rules. Which rules there are is a part of the World ([`DesiredAclRules`]), and others take their
//! place while it runs.

#[cfg(feature = "serde")]
mod form;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use crate::match_bits::{PacketBits, TernaryMatch};
use aldis_control::app::{Event, EventCtx, Next, Parallel, Slots};
use aldis_control::switch::SwitchInfo;
use aldis_control::weights::Switches;
use aldis_control::world::{PartId, Publishers};
use aldis_control::{App, Batch, EventKind, Output, Part, Tables, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::{Match, PortNo};

use crate::reconcile::{
    Desired, DesiredItem, DesiredPublisher, FlowReconciler, FlowStatuses, Owner, StatusPublisher,
};

/// Rules that there may be: each has a priority of its own, above those of other flows.
pub const RULES_MAX: usize = 4000;

/// Switches whose rules a worker remembers; behind that it begins anew.
const SWITCHES_MAX: usize = 16_384;

/// What becomes of the packets that a rule matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They pass.
    Allow,
    /// They do not.
    Deny,
    /// They pass, and this port gets a copy.
    Mirror(PortNo),
}

/// A rule, as the configuration, a request or the store has it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "form::Form", into = "form::Form"))]
pub struct Rule {
    /// By this name it is shown.
    pub name: Arc<str>,
    /// What becomes of its packets.
    pub verdict: Verdict,
    /// Which packets: [`Match::completed`].
    pub match_: Match,
    /// At which switches; at all of them where none are named.
    pub switches: Vec<Switches>,
}

impl Rule {
    fn is_at(&self, switch: &SwitchInfo) -> bool {
        self.switches.is_empty() || self.switches.iter().any(|some| some.contains(switch.dpid))
    }
}

/// The part of the World that says of each switch which rules are there.
pub type AclRuleStatuses = FlowStatuses<Acl>;

/// The part of the World that says which rules there are, in order.
pub type DesiredAclRules = Desired<CompiledRule>;

/// A rule, compiled so that packets can be matched against it.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    rule: Arc<Rule>,
    pattern: TernaryMatch,
}

/// The first rule that no packet reaches, behind the one that matches all that it does: the places
/// of both, that one first.
pub fn never_reached(rules: &[Arc<Rule>]) -> Option<(usize, usize)> {
    let compiled: Vec<_> = rules.iter().cloned().map(CompiledRule::new).collect();
    compiled.iter().enumerate().find_map(|(late, it)| {
        let early = compiled[..late].iter().position(|early| {
            let everywhere =
                early.rule.switches.is_empty() || early.rule.switches == it.rule.switches;
            everywhere && early.pattern.covers(&it.pattern)
        });
        early.map(|early| (early, late))
    })
}

impl DesiredItem for CompiledRule {
    const PART: &'static str = "acl-book";
}

impl CompiledRule {
    /// Compiles a rule.
    pub fn new(rule: Arc<Rule>) -> CompiledRule {
        CompiledRule { pattern: TernaryMatch::of(&rule.match_), rule }
    }
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
