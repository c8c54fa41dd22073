//! `OFPT_PACKET_IN` (§7.4.1): a packet comes to the controller.
//!
//! [`PacketIn`] is the whole message. [`view`] is the way of the data path: where the frame is and
//! which port it came in by, read in place.

use super::match_::{self, Match};
use super::oxm::Oxm;
use super::port::PortNo;
use super::table_mod::TableNo;
use super::{Message, VERSION};
use crate::header::kind;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::types::PacketInView;
use crate::writer::Writer;
use alloc::vec::Vec;

/// A packet that came to the controller.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketIn {
    /// Where the switch keeps the packet, or [`NO_BUFFER`](crate::types::NO_BUFFER).
    pub buffer_id: u32,
    /// Full length of the frame in bytes; `data` may hold less of it.
    pub total_len: u16,
    /// Why it was sent.
    pub reason: PacketInReason,
    /// The table that looked at it last.
    pub table_id: TableNo,
    /// The cookie of the flow that sent it; all ones without one.
    pub cookie: u64,
    /// What the switch knows of it beside its headers; the incoming port at least.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub match_: Match,
    /// The frame, or its beginning.
    pub data: Vec<u8>,
}

open_enum! {
    /// `OFPR_*`: why a packet was sent to the controller.
    pub struct PacketInReason(u8) "OFPR_" {
        /// No flow but the table-miss flow matched.
        NO_MATCH = 0,
        /// An action said so.
        ACTION = 1,
        /// Its TTL ran out.
        INVALID_TTL = 2,
    }
}

impl PacketIn {
    /// The port it came in by; `None` from a switch that does not say, though it has to.
    pub fn in_port(&self) -> Option<PortNo> {
        self.match_.fields.iter().find_map(|field| match field {
            Oxm::InPort(port) => Some(*port),
            _ => None,
        })
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<PacketIn, Malformed> {
        let buffer_id = reader.u32("packet_in.buffer_id")?;
        let total_len = reader.u16("packet_in.total_len")?;
        let reason = PacketInReason(reader.u8("packet_in.reason")?);
        let table_id = TableNo(reader.u8("packet_in.table_id")?);
        let cookie = reader.u64("packet_in.cookie")?;
        let match_ = Match::read(reader)?;
        reader.pad("packet_in.pad", 2)?;
        let data = reader.remaining().to_vec();
        Ok(PacketIn { buffer_id, total_len, reason, table_id, cookie, match_, data })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.buffer_id);
        writer.u16(self.total_len);
        writer.u8(self.reason.0);
        writer.u8(self.table_id.0);
        writer.u64(self.cookie);
        self.match_.write(writer);
        writer.pad(2);
        writer.bytes(&self.data);
    }
}

/// Bytes before the fields of the match: the message's header and fixed part, the match's type and
/// length.
const FIELDS_AT: usize = 28;

/// The header of the basic field `OFPXMT_OFB_IN_PORT`.
const IN_PORT: u32 = 0x8000_0004;

/// The beginning of a match that says nothing but the incoming port: its type and length, and the
/// header of the field.
const ONLY_IN_PORT: [u8; 8] = [0, 1, 0, 12, 0x80, 0, 0, 4];

/// Where the frame begins behind such a match.
const FRAME_AT: usize = 42;

/// Looks at a whole PACKET_IN of this version in place, without reading more of it than is asked.
///
/// # Errors
/// What [`Message::decode`] says of it as far as it is looked at; [`Reason::BadType`] where it is a
/// message of another type, and [`Reason::BadValue`] where the match has no incoming port.
#[inline]
pub fn view(bytes: &[u8]) -> Result<PacketInView<'_>, Malformed> {
    glance(bytes).map_or_else(|| view_any(bytes), Ok)
}

/// The same where the match says the incoming port and nothing else, as that of nearly every switch
/// does: the frame has a fixed place then. None for everything else, whether it is a PACKET_IN or
/// not.
#[inline(always)]
pub fn glance(bytes: &[u8]) -> Option<PacketInView<'_>> {
    let (head, frame) = bytes.split_first_chunk::<FRAME_AT>()?;
    let [version, kind, l0, l1, .., p0, p1, p2, p3, _, _, _, _, _, _] = *head;
    let whole = usize::from(u16::from_be_bytes([l0, l1])) == bytes.len();
    let is_packet_in = version == VERSION.wire() && kind == kind::PACKET_IN && whole;
    if !is_packet_in || head[FIELDS_AT - 4..FIELDS_AT + 4] != ONLY_IN_PORT {
        return None;
    }
    Some(PacketInView {
        buffer_id: u32::from_be_bytes([head[8], head[9], head[10], head[11]]),
        total_len: u16::from_be_bytes([head[12], head[13]]),
        in_port: u32::from_be_bytes([p0, p1, p2, p3]),
        reason: head[14],
        frame,
        frame_at: FRAME_AT as u16,
    })
}

