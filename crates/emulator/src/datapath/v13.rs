//! The datapath's side of a conversation in OpenFlow 1.3.

pub(super) mod events;
mod groups;
mod meters;
mod read;
mod stats;

use super::bounds::{ERROR_DATA_MAX, TABLES};
use super::change::{FlowChange, PortModChange};
use super::flow::FlowModText;
use super::port::config;
use super::tables::{Addition, Filter};
use super::{Datapath, RequestFault, Sink};
use aldis_wire::header::Header;
use aldis_wire::v13::Message;
use aldis_wire::v13::bucket::GroupNo;
use aldis_wire::v13::config::{ConfigFlags, SwitchConfig};
use aldis_wire::v13::error::{
    BadActionCode, BadInstructionCode, BadMatchCode, BadRequestCode, Error, ErrorCode,
    FlowModFailedCode, PortModFailedCode, QueueOpFailedCode, RoleRequestFailedCode,
    TableModFailedCode,
};
use aldis_wire::v13::features::{Capabilities, FeaturesReply};
use aldis_wire::v13::flow_mod::{FlowMod, FlowModCommand};
use aldis_wire::v13::packet_out::PacketOut;
use aldis_wire::v13::port::PortNo;
use aldis_wire::v13::port_mod::PortMod;
use aldis_wire::v13::queue::QueueGetConfigReply;
use aldis_wire::v13::table_mod::TableNo;
use aldis_wire::{Malformed, NO_BUFFER, Reason};
use std::time::Duration;

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
    let begins = |with| malformed.field.starts_with(with);
    match malformed.reason {
        Reason::BadVersion => ErrorCode::BadRequest(BadRequestCode::BAD_VERSION),
        Reason::BadType => ErrorCode::BadRequest(BadRequestCode::BAD_TYPE),
        Reason::BadValue if begins("match") => ErrorCode::BadMatch(BadMatchCode::BAD_TYPE),
        _ if begins("action") => ErrorCode::BadAction(BadActionCode::BAD_LEN),
        _ if begins("instruction") => ErrorCode::BadInstruction(BadInstructionCode::BAD_LEN),
        _ if begins("match") || begins("oxm") => ErrorCode::BadMatch(BadMatchCode::BAD_LEN),
        _ => ErrorCode::BadRequest(BadRequestCode::BAD_LEN),
    }
}

impl RequestFault {
    fn v13(self) -> ErrorCode {
        match self {
            RequestFault::TableFull => ErrorCode::FlowModFailed(FlowModFailedCode::TABLE_FULL),
            RequestFault::Overlap => ErrorCode::FlowModFailed(FlowModFailedCode::OVERLAP),
            RequestFault::BadCommand => ErrorCode::FlowModFailed(FlowModFailedCode::BAD_COMMAND),
            RequestFault::BadFlags => ErrorCode::FlowModFailed(FlowModFailedCode::BAD_FLAGS),
            RequestFault::BufferUnknown => ErrorCode::BadRequest(BadRequestCode::BUFFER_UNKNOWN),
            RequestFault::BadPort => ErrorCode::PortModFailed(PortModFailedCode::BAD_PORT),
            RequestFault::BadHardwareAddress => {
                ErrorCode::PortModFailed(PortModFailedCode::BAD_HW_ADDR)
            }
            RequestFault::BadPacket => ErrorCode::BadRequest(BadRequestCode::BAD_PACKET),
            RequestFault::StaleRole => ErrorCode::RoleRequestFailed(RoleRequestFailedCode::STALE),
            RequestFault::BadRole => ErrorCode::RoleRequestFailed(RoleRequestFailedCode::BAD_ROLE),
        }
    }
}

/// What only a controller that is in charge may ask for.
fn changes(message: &Message) -> bool {
    matches!(
        message,
        Message::PacketOut(_)
            | Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::MeterMod(_)
    )
}

