//! `OFPT_ECHO_REQUEST` and `OFPT_ECHO_REPLY` (§7.5.2, §7.5.3): is the other side still there?

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// The body of either: what the request carried, the reply carries back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Echo {
    /// Bytes that mean something to the sender of the request alone.
    pub data: Vec<u8>,
}

impl Echo {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Echo, Malformed> {
        Ok(Echo { data: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.data);
    }
}
