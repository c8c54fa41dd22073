//! ECHO_REQUEST and ECHO_REPLY (§5.5.2, §5.5.3).

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// `OFPT_ECHO_REQUEST` or `OFPT_ECHO_REPLY`: a reply returns the data of its request unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Echo {
    /// Whatever the asker chose, up to 65,527 bytes.
    pub data: Vec<u8>,
}

impl Echo {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Echo { data: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.data);
    }
}
