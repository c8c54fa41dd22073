//! `OFPST_PORT`: what ports have counted.

use crate::reader::{Malformed, Reader};
use crate::v10::PortNo;
use crate::writer::Writer;

/// `struct ofp_port_stats_request`, 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortStatsRequest {
    /// The port; [`PortNo::NONE`] for all.
    pub port_no: PortNo,
}

impl PortStatsRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let port_no = PortNo(reader.u16("port_stats_request.port_no")?);
        reader.pad("port_stats_request.pad", 6)?;
        Ok(PortStatsRequest { port_no })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port_no.0);
        writer.pad(6);
    }
}

/// `struct ofp_port_stats`, 104 bytes. A counter that the switch does not keep is all ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortStats {
    /// The port.
    pub port_no: PortNo,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped on receipt.
    pub rx_dropped: u64,
    /// Packets dropped before sending.
    pub tx_dropped: u64,
    /// Errors on receipt, those below included.
    pub rx_errors: u64,
    /// Errors in sending.
    pub tx_errors: u64,
    /// Frame alignment errors.
    pub rx_frame_err: u64,
    /// Packets that overran the receiver.
    pub rx_over_err: u64,
    /// Wrong checksums.
    pub rx_crc_err: u64,
    /// Collisions.
    pub collisions: u64,
}

impl PortStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let port_no = PortNo(reader.u16("port_stats.port_no")?);
        reader.pad("port_stats.pad", 6)?;
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
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port_no.0);
        writer.pad(6);
        writer.u64(self.rx_packets);
        writer.u64(self.tx_packets);
        writer.u64(self.rx_bytes);
        writer.u64(self.tx_bytes);
        writer.u64(self.rx_dropped);
        writer.u64(self.tx_dropped);
        writer.u64(self.rx_errors);
        writer.u64(self.tx_errors);
        writer.u64(self.rx_frame_err);
        writer.u64(self.rx_over_err);
        writer.u64(self.rx_crc_err);
        writer.u64(self.collisions);
    }
}
