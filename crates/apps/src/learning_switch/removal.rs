//! The rare messages of a learning switch, in the version-independent types of
//! [`msg`](aldis_wire::msg): flows to be removed, and kept packets that go nowhere.

use aldis_control::{Output, RequestHeader};
use aldis_wire::msg::{Action, FlowMod, Match, PacketOut, PortNo};
use aldis_wire::{MacAddr, NO_BUFFER, Version};

use super::hosts::{UNTAGGED, Vlan};

/// The transaction id of what answers no request.
const XID_NONE: u32 = 0;

/// An action that no switch carries out.
const OUT: Action = Action::Output { port: PortNo::CONTROLLER, max_len: 0 };

/// Says it to switches of one version.
#[derive(Debug)]
pub(super) struct Removal<'o> {
    /// The version.
    pub(super) version: Version,
    /// The mark on the flows that are ours. OpenFlow 1.0 cannot tell flows by it, and removes those
    /// of others too.
    pub(super) cookie: u64,
    /// Where messages are put together, so that none of them asks for memory.
    pub(super) scratch: &'o mut Vec<u8>,
}

impl Removal<'_> {
    /// Removes the flows towards a host, whatever port they lead to.
    pub(super) fn host(&mut self, vlan: Vlan, mac: MacAddr, xid: u32, out: &mut Output) {
        let to_host = Match::new().eth_dst(mac);
        let to_host = if vlan == UNTAGGED { to_host.untagged() } else { to_host.vlan(vlan) };
        self.flows(FlowMod::delete(to_host), xid, out);
    }

    /// Removes the flows that lead to a port.
    pub(super) fn towards_port(&mut self, port: u32, out: &mut Output) {
        self.flows(FlowMod::delete(Match::new()).out_port(PortNo(port)), XID_NONE, out);
    }

    /// Removes the flows from a port and to it.
    pub(super) fn port(&mut self, port: u32, out: &mut Output) {
        self.towards_port(port, out);
        self.flows(FlowMod::delete(Match::new().in_port(PortNo(port))), XID_NONE, out);
    }

    /// Lets the switch forget the packet that it keeps for `request`, if it does.
    pub(super) fn packet(&mut self, request: &RequestHeader, out: &mut Output) {
        if request.buffer_id != NO_BUFFER {
            let packet = PacketOut::buffered(request.buffer_id).from_port(PortNo(request.in_port));
            self.scratch.clear();
            if packet.encode(self.version, request.xid, self.scratch).is_ok() {
                out.append(self.scratch);
            }
        }
    }

    fn flows(&mut self, which: FlowMod, xid: u32, out: &mut Output) {
        let which = match self.version {
            // Switches do not look at the actions of a removal; tshark calls a FLOW_MOD of 1.0
            // without any malformed.
            Version::V10 => which.actions([OUT]),
            Version::V13 => which.only_cookie(self.cookie, u64::MAX),
        };
        self.scratch.clear();
        // A port that this version cannot name is none of this switch's, and no flow leads there.
        if which.encode(self.version, xid, self.scratch).is_ok() {
            out.append(self.scratch);
        }
    }
}
