//! A rule, as it is configured and as packets are matched against it.

use std::sync::Arc;

use aldis_control::switch::SwitchInfo;
use aldis_control::weights::Switches;
use aldis_wire::msg::{Match, PortNo};

use crate::match_bits::TernaryMatch;

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
#[cfg_attr(feature = "serde", serde(try_from = "super::form::Form", into = "super::form::Form"))]
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
    pub(super) fn is_at(&self, switch: &SwitchInfo) -> bool {
        self.switches.is_empty() || self.switches.iter().any(|some| some.contains(switch.dpid))
    }
}

/// A rule, compiled so that packets can be matched against it.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    pub(super) rule: Arc<Rule>,
    pub(super) pattern: TernaryMatch,
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

impl CompiledRule {
    /// Compiles a rule.
    pub fn new(rule: Arc<Rule>) -> CompiledRule {
        CompiledRule { pattern: TernaryMatch::of(&rule.match_), rule }
    }
}
