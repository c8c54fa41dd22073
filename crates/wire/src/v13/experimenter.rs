//! `OFPT_EXPERIMENTER` (§7.5.4): what a vendor adds, carried unharmed.

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// The experimenter id of Nicira, whose extensions Open vSwitch speaks.
pub const NICIRA: u32 = 0x0000_2320;

/// The experimenter id of the Open Networking Foundation, for its own extensions.
pub const ONF: u32 = 0x4f4e_4600;

/// A message that the experimenter defines.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Experimenter {
    /// Whose: an IEEE OUI where the first byte is zero, otherwise allotted by the ONF.
    pub experimenter: u32,
    /// Which of the experimenter's messages.
    pub exp_type: u32,
    /// The rest, uninterpreted.
    pub body: Vec<u8>,
}

impl Experimenter {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Experimenter, Malformed> {
        Ok(Experimenter {
            experimenter: reader.u32("experimenter.experimenter")?,
            exp_type: reader.u32("experimenter.exp_type")?,
            body: reader.remaining().to_vec(),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.experimenter);
        writer.u32(self.exp_type);
        writer.bytes(&self.body);
    }
}
