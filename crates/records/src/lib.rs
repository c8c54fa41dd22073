//! The flat records of sandboxed applications: events in and commands out, as bytes that every
//! language reads and writes without a library.
//!
//! The layout stands in `docs/app-records.md`; here are its numbers and the writer of events. All
//! numbers are little-endian, each record begins at a multiple of eight bytes. `crates/sandbox` is
//! the host that uses this, `sdk/rust` has the other side.

mod commands;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
#[cfg(test)]
mod tests;

pub use commands::{
    COMMAND_HEADER_LEN, Command, CommandReader, FLOW_LEN, FlowSpec, Garbage, command, flags,
};

use aldis_control::app::Event;
use aldis_control::switch::SwitchInfo;
use aldis_control::{RequestHeader, Time};
use aldis_wire::Version;
use aldis_wire::msg::{Message, Port, PortChangeReason};

/// The first four bytes of a batch of events: `ALB1`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"ALB1");

/// Bytes in front of the first event.
pub const BATCH_HEADER_LEN: usize = 16;

/// Bytes of an event in front of its body.
pub const EVENT_HEADER_LEN: usize = 40;

/// Bytes of a port in a body.
pub const PORT_LEN: usize = 32;

/// Bytes of a body of [`kind::UP`] in front of its ports.
pub const UP_LEN: usize = 16;

/// The index of an event that cannot be answered, and the request of a command that is about none.
pub const NO_INDEX: u32 = u32::MAX;

/// Kinds of events.
pub mod kind {
    /// A flow request; the body is its frame.
    pub const PACKET_IN: u16 = 1;
    /// A PACKET_IN about links; the body is its frame.
    pub const LLDP: u16 = 2;
    /// A switch joins; the body describes it.
    pub const JOINING: u16 = 3;
    /// A switch joined; the body describes it.
    pub const UP: u16 = 4;
    /// A switch is gone.
    pub const DOWN: u16 = 5;
    /// A port came, went or changed; the body is the port.
    pub const PORT_CHANGE: u16 = 6;
    /// A flow is gone; the body is the message.
    pub const FLOW_REMOVED: u16 = 7;
    /// A switch refused something; the body is text: what, about which message, and what it means.
    pub const ERROR: u16 = 8;
    /// A switch replied; the body is the message.
    pub const REPLY: u16 = 9;
    /// A second passed at a switch.
    pub const SECOND: u16 = 10;
    /// A switch sent a message that answers nothing; the body is the message.
    pub const UNSOLICITED: u16 = 11;
}

/// A batch of events that is being written. The room is reused.
#[derive(Debug, Default)]
pub struct Events {
    bytes: Vec<u8>,
    count: u32,
}

/// Where an event belongs, and what is the same for all events of a switch.
#[derive(Clone, Copy, Debug)]
pub struct EventPlace {
    /// The switch.
    pub dpid: u64,
    /// The version that it speaks.
    pub version: Version,
    /// The run of the batch ([`aldis_control::Run`]); 0 outside of batches.
    pub run: u32,
    /// What a command calls it; [`NO_INDEX`] where it cannot be answered.
    pub index: u32,
}

impl EventPlace {
    /// Of an event at a switch, outside of batches.
    pub fn at(switch: &SwitchInfo, index: u32) -> EventPlace {
        EventPlace { dpid: switch.dpid.0, version: switch.version, run: 0, index }
    }
}

