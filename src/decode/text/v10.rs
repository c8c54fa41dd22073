//! OpenFlow 1.0 in words.

mod action;
mod matching;
mod stats;

use super::flow::{self, FlowMod, FlowRemoved};
use super::port::{self, PortFlagNames, PortText, flags};
use super::{joined, named_title, shared};
use action::actions;
use aldis_wire::Version;
use aldis_wire::v10::{
    ErrorCode, FeaturesReply, Message, PhyPort, PortNo, QueueGetConfigReply, QueueProperty,
    StatsReply, StatsRequest,
};
use matching::fields;
use std::fmt::{self, Display, Formatter};

const FLOW_FLAGS: &[(u32, &str)] = &[(1, "send_flow_rem"), (2, "check_overlap"), (4, "emerg")];

const CAPABILITIES: &[(u32, &str)] = &[
    (1 << 0, "FLOW_STATS"),
    (1 << 1, "TABLE_STATS"),
    (1 << 2, "PORT_STATS"),
    (1 << 3, "STP"),
    (1 << 5, "IP_REASM"),
    (1 << 6, "QUEUE_STATS"),
    (1 << 7, "ARP_MATCH_IP"),
];

const ACTIONS: &[(u32, &str)] = &[
    (1 << 0, "output"),
    (1 << 11, "enqueue"),
    (1 << 1, "set_vlan_vid"),
    (1 << 2, "set_vlan_pcp"),
    (1 << 3, "strip_vlan"),
    (1 << 4, "mod_dl_src"),
    (1 << 5, "mod_dl_dst"),
    (1 << 6, "mod_nw_src"),
    (1 << 7, "mod_nw_dst"),
    (1 << 8, "mod_nw_tos"),
    (1 << 9, "mod_tp_src"),
    (1 << 10, "mod_tp_dst"),
];

static PORT_NAMES: PortFlagNames = PortFlagNames {
    config: &[
        (1 << 0, "PORT_DOWN"),
        (1 << 1, "NO_STP"),
        (1 << 2, "NO_RECV"),
        (1 << 3, "NO_RECV_STP"),
        (1 << 4, "NO_FLOOD"),
        (1 << 5, "NO_FWD"),
        (1 << 6, "NO_PACKET_IN"),
    ],
    state: &[
        (3 << 8, "STP_BLOCK"),
        (2 << 8, "STP_FORWARD"),
        (1 << 8, "STP_LEARN"),
        (1 << 0, "LINK_DOWN"),
    ],
    features: &[
        (1 << 0, "10MB-HD"),
        (1 << 1, "10MB-FD"),
        (1 << 2, "100MB-HD"),
        (1 << 3, "100MB-FD"),
        (1 << 4, "1GB-HD"),
        (1 << 5, "1GB-FD"),
        (1 << 6, "10GB-FD"),
        (1 << 7, "COPPER"),
        (1 << 8, "FIBER"),
        (1 << 9, "AUTO_NEG"),
        (1 << 10, "AUTO_PAUSE"),
        (1 << 11, "AUTO_PAUSE_ASYM"),
    ],
};

/// The message with its title.
pub(super) fn message(f: &mut Formatter<'_>, xid: u32, message: &Message) -> fmt::Result {
    f.write_str(&named_title(Version::V10, &name(message), xid))?;
    body(f, message)
}

/// The name of the message's type; statistics are called by their own.
fn name(message: &Message) -> String {
    match message {
        Message::StatsRequest(StatsRequest { body, .. }) => {
            format!("{} request", stats::name(body.stats_type()))
        }
        Message::StatsReply(StatsReply { body, .. }) => {
            format!("{} reply", stats::name(body.stats_type()))
        }
        _ => message.name().to_owned(),
    }
}

