//! Sending packets: [`PacketOut`] is built here.

use alloc::vec;
use alloc::vec::Vec;

use super::{Action, EncodeError, Message, PacketOut, PortNo};
use crate::Version;
use crate::header::MESSAGE_LEN_MAX;
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

/// A PACKET_OUT up to its frame, encoded once for all packets that come in by one port and leave by
/// the same ones.
///
/// What differs from packet to packet stands in the same places in OpenFlow 1.0 (§5.3.6) and 1.3
/// (§7.3.7): the length, the transaction id, and the buffer id right behind the header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketOutHead {
    bytes: Vec<u8>,
}

impl PacketOutHead {
    /// For packets from this port, to which these actions are done in order.
    ///
    /// # Errors
    /// What this version cannot say, or what does not fit a message.
    pub fn new(
        version: Version,
        in_port: PortNo,
        actions: impl IntoIterator<Item = Action>,
    ) -> Result<PacketOutHead, EncodeError> {
        let packet = PacketOut::buffered(0).from_port(in_port).actions(actions);
        let mut bytes = Vec::new();
        Message::from(packet).encode(version, 0, &mut bytes)?;
        Ok(PacketOutHead { bytes })
    }

    /// The bytes of the head: as long as what [`PacketOutHead::stamp`] takes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes a copy of [`PacketOutHead::bytes`] that of one packet: its transaction id, its buffer
    /// (or [`NO_BUFFER`]), and the length in bytes of the frame that follows. False, and nothing is
    /// changed, where that is too long for a message.
    #[inline]
    pub fn stamp(&self, out: &mut [u8], xid: u32, buffer_id: u32, frame_len: usize) -> bool {
        let len = self.bytes.len() + frame_len;
        let Some(fields) = out.first_chunk_mut::<12>().filter(|_| len <= MESSAGE_LEN_MAX) else {
            return false;
        };
        fields[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        fields[4..8].copy_from_slice(&xid.to_be_bytes());
        fields[8..12].copy_from_slice(&buffer_id.to_be_bytes());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A stamped head and its frame are what encoding the message makes of it.
        #[test]
        fn a_stamped_head_is_the_encoded_message(
            (is_v10, in_port, xid, buffer_id) in any::<(bool, u16, u32, u32)>(),
            ports in prop::collection::vec(1..0xff00u32, 0..20),
            frame in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let version = if is_v10 { Version::V10 } else { Version::V13 };
            let in_port = PortNo(u32::from(in_port) % 0xff00);
            let actions = || ports.iter().map(|&port| Action::output(PortNo(port)));
            let head = PacketOutHead::new(version, in_port, actions()).unwrap();
            let mut stamped = head.bytes().to_vec();
            prop_assert!(head.stamp(&mut stamped, xid, buffer_id, frame.len()));
            stamped.extend_from_slice(&frame);
            let packet = PacketOut { buffer_id, in_port, actions: actions().collect(), data: frame };
            let mut encoded = Vec::new();
            Message::from(packet).encode(version, xid, &mut encoded).unwrap();
            prop_assert_eq!(stamped, encoded);
        }
    }

    #[test]
    fn a_frame_that_fits_no_message_is_refused() {
        let out = [Action::output(PortNo(2))];
        let head = PacketOutHead::new(Version::V10, PortNo(1), out).unwrap();
        let (mut stamped, room) = (head.bytes().to_vec(), MESSAGE_LEN_MAX - head.bytes().len());
        assert!(!head.stamp(&mut stamped, 1, 2, room + 1));
        assert_eq!(stamped, head.bytes());
        assert!(head.stamp(&mut stamped, 1, NO_BUFFER, room));
        assert_eq!(stamped[2..4], [0xff; 2]);
        let all = (1..10_000).map(|port| Action::output(PortNo(port)));
        assert!(PacketOutHead::new(Version::V10, PortNo(1), all).is_err());
    }
}
