//! Actions (§7.2.5): what is done to a packet.

use super::bucket::GroupNo;
use super::oxm::Oxm;
use super::port::PortNo;
use super::queue::QueueNo;
use super::tlv8;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::Writer;
use alloc::vec::Vec;

/// The longest part of a packet that an output to the controller can ask for, in bytes
/// (`OFPCML_MAX`).
pub const MAX_LEN_MAX: u16 = 0xffe5;

/// As the `max_len` of an output to the controller: the whole packet, not buffered
/// (`OFPCML_NO_BUFFER`).
pub const MAX_LEN_NO_BUFFER: u16 = 0xffff;

open_enum! {
    /// `OFPAT_*`: the type of an action.
    pub struct ActionType(u16) "OFPAT_" {
        /// Out of a port.
        OUTPUT = 0,
        /// Copies the TTL outwards.
        COPY_TTL_OUT = 11,
        /// Copies the TTL inwards.
        COPY_TTL_IN = 12,
        /// Sets the MPLS TTL.
        SET_MPLS_TTL = 15,
        /// Decrements the MPLS TTL.
        DEC_MPLS_TTL = 16,
        /// Pushes a VLAN tag.
        PUSH_VLAN = 17,
        /// Pops the outer VLAN tag.
        POP_VLAN = 18,
        /// Pushes an MPLS header.
        PUSH_MPLS = 19,
        /// Pops the outer MPLS header.
        POP_MPLS = 20,
        /// Chooses the queue of outputs to come.
        SET_QUEUE = 21,
        /// Through a group.
        GROUP = 22,
        /// Sets the IP TTL.
        SET_NW_TTL = 23,
        /// Decrements the IP TTL.
        DEC_NW_TTL = 24,
        /// Sets a header field.
        SET_FIELD = 25,
        /// Pushes a PBB header.
        PUSH_PBB = 26,
        /// Pops the outer PBB header.
        POP_PBB = 27,
        /// An experimenter's.
        EXPERIMENTER = 0xffff,
    }
}

/// One action.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Action {
    /// Out of a port.
    Output {
        /// The port.
        port: PortNo,
        /// To the controller: how much of the packet, in bytes, or [`MAX_LEN_NO_BUFFER`]. Otherwise
        /// without meaning.
        max_len: u16,
    },
    /// Copies the TTL from the second outermost header to the outermost.
    CopyTtlOut,
    /// Copies the TTL from the outermost header to the second outermost.
    CopyTtlIn,
    /// Sets the TTL of the outermost MPLS header.
    SetMplsTtl(u8),
    /// Decrements it.
    DecMplsTtl,
    /// Pushes a VLAN tag with this ethertype.
    PushVlan(u16),
    /// Pops the outermost VLAN tag.
    PopVlan,
    /// Pushes an MPLS header with this ethertype.
    PushMpls(u16),
    /// Pops the outermost MPLS header; the frame has this ethertype then.
    PopMpls(u16),
    /// Chooses the queue of outputs to come.
    SetQueue(QueueNo),
    /// Through a group.
    Group(GroupNo),
    /// Sets the IP TTL.
    SetNwTtl(u8),
    /// Decrements it.
    DecNwTtl,
    /// Sets a header field to the value of this one, which may not have a mask.
    SetField(Oxm),
    /// Pushes a PBB header with this ethertype.
    PushPbb(u16),
    /// Pops the outermost PBB header.
    PopPbb,
    /// An experimenter's.
    Experimenter {
        /// Whose.
        experimenter: u32,
        /// The rest, to a multiple of eight bytes with the eight before it.
        body: Vec<u8>,
    },
    /// Of a type that this version does not name.
    Unknown {
        /// Its type.
        kind: ActionType,
        /// Its body, to a multiple of eight bytes with the four before it.
        body: Vec<u8>,
    },
}

impl Action {
    /// Out of a port, and whole where that is the controller.
    pub const fn output(port: PortNo) -> Action {
        let max_len = if port.0 == PortNo::CONTROLLER.0 { MAX_LEN_NO_BUFFER } else { 0 };
        Action::Output { port, max_len }
    }