fn answer(
    switch: &mut Datapath,
    message: Message,
    now: Duration,
    out: &mut impl Sink,
) -> Result<Vec<Message>, ErrorCode> {
    if switch.world.session.is_slave() && changes(&message) {
        return Err(ErrorCode::BadRequest(BadRequestCode::IS_SLAVE));
    }
    let one = |message| Ok(vec![message]);
    match message {
        Message::FeaturesRequest => one(Message::FeaturesReply(features(switch))),
        Message::EchoRequest(echo) => one(Message::EchoReply(echo)),
        Message::GetConfigRequest => one(Message::GetConfigReply(SwitchConfig {
            flags: ConfigFlags(switch.world.session.fragments),
            miss_send_len: switch.world.session.miss_send_len,
        })),
        Message::SetConfig(config) => {
            switch.world.session.fragments = config.flags.0 & ConfigFlags::MASK.0;
            switch.world.session.miss_send_len = config.miss_send_len;
            Ok(vec![])
        }
        Message::BarrierRequest => one(Message::BarrierReply),
        Message::RoleRequest(request) => {
            let role = switch.world.session.take_role(request).map_err(RequestFault::v13)?;
            one(Message::RoleReply(role))
        }
        Message::GetAsyncRequest => one(Message::GetAsyncReply(switch.world.session.events)),
        Message::SetAsync(events) => {
            switch.world.session.events = events;
            Ok(vec![])
        }
        Message::MultipartRequest(request) => stats::answer(switch, request, now),
        Message::QueueGetConfigRequest(request) => queues(switch, request.port),
        Message::Experimenter(_) => Err(ErrorCode::BadRequest(BadRequestCode::BAD_EXPERIMENTER)),
        Message::Error(_) | Message::EchoReply(_) | Message::Hello(_) => Ok(vec![]),
        message if changes(&message) => apply(switch, message, now, out).map(|()| vec![]),
        _ => Err(ErrorCode::BadRequest(BadRequestCode::BAD_TYPE)),
    }
}

fn apply(
    switch: &mut Datapath,
    message: Message,
    now: Duration,
    out: &mut impl Sink,
) -> Result<(), ErrorCode> {
    match message {
        Message::FlowMod(flow_mod) => {
            let change = change(switch, flow_mod)?;
            switch.change(change, now, out).map_err(RequestFault::v13)
        }
        Message::PacketOut(packet_out) => packet_out_of(switch, &packet_out, now, out),
        Message::GroupMod(group_mod) => groups::change(switch, group_mod, now, out),
        Message::MeterMod(meter_mod) => meters::change(switch, meter_mod, now, out),
        Message::PortMod(port_mod) => {
            switch.port_mod(&port_change(&port_mod)?, out).map_err(RequestFault::v13)
        }
        // 1.3 left nothing of a table to be configured.
        Message::TableMod(table_mod) => {
            let table = table_mod.table_id;
            let good = table == TableNo::ALL || table.0 < TABLES;
            let refused = ErrorCode::TableModFailed(TableModFailedCode::BAD_TABLE);
            if good { Ok(()) } else { Err(refused) }
        }
        _ => Ok(()),
    }
}

fn features(switch: &Datapath) -> FeaturesReply {
    FeaturesReply {
        datapath_id: switch.dpid,
        n_buffers: 0,
        n_tables: TABLES,
        auxiliary_id: 0,
        capabilities: Capabilities::FLOW_STATS
            | Capabilities::TABLE_STATS
            | Capabilities::PORT_STATS
            | Capabilities::GROUP_STATS
            | Capabilities::QUEUE_STATS,
        reserved: 0,
    }
}

fn queues(switch: &Datapath, port: PortNo) -> Result<Vec<Message>, ErrorCode> {
    if port != PortNo::ANY && switch.world.ports.get(port.0).is_none() {
        return Err(ErrorCode::QueueOpFailed(QueueOpFailedCode::BAD_PORT));
    }
    Ok(vec![Message::QueueGetConfigReply(QueueGetConfigReply { port, queues: vec![] })])
}

