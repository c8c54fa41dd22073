//! The writer of commands.

use crate::events::Request;
use crate::message::Message;
use crate::types::Port;

/// Kinds of commands.
mod kind {
    pub(super) const STOP: u16 = 1;
    pub(super) const SEND: u16 = 2;
    pub(super) const FLOW: u16 = 3;
    pub(super) const ANSWER: u16 = 4;
    pub(super) const MESSAGE: u16 = 5;
    pub(super) const LOG: u16 = 6;
    pub(super) const COUNT: u16 = 7;
}

/// The later applications do not see the request.
const STOP: u16 = 1;
/// The packet of the request goes by the actions of the flow.
const RELEASE: u16 = 2;
/// The switch says when it removes the flow.
const TELL_REMOVED: u16 = 4;

const NO_REQUEST: u32 = u32::MAX;
const HEADER_LEN: usize = 24;

/// Commands: what the application answers. A command is sent when the call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    bytes: Vec<u8>,
    /// The switch and the index of the event in hand.
    about: (u64, u32),
    /// Where the last command about the event in hand begins.
    last: Option<usize>,
}

/// How a flow is kept ([`Output::flow`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    idle_timeout_s: u16,
    hard_timeout_s: u16,
    priority: u16,
    generation: u32,
    tells_removed: bool,
}

impl Flow {
    /// For ever, with OpenFlow's usual priority.
    pub const fn new() -> Flow {
        Flow {
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            priority: 0x8000,
            generation: 0,
            tells_removed: false,
        }
    }

    /// Removed after so many seconds without a packet; 0 for never.
    pub const fn idle_timeout(self, seconds: u16) -> Flow {
        Flow { idle_timeout_s: seconds, ..self }
    }

    /// Removed after so many seconds in any case; 0 for never.
    pub const fn hard_timeout(self, seconds: u16) -> Flow {
        Flow { hard_timeout_s: seconds, ..self }
    }

    /// The higher of two matching flows wins.
    pub const fn priority(self, priority: u16) -> Flow {
        Flow { priority, ..self }
    }

    /// The lower half of its cookie; the upper half is the application's.
    pub const fn generation(self, generation: u32) -> Flow {
        Flow { generation, ..self }
    }

    /// The switch says when it removes the flow.
    pub const fn tell_removed(self) -> Flow {
        Flow { tells_removed: true, ..self }
    }
}

impl Default for Flow {
    fn default() -> Flow {
        Flow::new()
    }
}

impl Default for Output {
    fn default() -> Output {
        Output::new()
    }
}

impl Output {
    /// Without commands.
    pub const fn new() -> Output {
        Output { bytes: Vec::new(), about: (0, NO_REQUEST), last: None }
    }

    /// The commands so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the commands; the room stays.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.about(0, NO_REQUEST);
    }

    /// What follows is about the event with this index, at this switch.
    pub fn about(&mut self, dpid: u64, index: u32) {
        (self.about, self.last) = ((dpid, index), None);
    }

    /// Keeps the event in hand from the applications that come later.
    #[inline]
    pub fn stop(&mut self) {
        match self.last {
            Some(at) => self.bytes[at + 2] |= STOP as u8,
            None if self.about.1 != NO_REQUEST => {
                self.command((kind::STOP, 0), self.about.1, 0, &[])
            }
            None => {}
        }
    }

    /// Sends the packet of a request out of a port.
    #[inline]
    pub fn send(&mut self, request: &Request<'_>, port: Port) {
        self.command((kind::SEND, 0), request.record.index, port.0, &[]);
    }

    /// Sends the packet of a request by actions of OpenFlow 1.3 ([`crate::message::actions`]).
    pub fn send_by(&mut self, request: &Request<'_>, actions: &[u8]) {
        self.command((kind::SEND, 0), request.record.index, 0, actions);
    }

    /// Drops the packet of a request: a switch that holds it forgets it.
    pub fn discard(&mut self, request: &Request<'_>) {
        if request.buffer_id() != crate::events::NO_BUFFER {
            let drop = Message::packet_out(request.buffer_id(), request.in_port(), &[], &[]);
            self.answer(&drop);
        }
    }

    /// Has a flow carry what comes in by the request's port, from its source to its destination in
    /// its VLAN, out of `port`, and sends the packet there.
    #[inline]
    pub fn flow(&mut self, request: &Request<'_>, port: Port, flow: Flow) {
        let mut body = [0; 16];
        body[0..2].copy_from_slice(&flow.idle_timeout_s.to_le_bytes());
        body[2..4].copy_from_slice(&flow.hard_timeout_s.to_le_bytes());
        body[4..6].copy_from_slice(&flow.priority.to_le_bytes());
        body[8..12].copy_from_slice(&flow.generation.to_le_bytes());
        let flags = if flow.tells_removed { TELL_REMOVED } else { 0 };
        self.command((kind::FLOW, flags), request.record.index, port.0, &body);
    }

    /// Sends a message to the switch of the event in hand.
    pub fn answer(&mut self, message: &Message) {
        match self.about {
            (dpid, NO_REQUEST) => self.message(dpid, message),
            (_, index) => self.command((kind::ANSWER, 0), index, 0, message.bytes()),
        }
    }

    /// Adds a flow, and sends the packet of the request in hand by its actions.
    pub fn answer_and_release(&mut self, message: &Message) {
        self.command((kind::ANSWER, RELEASE), self.about.1, 0, message.bytes());
    }

    /// Sends a message to any switch. A reply comes as an event with the message's transaction id.
    pub fn message(&mut self, dpid: u64, message: &Message) {
        self.write((kind::MESSAGE, 0), NO_REQUEST, 0, dpid, message.bytes());
    }

    /// Writes a line to the log.
    pub fn info(&mut self, text: &str) {
        self.write((kind::LOG, 0), NO_REQUEST, 0, 0, text.as_bytes());
    }

    /// Writes a warning to the log.
    pub fn warn(&mut self, text: &str) {
        self.write((kind::LOG, 0), NO_REQUEST, 1, 0, text.as_bytes());
    }

    /// Sets a counter, by its place in the manifest's `counts`.
    pub fn count(&mut self, place: u32, number: u64) {
        self.write((kind::COUNT, 0), NO_REQUEST, place, 0, &number.to_le_bytes());
    }

    /// A command about the event in hand.
    #[inline]
    fn command(&mut self, what: (u16, u16), request: u32, value: u32, body: &[u8]) {
        self.last = Some(self.bytes.len());
        self.write(what, request, value, 0, body);
    }

    #[inline]
    fn write(
        &mut self,
        (kind, flags): (u16, u16),
        request: u32,
        value: u32,
        dpid: u64,
        body: &[u8],
    ) {
        let mut header = [0; HEADER_LEN];
        header[0..2].copy_from_slice(&kind.to_le_bytes());
        header[2..4].copy_from_slice(&flags.to_le_bytes());
        header[4..8].copy_from_slice(&(body.len() as u32).to_le_bytes());
        header[8..12].copy_from_slice(&request.to_le_bytes());
        header[12..16].copy_from_slice(&value.to_le_bytes());
        header[16..24].copy_from_slice(&dpid.to_le_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(body);
        let padding = self.bytes.len().wrapping_neg() % 8;
        self.bytes.extend_from_slice(&[0; 8][..padding]);
    }
}
