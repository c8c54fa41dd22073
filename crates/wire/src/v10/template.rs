//! The two answers of a learning switch as byte images, stamped rather than built: the data path's
//! short cut.
//!
//! An image is what [`Message::encode`] makes of the real message; a stamp copies it whole and
//! overwrites the few fields that differ, at fixed places in an array of fixed size, without a
//! branch or a bounds check.

use super::{
    Action, FlowMod, FlowModCommand, FlowModFlags, Match, Message, PacketOut, PortNo, VLAN_NONE,
};
use crate::header::MESSAGE_LEN_MAX;
use crate::types::{L2FlowSpec, L2Hit, MacAddr, NO_BUFFER};
use alloc::vec::Vec;

/// A FLOW_MOD that adds a flow for one source, destination, VLAN and port of entry, with one
/// output.
///
/// All other fields are wildcarded, the VLAN's priority included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L2Flow {
    image: [u8; L2Flow::SIZE],
}

impl L2Flow {
    /// Length of the message in bytes.
    pub const SIZE: usize = 80;

    /// The image of all flows that `spec` describes.
    pub fn new(spec: &L2FlowSpec) -> L2Flow {
        let flags = match spec.send_flow_removed {
            true => FlowModFlags::SEND_FLOW_REM,
            false => FlowModFlags::EMPTY,
        };
        let flow_mod = FlowMod {
            match_: Match::ANY
                .with_in_port(PortNo(0))
                .with_dl_src(MacAddr([0; 6]))
                .with_dl_dst(MacAddr([0; 6]))
                .with_dl_vlan(VLAN_NONE),
            cookie: spec.cookie,
            command: FlowModCommand::ADD,
            idle_timeout: spec.idle_timeout_s,
            hard_timeout: spec.hard_timeout_s,
            priority: spec.priority,
            buffer_id: NO_BUFFER,
            out_port: PortNo::NONE,
            flags,
            actions: Vec::from([Action::output(PortNo(0))]),
        };
        L2Flow { image: image(&Message::FlowMod(flow_mod)) }
    }

    /// Writes the message for `hit`. Of the port numbers the lower 16 bits count.
    #[inline]
    pub fn stamp(&self, out: &mut [u8; Self::SIZE], hit: &L2Hit) {
        *out = self.image;
        out[4..8].copy_from_slice(&hit.xid.to_be_bytes());
        // The port of entry and both addresses in two stores: byte by byte they would be many.
        let from = u64::from(hit.in_port) << 48 | hit.eth_src;
        out[12..20].copy_from_slice(&from.to_be_bytes());
        out[20..28].copy_from_slice(&(hit.eth_dst << 16 | u64::from(hit.vlan)).to_be_bytes());
        out[64..68].copy_from_slice(&hit.buffer_id.to_be_bytes());
        out[76..78].copy_from_slice(&(hit.out_port as u16).to_be_bytes());
    }
}

/// A PACKET_OUT with one output, up to where its frame begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release {
    image: [u8; Release::SIZE],
}

impl Release {
    /// Length of what is stamped in bytes; the frame follows it.
    pub const SIZE: usize = 24;

    /// The longest frame that fits one message, in bytes.
    pub const FRAME_LEN_MAX: u16 = (MESSAGE_LEN_MAX - Release::SIZE) as u16;

    /// The image of all releases.
    #[allow(clippy::new_without_default, reason = "as L2Flow::new: made once, on purpose")]
    pub fn new() -> Release {
        let packet_out = PacketOut {
            buffer_id: NO_BUFFER,
            in_port: PortNo::NONE,
            actions: Vec::from([Action::output(PortNo(0))]),
            data: Vec::new(),
        };
        Release { image: image(&Message::PacketOut(packet_out)) }
    }

