//! `OFPT_FLOW_REMOVED` (§7.4.2): a flow is gone, and what it counted.

use super::match_::Match;
use super::table_mod::TableNo;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// A flow that is gone.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowRemoved {
    /// The controller's mark on it.
    pub cookie: u64,
    /// Its priority.
    pub priority: u16,
    /// Why it is gone.
    pub reason: FlowRemovedReason,
    /// The table it was in.
    pub table_id: TableNo,
    /// How long it was there, in whole seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
    /// Its idle timeout in seconds.
    pub idle_timeout: u16,
    /// Its hard timeout in seconds.
    pub hard_timeout: u16,
    /// Packets it matched; all ones where not counted.
    pub packet_count: u64,
    /// Their bytes; all ones where not counted.
    pub byte_count: u64,
    /// Which packets it was about.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
}

open_enum! {
    /// `OFPRR_*`: why a flow is gone.
    pub struct FlowRemovedReason(u8) "OFPRR_" {
        /// No packet for its idle timeout.
        IDLE_TIMEOUT = 0,
        /// Its hard timeout is over.
        HARD_TIMEOUT = 1,
        /// A controller removed it.
        DELETE = 2,
        /// Its group was removed.
        GROUP_DELETE = 3,
    }
}

impl FlowRemoved {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<FlowRemoved, Malformed> {
        Ok(FlowRemoved {
            cookie: reader.u64("flow_removed.cookie")?,
            priority: reader.u16("flow_removed.priority")?,
            reason: FlowRemovedReason(reader.u8("flow_removed.reason")?),
            table_id: TableNo(reader.u8("flow_removed.table_id")?),
            duration_sec: reader.u32("flow_removed.duration_sec")?,
            duration_nsec: reader.u32("flow_removed.duration_nsec")?,
            idle_timeout: reader.u16("flow_removed.idle_timeout")?,
            hard_timeout: reader.u16("flow_removed.hard_timeout")?,
            packet_count: reader.u64("flow_removed.packet_count")?,
            byte_count: reader.u64("flow_removed.byte_count")?,
            match_: Match::read(reader)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.cookie);
        writer.u16(self.priority);
        writer.u8(self.reason.0);
        writer.u8(self.table_id.0);
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
        writer.u16(self.idle_timeout);
        writer.u16(self.hard_timeout);
        writer.u64(self.packet_count);
        writer.u64(self.byte_count);
        self.match_.write(writer);
    }
}
