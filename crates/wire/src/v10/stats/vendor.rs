//! `OFPST_VENDOR`: carried as it is.

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// A vendor's request or reply.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct VendorStats {
    /// Whose it is, as in [`Vendor`](crate::v10::Vendor).
    pub vendor: u32,
    /// What the vendor put behind its id.
    pub body: Vec<u8>,
}

impl VendorStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let vendor = reader.u32("vendor_stats.vendor")?;
        Ok(VendorStats { vendor, body: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.vendor);
        writer.bytes(&self.body);
    }
}
