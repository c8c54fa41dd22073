//! `OFPMP_FLOW` (§7.3.5.2): flows and their counters, one by one.

use crate::reader::{Malformed, Reader};
use crate::v13::bucket::GroupNo;
use crate::v13::flow_mod::FlowModFlags;
use crate::v13::instruction::Instruction;
use crate::v13::match_::Match;
use crate::v13::port::PortNo;
use crate::v13::table_mod::TableNo;
use crate::v13::{list, sized};
use crate::writer::Writer;
use alloc::vec::Vec;

/// Which flows: the request of `OFPMP_FLOW` and of `OFPMP_AGGREGATE`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowStatsRequest {
    /// Those of this table, or [`TableNo::ALL`].
    pub table_id: TableNo,
    /// Those with an output to this port, or [`PortNo::ANY`].
    pub out_port: PortNo,
    /// Those that lead to this group, or [`GroupNo::ANY`].
    pub out_group: GroupNo,
    /// Those whose cookie has these bits.
    pub cookie: u64,
    /// Which bits; 0 for any cookie.
    pub cookie_mask: u64,
    /// Those that match no more than this.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
}

/// One flow and its counters.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowStats {
    /// Its table.
    pub table_id: TableNo,
    /// How long it has been there, in whole seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
    /// Its priority.
    pub priority: u16,
    /// Its idle timeout in seconds.
    pub idle_timeout: u16,
    /// Its hard timeout in seconds.
    pub hard_timeout: u16,
    /// Its flags.
    pub flags: FlowModFlags,
    /// The controller's mark on it.
    pub cookie: u64,
    /// Packets it matched; all ones where not counted.
    pub packet_count: u64,
    /// Their bytes; all ones where not counted.
    pub byte_count: u64,
    /// Which packets it is about.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
    /// What it does with them.
    pub instructions: Vec<Instruction>,
}

impl FlowStatsRequest {
    /// All flows of all tables.
    pub fn all() -> FlowStatsRequest {
        FlowStatsRequest {
            table_id: TableNo::ALL,
            out_port: PortNo::ANY,
            out_group: GroupNo::ANY,
            cookie: 0,
            cookie_mask: 0,
            match_: Match { fields: Vec::new() },
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<FlowStatsRequest, Malformed> {
        let table_id = TableNo(reader.u8("flow_stats_request.table_id")?);
        reader.pad("flow_stats_request.pad", 3)?;
        let out_port = PortNo(reader.u32("flow_stats_request.out_port")?);
        let out_group = GroupNo(reader.u32("flow_stats_request.out_group")?);
        reader.pad("flow_stats_request.pad2", 4)?;
        let cookie = reader.u64("flow_stats_request.cookie")?;
        let cookie_mask = reader.u64("flow_stats_request.cookie_mask")?;
        let match_ = Match::read(reader)?;
        Ok(FlowStatsRequest { table_id, out_port, out_group, cookie, cookie_mask, match_ })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.table_id.0);
        writer.pad(3);
        writer.u32(self.out_port.0);
        writer.u32(self.out_group.0);
        writer.pad(4);
        writer.u64(self.cookie);
        writer.u64(self.cookie_mask);
        self.match_.write(writer);
    }
}

impl FlowStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<FlowStats, Malformed> {
        let mut body = sized(reader, "flow_stats.length", 56)?;
        let table_id = TableNo(body.u8("flow_stats.table_id")?);
        body.pad("flow_stats.pad", 1)?;
        let duration_sec = body.u32("flow_stats.duration_sec")?;
        let duration_nsec = body.u32("flow_stats.duration_nsec")?;
        let priority = body.u16("flow_stats.priority")?;
        let idle_timeout = body.u16("flow_stats.idle_timeout")?;
        let hard_timeout = body.u16("flow_stats.hard_timeout")?;
        let flags = FlowModFlags(body.u16("flow_stats.flags")?);
        body.pad("flow_stats.pad2", 4)?;
        Ok(FlowStats {
            table_id,
            duration_sec,
            duration_nsec,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie: body.u64("flow_stats.cookie")?,
            packet_count: body.u64("flow_stats.packet_count")?,
            byte_count: body.u64("flow_stats.byte_count")?,
            match_: Match::read(&mut body)?,
            instructions: list(&mut body, Instruction::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(0);
        writer.u16(0);
        writer.u8(self.table_id.0);
        writer.pad(1);
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
        writer.u16(self.priority);
        writer.u16(self.idle_timeout);
        writer.u16(self.hard_timeout);
        writer.u16(self.flags.0);
        writer.pad(4);
        writer.u64(self.cookie);
        writer.u64(self.packet_count);
        writer.u64(self.byte_count);
        self.match_.write(writer);
        self.instructions.iter().for_each(|instruction| instruction.write(writer));
        writer.close(open);
    }
}
