//! `OFPST_QUEUE`: what queues have counted.

use crate::reader::{Malformed, Reader};
use crate::v10::PortNo;
use crate::writer::Writer;

/// The queue number that stands for all queues (`OFPQ_ALL`).
pub const QUEUE_ALL: u32 = 0xffff_ffff;

/// `struct ofp_queue_stats_request`, 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueStatsRequest {
    /// The port; [`PortNo::ALL`] for all.
    pub port_no: PortNo,
    /// The queue there; [`QUEUE_ALL`] for all.
    pub queue_id: u32,
}

impl QueueStatsRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let port_no = PortNo(reader.u16("queue_stats_request.port_no")?);
        reader.pad("queue_stats_request.pad", 2)?;
        Ok(QueueStatsRequest { port_no, queue_id: reader.u32("queue_stats_request.queue_id")? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port_no.0);
        writer.pad(2);
        writer.u32(self.queue_id);
    }
}

/// `struct ofp_queue_stats`, 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueStats {
    /// The port.
    pub port_no: PortNo,
    /// The queue there.
    pub queue_id: u32,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped because the queue was full.
    pub tx_errors: u64,
}

impl QueueStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let port_no = PortNo(reader.u16("queue_stats.port_no")?);
        reader.pad("queue_stats.pad", 2)?;
        Ok(QueueStats {
            port_no,
            queue_id: reader.u32("queue_stats.queue_id")?,
            tx_bytes: reader.u64("queue_stats.tx_bytes")?,
            tx_packets: reader.u64("queue_stats.tx_packets")?,
            tx_errors: reader.u64("queue_stats.tx_errors")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port_no.0);
        writer.pad(2);
        writer.u32(self.queue_id);
        writer.u64(self.tx_bytes);
        writer.u64(self.tx_packets);
        writer.u64(self.tx_errors);
    }
}
