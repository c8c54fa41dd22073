//! FLOW_REMOVED (§5.4.2): a flow is gone, and what it had counted.

use super::Match;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

open_enum! {
    /// Why it is gone: `enum ofp_flow_removed_reason`.
    pub struct FlowRemovedReason(u8) "OFPRR_" {
        /// No packet for `idle_timeout` seconds.
        IDLE_TIMEOUT = 0,
        /// `hard_timeout` seconds are over.
        HARD_TIMEOUT = 1,
        /// A FLOW_MOD deleted it.
        DELETE = 2,
    }
}

/// `OFPT_FLOW_REMOVED`: `struct ofp_flow_removed`, 88 bytes with the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FlowRemoved {
    /// Which frames it was for.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
    /// The controller's mark on it.
    pub cookie: u64,
    /// Its priority.
    pub priority: u16,
    /// Why it is gone.
    pub reason: FlowRemovedReason,
    /// How long it lived: whole seconds.
    pub duration_sec: u32,
    /// Nanoseconds beyond them.
    pub duration_nsec: u32,
    /// The idle timeout of its FLOW_MOD, in seconds.
    pub idle_timeout: u16,
    /// Packets that matched it.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
}

impl FlowRemoved {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let match_ = Match::read(reader)?;
        let cookie = reader.u64("flow_removed.cookie")?;
        let priority = reader.u16("flow_removed.priority")?;
        let reason = FlowRemovedReason(reader.u8("flow_removed.reason")?);
        reader.pad("flow_removed.pad", 1)?;
        let duration_sec = reader.u32("flow_removed.duration_sec")?;
        let duration_nsec = reader.u32("flow_removed.duration_nsec")?;
        let idle_timeout = reader.u16("flow_removed.idle_timeout")?;
        reader.pad("flow_removed.pad2", 2)?;
        Ok(FlowRemoved {
            match_,
            cookie,
            priority,
            reason,
            duration_sec,
            duration_nsec,
            idle_timeout,
            packet_count: reader.u64("flow_removed.packet_count")?,
            byte_count: reader.u64("flow_removed.byte_count")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        self.match_.write(writer);
        writer.u64(self.cookie);
        writer.u16(self.priority);
        writer.u8(self.reason.0);
        writer.pad(1);
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
        writer.u16(self.idle_timeout);
        writer.pad(2);
        writer.u64(self.packet_count);
        writer.u64(self.byte_count);
    }
}
