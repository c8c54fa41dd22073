//! What an emulated switch says of itself: the answers to everything that a controller asks beside flows.
//!
//! Nothing here is on the hot path. Statistics are empty, except for the switch's description and its ports; a request
//! that no switch of ours understands is answered with an OpenFlow error, as a real one would.

use aldis_wire::header::{Header, kind};
use aldis_wire::{Malformed, Raw, Reader, Reason, Version, Writer};

/// Message types, the same in both versions unless they say so.
mod ask {
    pub(super) const EXPERIMENTER: u8 = 4;
    pub(super) const FEATURES_REQUEST: u8 = 5;
    pub(super) const GET_CONFIG_REQUEST: u8 = 7;
    pub(super) const SET_CONFIG: u8 = 9;
    pub(super) const PORT_MOD_V10: u8 = 15;
    pub(super) const STATS_REQUEST_V10: u8 = 16;
    pub(super) const BARRIER_REQUEST_V10: u8 = 18;
    pub(super) const QUEUE_GET_CONFIG_REQUEST_V10: u8 = 20;
    pub(super) const GROUP_MOD_V13: u8 = 15;
    pub(super) const TABLE_MOD_V13: u8 = 17;
    pub(super) const MULTIPART_REQUEST_V13: u8 = 18;
    pub(super) const BARRIER_REQUEST_V13: u8 = 20;
    pub(super) const QUEUE_GET_CONFIG_REQUEST_V13: u8 = 22;
    pub(super) const ROLE_REQUEST_V13: u8 = 24;
    pub(super) const GET_ASYNC_REQUEST_V13: u8 = 26;
    pub(super) const SET_ASYNC_V13: u8 = 28;
    pub(super) const METER_MOD_V13: u8 = 29;
}

/// Statistics that have a body even when there is nothing to say.
mod stats {
    pub(super) const DESC: u16 = 0;
    pub(super) const AGGREGATE: u16 = 2;
    pub(super) const GROUP_FEATURES_V13: u16 = 8;
    pub(super) const METER_FEATURES_V13: u16 = 11;
    pub(super) const PORT_DESC_V13: u16 = 13;
    pub(super) const EXPERIMENTER: u16 = 0xffff;
}

/// `OFPET_BAD_REQUEST` and its codes, the same in both versions.
const BAD_REQUEST: u16 = 1;
const BAD_TYPE: u16 = 1;
const BAD_STAT: u16 = 2;
const BAD_EXPERIMENTER: u16 = 3;

/// Most bytes of an offending message that an error returns: all that OpenFlow asks for.
const ERROR_DATA_MAX: usize = 64;

/// Who a switch is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Persona {
    pub(crate) version: Version,
    /// Its number, which is its datapath id.
    pub(crate) number: u32,
    /// Its ports, numbered from 1.
    pub(crate) ports: u32,
    /// Whether it keeps packets.
    pub(crate) buffered: bool,
}

/// What a message from the controller was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// Its HELLO, with its highest version.
    Hello(u8),
    /// The request for the switch's features: with the answer the handshake is over.
    FeaturesRequest,
    /// An OpenFlow error.
    Error {
        /// Its type.
        kind: u16,
        /// Its code.
        code: u16,
    },
    /// Anything else.
    Other,
}

impl Persona {
    /// Appends the greeting.
    pub(crate) fn hello(&self, out: &mut Vec<u8>) {
        let version = self.version.wire();
        out.extend_from_slice(&Header { version, kind: kind::HELLO, length: 8, xid: 1 }.to_bytes());
    }

    /// Appends the answer to a message, if there is one, and says what the message was.
    ///
    /// # Errors
    /// The message is too short for its type.
    pub(crate) fn answer(&self, message: &Raw<'_>, out: &mut Vec<u8>) -> Result<Heard, Malformed> {
        match message.header.kind {
            kind::HELLO => return Ok(Heard::Hello(message.header.version)),
            kind::ERROR => return error_heard(message),
            kind::ECHO_REQUEST => self.reply(message, kind::ECHO_REPLY, out, |out| {
                out.bytes(&message.bytes[8..]);
            }),
            ask::EXPERIMENTER => self.error(message, BAD_EXPERIMENTER, out),
            ask::FEATURES_REQUEST => {
                self.reply(message, 6, out, |out| self.features(out));
                return Ok(Heard::FeaturesRequest);
            }
            // OFPC_FRAG_NORMAL; whole packets.
            ask::GET_CONFIG_REQUEST => self.reply(message, 8, out, |out| out.u32(0xffff)),
            kind::ECHO_REPLY | ask::SET_CONFIG | kind::PACKET_OUT | kind::FLOW_MOD => {}
            _ => match self.version {
                Version::V10 => self.answer_v10(message, out)?,
                Version::V13 => self.answer_v13(message, out)?,
            },
        }
        Ok(Heard::Other)
    }

    fn answer_v10(&self, message: &Raw<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
        match message.header.kind {
            ask::PORT_MOD_V10 => {}
            ask::STATS_REQUEST_V10 => self.statistics(message, 17, 0, out)?,
            ask::BARRIER_REQUEST_V10 => self.reply(message, 19, out, |_| {}),
            ask::QUEUE_GET_CONFIG_REQUEST_V10 => {
                let port = body(message).u16("queue_get_config_request.port")?;
                self.reply(message, 21, out, |out| {
                    out.u16(port);
                    out.pad(6);
                });
            }
            _ => self.error(message, BAD_TYPE, out),
        }
        Ok(())
    }

