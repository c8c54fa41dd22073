//! Sending frames to switches other than the one in hand.

use aldis_control::{Commands, SwitchPort};
use aldis_wire::Version;
use aldis_wire::msg::{Action, PacketOut};

/// The transaction id of what needs no answer.
pub(crate) const XID_NONE: u32 = 0;

/// Sends a frame out of a port of a switch that speaks this version. A port that the version cannot
/// name is none of its.
pub(crate) fn send_out(commands: &mut Commands, version: Version, at: SwitchPort, frame: &[u8]) {
    let packet = PacketOut::frame(frame.to_vec()).actions([Action::output(at.port)]);
    commands.to(at.dpid);
    let mut message = Vec::new();
    if packet.encode(version, XID_NONE, &mut message).is_ok() {
        commands.append(&message);
    }
}