    /// Its type.
    pub fn action_type(&self) -> ActionType {
        match self {
            Action::Output { .. } => ActionType::OUTPUT,
            Action::CopyTtlOut => ActionType::COPY_TTL_OUT,
            Action::CopyTtlIn => ActionType::COPY_TTL_IN,
            Action::SetMplsTtl(_) => ActionType::SET_MPLS_TTL,
            Action::DecMplsTtl => ActionType::DEC_MPLS_TTL,
            Action::PushVlan(_) => ActionType::PUSH_VLAN,
            Action::PopVlan => ActionType::POP_VLAN,
            Action::PushMpls(_) => ActionType::PUSH_MPLS,
            Action::PopMpls(_) => ActionType::POP_MPLS,
            Action::SetQueue(_) => ActionType::SET_QUEUE,
            Action::Group(_) => ActionType::GROUP,
            Action::SetNwTtl(_) => ActionType::SET_NW_TTL,
            Action::DecNwTtl => ActionType::DEC_NW_TTL,
            Action::SetField(_) => ActionType::SET_FIELD,
            Action::PushPbb(_) => ActionType::PUSH_PBB,
            Action::PopPbb => ActionType::POP_PBB,
            Action::Experimenter { .. } => ActionType::EXPERIMENTER,
            Action::Unknown { kind, .. } => *kind,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Action, Malformed> {
        let (kind, mut body) = tlv8(reader, "action.length", 8)?;
        let kind = ActionType(kind);
        let action = Action::read_body(kind, &mut body)?;
        // A length beyond what the type has is as wrong as one below it.
        body.end("action.length").map_err(|e| Malformed { reason: Reason::BadLength, ..e })?;
        Ok(action)
    }

    fn read_body(kind: ActionType, body: &mut Reader<'_>) -> Result<Action, Malformed> {
        Ok(match kind {
            ActionType::OUTPUT => {
                let port = PortNo(body.u32("action_output.port")?);
                let max_len = body.u16("action_output.max_len")?;
                body.pad("action_output.pad", 6)?;
                Action::Output { port, max_len }
            }
            ActionType::COPY_TTL_OUT => bare(body, Action::CopyTtlOut)?,
            ActionType::COPY_TTL_IN => bare(body, Action::CopyTtlIn)?,
            ActionType::SET_MPLS_TTL => Action::SetMplsTtl(byte(body)?),
            ActionType::DEC_MPLS_TTL => bare(body, Action::DecMplsTtl)?,
            ActionType::PUSH_VLAN => Action::PushVlan(ethertype(body)?),
            ActionType::POP_VLAN => bare(body, Action::PopVlan)?,
            ActionType::PUSH_MPLS => Action::PushMpls(ethertype(body)?),
            ActionType::POP_MPLS => Action::PopMpls(ethertype(body)?),
            ActionType::SET_QUEUE => {
                Action::SetQueue(QueueNo(body.u32("action_set_queue.queue_id")?))
            }
            ActionType::GROUP => Action::Group(GroupNo(body.u32("action_group.group_id")?)),
            ActionType::SET_NW_TTL => Action::SetNwTtl(byte(body)?),
            ActionType::DEC_NW_TTL => bare(body, Action::DecNwTtl)?,
            ActionType::SET_FIELD => Action::SetField(set_field(body)?),
            ActionType::PUSH_PBB => Action::PushPbb(ethertype(body)?),
            ActionType::POP_PBB => bare(body, Action::PopPbb)?,
            ActionType::EXPERIMENTER => Action::Experimenter {
                experimenter: body.u32("action_experimenter.experimenter")?,
                body: body.remaining().to_vec(),
            },
            _ => Action::Unknown { kind, body: body.remaining().to_vec() },
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        writer.u16(self.action_type().0);
        writer.u16(0);
        match self {
            Action::Output { port, max_len } => {
                writer.u32(port.0);
                writer.u16(*max_len);
            }
            Action::SetMplsTtl(ttl) | Action::SetNwTtl(ttl) => writer.u8(*ttl),
            Action::PushVlan(ethertype)
            | Action::PushMpls(ethertype)
            | Action::PopMpls(ethertype)
            | Action::PushPbb(ethertype) => writer.u16(*ethertype),
            Action::SetQueue(queue) => writer.u32(queue.0),
            Action::Group(group) => writer.u32(group.0),
            Action::SetField(field) => field.write(writer),
            Action::Experimenter { experimenter, body } => {
                writer.u32(*experimenter);
                writer.bytes(body);
            }
            Action::Unknown { body, .. } => writer.bytes(body),
            Action::CopyTtlOut
            | Action::CopyTtlIn
            | Action::DecMplsTtl
            | Action::PopVlan
            | Action::DecNwTtl
            | Action::PopPbb => writer.pad(4),
        }
        writer.pad8_then_close(open);
    }
}

/// An action that is nothing but its type.
fn bare(body: &mut Reader<'_>, action: Action) -> Result<Action, Malformed> {
    body.pad("action.pad", 4)?;
    Ok(action)
}

fn byte(body: &mut Reader<'_>) -> Result<u8, Malformed> {
    let byte = body.u8("action.ttl")?;
    body.pad("action.pad", 3)?;
    Ok(byte)
}

fn ethertype(body: &mut Reader<'_>) -> Result<u16, Malformed> {
    let ethertype = body.u16("action.ethertype")?;
    body.pad("action.pad", 2)?;
    Ok(ethertype)
}

/// One field, and less than eight bytes of padding behind it.
fn set_field(body: &mut Reader<'_>) -> Result<Oxm, Malformed> {
    let whole = body.left() + 4;
    let field = Oxm::read(body)?;
    let used = whole - body.left();
    body.pad("action_set_field.pad", used.next_multiple_of(8) - used)?;
    Ok(field)
}
