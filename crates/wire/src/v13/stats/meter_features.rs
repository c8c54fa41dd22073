//! `OFPMP_METER_FEATURES` (§7.3.5.14): what meters can do.

use crate::reader::{Malformed, Reader};
use crate::v13::meter_mod::MeterFlags;
use crate::writer::Writer;

/// What meters can do. The request has no body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MeterFeatures {
    /// How many meters at most; 0 where there are none.
    pub max_meter: u32,
    /// Bit `n` set: bands of type `n` are supported.
    pub band_types: u32,
    /// The flags that are supported, those of a meter in the lower 16 bits.
    pub capabilities: u32,
    /// How many bands a meter can have.
    pub max_bands: u8,
    /// How many colours, or drop precedences, it can tell apart.
    pub max_color: u8,
}

impl MeterFeatures {
    /// Whether meters can have `flags`.
    pub fn can(&self, flags: MeterFlags) -> bool {
        self.capabilities & u32::from(flags.0) == u32::from(flags.0)
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MeterFeatures, Malformed> {
        let max_meter = reader.u32("meter_features.max_meter")?;
        let band_types = reader.u32("meter_features.band_types")?;
        let capabilities = reader.u32("meter_features.capabilities")?;
        let max_bands = reader.u8("meter_features.max_bands")?;
        let max_color = reader.u8("meter_features.max_color")?;
        reader.pad("meter_features.pad", 2)?;
        Ok(MeterFeatures { max_meter, band_types, capabilities, max_bands, max_color })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.max_meter);
        writer.u32(self.band_types);
        writer.u32(self.capabilities);
        writer.u8(self.max_bands);
        writer.u8(self.max_color);
        writer.pad(2);
    }
}
