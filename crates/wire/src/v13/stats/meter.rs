//! `OFPMP_METER` (§7.3.5.12): the counters of meters.

use crate::reader::{Malformed, Reader, Reason};
use crate::v13::list;
use crate::v13::meter_mod::MeterNo;
use crate::writer::Writer;
use alloc::vec::Vec;

/// Which meters: the request of `OFPMP_METER` and of `OFPMP_METER_CONFIG`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MeterRequest {
    /// This one, or [`MeterNo::ALL`].
    pub meter_id: MeterNo,
}

/// The counters of one meter.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MeterStats {
    /// Which meter.
    pub meter_id: MeterNo,
    /// How many flows pass through it.
    pub flow_count: u32,
    /// Packets that came to it.
    pub packet_in_count: u64,
    /// Their bytes.
    pub byte_in_count: u64,
    /// How long it has been there, in whole seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
    /// The counters of its bands, in their order.
    pub bands: Vec<BandStats>,
}

/// The counters of one band.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BandStats {
    /// Packets it acted on.
    pub packet_band_count: u64,
    /// Their bytes.
    pub byte_band_count: u64,
}

impl MeterRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MeterRequest, Malformed> {
        let meter_id = MeterNo(reader.u32("meter_multipart_request.meter_id")?);
        reader.pad("meter_multipart_request.pad", 4)?;
        Ok(MeterRequest { meter_id })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.meter_id.0);
        writer.pad(4);
    }
}

impl MeterStats {
    /// Bytes up to the length field and with it, which counts them.
    const HEAD_LEN: usize = 6;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MeterStats, Malformed> {
        let meter_id = MeterNo(reader.u32("meter_stats.meter_id")?);
        let bad = reader.malformed("meter_stats.len", Reason::BadLength);
        let length = usize::from(reader.u16("meter_stats.len")?);
        let body = length.checked_sub(MeterStats::HEAD_LEN).filter(|_| length >= 40).ok_or(bad)?;
        let mut body = reader.sub("meter_stats.len", body).map_err(|_| bad)?;
        body.pad("meter_stats.pad", 6)?;
        Ok(MeterStats {
            meter_id,
            flow_count: body.u32("meter_stats.flow_count")?,
            packet_in_count: body.u64("meter_stats.packet_in_count")?,
            byte_in_count: body.u64("meter_stats.byte_in_count")?,
            duration_sec: body.u32("meter_stats.duration_sec")?,
            duration_nsec: body.u32("meter_stats.duration_nsec")?,
            bands: list(&mut body, BandStats::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(4);
        writer.u32(self.meter_id.0);
        writer.u16(0);
        writer.pad(6);
        writer.u32(self.flow_count);
        writer.u64(self.packet_in_count);
        writer.u64(self.byte_in_count);
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
        for band in &self.bands {
            writer.u64(band.packet_band_count);
            writer.u64(band.byte_band_count);
        }
        writer.close(open);
    }
}

impl BandStats {
    fn read(reader: &mut Reader<'_>) -> Result<BandStats, Malformed> {
        Ok(BandStats {
            packet_band_count: reader.u64("meter_band_stats.packet_band_count")?,
            byte_band_count: reader.u64("meter_band_stats.byte_band_count")?,
        })
    }
}
