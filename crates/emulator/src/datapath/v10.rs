//! The datapath's side of a conversation in OpenFlow 1.0.

pub(super) mod events;
mod read;
mod stats;

use super::bounds::{ERROR_DATA_MAX, TABLES};
use super::change::{FlowChange, PortModChange};
use super::flow::Flags;
use super::port::config;
use super::tables::{Addition, Filter};
use super::{Datapath, RequestFault, Sink};
use aldis_wire::header::Header;
use aldis_wire::v10::error::{
    BadActionCode, BadRequestCode, FlowModFailedCode, PortModFailedCode, QueueOpFailedCode,
};
use aldis_wire::v10::{
    ActionBits, Capabilities, ConfigFlags, Error, ErrorCode, FeaturesReply, FlowMod,
    FlowModCommand, FlowModFlags, Message, PacketOut, PortMod, PortNo, QueueGetConfigReply,
    SwitchConfig,
};
use aldis_wire::{Malformed, NO_BUFFER, Reason};
use std::time::Duration;

/// How many ports a FEATURES_REPLY can name: 48 bytes each, behind 32 of its own.
pub(super) const PORTS_MAX: usize = (u16::MAX as usize - 32) / 48;

/// Whether this version has a number for a port.
pub(super) fn can_say(port: u32) -> bool {
    let physical = (1..u32::from(PortNo::MAX.0)).contains(&port);
    physical || port == PortNo::LOCAL.widen()
}

/// Does what a message asks for, and answers it.
pub(super) fn respond(
    switch: &mut Datapath,
    header: Header,
    bytes: &[u8],
    now: Duration,
    out: &mut impl Sink,
) {
    let answered = match Message::decode(bytes) {
        Ok((_, message)) => answer(switch, message, now, out),
        Err(malformed) => Err(malformed_code(malformed)),
    };
    let replies = answered.unwrap_or_else(|code| {
        let data = bytes[..bytes.len().min(ERROR_DATA_MAX)].to_vec();
        vec![Message::Error(Error { code, data })]
    });
    for reply in replies {
        let scratch = &mut switch.world.scratch;
        scratch.clear();
        if reply.encode(header.xid, scratch).is_ok() {
            out.to_controller(scratch);
        }
    }
}

fn malformed_code(malformed: Malformed) -> ErrorCode {
    match malformed.reason {
        Reason::BadVersion => ErrorCode::BadRequest(BadRequestCode::BAD_VERSION),
        Reason::BadType => ErrorCode::BadRequest(BadRequestCode::BAD_TYPE),
        _ if malformed.field.starts_with("action") => ErrorCode::BadAction(BadActionCode::BAD_LEN),
        _ => ErrorCode::BadRequest(BadRequestCode::BAD_LEN),
    }
}

impl RequestFault {
    fn v10(self) -> ErrorCode {
        match self {
            RequestFault::TableFull => ErrorCode::FlowModFailed(FlowModFailedCode::ALL_TABLES_FULL),
            RequestFault::Overlap => ErrorCode::FlowModFailed(FlowModFailedCode::OVERLAP),
            RequestFault::BadCommand => ErrorCode::FlowModFailed(FlowModFailedCode::BAD_COMMAND),
            RequestFault::BadFlags => ErrorCode::FlowModFailed(FlowModFailedCode::UNSUPPORTED),
            RequestFault::BufferUnknown => ErrorCode::BadRequest(BadRequestCode::BUFFER_UNKNOWN),
            RequestFault::BadPort => ErrorCode::PortModFailed(PortModFailedCode::BAD_PORT),
            RequestFault::BadHardwareAddress => {
                ErrorCode::PortModFailed(PortModFailedCode::BAD_HW_ADDR)
            }
            RequestFault::BadPacket => ErrorCode::BadRequest(BadRequestCode::BAD_LEN),
            RequestFault::StaleRole | RequestFault::BadRole => {
                ErrorCode::BadRequest(BadRequestCode::EPERM)
            }
        }
    }
}

