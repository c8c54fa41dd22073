//! `OFPST_DESC`: what the switch is, in words.

use crate::reader::{Malformed, Reader};
use crate::types::FixedText;
use crate::writer::Writer;

/// `struct ofp_desc_stats`, 1056 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DescStats {
    /// The manufacturer.
    pub mfr_desc: FixedText<256>,
    /// The hardware.
    pub hw_desc: FixedText<256>,
    /// The software.
    pub sw_desc: FixedText<256>,
    /// The serial number.
    pub serial_num: FixedText<32>,
    /// This very switch, as its people call it.
    pub dp_desc: FixedText<256>,
}

impl DescStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(DescStats {
            mfr_desc: FixedText(reader.array("desc_stats.mfr_desc")?),
            hw_desc: FixedText(reader.array("desc_stats.hw_desc")?),
            sw_desc: FixedText(reader.array("desc_stats.sw_desc")?),
            serial_num: FixedText(reader.array("desc_stats.serial_num")?),
            dp_desc: FixedText(reader.array("desc_stats.dp_desc")?),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.mfr_desc.0);
        writer.bytes(&self.hw_desc.0);
        writer.bytes(&self.sw_desc.0);
        writer.bytes(&self.serial_num.0);
        writer.bytes(&self.dp_desc.0);
    }
}
