//! `OFPMP_DESC` (§7.3.5.1): the switch in words.

use crate::reader::{Malformed, Reader};
use crate::types::FixedText;
use crate::writer::Writer;

/// The switch's maker, and what it is. The request has no body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Desc {
    /// Its manufacturer.
    pub mfr_desc: FixedText<256>,
    /// Its hardware.
    pub hw_desc: FixedText<256>,
    /// Its software.
    pub sw_desc: FixedText<256>,
    /// Its serial number.
    pub serial_num: FixedText<32>,
    /// What its owner calls it.
    pub dp_desc: FixedText<256>,
}

impl Desc {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Desc, Malformed> {
        Ok(Desc {
            mfr_desc: FixedText(reader.array("desc.mfr_desc")?),
            hw_desc: FixedText(reader.array("desc.hw_desc")?),
            sw_desc: FixedText(reader.array("desc.sw_desc")?),
            serial_num: FixedText(reader.array("desc.serial_num")?),
            dp_desc: FixedText(reader.array("desc.dp_desc")?),
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
