//! `OFPT_PACKET_OUT` (§7.3.7): the controller sends a packet.

use super::action::Action;
use super::list;
use super::port::PortNo;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// A packet to be sent, buffered on the switch or carried here.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketOut {
    /// The buffered packet, or [`NO_BUFFER`](crate::types::NO_BUFFER).
    pub buffer_id: u32,
    /// The port it came in by, or [`PortNo::CONTROLLER`].
    pub in_port: PortNo,
    /// What to do with it; nothing drops it.
    pub actions: Vec<Action>,
    /// The frame, where it is not buffered.
    pub data: Vec<u8>,
}

impl PacketOut {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<PacketOut, Malformed> {
        let buffer_id = reader.u32("packet_out.buffer_id")?;
        let in_port = PortNo(reader.u32("packet_out.in_port")?);
        let offset = reader.offset();
        let actions_len = usize::from(reader.u16("packet_out.actions_len")?);
        reader.pad("packet_out.pad", 6)?;
        let mut actions = reader
            .sub("packet_out.actions_len", actions_len)
            .map_err(|error| Malformed { offset, ..error })?;
        let actions = list(&mut actions, Action::read)?;
        Ok(PacketOut { buffer_id, in_port, actions, data: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.buffer_id);
        writer.u32(self.in_port.0);
        let actions = writer.open_ahead_u16(6);
        self.actions.iter().for_each(|action| action.write(writer));
        writer.close(actions);
        writer.bytes(&self.data);
    }
}
