//! Encoder and decoder of the session's messages, whatever the version: the exact messages are made
//! and read in [`v10`] and [`v13`].

mod v10;
mod v13;

use alloc::string::String;
use alloc::vec::Vec;

use aldis_wire::chop::Raw;
use aldis_wire::header::kind;
use aldis_wire::msg::{Port, PortChange};
use aldis_wire::{DatapathId, Malformed, Reason, Version};

use super::negotiate::Versions;
use crate::limits::{ERROR_DATA_MAX, ERROR_TEXT_MAX};
use crate::output::taker;

/// A message of the switch, as far as the session cares.
#[derive(Debug)]
pub(super) enum Incoming {
    /// An error.
    Error(ErrorMessage),
    /// The switch wants an echo.
    EchoRequest,
    /// The switch echoes.
    EchoReply,
    /// The datapath id of the switch, and what else its FEATURES_REPLY says.
    Features(Features),
    /// Some of its ports, and whether more come.
    Ports { ports: Vec<Port>, more: bool },
    /// A port came, went or changed.
    PortChange(PortChange),
    /// A barrier was reached.
    Barrier,
    /// A flow request.
    PacketIn,
    /// The reply to a request that the session never makes.
    OtherReply,
    /// A flow is gone.
    FlowRemoved,
    /// A notice that the session has no use for.
    OtherNotice,
    /// A message that only a controller may send.
    FromControllersOnly,
}

impl Incoming {
    /// Whether it is nothing to the session, but something to the applications, if it has this
    /// transaction id.
    pub(super) fn is_for_applications(&self, xid: u32) -> bool {
        match self {
            Incoming::FlowRemoved => true,
            Incoming::Barrier
            | Incoming::OtherReply
            | Incoming::OtherNotice
            | Incoming::Ports { .. } => taker(xid).is_some(),
            _ => false,
        }
    }

    /// Whether it answers nothing, where the session is up and it is not for the applications by
    /// its transaction id: then the session awaits nothing of this sort any more.
    pub(super) fn may_be_unsolicited(&self) -> bool {
        matches!(self, Incoming::OtherReply | Incoming::OtherNotice | Incoming::Ports { .. })
    }
}

/// What a FEATURES_REPLY says.
#[derive(Debug)]
pub(super) struct Features {
    pub(super) dpid: DatapathId,
    /// Always 0 in 1.0.
    pub(super) auxiliary_id: u8,
    pub(super) buffers: u32,
    pub(super) tables: u8,
    /// The ports; none in 1.3, which names them elsewhere.
    pub(super) ports: Vec<Port>,
}

/// An error of the switch.
#[derive(Debug)]
pub(super) struct ErrorMessage {
    /// Its type and code, by name.
    pub(super) name: String,
    /// The name of the type of the message it is about, where enough of it came back.
    pub(super) about: Option<&'static str>,
    /// What it means.
    pub(super) hint: &'static str,
    /// What the switch says in its own words, made printable; empty unless our HELLO was refused.
    pub(super) text: String,
    /// Whether our HELLO was refused.
    pub(super) hello_failed: bool,
}

impl ErrorMessage {
    /// What the switch said: its own words where it has any, else the name of the error.
    pub(super) fn in_words(self) -> String {
        match self.text.is_empty() {
            true => self.name,
            false => alloc::format!("{}, \"{}\"", self.name, self.text),
        }
    }
}

/// Our HELLO, which offers `versions`.
pub(super) fn hello(versions: Versions, xid: u32, out: &mut Vec<u8>) {
    match versions.highest() {
        Version::V10 => v10::hello(xid, out),
        Version::V13 => v13::hello(versions, xid, out),
    }
}

/// The bitmap of versions in the body of a HELLO of whatever version.
///
/// A body that cannot be read, from the first element to the last, carries no bitmap.
pub(super) fn bitmap(body: &[u8]) -> Option<u32> {
    v13::bitmap(body)
}

/// "No version in common", in words too. The layout is that of every version, so that the peer can
/// read it whatever `version`, its header byte, is.
pub(super) fn incompatible(version: u8, ours: Versions, xid: u32, out: &mut Vec<u8>) {
    let start = out.len();
    v10::incompatible(&alloc::format!("this controller speaks {ours}"), xid, out);
    out[start] = version;
}

/// The reply to an echo request: the very same bytes but for the type.
pub(super) fn echo_reply(request: Raw<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(request.bytes);
    out[start + 1] = kind::ECHO_REPLY;
}

/// Reads a message.
///
/// An error is read whatever its version byte: it may well be about the version.
pub(super) fn hear(version: Version, raw: Raw<'_>) -> Result<Incoming, Malformed> {
    if raw.header.kind == kind::ERROR && raw.header.version != version.wire() {
        let mut respelled = raw.bytes.to_vec();
        respelled[0] = version.wire();
        return decode(version, &respelled);
    }
    decode(version, raw.bytes)
}

fn decode(version: Version, bytes: &[u8]) -> Result<Incoming, Malformed> {
    match version {
        Version::V10 => v10::decode(bytes),
        Version::V13 => v13::decode(bytes),
    }
}

/// The error about a bad message: what was wrong, and the beginning of the message itself.
pub(super) fn error(version: Version, raw: Raw<'_>, why: Reason, out: &mut Vec<u8>) {
    let data = &raw.bytes[..raw.bytes.len().min(ERROR_DATA_MAX)];
    match version {
        Version::V10 => v10::error(why, data, raw.header.xid, out),
        Version::V13 => v13::error(why, data, raw.header.xid, out),
    }
}

macro_rules! in_either_version {
    ($($(#[$attr:meta])* fn $name:ident($($arg:ident: $Arg:ty),*);)*) => {$(
        $(#[$attr])*
        pub(super) fn $name(version: Version, $($arg: $Arg),*) {
            match version {
                Version::V10 => v10::$name($($arg),*),
                Version::V13 => v13::$name($($arg),*),
            }
        }
    )*};
}

in_either_version! {
    /// Asks for an echo.
    fn echo_request(xid: u32, out: &mut Vec<u8>);
    /// Asks for the features, the datapath id among them.
    fn features_request(xid: u32, out: &mut Vec<u8>);
    /// Asks the switch to finish everything before this.
    fn barrier_request(xid: u32, out: &mut Vec<u8>);
    /// Asks for whole packets wherever a packet goes to the controller.
    fn whole_packets(xid: u32, out: &mut Vec<u8>);
    /// Deletes every flow.
    fn delete_flows(xid: u32, out: &mut Vec<u8>);
}

/// What has to be there for packets that match nothing to come to us; 1.0 does it by itself.
pub(super) fn table_miss(version: Version, xid: u32, out: &mut Vec<u8>) {
    match version {
        Version::V10 => {}
        Version::V13 => v13::table_miss(xid, out),
    }
}

/// Asks for the ports; 1.0 named them with its features.
pub(super) fn ports_request(version: Version, xid: u32, out: &mut Vec<u8>) {
    match version {
        Version::V10 => {}
        Version::V13 => v13::ports_request(xid, out),
    }
}

/// A peer's text, safe to print: cut, and with its unprintable bytes escaped.
fn printable(text: &[u8]) -> String {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len()).min(ERROR_TEXT_MAX);
    alloc::format!("{}", text[..end].escape_ascii())
}
