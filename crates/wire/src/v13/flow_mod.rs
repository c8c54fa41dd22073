//! `OFPT_FLOW_MOD` (§7.3.4.1): adds, changes and removes flows.

use super::bucket::GroupNo;
use super::instruction::Instruction;
use super::list;
use super::match_::Match;
use super::port::PortNo;
use super::table_mod::TableNo;
use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// A change to the flows of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowMod {
    /// The controller's mark on the flow, returned by the switch.
    pub cookie: u64,
    /// For changes and removals: the bits of `cookie` that a flow must have; 0 for any flow.
    pub cookie_mask: u64,
    /// Which table; [`TableNo::ALL`] only to remove.
    pub table_id: TableNo,
    /// What to do.
    pub command: FlowModCommand,
    /// Seconds without a packet after which the switch removes the flow; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which the switch removes the flow in any case; 0 for never.
    pub hard_timeout: u16,
    /// The higher of two matching flows wins.
    pub priority: u16,
    /// The buffered packet to send through the flow, or [`NO_BUFFER`](crate::types::NO_BUFFER).
    pub buffer_id: u32,
    /// To remove: only flows with an output to this port, or [`PortNo::ANY`].
    pub out_port: PortNo,
    /// To remove: only flows that lead to this group, or [`GroupNo::ANY`].
    pub out_group: GroupNo,
    /// How.
    pub flags: FlowModFlags,
    /// Which packets.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
    /// What to do with them.
    pub instructions: Vec<Instruction>,
}

open_enum! {
    /// `OFPFC_*`: what to do with flows.
    pub struct FlowModCommand(u8) "OFPFC_" {
        /// Add one, in place of one with the same match and priority.
        ADD = 0,
        /// Change all that match.
        MODIFY = 1,
        /// Change the one with exactly this match and priority.
        MODIFY_STRICT = 2,
        /// Remove all that match.
        DELETE = 3,
        /// Remove the one with exactly this match and priority.
        DELETE_STRICT = 4,
    }
}

flags! {
    /// `OFPFF_*`: how a flow behaves.
    pub struct FlowModFlags(u16) {
        /// Tell when it is removed.
        SEND_FLOW_REM = 1 << 0,
        /// Refuse it where it overlaps another of its priority.
        CHECK_OVERLAP = 1 << 1,
        /// Begin its counters again.
        RESET_COUNTS = 1 << 2,
        /// Do not count its packets.
        NO_PKT_COUNTS = 1 << 3,
        /// Do not count its bytes.
        NO_BYT_COUNTS = 1 << 4,
    }
}

impl FlowMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<FlowMod, Malformed> {
        let cookie = reader.u64("flow_mod.cookie")?;
        let cookie_mask = reader.u64("flow_mod.cookie_mask")?;
        let table_id = TableNo(reader.u8("flow_mod.table_id")?);
        let command = FlowModCommand(reader.u8("flow_mod.command")?);
        let idle_timeout = reader.u16("flow_mod.idle_timeout")?;
        let hard_timeout = reader.u16("flow_mod.hard_timeout")?;
        let priority = reader.u16("flow_mod.priority")?;
        let buffer_id = reader.u32("flow_mod.buffer_id")?;
        let out_port = PortNo(reader.u32("flow_mod.out_port")?);
        let out_group = GroupNo(reader.u32("flow_mod.out_group")?);
        let flags = FlowModFlags(reader.u16("flow_mod.flags")?);
        reader.pad("flow_mod.pad", 2)?;
        let match_ = Match::read(reader)?;
        let instructions = list(reader, Instruction::read)?;
        Ok(FlowMod {
            cookie,
            cookie_mask,
            table_id,
            command,
            idle_timeout,
            hard_timeout,
            priority,
            buffer_id,
            out_port,
            out_group,
            flags,
            match_,
            instructions,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.cookie);
        writer.u64(self.cookie_mask);
        writer.u8(self.table_id.0);
        writer.u8(self.command.0);
        writer.u16(self.idle_timeout);
        writer.u16(self.hard_timeout);
        writer.u16(self.priority);
        writer.u32(self.buffer_id);
        writer.u32(self.out_port.0);
        writer.u32(self.out_group.0);
        writer.u16(self.flags.0);
        writer.pad(2);
        self.match_.write(writer);
        self.instructions.iter().for_each(|instruction| instruction.write(writer));
    }
}
