//! `OFPMP_QUEUE` (§7.3.5.8): the counters of queues.

use crate::reader::{Malformed, Reader};
use crate::v13::port::PortNo;
use crate::v13::queue::QueueNo;
use crate::writer::Writer;

/// Which queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueStatsRequest {
    /// Those of this port, or [`PortNo::ANY`].
    pub port_no: PortNo,
    /// This one, or [`QueueNo::ALL`].
    pub queue_id: QueueNo,
}

/// The counters of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueStats {
    /// Its port.
    pub port_no: PortNo,
    /// Its number.
    pub queue_id: QueueNo,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped because it was full.
    pub tx_errors: u64,
    /// How long it has been there, in whole seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
}

impl QueueStatsRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<QueueStatsRequest, Malformed> {
        Ok(QueueStatsRequest {
            port_no: PortNo(reader.u32("queue_stats_request.port_no")?),
            queue_id: QueueNo(reader.u32("queue_stats_request.queue_id")?),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port_no.0);
        writer.u32(self.queue_id.0);
    }
}

impl QueueStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<QueueStats, Malformed> {
        Ok(QueueStats {
            port_no: PortNo(reader.u32("queue_stats.port_no")?),
            queue_id: QueueNo(reader.u32("queue_stats.queue_id")?),
            tx_bytes: reader.u64("queue_stats.tx_bytes")?,
            tx_packets: reader.u64("queue_stats.tx_packets")?,
            tx_errors: reader.u64("queue_stats.tx_errors")?,
            duration_sec: reader.u32("queue_stats.duration_sec")?,
            duration_nsec: reader.u32("queue_stats.duration_nsec")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port_no.0);
        writer.u32(self.queue_id.0);
        writer.u64(self.tx_bytes);
        writer.u64(self.tx_packets);
        writer.u64(self.tx_errors);
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
    }
}
