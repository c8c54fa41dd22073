//! Access control: ordered rules that say which packets pass, which do not, and which are copied to a port besides. The first
//! rule that matches a packet counts, and what no rule matches passes.
//!
//! The rules are installed when a switch joins, before anybody asks for anything. Where a switch has several tables they have
//! the first, and the flows of all others are behind it ([`Tables::Guarded`]): a packet that passes goes on there. A switch
//! with one table can be told what to drop; what it cannot be told is refused with the reason, and shown ([`AclRules`]).
//! Requests that come to the controller all the same are decided by the same rules before other applications see them.
//!
//! Rules name fields of packets and not places of hosts, and so a host that moves is under the same rules.

mod bits;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use aldis_control::app::{At, Event, Next, Parallel, Slots};
use aldis_control::switch::Info;
use aldis_control::weights::Switches;
use aldis_control::world::Publishers;
use aldis_control::{App, Batch, On, Output, Tables, Time};
use aldis_wire::msg::{Match, PortNo};

use crate::kept::{Keeper, Kept, KeptFlows, Whose};
use bits::{Pattern, Seen};

/// Rules that there may be: each has a priority of its own, above those of other flows.
pub const RULES_MAX: usize = 4000;

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

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    fn is_at(&self, switch: &Info) -> bool {
        self.switches.is_empty() || self.switches.iter().any(|some| some.contains(switch.dpid))
    }

    /// Whether it matches every packet that `other` matches, at every switch of that.
    pub fn covers(&self, other: &Rule) -> bool {
        let everywhere = self.switches.is_empty() || self.switches == other.switches;
        everywhere && Pattern::of(&self.match_).covers(&Pattern::of(&other.match_))
    }
}

/// The part of the World that says of each switch which rules are there.
pub type AclRules = KeptFlows<Acl>;

/// The application: one instance for each worker.
#[derive(Clone, Debug)]
pub struct Acl {
    rules: Arc<[(Rule, Pattern)]>,
}

/// The rules of one switch.
#[derive(Debug)]
pub struct Guard {
    kept: Kept,
    /// Their places among all.
    places: Box<[usize]>,
}

impl Acl {
    /// With these rules, [`RULES_MAX`] at most; those behind are left out.
    pub fn new(rules: Vec<Rule>) -> Acl {
        let with_pattern = |rule: Rule| {
            let pattern = Pattern::of(&rule.match_);
            (rule, pattern)
        };
        Acl { rules: rules.into_iter().take(RULES_MAX).map(with_pattern).collect() }
    }

    fn verdict(&self, guard: &Guard, in_port: PortNo, frame: &[u8]) -> Verdict {
        let seen = Seen::of(in_port, frame);
        let mut rules = guard.places.iter().map(|&place| &self.rules[place]);
        let first = rules.find(|(_, pattern)| pattern.matches(&seen));
        first.map_or(Verdict::Allow, |(rule, _)| rule.verdict)
    }
}

impl Whose for Acl {
    const PART: &'static str = "acl-rules";
}

impl App for Acl {
    type Slot = Parallel<Guard>;

    const NAME: &'static str = "acl";
    const STARTS: &'static [On] = &[
        On::Joining,
        On::Down,
        On::FlowRequest,
        On::FlowRemoved,
        On::Error,
        On::Reply,
        On::Second,
    ];

    fn join(&mut self, _: Time, switch: &Info) -> Guard {
        let here =
            |(place, (rule, _)): (usize, &(Rule, Pattern))| rule.is_at(switch).then_some(place);
        let places: Box<[usize]> = self.rules.iter().enumerate().filter_map(here).collect();
        let rules: Vec<_> = places.iter().map(|&place| &self.rules[place]).collect();
        let (wanted, others) = plan::plan(&rules, Tables::Guarded.are_guarded(switch));
        Guard { kept: Kept::new::<Acl>(switch, wanted, others), places }
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        slots: Slots<'_, Self::Slot>,
        out: &mut Output,
    ) {
        if self.rules.is_empty() {
            return;
        }
        batch.each(|asked| {
            let guard = slots.of(asked.place);
            match self.verdict(guard, asked.in_port(), asked.frame) {
                Verdict::Allow | Verdict::Mirror(_) => Next::Continue,
                Verdict::Deny => {
                    // Sent nowhere, so that the switch forgets it.
                    if let Some(packet) = asked.packet().filter(|packet| packet.data.is_empty()) {
                        out.answer(asked, packet);
                    }
                    Next::Stop
                }
            }
        });
    }

    fn event(&mut self, at: At<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        match at.slot.kept.event::<Acl>(at.now, at.switch, event, out) {
            true => Next::Stop,
            false => Next::Continue,
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(Keeper::<Acl>::default())
    }
}
