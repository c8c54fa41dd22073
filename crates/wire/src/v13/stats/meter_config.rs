//! `OFPMP_METER_CONFIG` (§7.3.5.13): the meters themselves.

use crate::reader::{Malformed, Reader};
use crate::v13::meter_band::MeterBand;
use crate::v13::meter_mod::{MeterFlags, MeterNo};
use crate::v13::{list, sized};
use crate::writer::Writer;
use alloc::vec::Vec;

/// One meter. Asked for with a [`MeterRequest`](super::MeterRequest).
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MeterConfig {
    /// How it measures.
    pub flags: MeterFlags,
    /// Its number.
    pub meter_id: MeterNo,
    /// Its bands.
    pub bands: Vec<MeterBand>,
}

impl MeterConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MeterConfig, Malformed> {
        let mut body = sized(reader, "meter_config.length", 8)?;
        Ok(MeterConfig {
            flags: MeterFlags(body.u16("meter_config.flags")?),
            meter_id: MeterNo(body.u32("meter_config.meter_id")?),
            bands: list(&mut body, MeterBand::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(0);
        writer.u16(0);
        writer.u16(self.flags.0);
        writer.u32(self.meter_id.0);
        self.bands.iter().for_each(|band| band.write(writer));
        writer.close(open);
    }
}
