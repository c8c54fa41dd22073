//! What one trace may cost, over all the switches that a packet passes: work, and the length of the
//! answer.

use core::fmt;

use aldis_wire::Malformed;
use aldis_wire::msg::{Field, FlowStats, Instruction};

/// Groups that lead to each other, one after the other. Open vSwitch follows 64 of anything; chains
/// that people make have two or three.
pub const GROUP_DEPTH_MAX: usize = 8;

/// Copies of a packet that leave one switch.
pub const OUTS_MAX: usize = 4096;

/// Groups of a switch, their buckets and their actions, that are held at once: some 20 MB of a
/// switch that lies about them, and more than hardware has room for.
pub const GROUP_PARTS_MAX: usize = 1 << 18;

/// Flows, groups, buckets, actions and copies that are looked at in one trace: two seconds of a
/// core. A packet that is flooded through a thousand switches with a thousand flows each needs
/// half.
pub const STEPS_MAX: usize = 1 << 21;

/// Bytes of one answer, as they are estimated here: a trace through a hundred switches has fifty
/// thousand.
pub const ANSWER_MAX: usize = 4 * 1024 * 1024;

/// What a way out counts for in an answer, in bytes.
pub const OUT_BYTES: usize = 64;

/// What a sentence counts for beside its letters.
pub(super) const LINE_BYTES: usize = 16;

/// What a flow that decides counts for beside its fields and actions, in bytes.
const FLOW_BYTES: usize = 320;

/// What a field or an action counts for beside its letters, in bytes: as much as it is in memory.
const PART_BYTES: usize = 64;

/// What is left of what one trace may cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    steps: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { steps: STEPS_MAX, bytes: ANSWER_MAX }
    }
}

impl Budget {
    /// So many things are looked at.
    ///
    /// # Errors
    /// That is more than is left; then nothing is.
    pub fn step(&mut self, count: usize) -> Result<(), Cut> {
        let left = self.steps.checked_sub(count);
        self.steps = left.unwrap_or(0);
        left.map(drop).ok_or(Cut::Steps)
    }

    /// The answer becomes longer by so many bytes.
    ///
    /// # Errors
    /// That is more than is left; then nothing is.
    pub fn take(&mut self, bytes: usize) -> Result<(), Cut> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(0);
        left.map(drop).ok_or(Cut::Answer)
    }
}

/// A bound that was reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cut {
    /// [`STEPS_MAX`]; nothing more is looked at.
    Steps,
    /// [`ANSWER_MAX`]; nothing more is said.
    Answer,
    /// [`OUTS_MAX`]; no more ways out of this switch are followed.
    Outs,
    /// [`GROUP_DEPTH_MAX`]; the group is not followed.
    Depth,
    /// [`GROUP_PARTS_MAX`]; the group is not followed.
    Groups,
}

impl Cut {
    /// Whether nothing more of the whole trace is followed, at any switch.
    pub fn is_end(self) -> bool {
        matches!(self, Cut::Steps | Cut::Answer)
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Steps => {
                write!(f, "{STEPS_MAX} flows, buckets, actions and copies are looked at, no more")
            }
            Cut::Answer => write!(f, "the answer would be longer than {ANSWER_MAX} bytes"),
            Cut::Outs => write!(f, "more than {OUTS_MAX} copies leave the switch"),
            Cut::Depth => write!(f, "more than {GROUP_DEPTH_MAX} groups lead to each other"),
            Cut::Groups => write!(
                f,
                "the switch has more groups, buckets and actions of them than the {GROUP_PARTS_MAX} that are read"
            ),
        }
    }
}

/// Why a packet is not followed any further at a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    Cut(Cut),
    Unreadable(Malformed),
}

impl From<Cut> for Stop {
    fn from(cut: Cut) -> Stop {
        Stop::Cut(cut)
    }
}

impl From<Malformed> for Stop {
    fn from(why: Malformed) -> Stop {
        Stop::Unreadable(why)
    }
}

/// What a flow counts for in an answer that names it, in bytes.
pub(super) fn weight(flow: &FlowStats) -> usize {
    let field = |field: &Field| {
        let (name, value) = field.in_words();
        name.len() + value.len() + PART_BYTES
    };
    let does = |instruction: &Instruction| match instruction {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
            actions.iter().map(|action| action.in_words().len() + PART_BYTES).sum()
        }
        _ => PART_BYTES,
    };
    let fields: usize = flow.match_.fields.iter().map(field).sum();
    FLOW_BYTES + fields + flow.instructions.iter().map(does).sum::<usize>()
}
