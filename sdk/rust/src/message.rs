//! Messages of OpenFlow 1.3, as bytes: the controller translates them to what a switch speaks.

use crate::events::NO_BUFFER;
use crate::types::{MacAddr, Port};

const VERSION: u8 = 4;
const PACKET_OUT: u8 = 13;
const FLOW_MOD: u8 = 14;
const STATS_REQUEST: u8 = 18;
const BARRIER_REQUEST: u8 = 20;

/// A whole message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message(Vec<u8>);

impl Message {
    /// A message of any kind, from what follows its header.
    pub fn new(kind: u8, xid: u32, body: &[u8]) -> Message {
        let len = (8 + body.len()).min(usize::from(u16::MAX)) as u16;
        let mut bytes = vec![VERSION, kind];
        bytes.extend_from_slice(&len.to_be_bytes());
        bytes.extend_from_slice(&xid.to_be_bytes());
        bytes.extend_from_slice(body);
        Message(bytes)
    }

    /// Its bytes, the header included.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Sends a frame, or the packet in a buffer, as if it had come in by `in_port`.
    pub fn packet_out(buffer_id: u32, in_port: Port, actions: &[u8], frame: &[u8]) -> Message {
        let mut body = Vec::with_capacity(16 + actions.len() + frame.len());
        body.extend_from_slice(&buffer_id.to_be_bytes());
        body.extend_from_slice(&in_port.0.to_be_bytes());
        body.extend_from_slice(&(actions.len() as u16).to_be_bytes());
        body.extend_from_slice(&[0; 6]);
        body.extend_from_slice(actions);
        body.extend_from_slice(frame);
        Message::new(PACKET_OUT, 0, &body)
    }

    /// Asks for statistics (`OFPMP_*`), with the body of that kind.
    pub fn stats_request(kind: u16, xid: u32, request: &[u8]) -> Message {
        let head = [&kind.to_be_bytes()[..], &[0; 6]].concat();
        Message::new(STATS_REQUEST, xid, &[&head, request].concat())
    }

    /// Asks the switch to finish what came before.
    pub fn barrier(xid: u32) -> Message {
        Message::new(BARRIER_REQUEST, xid, &[])
    }
}

/// A change of flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowMod {
    command: u8,
    table: u8,
    idle_timeout_s: u16,
    hard_timeout_s: u16,
    priority: u16,
    generation: u32,
    buffer_id: u32,
    out_port: Port,
    match_: Match,
    actions: Vec<u8>,
}

impl FlowMod {
    /// Adds a flow. Without actions it drops.
    pub fn add(match_: Match) -> FlowMod {
        FlowMod::new(0, 0, match_)
    }

    /// Removes all flows of the application that match, from every table. A switch of OpenFlow 1.0
    /// removes those of others too.
    pub fn delete(match_: Match) -> FlowMod {
        FlowMod::new(3, 0xff, match_)
    }

    fn new(command: u8, table: u8, match_: Match) -> FlowMod {
        FlowMod {
            command,
            table,
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            priority: 0x8000,
            generation: 0,
            buffer_id: NO_BUFFER,
            out_port: Port::ANY,
            match_,
            actions: Vec::new(),
        }
    }

    /// Removed after so many seconds without a packet; 0 for never.
    pub fn idle_timeout(self, seconds: u16) -> FlowMod {
        FlowMod { idle_timeout_s: seconds, ..self }
    }

    /// Removed after so many seconds in any case; 0 for never.
    pub fn hard_timeout(self, seconds: u16) -> FlowMod {
        FlowMod { hard_timeout_s: seconds, ..self }
    }

    /// The higher of two matching flows wins.
    pub fn priority(self, priority: u16) -> FlowMod {
        FlowMod { priority, ..self }
    }

    /// The lower half of its cookie; the upper half is the application's.
    pub fn generation(self, generation: u32) -> FlowMod {
        FlowMod { generation, ..self }
    }

    /// For removals: only flows with an output to this port.
    pub fn out_port(self, out_port: Port) -> FlowMod {
        FlowMod { out_port, ..self }
    }

    /// Does this with a packet ([`actions`]).
    pub fn actions(self, actions: Vec<u8>) -> FlowMod {
        FlowMod { actions, ..self }
    }

