//! `OFPMP_PORT_STATS` (§7.3.5.6): the counters of ports.

use crate::reader::{Malformed, Reader};
use crate::v13::port::PortNo;
use crate::writer::Writer;

/// Which ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortStatsRequest {
    /// This one, or [`PortNo::ANY`].
    pub port_no: PortNo,
}

/// The counters of one port; all ones where the switch does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortStats {
    /// Which port.
    pub port_no: PortNo,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped on the way in.
    pub rx_dropped: u64,
    /// Packets dropped on the way out.
    pub tx_dropped: u64,
    /// Errors on the way in, those below among them.
    pub rx_errors: u64,
    /// Errors on the way out.
    pub tx_errors: u64,
    /// Frame alignment errors.
    pub rx_frame_err: u64,
    /// Overruns.
    pub rx_over_err: u64,
    /// Checksum errors.
    pub rx_crc_err: u64,
    /// Collisions.
    pub collisions: u64,
    /// How long the port has been there, in whole seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
}

impl PortStatsRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<PortStatsRequest, Malformed> {
        let port_no = PortNo(reader.u32("port_stats_request.port_no")?);
        reader.pad("port_stats_request.pad", 4)?;
        Ok(PortStatsRequest { port_no })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port_no.0);
        writer.pad(4);
    }
}

impl PortStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<PortStats, Malformed> {
        let port_no = PortNo(reader.u32("port_stats.port_no")?);
        reader.pad("port_stats.pad", 4)?;
        Ok(PortStats {
            port_no,
            rx_packets: reader.u64("port_stats.rx_packets")?,
            tx_packets: reader.u64("port_stats.tx_packets")?,
            rx_bytes: reader.u64("port_stats.rx_bytes")?,
            tx_bytes: reader.u64("port_stats.tx_bytes")?,
            rx_dropped: reader.u64("port_stats.rx_dropped")?,
            tx_dropped: reader.u64("port_stats.tx_dropped")?,
            rx_errors: reader.u64("port_stats.rx_errors")?,
            tx_errors: reader.u64("port_stats.tx_errors")?,
            rx_frame_err: reader.u64("port_stats.rx_frame_err")?,
            rx_over_err: reader.u64("port_stats.rx_over_err")?,
            rx_crc_err: reader.u64("port_stats.rx_crc_err")?,
            collisions: reader.u64("port_stats.collisions")?,
            duration_sec: reader.u32("port_stats.duration_sec")?,
            duration_nsec: reader.u32("port_stats.duration_nsec")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port_no.0);
        writer.pad(4);
        for counter in [
            self.rx_packets,
            self.tx_packets,
            self.rx_bytes,
            self.tx_bytes,
            self.rx_dropped,
            self.tx_dropped,
            self.rx_errors,
            self.tx_errors,
            self.rx_frame_err,
            self.rx_over_err,
            self.rx_crc_err,
            self.collisions,
        ] {
            writer.u64(counter);
        }
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
    }
}
