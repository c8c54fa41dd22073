//! The session in OpenFlow 1.0.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use aldis_wire::v10::convert::{port, port_change};
use aldis_wire::v10::error::{BadRequestCode, HelloFailedCode};
use aldis_wire::v10::{
    ConfigFlags, Echo, Error, ErrorCode, FeaturesReply, FlowMod, FlowModCommand, FlowModFlags,
    Hello, Match, Message, MessageType, SwitchConfig,
};
use aldis_wire::{Header, Malformed, NO_BUFFER, Reason};

use super::{ErrorMessage, Features, Incoming, printable};

fn send(message: &Message, xid: u32, out: &mut Vec<u8>) {
    message.encode(xid, out).expect("the session's own messages are short");
}

pub(super) fn hello(xid: u32, out: &mut Vec<u8>) {
    send(&Message::Hello(Hello::default()), xid, out);
}

pub(super) fn incompatible(words: &str, xid: u32, out: &mut Vec<u8>) {
    let code = ErrorCode::HelloFailed(HelloFailedCode::INCOMPATIBLE);
    send(&Message::Error(Error { code, data: words.into() }), xid, out);
}

pub(super) fn error(why: Reason, about: &[u8], xid: u32, out: &mut Vec<u8>) {
    let code = ErrorCode::BadRequest(match why {
        Reason::BadVersion => BadRequestCode::BAD_VERSION,
        Reason::BadType => BadRequestCode::BAD_TYPE,
        Reason::Truncated | Reason::BadLength | Reason::Trailing | Reason::BadValue => {
            BadRequestCode::BAD_LEN
        }
    });
    send(&Message::Error(Error { code, data: about.to_vec() }), xid, out);
}

pub(super) fn echo_request(xid: u32, out: &mut Vec<u8>) {
    send(&Message::EchoRequest(Echo::default()), xid, out);
}

pub(super) fn features_request(xid: u32, out: &mut Vec<u8>) {
    send(&Message::FeaturesRequest, xid, out);
}

pub(super) fn barrier_request(xid: u32, out: &mut Vec<u8>) {
    send(&Message::BarrierRequest, xid, out);
}

pub(super) fn whole_packets(xid: u32, out: &mut Vec<u8>) {
    let config = SwitchConfig { flags: ConfigFlags::FRAG_NORMAL, miss_send_len: u16::MAX };
    send(&Message::SetConfig(config), xid, out);
}

pub(super) fn delete_flows(xid: u32, out: &mut Vec<u8>) {
    let all = FlowMod {
        match_: Match::ANY,
        cookie: 0,
        command: FlowModCommand::DELETE,
        idle_timeout: 0,
        hard_timeout: 0,
        priority: 0,
        buffer_id: NO_BUFFER,
        out_port: aldis_wire::v10::PortNo::NONE,
        flags: FlowModFlags::EMPTY,
        actions: Vec::new(),
    };
    send(&Message::FlowMod(all), xid, out);
}

pub(super) fn decode(bytes: &[u8]) -> Result<Incoming, Malformed> {
    let (_, message) = Message::decode(bytes)?;
    Ok(match message {
        Message::Error(error) => Incoming::Error(error_message(&error)),
        Message::EchoRequest(_) => Incoming::EchoRequest,
        Message::EchoReply(_) => Incoming::EchoReply,
        Message::FeaturesReply(reply) => Incoming::Features(features(&reply)),
        Message::PortStatus(status) => Incoming::PortChange(port_change(&status)),
        Message::BarrierReply => Incoming::Barrier,
        Message::PacketIn(_) => Incoming::PacketIn,
        Message::GetConfigReply(_) | Message::StatsReply(_) | Message::QueueGetConfigReply(_) => {
            Incoming::OtherReply
        }
        Message::FlowRemoved(_) => Incoming::FlowRemoved,
        Message::Hello(_) | Message::Vendor(_) => Incoming::OtherNotice,
        Message::FeaturesRequest
        | Message::GetConfigRequest
        | Message::SetConfig(_)
        | Message::PacketOut(_)
        | Message::FlowMod(_)
        | Message::PortMod(_)
        | Message::StatsRequest(_)
        | Message::BarrierRequest
        | Message::QueueGetConfigRequest(_) => Incoming::FromControllersOnly,
    })
}

fn error_message(error: &Error) -> ErrorMessage {
    let hello_failed = matches!(error.code, ErrorCode::HelloFailed(_));
    let about = Header::peek(&error.data).ok().flatten().filter(|_| !hello_failed);
    ErrorMessage {
        name: error.code.to_string(),
        about: about.and_then(|header| MessageType(header.kind).name()),
        hint: error.code.hint().unwrap_or_default(),
        text: if hello_failed { printable(&error.data) } else { String::new() },
        hello_failed,
    }
}

fn features(reply: &FeaturesReply) -> Features {
    Features {
        dpid: reply.datapath_id,
        auxiliary_id: 0,
        buffers: reply.n_buffers,
        tables: reply.n_tables,
        ports: reply.ports.iter().map(port).collect(),
    }
}