impl Events {
    /// Begins a batch that is closed at `now`.
    pub fn begin(&mut self, now: Time) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&MAGIC.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&now.0.to_le_bytes());
        self.count = 0;
    }

    /// The batch as it is handed over, in the vector that holds it: it is to be left as it is.
    pub fn finish(&mut self) -> &mut Vec<u8> {
        if let Some(count) = self.bytes.get_mut(4..8) {
            count.copy_from_slice(&self.count.to_le_bytes());
        }
        &mut self.bytes
    }

    /// Its bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no event.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many events it has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Adds a request, with so much of its frame as `frame` says.
    #[inline]
    pub fn request(&mut self, kind: u16, at: EventPlace, request: &RequestHeader, frame: &[u8]) {
        let mut header = event_header(kind, request.reason, at, frame.len());
        header[16..20].copy_from_slice(&request.in_port.to_le_bytes());
        header[20..24].copy_from_slice(&request.buffer_id.to_le_bytes());
        header[24..28].copy_from_slice(&request.xid.to_le_bytes());
        header[36..40].copy_from_slice(&u32::from(request.total_len).to_le_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(frame);
        self.end();
    }

    /// Adds a switch that joins or joined.
    pub fn switch(&mut self, kind: u16, at: EventPlace, switch: &SwitchInfo) {
        let len = UP_LEN + switch.ports.len() * PORT_LEN;
        self.bytes.extend_from_slice(&event_header(kind, 0, at, len));
        self.bytes.extend_from_slice(&switch.buffers.to_le_bytes());
        self.bytes.extend_from_slice(&u32::from(switch.tables).to_le_bytes());
        self.bytes.extend_from_slice(&(switch.ports.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        switch.ports.iter().for_each(|port| self.bytes.extend_from_slice(&port_record(port)));
        self.end();
    }

    /// Adds what happened at a switch. `xid` is what a reply or an error answers. False, and
    /// nothing is added, for a message that no version of OpenFlow can say.
    pub fn event(&mut self, at: EventPlace, switch: &SwitchInfo, event: &Event, xid: u32) -> bool {
        match event {
            Event::Joining => self.switch(kind::JOINING, at, switch),
            Event::Up => self.switch(kind::UP, at, switch),
            Event::Down => self.bare(kind::DOWN, at),
            Event::Second => self.bare(kind::SECOND, at),
            Event::Port(change) => {
                let reason = port_reason(change.reason);
                self.bytes.extend_from_slice(&event_header(
                    kind::PORT_CHANGE,
                    reason,
                    at,
                    PORT_LEN,
                ));
                self.bytes.extend_from_slice(&port_record(&change.port));
                self.end();
            }
            Event::FlowRemoved(removed) => {
                let message = Message::FlowRemoved((**removed).clone());
                return self.message(kind::FLOW_REMOVED, at, &message, xid);
            }
            Event::Error(error) => {
                let text = [&error.name, error.about.unwrap_or_default(), error.hint].join("\n");
                self.text(kind::ERROR, at, &text, xid);
            }
            Event::Reply { message, .. } => return self.message(kind::REPLY, at, message, xid),
            Event::Unsolicited { message, .. } => {
                return self.message(kind::UNSOLICITED, at, message, xid);
            }
        }
        true
    }

    fn bare(&mut self, kind: u16, at: EventPlace) {
        self.bytes.extend_from_slice(&event_header(kind, 0, at, 0));
        self.end();
    }

    fn text(&mut self, kind: u16, at: EventPlace, text: &str, xid: u32) {
        let mut header = event_header(kind, 0, at, text.len());
        header[24..28].copy_from_slice(&xid.to_le_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(text.as_bytes());
        self.end();
    }

    /// Adds a message in the words of 1.3, or of the switch where 1.3 has none.
    fn message(&mut self, kind: u16, at: EventPlace, message: &Message, xid: u32) -> bool {
        let begun = self.bytes.len();
        self.bytes.extend_from_slice(&event_header(kind, 0, at, 0));
        let body = self.bytes.len();
        let said = message
            .encode(Version::V13, xid, &mut self.bytes)
            .or_else(|_| message.encode(at.version, xid, &mut self.bytes));
        if said.is_err() {
            self.bytes.truncate(begun);
            return false;
        }
        let len = (self.bytes.len() - body) as u32;
        self.bytes[begun + 4..begun + 8].copy_from_slice(&len.to_le_bytes());
        self.bytes[begun + 24..begun + 28].copy_from_slice(&xid.to_le_bytes());
        self.end();
        true
    }

    /// Pads the record.
    #[inline]
    fn end(&mut self) {
        let end = self.bytes.len().next_multiple_of(8);
        // A length that is known is written without a call.
        self.bytes.extend_from_slice(&[0; 8]);
        self.bytes.truncate(end);
        self.count += 1;
    }
}

#[inline]
fn event_header(kind: u16, reason: u8, at: EventPlace, len: usize) -> [u8; EVENT_HEADER_LEN] {
    let mut header = [0; EVENT_HEADER_LEN];
    header[0..2].copy_from_slice(&kind.to_le_bytes());
    header[2] = at.version.wire();
    header[3] = reason;
    header[4..8].copy_from_slice(&(len as u32).to_le_bytes());
    header[8..16].copy_from_slice(&at.dpid.to_le_bytes());
    header[28..32].copy_from_slice(&at.run.to_le_bytes());
    header[32..36].copy_from_slice(&at.index.to_le_bytes());
    header
}

fn port_reason(reason: PortChangeReason) -> u8 {
    match reason {
        PortChangeReason::Added => 0,
        PortChangeReason::Removed => 1,
        PortChangeReason::Modified => 2,
    }
}

fn port_record(port: &Port) -> [u8; PORT_LEN] {
    let mut record = [0; PORT_LEN];
    record[0..4].copy_from_slice(&port.number.0.to_le_bytes());
    record[4..10].copy_from_slice(&port.hw_addr.0);
    record[10] = u8::from(port.admin_down);
    record[11] = u8::from(port.link_down);
    record[12..16].copy_from_slice(&port.speed_kbps.to_le_bytes());
    record[16..32].copy_from_slice(&port.name.0);
    record
}
