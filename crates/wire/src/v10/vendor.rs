//! VENDOR (§5.5.4): carried as it is; what is inside is the vendor's.

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// The vendor id of Nicira, whose extensions Open vSwitch speaks.
pub const NICIRA: u32 = 0x0000_2320;

/// `OFPT_VENDOR`
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Vendor {
    /// Whose message it is: an IEEE OUI in the lower three bytes, or a number that the OpenFlow
    /// consortium gave where the highest byte is not zero.
    pub vendor: u32,
    /// What the vendor put behind its id.
    pub body: Vec<u8>,
}

impl Vendor {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let vendor = reader.u32("vendor.vendor")?;
        Ok(Vendor { vendor, body: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.vendor);
        writer.bytes(&self.body);
    }
}
