//! Actions (§5.2.4): what happens to a frame, in order.

use super::PortNo;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::types::MacAddr;
use crate::writer::Writer;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

open_enum! {
    /// The type of an action: `enum ofp_action_type`.
    pub struct ActionType(u16) "OFPAT_" {
        /// [`Action::Output`]
        OUTPUT = 0,
        /// [`Action::SetVlanVid`]
        SET_VLAN_VID = 1,
        /// [`Action::SetVlanPcp`]
        SET_VLAN_PCP = 2,
        /// [`Action::StripVlan`]
        STRIP_VLAN = 3,
        /// [`Action::SetDlSrc`]
        SET_DL_SRC = 4,
        /// [`Action::SetDlDst`]
        SET_DL_DST = 5,
        /// [`Action::SetNwSrc`]
        SET_NW_SRC = 6,
        /// [`Action::SetNwDst`]
        SET_NW_DST = 7,
        /// [`Action::SetNwTos`]
        SET_NW_TOS = 8,
        /// [`Action::SetTpSrc`]
        SET_TP_SRC = 9,
        /// [`Action::SetTpDst`]
        SET_TP_DST = 10,
        /// [`Action::Enqueue`]
        ENQUEUE = 11,
        /// [`Action::Vendor`]
        VENDOR = 0xffff,
    }
}

impl ActionType {
    /// The length that an action of this type has, in bytes; `None` where it may vary.
    const fn len(self) -> Option<usize> {
        match self {
            ActionType::SET_DL_SRC | ActionType::SET_DL_DST | ActionType::ENQUEUE => Some(16),
            ActionType(0..=10) => Some(8),
            _ => None,
        }
    }
}

/// One action. Its length on the wire is a multiple of eight.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Action {
    /// Send it out.
    Output {
        /// Where to.
        port: PortNo,
        /// To the controller: the most bytes of it to send; 0xffff for all of it. Else without
        /// meaning.
        max_len: u16,
    },
    /// Set the VLAN id, adding a tag where there is none.
    SetVlanVid(u16),
    /// Set the VLAN priority (3 bits), adding a tag where there is none.
    SetVlanPcp(u8),
    /// Take the VLAN tag off.
    StripVlan,
    /// Set the Ethernet source.
    SetDlSrc(MacAddr),
    /// Set the Ethernet destination.
    SetDlDst(MacAddr),
    /// Set the IPv4 source.
    SetNwSrc(Ipv4Addr),
    /// Set the IPv4 destination.
    SetNwDst(Ipv4Addr),
    /// Set the IPv4 DSCP: the upper six bits.
    SetNwTos(u8),
    /// Set the TCP or UDP source port.
    SetTpSrc(u16),
    /// Set the TCP or UDP destination port.
    SetTpDst(u16),
    /// Send it out through a queue.
    Enqueue {
        /// Where to: a physical port, or [`PortNo::IN_PORT`].
        port: PortNo,
        /// The queue there.
        queue_id: u32,
    },
    /// Vendor-defined.
    Vendor {
        /// Whose it is, as in [`Vendor`](super::Vendor).
        vendor: u32,
        /// What follows the id, a multiple of eight bytes; padded with zeros to one.
        body: Vec<u8>,
    },
    /// An action that this version does not know.
    Unknown {
        /// Its type.
        kind: ActionType,
        /// What follows its length, four bytes more than a multiple of eight; padded with zeros to
        /// that.
        body: Vec<u8>,
    },
}

impl Action {
    /// The action that sends a frame out of `port`, whole where that is the controller.
    pub const fn output(port: PortNo) -> Action {
        Action::Output { port, max_len: 0xffff }
    }