fn answer(
    switch: &mut Datapath,
    message: Message,
    now: Duration,
    out: &mut impl Sink,
) -> Result<Vec<Message>, ErrorCode> {
    let one = |message| Ok(vec![message]);
    match message {
        Message::FeaturesRequest => one(Message::FeaturesReply(features(switch))),
        Message::EchoRequest(echo) => one(Message::EchoReply(echo)),
        Message::GetConfigRequest => one(Message::GetConfigReply(SwitchConfig {
            flags: ConfigFlags(switch.world.session.fragments),
            miss_send_len: switch.world.session.miss_send_len,
        })),
        Message::SetConfig(config) => {
            switch.world.session.fragments = config.flags.0 & 3;
            switch.world.session.miss_send_len = config.miss_send_len;
            Ok(vec![])
        }
        Message::BarrierRequest => one(Message::BarrierReply),
        Message::FlowMod(flow_mod) => {
            let change = change(flow_mod)?;
            switch.change(change, now, out).map_err(RequestFault::v10)?;
            Ok(vec![])
        }
        Message::PacketOut(packet_out) => {
            packet_out_of(switch, &packet_out, now, out)?;
            Ok(vec![])
        }
        Message::PortMod(port_mod) => {
            switch.port_mod(&port_change(&port_mod)?, out).map_err(RequestFault::v10)?;
            Ok(vec![])
        }
        Message::StatsRequest(request) => stats::answer(switch, &request.body, now),
        Message::QueueGetConfigRequest(request) => {
            match switch.world.ports.get(request.port.widen()) {
                Some(_) => one(Message::QueueGetConfigReply(QueueGetConfigReply {
                    port: request.port,
                    queues: vec![],
                })),
                None => Err(ErrorCode::QueueOpFailed(QueueOpFailedCode::BAD_PORT)),
            }
        }
        Message::Vendor(_) => Err(ErrorCode::BadRequest(BadRequestCode::BAD_VENDOR)),
        Message::Error(_) | Message::EchoReply(_) | Message::Hello(_) => Ok(vec![]),
        _ => Err(ErrorCode::BadRequest(BadRequestCode::BAD_TYPE)),
    }
}

fn features(switch: &Datapath) -> FeaturesReply {
    FeaturesReply {
        datapath_id: switch.dpid,
        n_buffers: 0,
        n_tables: TABLES,
        capabilities: Capabilities::FLOW_STATS
            | Capabilities::TABLE_STATS
            | Capabilities::PORT_STATS
            | Capabilities::QUEUE_STATS
            | Capabilities::ARP_MATCH_IP,
        actions: ActionBits(0xfff),
        ports: switch.world.ports.iter().map(events::description).collect(),
    }
}

/// What a FLOW_MOD means. 1.0 knows one table, in which a change that finds nothing adds.
fn change(flow_mod: FlowMod) -> Result<FlowChange, ErrorCode> {
    let (match_, pattern) = read::pattern(&flow_mod.match_);
    // Flows without wildcards win over all others (§3.4).
    let exact = flow_mod.match_.wildcards.0 & aldis_wire::v10::Wildcards::ALL.0 == 0;
    let priority = if exact { u16::MAX } else { flow_mod.priority };
    let strict =
        matches!(flow_mod.command, FlowModCommand::MODIFY_STRICT | FlowModCommand::DELETE_STRICT);
    let mut filter = Filter {
        table: Some(0),
        pattern,
        strict: strict.then_some(priority),
        out_port: None,
        out_group: None,
        cookie: 0,
        cookie_mask: 0,
    };
    // The actions of a removal mean nothing, and have to be right.
    let program = read::program(&flow_mod.actions)?;
    if matches!(flow_mod.command, FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT) {
        let out_port = flow_mod.out_port;
        filter.out_port = (out_port != PortNo::NONE).then(|| out_port.widen());
        return Ok(FlowChange::Delete(filter));
    }
    if flow_mod.flags.contains(FlowModFlags::EMERG) {
        return Err(ErrorCode::FlowModFailed(FlowModFailedCode::ALL_TABLES_FULL));
    }
    if flow_mod.buffer_id != NO_BUFFER {
        return Err(RequestFault::BufferUnknown.v10());
    }
    let adds = flow_mod.command == FlowModCommand::ADD;
    let reset = if adds { Flags::RESET_COUNTS } else { Flags::EMPTY };
    let new = Addition {
        table: 0,
        pattern,
        priority,
        cookie: flow_mod.cookie,
        idle_timeout: flow_mod.idle_timeout,
        hard_timeout: flow_mod.hard_timeout,
        // An addition of 1.0 always begins its counters again, a change never does.
        flags: Flags(flow_mod.flags.0 & 3) | reset,
        program,
        said: super::flow::FlowModText::V10 { match_, actions: flow_mod.actions.into() },
    };
    match flow_mod.command {
        FlowModCommand::ADD => Ok(FlowChange::Add(new.into())),
        FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT => {
            Ok(FlowChange::Modify { filter, new: new.into(), as_v10: true })
        }
        _ => Err(RequestFault::BadCommand.v10()),
    }
}

fn packet_out_of(
    switch: &mut Datapath,
    packet_out: &PacketOut,
    now: Duration,
    out: &mut impl Sink,
) -> Result<(), ErrorCode> {
    if packet_out.buffer_id != NO_BUFFER {
        return Err(RequestFault::BufferUnknown.v10());
    }
    let actions = read::actions(&packet_out.actions, true)?;
    let in_port = packet_out.in_port.widen();
    switch.packet_out(in_port, &actions, &packet_out.data, now, out).map_err(RequestFault::v10)
}

fn port_change(port_mod: &PortMod) -> Result<PortModChange, ErrorCode> {
    const SETTABLE: u32 =
        config::DOWN | config::NO_RECV | config::NO_FLOOD | config::NO_FWD | config::NO_PACKET_IN;
    Ok(PortModChange {
        port: port_mod.port_no.widen(),
        address: port_mod.hw_addr,
        config: port_mod.config.0,
        mask: port_mod.mask.0 & SETTABLE,
    })
}
