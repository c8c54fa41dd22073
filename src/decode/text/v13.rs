//! OpenFlow 1.3 in words.

mod action;
mod group;
mod matching;
mod meter;
mod multipart;
mod table_features;

use super::flow::{FLAGS, FlowMod, FlowRemoved};
use super::port::{self, PortFlagNames, PortText, flags};
use super::{hex, joined, named_title, shared};
use action::{actions, instructions};
use aldis_wire::Version;
use aldis_wire::v13::async_config::AsyncMasks;
use aldis_wire::v13::queue::QueueProperty;
use aldis_wire::v13::role::Role;
use aldis_wire::v13::{
    AsyncConfig, ErrorCode, FeaturesReply, Message, MultipartReply, MultipartRequest, PacketIn,
    QueueGetConfigReply, RoleMessage, TableMod, TableNo,
};
use matching::fields;
use std::fmt::{self, Display, Formatter};

const CAPABILITIES: &[(u32, &str)] = &[
    (1 << 0, "FLOW_STATS"),
    (1 << 1, "TABLE_STATS"),
    (1 << 2, "PORT_STATS"),
    (1 << 3, "GROUP_STATS"),
    (1 << 5, "IP_REASM"),
    (1 << 6, "QUEUE_STATS"),
    (1 << 8, "PORT_BLOCKED"),
];

static PORT_NAMES: PortFlagNames = PortFlagNames {
    config: &[
        (1 << 0, "PORT_DOWN"),
        (1 << 2, "NO_RECV"),
        (1 << 5, "NO_FWD"),
        (1 << 6, "NO_PACKET_IN"),
    ],
    state: &[(1 << 0, "LINK_DOWN"), (1 << 1, "BLOCKED"), (1 << 2, "LIVE")],
    features: &[
        (1 << 0, "10MB-HD"),
        (1 << 1, "10MB-FD"),
        (1 << 2, "100MB-HD"),
        (1 << 3, "100MB-FD"),
        (1 << 4, "1GB-HD"),
        (1 << 5, "1GB-FD"),
        (1 << 6, "10GB-FD"),
        (1 << 7, "40GB-FD"),
        (1 << 8, "100GB-FD"),
        (1 << 9, "1TB-FD"),
        (1 << 10, "OTHER"),
        (1 << 11, "COPPER"),
        (1 << 12, "FIBER"),
        (1 << 13, "AUTO_NEG"),
        (1 << 14, "AUTO_PAUSE"),
        (1 << 15, "AUTO_PAUSE_ASYM"),
    ],
};

/// The message with its title.
pub(super) fn message(f: &mut Formatter<'_>, xid: u32, message: &Message) -> fmt::Result {
    f.write_str(&named_title(Version::V13, &name(message), xid))?;
    body(f, message)
}

/// The name of the message's type; multipart messages are called by their kind.
fn name(message: &Message) -> String {
    match message {
        Message::MultipartRequest(MultipartRequest { body, .. }) => {
            format!("{} request", multipart::name(body.multipart_type()))
        }
        Message::MultipartReply(MultipartReply { body, .. }) => {
            format!("{} reply", multipart::name(body.multipart_type()))
        }
        _ => message.name().to_owned(),
    }
}

fn body(f: &mut Formatter<'_>, message: &Message) -> fmt::Result {
    match message {
        Message::Hello(message) => shared::hello_elements(f, 0x04, message),
        Message::Error(error) => {
            let text = matches!(error.code, ErrorCode::HelloFailed(_));
            shared::error(f, code(error.code), error.hint(), text, &error.data)
        }
        Message::EchoRequest(echo) | Message::EchoReply(echo) => shared::echo(f, &echo.data),
        Message::Experimenter(message) => {
            shared::vendor(f, message.experimenter, Some(message.exp_type), &message.body)
        }
        Message::FeaturesReply(reply) => features(f, reply),
        Message::GetConfigReply(config) | Message::SetConfig(config) => {
            shared::config(f, config.flags.0, config.miss_send_len)
        }
        Message::PacketIn(message) => packet_in(f, message),
        Message::FlowRemoved(message) => flow_removed(f, message),
        Message::PortStatus(message) => {
            shared::port_status(f, message.reason.0, &port(&message.desc))
        }
        Message::PacketOut(message) => {
            let actions = actions(&message.actions);
            shared::packet_out(f, message.in_port.0, actions, message.buffer_id, &message.data)
        }
        Message::FlowMod(message) => flow_mod(f, message),
        Message::GroupMod(message) => group::group_mod(f, message),
        Message::PortMod(message) => {
            let words = [message.config.0, message.mask.0, message.advertise.0];
            let (number, hw_addr) = (message.port_no.0, message.hw_addr);
            write!(f, "{}", port::port_mod(&PORT_NAMES, number, hw_addr, words))
        }
        Message::TableMod(message) => table_mod(f, message),
        Message::MultipartRequest(request) => multipart::request(f, request),
        Message::MultipartReply(reply) => multipart::reply(f, reply),
        Message::QueueGetConfigRequest(message) => {
            write!(f, " port={}", port::number(message.port.0))
        }
        Message::QueueGetConfigReply(message) => queues(f, message),
        Message::RoleRequest(message) | Message::RoleReply(message) => role(f, message),
        Message::GetAsyncReply(message) | Message::SetAsync(message) => async_config(f, message),
        Message::MeterMod(message) => meter::meter_mod(f, message),
        Message::FeaturesRequest
        | Message::GetConfigRequest
        | Message::BarrierRequest
        | Message::BarrierReply
        | Message::GetAsyncRequest => Ok(()),
    }
}

