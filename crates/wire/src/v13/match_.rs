//! `ofp_match` (§7.2.3): which packets a flow is about, or what a switch knows of a packet.

use super::oxm::Oxm;
use super::{list, tlv_then_pad8};
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::Writer;
use alloc::vec::Vec;

/// `OFPMT_OXM`, the only type of match that is not deprecated.
pub(super) const OXM: u16 = 1;

/// Fields that all must match; none matches every packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Match {
    /// The fields in the order they came. The switch wants no field twice, and prerequisites first.
    pub fields: Vec<Oxm>,
}

impl Match {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Match, Malformed> {
        let offset = reader.offset();
        let (kind, mut body) = tlv_then_pad8(reader, "match.length", 4)?;
        if kind != OXM {
            return Err(Malformed { field: "match.type", offset, reason: Reason::BadValue });
        }
        Ok(Match { fields: list(&mut body, Oxm::read)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        writer.u16(OXM);
        writer.u16(0);
        self.fields.iter().for_each(|field| field.write(writer));
        writer.close_then_pad8(open);
    }
}
