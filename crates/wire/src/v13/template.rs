//! The two answers of a learning switch as byte images, stamped rather than built: the data path's
//! short cut.
//!
//! An image is what [`Message::encode`] makes of the real message; a stamp copies it whole and
//! overwrites the few fields that differ, at fixed places in an array of fixed size, without a
//! branch or a bounds check.

use super::oxm::{VID_NONE, VID_PRESENT};
use super::{
    Action, FlowMod, FlowModCommand, FlowModFlags, GroupNo, Instruction, Masked, Match, Message,
    Oxm, PacketOut, PortNo, TableNo,
};
use crate::header::MESSAGE_LEN_MAX;
use crate::types::{L2FlowSpec, L2Hit, MacAddr, NO_BUFFER};
use alloc::vec::Vec;

/// The [`L2Hit::vlan`] of a frame without a tag.
const UNTAGGED: u16 = 0xffff;

/// A FLOW_MOD that adds a flow, to table 0 unless another is named, for one source, destination,
/// VLAN and port of entry, with one output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L2Flow {
    image: [u8; L2Flow::SIZE],
}

impl L2Flow {
    /// Length of the message in bytes.
    pub const SIZE: usize = 112;

    /// The image of all flows that `spec` describes.
    pub fn new(spec: &L2FlowSpec) -> L2Flow {
        L2Flow { image: image(&Message::FlowMod(flow_mod(spec))) }
    }

    /// The same flows in this table instead.
    pub fn in_table(mut self, table: TableNo) -> L2Flow {
        self.image[24] = table.0;
        self
    }

    /// Writes the message for `hit`.
    #[inline]
    pub fn stamp(&self, out: &mut [u8; Self::SIZE], hit: &L2Hit) {
        *out = self.image;
        out[4..8].copy_from_slice(&hit.xid.to_be_bytes());
        out[32..36].copy_from_slice(&hit.buffer_id.to_be_bytes());
        out[56..60].copy_from_slice(&hit.in_port.to_be_bytes());
        // Each address in two stores: byte by byte they would be six.
        let (src, dst) = (hit.eth_src, hit.eth_dst);
        out[64..68].copy_from_slice(&((dst >> 16) as u32).to_be_bytes());
        out[68..70].copy_from_slice(&(dst as u16).to_be_bytes());
        out[74..78].copy_from_slice(&((src >> 16) as u32).to_be_bytes());
        out[78..80].copy_from_slice(&(src as u16).to_be_bytes());
        out[84..86].copy_from_slice(&vlan_vid(hit.vlan).to_be_bytes());
        out[100..104].copy_from_slice(&hit.out_port.to_be_bytes());
    }
}

/// The flow of `spec` with nothing filled in. The fields stand in the order in which
/// [`L2Flow::stamp`] expects them.
fn flow_mod(spec: &L2FlowSpec) -> FlowMod {
    let nobody = Masked::exact(MacAddr([0; 6]));
    FlowMod {
        cookie: spec.cookie,
        cookie_mask: 0,
        table_id: TableNo(0),
        command: FlowModCommand::ADD,
        idle_timeout: spec.idle_timeout_s,
        hard_timeout: spec.hard_timeout_s,
        priority: spec.priority,
        buffer_id: NO_BUFFER,
        out_port: PortNo::ANY,
        out_group: GroupNo::ANY,
        flags: match spec.send_flow_removed {
            true => FlowModFlags::SEND_FLOW_REM,
            false => FlowModFlags::EMPTY,
        },
        match_: Match {
            fields: Vec::from([
                Oxm::InPort(PortNo(0)),
                Oxm::EthDst(nobody),
                Oxm::EthSrc(nobody),
                Oxm::VlanVid(Masked::exact(VID_NONE)),
            ]),
        },
        instructions: Vec::from([Instruction::ApplyActions(Vec::from([Action::output(PortNo(
            0,
        ))]))]),
    }
}

/// What 1.3 matches for the VLAN of a hit: the id with the bit that says there is a tag, or zero.
#[inline]
fn vlan_vid(vlan: u16) -> u16 {
    if vlan == UNTAGGED { VID_NONE } else { VID_PRESENT | vlan }
}

/// A PACKET_OUT with one output, up to where its frame begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release {
    image: [u8; Release::SIZE],
}

impl Release {
    /// Length of what is stamped in bytes; the frame follows it.
    pub const SIZE: usize = 40;

    /// The longest frame that fits one message, in bytes.
    pub const FRAME_LEN_MAX: u16 = (MESSAGE_LEN_MAX - Release::SIZE) as u16;