    /// Writes the message up to its frame, which is `frame_len` bytes long: at most
    /// [`Release::FRAME_LEN_MAX`], and the caller cuts or drops a longer one. A frame that the
    /// switch has buffered is zero bytes long here. Of the port numbers the lower 16 bits count.
    #[inline]
    pub fn stamp(
        &self,
        out: &mut [u8; Self::SIZE],
        xid: u32,
        buffer_id: u32,
        in_port: u32,
        out_port: u32,
        frame_len: u16,
    ) {
        *out = self.image;
        out[2..4].copy_from_slice(&(Self::SIZE as u16).saturating_add(frame_len).to_be_bytes());
        out[4..8].copy_from_slice(&xid.to_be_bytes());
        out[8..12].copy_from_slice(&buffer_id.to_be_bytes());
        out[12..14].copy_from_slice(&(in_port as u16).to_be_bytes());
        out[20..22].copy_from_slice(&(out_port as u16).to_be_bytes());
    }
}

/// The bytes of `message`, which are `N` by its layout.
fn image<const N: usize>(message: &Message) -> [u8; N] {
    let mut bytes = Vec::with_capacity(N);
    message.encode(0, &mut bytes).expect("an image is far below the longest message");
    bytes.try_into().expect("the layout of an image does not depend on its values")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(xid: u32, message: &Message) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.encode(xid, &mut bytes).unwrap();
        bytes
    }

    fn mac() -> impl Strategy<Value = MacAddr> {
        any::<[u8; 6]>().prop_map(MacAddr)
    }

    proptest! {
        #[test]
        fn a_stamped_flow_is_the_encoded_flow(
            (idle_timeout_s, hard_timeout_s, priority, cookie, send_flow_removed) in any::<(u16, u16, u16, u64, bool)>(),
            (xid, vlan, buffer_id) in any::<(u32, u16, u32)>(),
            (eth_src, eth_dst) in (mac(), mac()),
            (in_port, out_port) in any::<(u16, u16)>().prop_map(|(a, b)| (PortNo(a), PortNo(b))),
        ) {
            let spec = L2FlowSpec { idle_timeout_s, hard_timeout_s, priority, cookie, send_flow_removed };
            let hit = L2Hit {
                xid,
                in_port: in_port.widen(),
                eth_src: eth_src.to_u64(),
                eth_dst: eth_dst.to_u64(),
                vlan,
                buffer_id,
                out_port: out_port.widen(),
            };
            let flow_mod = FlowMod {
                match_: Match::ANY
                    .with_in_port(in_port).with_dl_src(eth_src).with_dl_dst(eth_dst).with_dl_vlan(vlan),
                cookie,
                command: FlowModCommand::ADD,
                idle_timeout: idle_timeout_s,
                hard_timeout: hard_timeout_s,
                priority,
                buffer_id,
                out_port: PortNo::NONE,
                flags: FlowModFlags(send_flow_removed.into()),
                actions: Vec::from([Action::output(out_port)]),
            };
            let mut stamped = [0xee; L2Flow::SIZE];
            L2Flow::new(&spec).stamp(&mut stamped, &hit);
            prop_assert_eq!(stamped.to_vec(), encoded(xid, &Message::FlowMod(flow_mod)));
        }

        #[test]
        fn a_stamped_release_and_its_frame_are_the_encoded_packet_out(
            (xid, buffer_id, in_port, out_port) in any::<(u32, u32, u16, u16)>(),
            data in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let (in_port, out_port) = (PortNo(in_port), PortNo(out_port));
            let mut stamped = [0xee; Release::SIZE];
            let len = data.len() as u16;
            Release::new().stamp(&mut stamped, xid, buffer_id, in_port.widen(), out_port.widen(), len);
            let mut bytes = stamped.to_vec();
            bytes.extend_from_slice(&data);
            let actions = Vec::from([Action::output(out_port)]);
            let packet_out = PacketOut { buffer_id, in_port, actions, data };
            prop_assert_eq!(bytes, encoded(xid, &Message::PacketOut(packet_out)));
        }
    }

    #[test]
    fn the_longest_frame_makes_the_longest_message() {
        let mut stamped = [0; Release::SIZE];
        Release::new().stamp(&mut stamped, 0, NO_BUFFER, 1, 2, Release::FRAME_LEN_MAX);
        assert_eq!(stamped[2..4], [0xff, 0xff]);
    }
}
