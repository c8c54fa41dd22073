//! `OFPMP_AGGREGATE` (§7.3.5.3): the counters of many flows, summed up.

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// The flows of a [`FlowStatsRequest`](super::FlowStatsRequest), summed up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AggregateStats {
    /// Packets they matched.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
    /// How many flows.
    pub flow_count: u32,
}

impl AggregateStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<AggregateStats, Malformed> {
        let packet_count = reader.u64("aggregate_stats.packet_count")?;
        let byte_count = reader.u64("aggregate_stats.byte_count")?;
        let flow_count = reader.u32("aggregate_stats.flow_count")?;
        reader.pad("aggregate_stats.pad", 4)?;
        Ok(AggregateStats { packet_count, byte_count, flow_count })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.packet_count);
        writer.u64(self.byte_count);
        writer.u32(self.flow_count);
        writer.pad(4);
    }
}