/// An error by its name, or by its numbers where it has none.
fn code(code: ErrorCode) -> impl Display {
    fmt::from_fn(move |f| match code.name() {
        Some(name) => f.write_str(name),
        None => write!(f, "{code}"),
    })
}

fn features(f: &mut Formatter<'_>, reply: &FeaturesReply) -> fmt::Result {
    let capabilities = flags(reply.capabilities.0, CAPABILITIES, "0");
    let (dpid, auxiliary_id) = (reply.datapath_id, reply.auxiliary_id);
    shared::features(f, dpid, reply.n_tables, reply.n_buffers, auxiliary_id, capabilities)
}

fn packet_in(f: &mut Formatter<'_>, message: &PacketIn) -> fmt::Result {
    if message.table_id.0 != 0 {
        write!(f, " table_id={}", message.table_id.0)?;
    }
    write!(f, " cookie={:#x}", message.cookie)?;
    let fields = fields(&message.match_).alone();
    let reason = message.reason.0;
    shared::packet_in(f, message.total_len, fields, reason, message.buffer_id, &message.data)
}

fn port(port: &aldis_wire::v13::Port) -> PortText<'_> {
    let features = [port.curr, port.advertised, port.supported, port.peer];
    PortText {
        names: &PORT_NAMES,
        number: port.port_no.0,
        hw_addr: port.hw_addr,
        name: port.name.trimmed(),
        config: port.config.0,
        state: port.state.0,
        features: features.map(|features| features.0),
        speed: Some((port.curr_speed, port.max_speed)),
    }
}

fn flow_mod(f: &mut Formatter<'_>, message: &aldis_wire::v13::FlowMod) -> fmt::Result {
    let words = FlowMod {
        command: message.command.0.into(),
        table: message.table_id.0,
        matched: fields(&message.match_).with_priority(message.priority).to_string(),
        cookie: message.cookie,
        cookie_mask: message.cookie_mask,
        idle_timeout: message.idle_timeout,
        hard_timeout: message.hard_timeout,
        buffer_id: message.buffer_id,
        out_port: message.out_port.0,
        out_group: message.out_group.0,
        flags: flags(message.flags.0.into(), FLAGS, "").to_string(),
        actions: instructions(&message.instructions).to_string(),
    };
    write!(f, "{words}")
}

fn flow_removed(f: &mut Formatter<'_>, message: &aldis_wire::v13::FlowRemoved) -> fmt::Result {
    let words = FlowRemoved {
        matched: fields(&message.match_).with_priority(message.priority).to_string(),
        reason: message.reason.0,
        table: Some(message.table_id.0),
        cookie: message.cookie,
        duration: (message.duration_sec, message.duration_nsec),
        idle_timeout: message.idle_timeout,
        hard_timeout: message.hard_timeout,
        packets: message.packet_count,
        bytes: message.byte_count,
    };
    write!(f, "{words}")
}

fn table_mod(f: &mut Formatter<'_>, message: &TableMod) -> fmt::Result {
    match message.table_id {
        TableNo::ALL => f.write_str(" table_id: ALL_TABLES")?,
        TableNo(table) => write!(f, " table_id={table}")?,
    }
    if message.config.0 == 0 { Ok(()) } else { write!(f, " config={:#x}", message.config.0) }
}

fn queues(f: &mut Formatter<'_>, message: &QueueGetConfigReply) -> fmt::Result {
    write!(f, " port={}", port::number(message.port.0))?;
    for queue in &message.queues {
        let properties = joined(&queue.properties, "", |f, property| match property {
            QueueProperty::MinRate(rate) => shared::rate(f, "min_rate", *rate),
            QueueProperty::MaxRate(rate) => shared::rate(f, "max_rate", *rate),
            QueueProperty::Experimenter { experimenter, body } => {
                write!(f, " experimenter({experimenter:#010x},{})", hex(body))
            }
            QueueProperty::Unknown { kind, body } => write!(f, " {kind}:{}", hex(body)),
        });
        write!(f, "\nqueue {}:{properties}", queue.queue_id.0)?;
    }
    Ok(())
}

fn role(f: &mut Formatter<'_>, message: &RoleMessage) -> fmt::Result {
    match message.role {
        // It asks, and changes nothing.
        Role::NOCHANGE => return f.write_str(" role=nochange"),
        Role::EQUAL => f.write_str(" role=equal")?,
        Role::MASTER => f.write_str(" role=primary")?,
        Role::SLAVE => f.write_str(" role=secondary")?,
        Role(other) => write!(f, " role={other}")?,
    }
    match message.generation_id {
        u64::MAX => Ok(()),
        generation => write!(f, " generation_id={generation}"),
    }
}

fn async_config(f: &mut Formatter<'_>, config: &AsyncConfig) -> fmt::Result {
    const PACKET_IN: &[(u32, &str)] = &[(1, "no_match"), (2, "action"), (4, "invalid_ttl")];
    const PORT_STATUS: &[(u32, &str)] = &[(1, "add"), (2, "delete"), (4, "modify")];
    const FLOW_REMOVED: &[(u32, &str)] =
        &[(1, "idle"), (2, "hard"), (4, "delete"), (8, "group_delete")];
    for (role, primary) in [("primary", true), ("secondary", false)] {
        let of = |masks: AsyncMasks| if primary { masks.master } else { masks.slave };
        write!(f, "\n {role}:")?;
        write!(f, "\n       PACKET_IN: {}", flags(of(config.packet_in), PACKET_IN, "(off)"))?;
        write!(f, "\n     PORT_STATUS: {}", flags(of(config.port_status), PORT_STATUS, "(off)"))?;
        write!(f, "\n    FLOW_REMOVED: {}", flags(of(config.flow_removed), FLOW_REMOVED, "(off)"))?;
    }
    Ok(())
}