    /// Its type.
    pub fn action_type(&self) -> ActionType {
        match self {
            Action::Output { .. } => ActionType::OUTPUT,
            Action::SetVlanVid(_) => ActionType::SET_VLAN_VID,
            Action::SetVlanPcp(_) => ActionType::SET_VLAN_PCP,
            Action::StripVlan => ActionType::STRIP_VLAN,
            Action::SetDlSrc(_) => ActionType::SET_DL_SRC,
            Action::SetDlDst(_) => ActionType::SET_DL_DST,
            Action::SetNwSrc(_) => ActionType::SET_NW_SRC,
            Action::SetNwDst(_) => ActionType::SET_NW_DST,
            Action::SetNwTos(_) => ActionType::SET_NW_TOS,
            Action::SetTpSrc(_) => ActionType::SET_TP_SRC,
            Action::SetTpDst(_) => ActionType::SET_TP_DST,
            Action::Enqueue { .. } => ActionType::ENQUEUE,
            Action::Vendor { .. } => ActionType::VENDOR,
            Action::Unknown { kind, .. } => *kind,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let start = reader.clone();
        let kind = ActionType(reader.u16("action.type")?);
        let len = usize::from(reader.u16("action.len")?);
        let right =
            len >= 8 && len.is_multiple_of(8) && kind.len().is_none_or(|exact| len == exact);
        if !right {
            return Err(start.malformed("action.len", Reason::BadLength));
        }
        let mut body = reader.sub("action.len", len - 4)?;
        Action::read_body(kind, &mut body)
    }

    /// Reads what follows the length; the padding at the end is left.
    fn read_body(kind: ActionType, body: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match kind {
            ActionType::OUTPUT => Action::Output {
                port: PortNo(body.u16("action_output.port")?),
                max_len: body.u16("action_output.max_len")?,
            },
            ActionType::SET_VLAN_VID => Action::SetVlanVid(body.u16("action_vlan_vid.vlan_vid")?),
            ActionType::SET_VLAN_PCP => Action::SetVlanPcp(body.u8("action_vlan_pcp.vlan_pcp")?),
            ActionType::STRIP_VLAN => Action::StripVlan,
            ActionType::SET_DL_SRC => {
                Action::SetDlSrc(MacAddr(body.array("action_dl_addr.dl_addr")?))
            }
            ActionType::SET_DL_DST => {
                Action::SetDlDst(MacAddr(body.array("action_dl_addr.dl_addr")?))
            }
            ActionType::SET_NW_SRC => Action::SetNwSrc(body.u32("action_nw_addr.nw_addr")?.into()),
            ActionType::SET_NW_DST => Action::SetNwDst(body.u32("action_nw_addr.nw_addr")?.into()),
            ActionType::SET_NW_TOS => Action::SetNwTos(body.u8("action_nw_tos.nw_tos")?),
            ActionType::SET_TP_SRC => Action::SetTpSrc(body.u16("action_tp_port.tp_port")?),
            ActionType::SET_TP_DST => Action::SetTpDst(body.u16("action_tp_port.tp_port")?),
            ActionType::ENQUEUE => {
                let port = PortNo(body.u16("action_enqueue.port")?);
                body.pad("action_enqueue.pad", 6)?;
                Action::Enqueue { port, queue_id: body.u32("action_enqueue.queue_id")? }
            }
            ActionType::VENDOR => Action::Vendor {
                vendor: body.u32("action_vendor.vendor")?,
                body: body.remaining().to_vec(),
            },
            _ => Action::Unknown { kind, body: body.remaining().to_vec() },
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        writer.u16(self.action_type().0);
        writer.u16(0);
        self.write_body(writer);
        writer.pad8_then_close(open);
    }

    fn write_body(&self, writer: &mut Writer<'_>) {
        match self {
            Action::Output { port, max_len } => {
                writer.u16(port.0);
                writer.u16(*max_len);
            }
            Action::SetVlanVid(number) | Action::SetTpSrc(number) | Action::SetTpDst(number) => {
                writer.u16(*number);
            }
            Action::SetVlanPcp(bits) | Action::SetNwTos(bits) => writer.u8(*bits),
            Action::StripVlan => writer.pad(4),
            Action::SetDlSrc(mac) | Action::SetDlDst(mac) => writer.bytes(&mac.0),
            Action::SetNwSrc(address) | Action::SetNwDst(address) => {
                writer.bytes(&address.octets());
            }
            Action::Enqueue { port, queue_id } => {
                writer.u16(port.0);
                writer.pad(6);
                writer.u32(*queue_id);
            }
            Action::Vendor { vendor, body } => {
                writer.u32(*vendor);
                writer.bytes(body);
            }
            Action::Unknown { body, .. } => writer.bytes(body),
        }
    }
}