/// What a FLOW_MOD means.
fn change(switch: &Datapath, flow_mod: FlowMod) -> Result<FlowChange, ErrorCode> {
    let command = flow_mod.command;
    let delete = matches!(command, FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT);
    let all = flow_mod.table_id == TableNo::ALL;
    if all && !delete || !all && flow_mod.table_id.0 >= TABLES {
        return Err(ErrorCode::FlowModFailed(FlowModFailedCode::BAD_TABLE_ID));
    }
    let pattern = read::pattern(&flow_mod.match_.fields)?;
    let strict = matches!(command, FlowModCommand::MODIFY_STRICT | FlowModCommand::DELETE_STRICT);
    let filter = Filter {
        table: (!all).then_some(flow_mod.table_id.0),
        pattern,
        strict: strict.then_some(flow_mod.priority),
        out_port: (delete && flow_mod.out_port != PortNo::ANY).then_some(flow_mod.out_port.0),
        out_group: (delete && flow_mod.out_group != GroupNo::ANY).then_some(flow_mod.out_group.0),
        cookie: flow_mod.cookie,
        cookie_mask: flow_mod.cookie_mask,
    };
    // The instructions of a removal mean nothing, and have to be right.
    let table = if all { 0 } else { flow_mod.table_id.0 };
    let program = read::program(switch, table, &pattern, &flow_mod.instructions)?;
    if delete {
        return Ok(FlowChange::Delete(filter));
    }
    if flow_mod.flags.0 & !0x1f != 0 {
        return Err(RequestFault::BadFlags.v13());
    }
    if flow_mod.buffer_id != NO_BUFFER {
        return Err(RequestFault::BufferUnknown.v13());
    }
    let new = Addition {
        table,
        pattern,
        priority: flow_mod.priority,
        cookie: flow_mod.cookie,
        idle_timeout: flow_mod.idle_timeout,
        hard_timeout: flow_mod.hard_timeout,
        flags: flow_mod.flags,
        program,
        said: FlowModText::V13 {
            match_: flow_mod.match_.fields.into(),
            instructions: flow_mod.instructions.into(),
        },
    };
    match command {
        FlowModCommand::ADD => Ok(FlowChange::Add(new.into())),
        FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT => {
            Ok(FlowChange::Modify { filter, new: new.into(), as_v10: false })
        }
        _ => Err(RequestFault::BadCommand.v13()),
    }
}

fn packet_out_of(
    switch: &mut Datapath,
    packet_out: &PacketOut,
    now: Duration,
    out: &mut impl Sink,
) -> Result<(), ErrorCode> {
    if packet_out.buffer_id != NO_BUFFER {
        return Err(RequestFault::BufferUnknown.v13());
    }
    let actions = read::packet_out_actions(switch, &packet_out.actions)?;
    let in_port = packet_out.in_port;
    let possible = in_port.0 < PortNo::MAX.0
        || matches!(in_port, PortNo::CONTROLLER | PortNo::LOCAL | PortNo::ANY);
    if !possible || in_port.0 == 0 {
        return Err(ErrorCode::BadRequest(BadRequestCode::BAD_PORT));
    }
    switch.packet_out(in_port.0, &actions, &packet_out.data, now, out).map_err(RequestFault::v13)
}

fn port_change(port_mod: &PortMod) -> Result<PortModChange, ErrorCode> {
    const SETTABLE: u32 = config::DOWN | config::NO_RECV | config::NO_FWD | config::NO_PACKET_IN;
    if (port_mod.config.0 | port_mod.mask.0) & !SETTABLE != 0 {
        return Err(ErrorCode::PortModFailed(PortModFailedCode::BAD_CONFIG));
    }
    Ok(PortModChange {
        port: port_mod.port_no.0,
        address: port_mod.hw_addr,
        config: port_mod.config.0,
        mask: port_mod.mask.0,
    })
}
