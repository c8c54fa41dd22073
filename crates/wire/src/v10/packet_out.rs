//! PACKET_OUT (§5.3.6): send a frame, from the message itself or from the switch's buffer.

use super::{Action, PortNo, read_all};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// `OFPT_PACKET_OUT`: `struct ofp_packet_out`, 16 bytes with the header, the actions, then the
/// frame.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketOut {
    /// The buffered frame to send, or [`NO_BUFFER`](crate::NO_BUFFER) for the one in `data`.
    pub buffer_id: u32,
    /// The port it came in by, or [`PortNo::NONE`].
    pub in_port: PortNo,
    /// What to do with it; nothing drops it.
    pub actions: Vec<Action>,
    /// The frame; empty where it is buffered.
    pub data: Vec<u8>,
}

impl PacketOut {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let buffer_id = reader.u32("packet_out.buffer_id")?;
        let in_port = PortNo(reader.u16("packet_out.in_port")?);
        let actions_len = reader.u16("packet_out.actions_len")?;
        let mut actions = reader.sub("packet_out.actions_len", actions_len.into())?;
        let actions = read_all(&mut actions, Action::read)?;
        Ok(PacketOut { buffer_id, in_port, actions, data: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.buffer_id);
        writer.u16(self.in_port.0);
        let actions_len = writer.open_ahead_u16(0);
        self.actions.iter().for_each(|action| action.write(writer));
        writer.close(actions_len);
        writer.bytes(&self.data);
    }
}
