//! FLOW_MOD (§5.3.3): adds, changes and deletes flows.

use super::{Action, Match, PortNo, read_all};
use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// The priority of a flow that asks for none in particular (`OFP_DEFAULT_PRIORITY`).
pub const DEFAULT_PRIORITY: u16 = 0x8000;

open_enum! {
    /// What to do with the flow table: `enum ofp_flow_mod_command`.
    pub struct FlowModCommand(u16) "OFPFC_" {
        /// A new flow.
        ADD = 0,
        /// Change the actions of all flows within the match.
        MODIFY = 1,
        /// Change those of the flow with just this match and priority.
        MODIFY_STRICT = 2,
        /// Delete all flows within the match.
        DELETE = 3,
        /// Delete the flow with just this match and priority.
        DELETE_STRICT = 4,
    }
}

flags! {
    /// How a flow is to be kept: `enum ofp_flow_mod_flags`.
    pub struct FlowModFlags(u16) {
        /// Say when it is removed.
        SEND_FLOW_REM = 1 << 0,
        /// Refuse it where it overlaps another of the same priority.
        CHECK_OVERLAP = 1 << 1,
        /// Only for when the controller is lost.
        EMERG = 1 << 2,
    }
}

/// `OFPT_FLOW_MOD`: `struct ofp_flow_mod`, 72 bytes with the header, then the actions.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowMod {
    /// Which frames.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
    /// The controller's mark on the flow.
    pub cookie: u64,
    /// What to do.
    pub command: FlowModCommand,
    /// Seconds without a packet after which the flow goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which it goes in any case; 0 for never.
    pub hard_timeout: u16,
    /// The higher of two matching flows wins; flows without wildcards win over all others.
    pub priority: u16,
    /// The buffered frame to run through the new flow, or [`NO_BUFFER`](crate::NO_BUFFER). Means
    /// nothing in a deletion.
    pub buffer_id: u32,
    /// Deletes only flows that send here; [`PortNo::NONE`] for all. Means nothing but in a
    /// deletion.
    pub out_port: PortNo,
    /// How to keep it.
    pub flags: FlowModFlags,
    /// What happens to matching frames; nothing drops them.
    pub actions: Vec<Action>,
}

impl FlowMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(FlowMod {
            match_: Match::read(reader)?,
            cookie: reader.u64("flow_mod.cookie")?,
            command: FlowModCommand(reader.u16("flow_mod.command")?),
            idle_timeout: reader.u16("flow_mod.idle_timeout")?,
            hard_timeout: reader.u16("flow_mod.hard_timeout")?,
            priority: reader.u16("flow_mod.priority")?,
            buffer_id: reader.u32("flow_mod.buffer_id")?,
            out_port: PortNo(reader.u16("flow_mod.out_port")?),
            flags: FlowModFlags(reader.u16("flow_mod.flags")?),
            actions: read_all(reader, Action::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        self.match_.write(writer);
        writer.u64(self.cookie);
        writer.u16(self.command.0);
        writer.u16(self.idle_timeout);
        writer.u16(self.hard_timeout);
        writer.u16(self.priority);
        writer.u32(self.buffer_id);
        writer.u16(self.out_port.0);
        writer.u16(self.flags.0);
        self.actions.iter().for_each(|action| action.write(writer));
    }
}
