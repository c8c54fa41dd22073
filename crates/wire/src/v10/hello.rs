//! HELLO (§5.5.1): no body is defined, and whatever there is must be let through.

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// `OFPT_HELLO`: the first message from both ends. The header's version is the highest that the
/// sender speaks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Hello {
    /// What came behind the header: nothing by this version, elements by later ones.
    pub body: Vec<u8>,
}

impl Hello {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Hello { body: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.body);
    }
}