    /// The image of all releases.
    #[allow(clippy::new_without_default, reason = "as L2Flow::new: made once, on purpose")]
    pub fn new() -> Release {
        let packet_out = PacketOut {
            buffer_id: NO_BUFFER,
            in_port: PortNo::ANY,
            actions: Vec::from([Action::output(PortNo(0))]),
            data: Vec::new(),
        };
        Release { image: image(&Message::PacketOut(packet_out)) }
    }

    /// Writes the message up to its frame, which is `frame_len` bytes long: at most
    /// [`Release::FRAME_LEN_MAX`], and the caller cuts or drops a longer one. A frame that the
    /// switch has buffered is zero bytes long here.
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
        out[12..16].copy_from_slice(&in_port.to_be_bytes());
        out[28..32].copy_from_slice(&out_port.to_be_bytes());
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

    prop_compose! {
        fn a_spec()(
            idle_timeout_s: u16,
            hard_timeout_s: u16,
            priority: u16,
            cookie: u64,
            send_flow_removed: bool,
        ) -> L2FlowSpec {
            L2FlowSpec { idle_timeout_s, hard_timeout_s, priority, cookie, send_flow_removed }
        }
    }

    prop_compose! {
        fn a_hit()(
            xid: u32,
            in_port: u32,
            eth_src: [u8; 6],
            eth_dst: [u8; 6],
            vlan in prop_oneof![Just(UNTAGGED), 0u16..4096],
            buffer_id: u32,
            // An output to the controller would ask for a length as well; a learning switch has
            // none.
            out_port in 0..PortNo::CONTROLLER.0,
        ) -> L2Hit {
            let [eth_src, eth_dst] = [eth_src, eth_dst].map(|mac| MacAddr(mac).to_u64());
            L2Hit { xid, in_port, eth_src, eth_dst, vlan, buffer_id, out_port }
        }
    }

    /// The flow as any code would build it.
    fn built(spec: &L2FlowSpec, hit: &L2Hit) -> Message {
        let vid = if hit.vlan == UNTAGGED { 0 } else { 0x1000 + hit.vlan };
        Message::FlowMod(FlowMod {
            buffer_id: hit.buffer_id,
            match_: Match {
                fields: Vec::from([
                    Oxm::InPort(PortNo(hit.in_port)),
                    Oxm::EthDst(Masked::exact(MacAddr::from_u64(hit.eth_dst))),
                    Oxm::EthSrc(Masked::exact(MacAddr::from_u64(hit.eth_src))),
                    Oxm::VlanVid(Masked::exact(vid)),
                ]),
            },
            instructions: Vec::from([Instruction::ApplyActions(Vec::from([Action::output(
                PortNo(hit.out_port),
            )]))]),
            ..flow_mod(spec)
        })
    }

    proptest! {
        #[test]
        fn a_stamped_flow_is_the_encoded_one(spec in a_spec(), hit in a_hit(), table: u8) {
            let mut stamped = [0xaa; L2Flow::SIZE];
            L2Flow::new(&spec).in_table(TableNo(table)).stamp(&mut stamped, &hit);
            let mut encoded = Vec::new();
            let Message::FlowMod(flow) = built(&spec, &hit) else { unreachable!() };
            let flow = FlowMod { table_id: TableNo(table), ..flow };
            Message::FlowMod(flow).encode(hit.xid, &mut encoded).unwrap();
            prop_assert_eq!(&stamped[..], &encoded[..]);
        }

        #[test]
        fn a_stamped_release_is_the_encoded_one(
            xid: u32,
            buffer_id: u32,
            in_port: u32,
            out_port in 0..PortNo::CONTROLLER.0,
            frame in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut stamped = [0xaa; Release::SIZE];
            let len = frame.len() as u16;
            Release::new().stamp(&mut stamped, xid, buffer_id, in_port, out_port, len);
            let mut whole = stamped.to_vec();
            whole.extend_from_slice(&frame);
            let message = Message::PacketOut(PacketOut {
                buffer_id,
                in_port: PortNo(in_port),
                actions: Vec::from([Action::output(PortNo(out_port))]),
                data: frame,
            });
            let mut encoded = Vec::new();
            message.encode(xid, &mut encoded).unwrap();
            prop_assert_eq!(whole, encoded);
        }
    }

    #[test]
    fn the_longest_frame_just_fits() {
        let mut stamped = [0; Release::SIZE];
        Release::new().stamp(&mut stamped, 0, NO_BUFFER, 1, 2, Release::FRAME_LEN_MAX);
        assert_eq!(stamped[2..4], [0xff, 0xff]);
    }
}
