//! The session in OpenFlow 1.3.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use aldis_wire::v13::action::MAX_LEN_NO_BUFFER;
use aldis_wire::v13::config::ConfigFlags;
use aldis_wire::v13::convert::{port, port_change};
use aldis_wire::v13::error::BadRequestCode;
use aldis_wire::v13::flow_mod::{FlowModCommand, FlowModFlags};
use aldis_wire::v13::stats::{MultipartFlags, MultipartReplyBody, MultipartRequestBody};
use aldis_wire::v13::{
    self, Action, Echo, Error, ErrorCode, FeaturesReply, FlowMod, GroupNo, Hello, Instruction,
    Match, Message, MessageType, MultipartReply, MultipartRequest, SwitchConfig, TableNo,
};
use aldis_wire::{Header, Malformed, NO_BUFFER, Reason, Version};

use super::{ErrorMessage, Features, Incoming, printable};
use crate::session::negotiate::Versions;

fn send(message: &Message, xid: u32, out: &mut Vec<u8>) {
    message.encode(xid, out).expect("the session's own messages are short");
}

pub(super) fn hello(versions: Versions, xid: u32, out: &mut Vec<u8>) {
    let versions: Vec<Version> = versions.iter().collect();
    send(&Message::Hello(Hello::speaking(&versions)), xid, out);
}

/// The first word of the bitmap: no version that we know stands in another.
pub(super) fn bitmap(body: &[u8]) -> Option<u32> {
    Hello::read_body(body).ok()?.bitmap()?.first().copied()
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

pub(super) fn ports_request(xid: u32, out: &mut Vec<u8>) {
    send(
        &Message::MultipartRequest(MultipartRequest::new(MultipartRequestBody::PortDesc)),
        xid,
        out,
    );
}

pub(super) fn barrier_request(xid: u32, out: &mut Vec<u8>) {
    send(&Message::BarrierRequest, xid, out);
}

pub(super) fn whole_packets(xid: u32, out: &mut Vec<u8>) {
    let config = SwitchConfig { flags: ConfigFlags::NORMAL, miss_send_len: MAX_LEN_NO_BUFFER };
    send(&Message::SetConfig(config), xid, out);
}

pub(super) fn delete_flows(xid: u32, out: &mut Vec<u8>) {
    let all = FlowMod { table_id: TableNo::ALL, command: FlowModCommand::DELETE, ..MISS };
    send(&Message::FlowMod(all), xid, out);
}

/// What matches nothing else goes to the controller, whole (§5.4: without this flow it is dropped).
pub(super) fn table_miss(xid: u32, out: &mut Vec<u8>) {
    let ask = Action::Output { port: v13::PortNo::CONTROLLER, max_len: MAX_LEN_NO_BUFFER };
    let instructions = vec![Instruction::ApplyActions(vec![ask])];
    send(&Message::FlowMod(FlowMod { instructions, ..MISS }), xid, out);
}

/// The flow of the first table that matches what no other does, doing nothing with it.
const MISS: FlowMod = FlowMod {
    cookie: 0,
    cookie_mask: 0,
    table_id: TableNo(0),
    command: FlowModCommand::ADD,
    idle_timeout: 0,
    hard_timeout: 0,
    priority: 0,
    buffer_id: NO_BUFFER,
    out_port: v13::PortNo::ANY,
    out_group: GroupNo::ANY,
    flags: FlowModFlags::EMPTY,
    match_: Match { fields: Vec::new() },
    instructions: Vec::new(),
};

pub(super) fn decode(bytes: &[u8]) -> Result<Incoming, Malformed> {
    let (_, message) = Message::decode(bytes)?;
    Ok(match message {
        Message::Error(error) => Incoming::Error(error_message(&error)),
        Message::EchoRequest(_) => Incoming::EchoRequest,
        Message::EchoReply(_) => Incoming::EchoReply,
        Message::FeaturesReply(reply) => Incoming::Features(features(&reply)),
        Message::MultipartReply(reply) => multipart(&reply),
        Message::PortStatus(status) => Incoming::PortChange(port_change(&status)),
        Message::BarrierReply => Incoming::Barrier,
        Message::PacketIn(_) => Incoming::PacketIn,
        Message::GetConfigReply(_)
        | Message::QueueGetConfigReply(_)
        | Message::RoleReply(_)
        | Message::GetAsyncReply(_) => Incoming::OtherReply,
        Message::FlowRemoved(_) => Incoming::FlowRemoved,
        Message::Hello(_) | Message::Experimenter(_) => Incoming::OtherNotice,
        Message::FeaturesRequest
        | Message::GetConfigRequest
        | Message::SetConfig(_)
        | Message::PacketOut(_)
        | Message::FlowMod(_)
        | Message::GroupMod(_)
        | Message::PortMod(_)
        | Message::TableMod(_)
        | Message::MultipartRequest(_)
        | Message::BarrierRequest
        | Message::QueueGetConfigRequest(_)
        | Message::RoleRequest(_)
        | Message::GetAsyncRequest
        | Message::SetAsync(_)
        | Message::MeterMod(_) => Incoming::FromControllersOnly,
    })
}

fn multipart(reply: &MultipartReply) -> Incoming {
    match &reply.body {
        MultipartReplyBody::PortDesc(ports) => Incoming::Ports {
            ports: ports.iter().map(port).collect(),
            more: reply.flags.contains(MultipartFlags::MORE),
        },
        _ => Incoming::OtherReply,
    }
}

fn error_message(error: &Error) -> ErrorMessage {
    let hello_failed = matches!(error.code, ErrorCode::HelloFailed(_));
    let about = Header::peek(&error.data).ok().flatten().filter(|_| !hello_failed);
    ErrorMessage {
        name: error.code.to_string(),
        about: about.and_then(|header| MessageType(header.kind).name()),
        hint: error.hint().unwrap_or_default(),
        text: if hello_failed { printable(&error.data) } else { String::new() },
        hello_failed,
    }
}

fn features(reply: &FeaturesReply) -> Features {
    Features {
        dpid: reply.datapath_id,
        auxiliary_id: reply.auxiliary_id,
        buffers: reply.n_buffers,
        tables: reply.n_tables,
        ports: Vec::new(),
    }
}
