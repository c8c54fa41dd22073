//! `OFPMP_EXPERIMENTER` (§7.3.5.15): what a vendor adds, carried unharmed, in requests and replies.

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// A body that the experimenter defines.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ExperimenterStats {
    /// Whose.
    pub experimenter: u32,
    /// Which of the experimenter's bodies.
    pub exp_type: u32,
    /// The rest, uninterpreted.
    pub body: Vec<u8>,
}

impl ExperimenterStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<ExperimenterStats, Malformed> {
        Ok(ExperimenterStats {
            experimenter: reader.u32("experimenter_multipart.experimenter")?,
            exp_type: reader.u32("experimenter_multipart.exp_type")?,
            body: reader.remaining().to_vec(),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.experimenter);
        writer.u32(self.exp_type);
        writer.bytes(&self.body);
    }
}
