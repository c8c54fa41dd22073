//! `OFPST_FLOW`: the flows of a table, one by one.

use crate::reader::{Malformed, Reader, Reason};
use crate::v10::{Action, Match, PortNo, read_all};
use crate::writer::Writer;
use alloc::vec::Vec;

/// The table number that stands for all tables.
pub const TABLE_ALL: u8 = 0xff;

/// The table number that stands for the emergency flows.
pub const TABLE_EMERG: u8 = 0xfe;

/// `struct ofp_flow_stats_request` and `struct ofp_aggregate_stats_request`, 44 bytes both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowStatsRequest {
    /// The flows within this match.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
    /// Of this table, or [`TABLE_ALL`], or [`TABLE_EMERG`].
    pub table_id: u8,
    /// That send out here; [`PortNo::NONE`] for all.
    pub out_port: PortNo,
}

impl FlowStatsRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let match_ = Match::read(reader)?;
        let table_id = reader.u8("flow_stats_request.table_id")?;
        reader.pad("flow_stats_request.pad", 1)?;
        let out_port = PortNo(reader.u16("flow_stats_request.out_port")?);
        Ok(FlowStatsRequest { match_, table_id, out_port })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        self.match_.write(writer);
        writer.u8(self.table_id);
        writer.pad(1);
        writer.u16(self.out_port.0);
    }
}

/// `struct ofp_flow_stats`: 88 bytes, then the actions.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowStats {
    /// The table it is in.
    pub table_id: u8,
    /// Which frames it is for.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
    /// How long it has lived: whole seconds.
    pub duration_sec: u32,
    /// Nanoseconds beyond them.
    pub duration_nsec: u32,
    /// Its priority; without meaning where nothing is wildcarded.
    pub priority: u16,
    /// Seconds without a packet after which it goes.
    pub idle_timeout: u16,
    /// Seconds after which it goes in any case.
    pub hard_timeout: u16,
    /// The controller's mark on it.
    pub cookie: u64,
    /// Packets that matched it.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
    /// What happens to matching frames.
    pub actions: Vec<Action>,
}

impl FlowStats {
    /// Bytes before the actions.
    const HEAD_LEN: usize = 88;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = usize::from(reader.clone().u16("flow_stats.length")?);
        if length < FlowStats::HEAD_LEN {
            return Err(reader.malformed("flow_stats.length", Reason::BadLength));
        }
        FlowStats::read_entry(&mut reader.sub("flow_stats.length", length)?)
    }

    /// Reads one entry from a reader over it alone.
    fn read_entry(entry: &mut Reader<'_>) -> Result<Self, Malformed> {
        entry.pad("flow_stats.length", 2)?;
        let table_id = entry.u8("flow_stats.table_id")?;
        entry.pad("flow_stats.pad", 1)?;
        let match_ = Match::read(entry)?;
        let duration_sec = entry.u32("flow_stats.duration_sec")?;
        let duration_nsec = entry.u32("flow_stats.duration_nsec")?;
        let priority = entry.u16("flow_stats.priority")?;
        let idle_timeout = entry.u16("flow_stats.idle_timeout")?;
        let hard_timeout = entry.u16("flow_stats.hard_timeout")?;
        entry.pad("flow_stats.pad2", 6)?;
        Ok(FlowStats {
            table_id,
            match_,
            duration_sec,
            duration_nsec,
            priority,
            idle_timeout,
            hard_timeout,
            cookie: entry.u64("flow_stats.cookie")?,
            packet_count: entry.u64("flow_stats.packet_count")?,
            byte_count: entry.u64("flow_stats.byte_count")?,
            actions: read_all(entry, Action::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(0);
        writer.u16(0);
        writer.u8(self.table_id);
        writer.pad(1);
        self.match_.write(writer);
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
        writer.u16(self.priority);
        writer.u16(self.idle_timeout);
        writer.u16(self.hard_timeout);
        writer.pad(6);
        writer.u64(self.cookie);
        writer.u64(self.packet_count);
        writer.u64(self.byte_count);
        self.actions.iter().for_each(|action| action.write(writer));
        writer.close(open);
    }
}
