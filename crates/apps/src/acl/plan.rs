//! The flows by which a switch keeps to the rules.

use std::sync::Arc;

use aldis_wire::msg::{Action, FlowMod, Instruction, Match, PortNo, TableNo};

use super::{CompiledRule, Verdict};
use crate::reconcile::{DesiredFlow, DesiredPlan, FlowStatus, Status};

/// The priority of the first rule; those behind have the ones below. One above are the flows by
/// which switches are found: a network that no packet may cross still knows its links.
const FIRST: u16 = u16::MAX - 1;

/// The table of what passed.
const BEHIND: TableNo = TableNo(1);

/// The flows, and the rules that have none with what became of them. Guarded: the first table is
/// for rules alone, and where there are none every packet passes it all the same, to the flows of
/// others behind it.
pub(super) fn plan(rules: &[&CompiledRule], guarded: bool) -> DesiredPlan {
    if !guarded {
        return in_one_table(rules);
    }
    let all = rules.iter().enumerate().map(|(place, CompiledRule { rule, .. })| {
        let flow = FlowMod::add(rule.match_.clone()).priority(FIRST - place as u16);
        let flow = match rule.verdict {
            Verdict::Deny => flow,
            Verdict::Allow => flow.then(Instruction::GotoTable(BEHIND)),
            Verdict::Mirror(port) => {
                flow.actions([Action::output(port)]).then(Instruction::GotoTable(BEHIND))
            }
        };
        DesiredFlow { name: Arc::clone(&rule.name), flow }
    });
    // What is behind is there before anything is sent there.
    (passage().into_iter().chain(all).collect(), vec![])
}

/// What no rule matches passes too; and what no flow behind the rules matches comes to the
/// controller. The passage is one above the flow by which a handshake sends all to the controller,
/// so that a new connection does not close it.
fn passage() -> [DesiredFlow; 2] {
    let behind = FlowMod::add(Match::new())
        .table(BEHIND)
        .priority(0)
        .actions([Action::output(PortNo::CONTROLLER)]);
    let passes = FlowMod::add(Match::new()).priority(1).then(Instruction::GotoTable(BEHIND));
    [("(behind the rules)", behind), ("(everything else passes)", passes)]
        .map(|(name, flow)| DesiredFlow { name: name.into(), flow })
}

/// What is denied is dropped. What is allowed needs no flow, as long as no rule behind denies a
/// part of it.
fn in_one_table(rules: &[&CompiledRule]) -> DesiredPlan {
    let (mut wanted, mut others) = (vec![], vec![]);
    for (place, CompiledRule { rule, pattern }) in rules.iter().enumerate() {
        let name = Arc::clone(&rule.name);
        let (before, behind) = (&rules[..place], &rules[place + 1..]);
        let is_dead = before.iter().any(|earlier| earlier.pattern.covers(pattern));
        let denies_part = |other: &&&CompiledRule| {
            let part = &other.pattern;
            other.rule.verdict == Verdict::Deny
                && !part.is_apart_from(pattern)
                && !pattern.covers(part)
        };
        let status = match rule.verdict {
            _ if is_dead => Status::There,
            Verdict::Deny => {
                let flow = FlowMod::add(rule.match_.clone()).priority(FIRST - place as u16);
                wanted.push(DesiredFlow { name, flow });
                continue;
            }
            Verdict::Mirror(_) => Status::Unsupported(
                "a copy to a port, and the packet on to the flows of others, needs a second table; OpenFlow 1.0 has one, and this \
                 switch too"
                    .into(),
            ),
            Verdict::Allow => match behind.iter().find(denies_part) {
                None => Status::There,
                Some(other) => Status::Unsupported(format!(
                    "the rule \"{}\" denies part of what this one allows, which needs a second table; OpenFlow 1.0 has one, and \
                     this switch too: what both match is dropped",
                    other.rule.name
                )),
            },
        };
        others.push(FlowStatus { name, status });
    }
    (wanted, others)
}
