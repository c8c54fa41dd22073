//! `OFPST_AGGREGATE`: the flows of a table, summed up. The request is that of
//! [`flow`](super::flow).

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// `struct ofp_aggregate_stats_reply`, 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AggregateStatsReply {
    /// Packets that matched them.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
    /// How many flows.
    pub flow_count: u32,
}

impl AggregateStatsReply {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let packet_count = reader.u64("aggregate_stats.packet_count")?;
        let byte_count = reader.u64("aggregate_stats.byte_count")?;
        let flow_count = reader.u32("aggregate_stats.flow_count")?;
        reader.pad("aggregate_stats.pad", 4)?;
        Ok(AggregateStatsReply { packet_count, byte_count, flow_count })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.packet_count);
        writer.u64(self.byte_count);
        writer.u32(self.flow_count);
        writer.pad(4);
    }
}