    fn answer_v13(&self, message: &Raw<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
        match message.header.kind {
            ask::GROUP_MOD_V13
            | 16
            | ask::TABLE_MOD_V13
            | ask::SET_ASYNC_V13
            | ask::METER_MOD_V13 => {}
            ask::MULTIPART_REQUEST_V13 => self.statistics(message, 19, 4, out)?,
            ask::BARRIER_REQUEST_V13 => self.reply(message, 21, out, |_| {}),
            ask::QUEUE_GET_CONFIG_REQUEST_V13 => {
                let port = body(message).u32("queue_get_config_request.port")?;
                self.reply(message, 23, out, |out| {
                    out.u32(port);
                    out.pad(4);
                });
            }
            ask::ROLE_REQUEST_V13 => {
                self.reply(message, 25, out, |out| out.bytes(&message.bytes[8..]));
            }
            ask::GET_ASYNC_REQUEST_V13 => self.reply(message, 27, out, |out| out.pad(24)),
            _ => self.error(message, BAD_TYPE, out),
        }
        Ok(())
    }

    /// A statistics reply: `pad` bytes stand between its flags and its body (four in 1.3).
    fn statistics(
        &self,
        message: &Raw<'_>,
        kind: u8,
        pad: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let what = body(message).u16("multipart_request.type")?;
        if what == stats::EXPERIMENTER {
            self.error(message, BAD_STAT, out);
            return Ok(());
        }
        self.reply(message, kind, out, |out| {
            out.u16(what);
            out.pad(2 + pad);
            match (what, self.version) {
                (stats::DESC, _) => self.description(out),
                (stats::AGGREGATE, _) => out.pad(24),
                (stats::GROUP_FEATURES_V13, Version::V13) => out.pad(40),
                (stats::METER_FEATURES_V13, Version::V13) => out.pad(16),
                (stats::PORT_DESC_V13, Version::V13) => self.ports_v13(out),
                _ => {}
            }
        });
        Ok(())
    }

    /// Manufacturer, hardware, software, serial number, name (OpenFlow 1.0 §5.3.5, 1.3.5 §7.3.5.1).
    fn description(&self, out: &mut Writer<'_>) {
        let name = format!("s{}", self.number);
        text::<256>("Aldis", out);
        text::<256>("emulated switch", out);
        text::<256>(env!("CARGO_PKG_VERSION"), out);
        text::<32>(&name, out);
        text::<256>(&name, out);
    }

    /// OpenFlow 1.0 §5.3.1, 1.3.5 §7.3.1.
    fn features(&self, out: &mut Writer<'_>) {
        out.u64(u64::from(self.number));
        out.u32(if self.buffered { u32::MAX >> 1 } else { 0 });
        out.u8(1);
        match self.version {
            Version::V10 => {
                out.pad(3);
                out.u32(0);
                // Only OFPAT_OUTPUT.
                out.u32(1);
                (1..=self.ports).for_each(|port| self.port_v10(port, out));
            }
            Version::V13 => out.pad(3 + 4 + 4),
        }
    }

    /// OpenFlow 1.0 §5.2.1: a port that is up, without features.
    fn port_v10(&self, port: u32, out: &mut Writer<'_>) {
        out.u16(port as u16);
        self.port_address(port, out);
        text::<16>(&format!("s{}-eth{port}", self.number), out);
        out.pad(24);
    }

    /// OpenFlow 1.3.5 §7.2.1: ports that are up, without features.
    fn ports_v13(&self, out: &mut Writer<'_>) {
        for port in 1..=self.ports {
            out.u32(port);
            out.pad(4);
            self.port_address(port, out);
            out.pad(2);
            text::<16>(&format!("s{}-eth{port}", self.number), out);
            out.pad(32);
        }
    }

    /// A locally administered address that is none of the hosts'.
    fn port_address(&self, port: u32, out: &mut Writer<'_>) {
        out.u16(0x0600);
        out.u16(self.number as u16);
        out.u16(port as u16);
    }

    fn error(&self, message: &Raw<'_>, code: u16, out: &mut Vec<u8>) {
        self.reply(message, kind::ERROR, out, |out| {
            out.u16(BAD_REQUEST);
            out.u16(code);
            out.bytes(&message.bytes[..message.bytes.len().min(ERROR_DATA_MAX)]);
        });
    }

    /// A message of type `kind` with the xid of `message`. None of ours is longer than OpenFlow can say: an echo is as
    /// long as its request, and [`super::Load`] bounds the ports.
    fn reply(
        &self,
        message: &Raw<'_>,
        kind: u8,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Writer<'_>),
    ) {
        let mut writer = Writer::message(out, self.version.wire(), kind, message.header.xid);
        body(&mut writer);
        let fits = writer.finish();
        debug_assert_eq!(fits, Ok(()));
    }
}

fn body<'a>(message: &Raw<'a>) -> Reader<'a> {
    let mut reader = Reader::new(message.bytes);
    // A chopped message has a header.
    let _ = reader.pad("header", 8);
    reader
}

fn error_heard(message: &Raw<'_>) -> Result<Heard, Malformed> {
    let mut body = body(message);
    Ok(Heard::Error { kind: body.u16("error.type")?, code: body.u16("error.code")? })
}

/// A zero-padded text field; what does not fit is cut, the last byte stays zero.
fn text<const LEN: usize>(text: &str, out: &mut Writer<'_>) {
    let text = &text.as_bytes()[..text.len().min(LEN - 1)];
    out.bytes(text);
    out.pad(LEN - text.len());
}

/// What a message that ends too early is called.
pub(crate) fn truncated(field: &'static str, offset: usize) -> Malformed {
    Malformed { field, offset, reason: Reason::Truncated }
}
