//! One flow: which packets, what becomes of them, and what it counted.

use super::action::ActionProgram;
use super::fields::Pattern;
use aldis_wire::{v10, v13};
use std::time::Duration;

/// How a flow behaves: the flags of 1.3, which 1.0's first two agree with.
pub(crate) use v13::flow_mod::FlowModFlags as Flags;

/// Why a flow is gone.
pub(crate) use v13::flow_removed::FlowRemovedReason as Reason;

/// What the controller said of it, to be said again when it asks: for 1.0 the match without what it
/// does not compare.
#[derive(Clone, Debug)]
pub(crate) enum FlowModText {
    V10 { match_: v10::Match, actions: Box<[v10::Action]> },
    V13 { match_: Box<[v13::oxm::Oxm]>, instructions: Box<[v13::instruction::Instruction]> },
}

/// What a flow counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FlowCounters {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl FlowCounters {
    pub(crate) fn count(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// One flow of a table.
#[derive(Clone, Debug)]
pub(crate) struct DatapathFlow {
    pub(crate) pattern: Pattern,
    pub(crate) priority: u16,
    pub(crate) cookie: u64,
    /// Seconds; 0 for never.
    pub(crate) idle_timeout: u16,
    /// Seconds; 0 for never.
    pub(crate) hard_timeout: u16,
    pub(crate) flags: Flags,
    pub(crate) program: ActionProgram,
    pub(crate) said: FlowModText,
    pub(crate) created: Duration,
    /// Since when the hard timeout runs: an addition, or the last change.
    pub(crate) modified: Duration,
    /// When the last packet came, or when it was added.
    pub(crate) used: Duration,
    pub(crate) counters: FlowCounters,
}

impl DatapathFlow {
    /// When it goes if no packet comes until then, and why.
    pub(crate) fn end(&self) -> Option<(Duration, Reason)> {
        let after = |since: Duration, seconds: u16, reason| match seconds {
            0 => None,
            _ => Some((since + Duration::from_secs(seconds.into()), reason)),
        };
        let hard = after(self.modified, self.hard_timeout, Reason::HARD_TIMEOUT);
        let idle = after(self.used, self.idle_timeout, Reason::IDLE_TIMEOUT);
        [hard, idle].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Whether it is the flow that catches what no other does: priority 0, every packet.
    pub(crate) fn is_table_miss(&self) -> bool {
        self.priority == 0 && self.pattern == Pattern::ANY
    }
}
