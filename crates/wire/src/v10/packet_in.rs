//! PACKET_IN (§5.4.1): a frame that the switch sends to the controller; the flow request of the
//! papers.

use super::{Message, PortNo, VERSION};
use crate::header::kind;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::types::PacketInView;
use crate::writer::Writer;
use alloc::vec::Vec;

open_enum! {
    /// Why the switch sent it: `enum ofp_packet_in_reason`.
    pub struct PacketInReason(u8) "OFPR_" {
        /// No flow matched.
        NO_MATCH = 0,
        /// A flow's action says so.
        ACTION = 1,
    }
}

/// `OFPT_PACKET_IN`: `struct ofp_packet_in`, 18 bytes with the header, then the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketIn {
    /// Where the switch keeps the frame, or [`NO_BUFFER`](crate::NO_BUFFER).
    pub buffer_id: u32,
    /// Full length of the frame in bytes.
    pub total_len: u16,
    /// The port it came in by.
    pub in_port: PortNo,
    /// Why it was sent.
    pub reason: PacketInReason,
    /// The frame, or its beginning where the switch keeps the rest.
    pub data: Vec<u8>,
}

impl PacketIn {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let buffer_id = reader.u32("packet_in.buffer_id")?;
        let total_len = reader.u16("packet_in.total_len")?;
        let in_port = PortNo(reader.u16("packet_in.in_port")?);
        let reason = PacketInReason(reader.u8("packet_in.reason")?);
        reader.pad("packet_in.pad", 1)?;
        let data = reader.remaining().to_vec();
        Ok(PacketIn { buffer_id, total_len, in_port, reason, data })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.buffer_id);
        writer.u16(self.total_len);
        writer.u16(self.in_port.0);
        writer.u8(self.reason.0);
        writer.pad(1);
        writer.bytes(&self.data);
    }
}

/// Bytes before the frame.
const FRAME_AT: usize = 18;

/// Looks at a whole PACKET_IN in place.
///
/// # Errors
/// What [`Message::decode`] says of it, and [`Reason::BadType`] where it is a message of another
/// type.
#[inline]
pub fn view(bytes: &[u8]) -> Result<PacketInView<'_>, Malformed> {
    let Some((head, frame)) = bytes.split_first_chunk::<FRAME_AT>() else {
        return Err(refusal(bytes));
    };
    let [version, kind, l0, l1, _, _, _, _, b0, b1, b2, b3, t0, t1, p0, p1, reason, _] = *head;
    let whole = u16::from_be_bytes([l0, l1]) as usize == bytes.len();
    if version != VERSION.wire() || kind != kind::PACKET_IN || !whole {
        return Err(refusal(bytes));
    }
    Ok(PacketInView {
        buffer_id: u32::from_be_bytes([b0, b1, b2, b3]),
        total_len: u16::from_be_bytes([t0, t1]),
        in_port: PortNo(u16::from_be_bytes([p0, p1])).widen(),
        reason,
        frame,
        frame_at: FRAME_AT as u16,
    })
}

/// Why `bytes` are no PACKET_IN, once that is known.
#[cold]
fn refusal(bytes: &[u8]) -> Malformed {
    let other = Malformed { field: "header.type", offset: 1, reason: Reason::BadType };
    Message::decode(bytes).err().unwrap_or(other)
}