fn body(f: &mut Formatter<'_>, message: &Message) -> fmt::Result {
    match message {
        Message::Hello(message) => shared::hello(f, 0x01, &message.body),
        Message::Error(error) => {
            let text = matches!(error.code, ErrorCode::HelloFailed(_));
            shared::error(f, code(error.code), error.hint(), text, &error.data)
        }
        Message::EchoRequest(echo) | Message::EchoReply(echo) => shared::echo(f, &echo.data),
        Message::Vendor(vendor) => shared::vendor(f, vendor.vendor, None, &vendor.body),
        Message::FeaturesReply(reply) => features(f, reply),
        Message::GetConfigReply(config) | Message::SetConfig(config) => {
            shared::config(f, config.flags.0, config.miss_send_len)
        }
        Message::PacketIn(message) => {
            let in_port = format!("in_port={}", number(message.in_port));
            shared::packet_in(
                f,
                message.total_len,
                in_port,
                message.reason.0,
                message.buffer_id,
                &message.data,
            )
        }
        Message::FlowRemoved(message) => flow_removed(f, message),
        Message::PortStatus(message) => {
            shared::port_status(f, message.reason.0, &phy_port(&message.desc))
        }
        Message::PacketOut(message) => {
            let in_port = message.in_port.widen();
            shared::packet_out(
                f,
                in_port,
                actions(&message.actions),
                message.buffer_id,
                &message.data,
            )
        }
        Message::FlowMod(message) => flow_mod(f, message),
        Message::PortMod(message) => {
            let words = [message.config.0, message.mask.0, message.advertise.0];
            write!(
                f,
                "{}",
                port::port_mod(&PORT_NAMES, message.port_no.widen(), message.hw_addr, words)
            )
        }
        Message::StatsRequest(request) => stats::request(f, request),
        Message::StatsReply(reply) => stats::reply(f, reply),
        Message::QueueGetConfigRequest(request) => write!(f, " port={}", number(request.port)),
        Message::QueueGetConfigReply(reply) => queues(f, reply),
        Message::FeaturesRequest
        | Message::GetConfigRequest
        | Message::BarrierRequest
        | Message::BarrierReply => Ok(()),
    }
}

/// An error by its name, or by its numbers where it has none.
fn code(code: ErrorCode) -> impl Display {
    fmt::from_fn(move |f| match code.name() {
        Some(name) => f.write_str(name),
        None => write!(f, "{} code {}", code.error_type(), code.code()),
    })
}

/// A port by its name, or its number of sixteen bits.
fn number(port: PortNo) -> impl Display {
    fmt::from_fn(move |f| match port.name() {
        Some(_) => write!(f, "{}", port::number(port.widen())),
        None => write!(f, "{}", port.0),
    })
}

fn features(f: &mut Formatter<'_>, reply: &FeaturesReply) -> fmt::Result {
    let capabilities = flags(reply.capabilities.0, CAPABILITIES, "0");
    shared::features(f, reply.datapath_id, reply.n_tables, reply.n_buffers, 0, capabilities)?;
    write!(f, "\nactions: {}", flags(reply.actions.0, ACTIONS, "0"))?;
    reply.ports.iter().try_for_each(|port| write!(f, "\n{}", phy_port(port)))
}

fn phy_port(port: &PhyPort) -> PortText<'_> {
    PortText {
        names: &PORT_NAMES,
        number: port.port_no.widen(),
        hw_addr: port.hw_addr,
        name: port.name.trimmed(),
        config: port.config.0,
        state: port.state.0,
        features: [port.curr, port.advertised, port.supported, port.peer]
            .map(|features| features.0),
        speed: None,
    }
}

fn flow_mod(f: &mut Formatter<'_>, message: &aldis_wire::v10::FlowMod) -> fmt::Result {
    let words = FlowMod {
        command: message.command.0,
        table: 0,
        matched: fields(&message.match_).with_priority(message.priority).to_string(),
        cookie: message.cookie,
        cookie_mask: 0,
        idle_timeout: message.idle_timeout,
        hard_timeout: message.hard_timeout,
        buffer_id: message.buffer_id,
        out_port: message.out_port.widen(),
        out_group: flow::ANY,
        flags: flags(message.flags.0.into(), FLOW_FLAGS, "").to_string(),
        actions: actions(&message.actions).to_string(),
    };
    write!(f, "{words}")
}

fn flow_removed(f: &mut Formatter<'_>, message: &aldis_wire::v10::FlowRemoved) -> fmt::Result {
    let words = FlowRemoved {
        matched: fields(&message.match_).with_priority(message.priority).to_string(),
        reason: message.reason.0,
        table: None,
        cookie: message.cookie,
        duration: (message.duration_sec, message.duration_nsec),
        idle_timeout: message.idle_timeout,
        hard_timeout: 0,
        packets: message.packet_count,
        bytes: message.byte_count,
    };
    write!(f, "{words}")
}

fn queues(f: &mut Formatter<'_>, reply: &QueueGetConfigReply) -> fmt::Result {
    write!(f, " port={}", number(reply.port))?;
    for queue in &reply.queues {
        let properties = joined(&queue.properties, "", |f, property| match property {
            QueueProperty::MinRate(rate) => shared::rate(f, "min_rate", *rate),
            QueueProperty::Other { kind, body } => write!(f, " {kind}:{}", super::hex(body)),
        });
        write!(f, "\nqueue {}:{properties}", queue.queue_id)?;
    }
    Ok(())
}