    /// The message.
    pub fn message(&self) -> Message {
        let mut body = Vec::with_capacity(128);
        body.extend_from_slice(&u64::from(self.generation).to_be_bytes());
        body.extend_from_slice(&[0; 8]);
        body.extend_from_slice(&[self.table, self.command]);
        body.extend_from_slice(&self.idle_timeout_s.to_be_bytes());
        body.extend_from_slice(&self.hard_timeout_s.to_be_bytes());
        body.extend_from_slice(&self.priority.to_be_bytes());
        body.extend_from_slice(&self.buffer_id.to_be_bytes());
        body.extend_from_slice(&self.out_port.0.to_be_bytes());
        body.extend_from_slice(&Port::ANY.0.to_be_bytes());
        body.extend_from_slice(&[0; 4]);
        self.match_.write(&mut body);
        if self.command != 3 {
            body.extend_from_slice(&4u16.to_be_bytes());
            body.extend_from_slice(&(8 + self.actions.len() as u16).to_be_bytes());
            body.extend_from_slice(&[0; 4]);
            body.extend_from_slice(&self.actions);
        }
        Message::new(FLOW_MOD, 0, &body)
    }
}

/// What a flow is for: fields of OpenFlow 1.3 (OXM, §7.2.3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Match {
    fields: Vec<u8>,
}

impl Match {
    /// Every packet.
    pub fn new() -> Match {
        Match::default()
    }

    /// With the field of this number in OpenFlow's basic class, of exactly this value.
    pub fn field(mut self, number: u8, value: &[u8]) -> Match {
        self.fields.extend_from_slice(&[0x80, 0, number << 1, value.len() as u8]);
        self.fields.extend_from_slice(value);
        self
    }

    /// Of packets that came in by this port.
    pub fn in_port(self, port: Port) -> Match {
        self.field(0, &port.0.to_be_bytes())
    }

    /// Of packets to this address.
    pub fn eth_dst(self, mac: MacAddr) -> Match {
        self.field(3, &mac.0)
    }

    /// Of packets from this address.
    pub fn eth_src(self, mac: MacAddr) -> Match {
        self.field(4, &mac.0)
    }

    /// Of packets with this EtherType.
    pub fn eth_type(self, ethertype: u16) -> Match {
        self.field(5, &ethertype.to_be_bytes())
    }

    /// Of packets of IPv4 that carry this protocol; the EtherType is among it.
    pub fn ip_proto(self, protocol: u8) -> Match {
        self.eth_type(0x0800).field(10, &[protocol])
    }

    /// Of packets from this address; the EtherType is to be said besides.
    pub fn ipv4_src(self, address: [u8; 4]) -> Match {
        self.field(11, &address)
    }

    /// Of packets to this address; the EtherType is to be said besides.
    pub fn ipv4_dst(self, address: [u8; 4]) -> Match {
        self.field(12, &address)
    }

    /// Of segments of TCP to this port; the protocol is to be said besides.
    pub fn tcp_dst(self, port: u16) -> Match {
        self.field(14, &port.to_be_bytes())
    }

    /// Of datagrams of UDP to this port; the protocol is to be said besides.
    pub fn udp_dst(self, port: u16) -> Match {
        self.field(16, &port.to_be_bytes())
    }

    fn write(&self, out: &mut Vec<u8>) {
        let len = 4 + self.fields.len();
        out.extend_from_slice(&1u16.to_be_bytes());
        out.extend_from_slice(&(len as u16).to_be_bytes());
        out.extend_from_slice(&self.fields);
        out.extend_from_slice(&[0; 8][..len.wrapping_neg() % 8]);
    }
}

/// Actions, as lists of them are written.
pub mod actions {
    use crate::types::Port;

    /// Sends the packet out of a port, all of it where that is the controller.
    pub fn output(port: Port) -> Vec<u8> {
        let mut action = vec![0, 0, 0, 16];
        action.extend_from_slice(&port.0.to_be_bytes());
        action.extend_from_slice(&[0xff, 0xff, 0, 0, 0, 0, 0, 0]);
        action
    }

    /// Sets a field of OpenFlow's basic class, by its number.
    pub fn set_field(number: u8, value: &[u8]) -> Vec<u8> {
        let len = (8 + value.len()).next_multiple_of(8);
        let mut action = vec![0, 25, 0, len as u8, 0x80, 0, number << 1, value.len() as u8];
        action.extend_from_slice(value);
        action.resize(len, 0);
        action
    }
}