/// The same, whatever the match begins with: other matches are walked as far as the port.
#[inline(never)]
fn view_any(bytes: &[u8]) -> Result<PacketInView<'_>, Malformed> {
    let Some((head, fields)) = bytes.split_first_chunk::<FIELDS_AT>() else {
        return Err(refusal(bytes));
    };
    let [
        version,
        kind,
        m0,
        m1,
        ..,
        b0,
        b1,
        b2,
        b3,
        t0,
        t1,
        reason,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        k0,
        k1,
        l0,
        l1,
    ] = *head;
    let whole = usize::from(u16::from_be_bytes([m0, m1])) == bytes.len();
    let oxm = u16::from_be_bytes([k0, k1]) == match_::OXM;
    let match_len = usize::from(u16::from_be_bytes([l0, l1]));
    let frame_at = FIELDS_AT - 4 + match_len.next_multiple_of(8) + 2;
    let Some(frame) = bytes.get(frame_at..) else { return Err(refusal(bytes)) };
    if version != VERSION.wire() || kind != kind::PACKET_IN || !whole || !oxm || match_len < 4 {
        return Err(refusal(bytes));
    }
    let in_port = match fields.first_chunk::<8>() {
        Some([h0, h1, h2, h3, p0, p1, p2, p3])
            if match_len >= 12 && u32::from_be_bytes([*h0, *h1, *h2, *h3]) == IN_PORT =>
        {
            u32::from_be_bytes([*p0, *p1, *p2, *p3])
        }
        _ => walk(bytes, match_len)?,
    };
    Ok(PacketInView {
        buffer_id: u32::from_be_bytes([b0, b1, b2, b3]),
        total_len: u16::from_be_bytes([t0, t1]),
        in_port,
        reason,
        frame,
        // It is at most the length of the message, which has 16 bits.
        frame_at: frame_at as u16,
    })
}

/// The incoming port, wherever in the match it stands.
#[cold]
fn walk(bytes: &[u8], match_len: usize) -> Result<u32, Malformed> {
    let mut reader = Reader::new(bytes);
    reader.pad("packet_in", FIELDS_AT)?;
    let mut fields = reader.sub("match.length", match_len - 4)?;
    while !fields.is_empty() {
        let header = fields.u32("oxm.header")?;
        let mut body = fields.sub("oxm.length", header as usize & 0xff)?;
        if header == IN_PORT {
            return body.u32("oxm.value");
        }
    }
    let field = "packet_in.in_port";
    Err(Malformed { field, offset: FIELDS_AT, reason: Reason::BadValue })
}

/// Why `bytes` are no PACKET_IN, once that is known.
#[cold]
fn refusal(bytes: &[u8]) -> Malformed {
    let other = Malformed { field: "header.type", offset: 1, reason: Reason::BadType };
    Message::decode(bytes).err().unwrap_or(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v13::oxm::{Masked, Oxm};
    use alloc::vec;

    fn packet_in(fields: Vec<Oxm>) -> Vec<u8> {
        let message = Message::PacketIn(PacketIn {
            buffer_id: 0x0102_0304,
            total_len: 60,
            reason: PacketInReason::ACTION,
            table_id: TableNo(3),
            cookie: 9,
            match_: Match { fields },
            data: vec![1, 2, 3],
        });
        let mut bytes = Vec::new();
        message.encode(7, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_view_finds_the_port_wherever_it_stands() {
        let metadata = Oxm::Metadata(Masked::exact(5));
        let port = Oxm::InPort(PortNo(0xabcd));
        for fields in [
            vec![port.clone()],
            vec![port.clone(), metadata.clone()],
            vec![metadata.clone(), port.clone()],
            vec![Oxm::InPhyPort(PortNo(1)), metadata, port],
        ] {
            let bytes = packet_in(fields);
            let view = view(&bytes).unwrap();
            assert_eq!((view.in_port, view.buffer_id), (0xabcd, 0x0102_0304));
            assert_eq!((view.total_len, view.reason, view.frame), (60, 1, &[1, 2, 3][..]));
            assert_eq!(&bytes[usize::from(view.frame_at)..], view.frame);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong =
            |bytes: &[u8]| view(bytes).map_err(|e| (e.field, e.offset, e.reason)).unwrap_err();
        assert_eq!(wrong(&packet_in(vec![])), ("packet_in.in_port", 28, Reason::BadValue));
        let bytes = packet_in(vec![Oxm::InPort(PortNo(1))]);
        let with = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            bytes
        };
        assert_eq!(wrong(&with(27, 8)), ("oxm.length", 32, Reason::BadLength));
        assert_eq!(wrong(&with(27, 0)), ("match.length", 26, Reason::BadLength));
        assert_eq!(wrong(&with(27, 200)), ("match.length", 26, Reason::BadLength));
        assert_eq!(wrong(&with(25, 0)), ("match.type", 24, Reason::BadValue));
        assert_eq!(wrong(&with(0, 1)), ("header.version", 0, Reason::BadVersion));
        assert_eq!(wrong(&with(3, 9)), ("header.length", 2, Reason::BadLength));
        assert_eq!(wrong(&with(1, 2)), ("header.type", 1, Reason::BadType));
    }

    #[test]
    fn the_view_and_the_whole_message_agree_on_every_truncation() {
        let whole = packet_in(vec![Oxm::InPort(PortNo(1)), Oxm::EthType(0x800)]);
        for len in 4..whole.len() {
            let mut bytes = whole[..len].to_vec();
            bytes[3] = len as u8;
            assert_eq!(view(&bytes).err(), Message::decode(&bytes).err(), "{len}");
        }
    }
}
