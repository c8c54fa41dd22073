//! Sending packets: [`PacketOut`] is built here.

use alloc::vec;
use alloc::vec::Vec;

use super::{Action, PacketOut, PortNo};
use crate::types::NO_BUFFER;

/// How a packet to be sent is put together.
impl PacketOut {
    /// Sends a frame of the controller's own. Without actions the switch drops it.
    pub fn frame(data: Vec<u8>) -> PacketOut {
        PacketOut { buffer_id: NO_BUFFER, in_port: PortNo::CONTROLLER, actions: Vec::new(), data }
    }

    /// Sends the frame that the switch holds under this number.
    pub fn buffered(buffer_id: u32) -> PacketOut {
        PacketOut { buffer_id, ..PacketOut::frame(Vec::new()) }
    }

    /// Sends a frame that came in by `in_port` out of every other port.
    pub fn flood(in_port: PortNo, data: Vec<u8>) -> PacketOut {
        PacketOut::frame(data).from_port(in_port).actions(vec![Action::output(PortNo::FLOOD)])
    }

    /// As if it had come in by this port.
    pub fn from_port(self, in_port: PortNo) -> PacketOut {
        PacketOut { in_port, ..self }
    }

    /// Does this with it, in this order.
    pub fn actions(self, actions: impl IntoIterator<Item = Action>) -> PacketOut {
        PacketOut { actions: actions.into_iter().collect(), ..self }
    }
}
