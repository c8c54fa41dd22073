//! OpenFlow 1.3 and the neutral vocabulary: the one place where the two meet.
//!
//! The neutral words are those of 1.3, so that most messages pass as they are. What is said
//! otherwise is features, ports and errors; what is refused is what 1.0 alone can say: its own
//! actions ([`Action::Unknown`] under their numbers), spanning tree, and ports left out of floods.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::msg::{
    Action, EncodeError, ErrorCode, Exact, Features, Instruction, Message, Port, PortChange,
    PortChangeReason, PortDetails, StatsReply, StatsReplyBody, SwitchError, Unsupported,
};
use crate::v10;
use crate::v13::error::{BadActionCode, BadRequestCode, HelloFailedCode};
use crate::v13::port::{PortConfig, PortState};
use crate::v13::port_status::{PortReason, PortStatus};
use crate::v13::{self, MessageType, VERSION};
use crate::writer::Writer;

/// Bits of the configuration of a port that 1.0 alone has: `NO_STP`, `NO_RECV_STP` and `NO_FLOOD`.
const CONFIG_V10: u32 = 1 << 1 | 1 << 3 | 1 << 4;

/// Bits of the state of a port that 1.0 alone has: spanning tree.
const STATE_V10: u32 = 3 << 8;

/// `OFPC_ARP_MATCH_IP`, and the bit that 1.0 reserves.
const CAPABILITIES_V10: u32 = 1 << 7 | 1 << 4;

/// The highest type of an action in 1.0, but for the vendor's.
const ACTION_V10_MAX: u16 = 11;

fn unsupported(feature: &'static str) -> Unsupported {
    Unsupported { feature, version: VERSION }
}

/// The message in neutral words where they give it back exactly, and as it is where not.
pub fn to_neutral(exact: v13::Message) -> Message {
    use v13::Message as M;
    match exact {
        // What both vocabularies have in one type passes without a copy.
        M::PacketIn(packet_in) => Message::PacketIn(packet_in),
        M::FlowMod(flow_mod) if check_instructions(&flow_mod.instructions).is_ok() => {
            Message::FlowMod(flow_mod)
        }
        M::PacketOut(packet_out) if check_actions(&packet_out.actions).is_ok() => {
            Message::PacketOut(packet_out)
        }
        exact => match meaning(&exact) {
            Some(neutral) if from_neutral(&neutral).as_ref() == Ok(&exact) => neutral,
            _ => Message::Other(Exact::V13(Box::new(exact))),
        },
    }
}

/// Appends the message to `out`, with its header, as 1.3 says it.
///
/// # Errors
/// It cannot, or it is too long; `out` is then unchanged.
pub fn encode(neutral: &Message, xid: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let header = |kind: MessageType, out| Writer::message(out, VERSION.wire(), kind.0, xid);
    match neutral {
        Message::FlowMod(flow_mod) => {
            check_instructions(&flow_mod.instructions)?;
            let mut writer = header(MessageType::FLOW_MOD, out);
            flow_mod.write(&mut writer);
            Ok(writer.finish()?)
        }
        Message::PacketOut(packet_out) => {
            check_actions(&packet_out.actions)?;
            let mut writer = header(MessageType::PACKET_OUT, out);
            packet_out.write(&mut writer);
            Ok(writer.finish()?)
        }
        _ => Ok(from_neutral(neutral)?.encode(xid, out)?),
    }
}

/// What the message means, in neutral words; `None` where they cannot say it.
pub fn meaning(exact: &v13::Message) -> Option<Message> {
    use v13::Message as M;
    let neutral = match exact {
        M::Hello(hello) => Message::Hello(hello.clone()),
        M::Error(error) => Message::Error(SwitchError {
            code: ErrorCode::V13(error.code),
            data: error.data.clone(),
        }),
        M::EchoRequest(echo) => Message::EchoRequest(echo.clone()),
        M::EchoReply(echo) => Message::EchoReply(echo.clone()),
        M::Experimenter(experimenter) => Message::Experimenter(experimenter.clone()),
        M::FeaturesRequest => Message::FeaturesRequest,
        M::FeaturesReply(reply) => Message::FeaturesReply(features(reply)),
        M::GetConfigRequest => Message::GetConfigRequest,
        M::GetConfigReply(config) => Message::GetConfigReply(*config),
        M::SetConfig(config) => Message::SetConfig(*config),
        M::PacketIn(packet_in) => Message::PacketIn(packet_in.clone()),
        M::FlowRemoved(removed) => Message::FlowRemoved(removed.clone()),
        M::PortStatus(status) => Message::PortChange(port_change(status)),
        M::PacketOut(packet_out) => Message::PacketOut(packet_out.clone()),
        M::FlowMod(flow_mod) => Message::FlowMod(flow_mod.clone()),
        M::GroupMod(group_mod) => Message::GroupMod(group_mod.clone()),
        M::PortMod(port_mod) => Message::PortMod(*port_mod),
        M::TableMod(table_mod) => Message::TableMod(*table_mod),
        M::MultipartRequest(request) => Message::StatsRequest(request.clone()),
        M::MultipartReply(reply) => Message::StatsReply(reply.clone()),
        M::BarrierRequest => Message::BarrierRequest,
        M::BarrierReply => Message::BarrierReply,
        M::QueueGetConfigRequest(request) => Message::QueueGetConfigRequest(*request),
        M::QueueGetConfigReply(config) => Message::QueueGetConfigReply(config.clone()),
        M::RoleRequest(role) => Message::RoleRequest(*role),
        M::RoleReply(role) => Message::RoleReply(*role),
        M::GetAsyncRequest => Message::GetAsyncRequest,
        M::GetAsyncReply(config) => Message::GetAsyncReply(*config),
        M::SetAsync(config) => Message::SetAsync(*config),
        M::MeterMod(meter_mod) => Message::MeterMod(meter_mod.clone()),
    };
    // What these words would mean to others is not what 1.3 meant.
    check(&neutral).ok().map(|()| neutral)
}

/// The message as 1.3 says it.
///
/// # Errors
/// [`Unsupported`] where it cannot.
pub fn from_neutral(neutral: &Message) -> Result<v13::Message, Unsupported> {
    use v13::Message as M;
    check(neutral)?;
    Ok(match neutral {
        Message::Hello(hello) => M::Hello(hello.clone()),
        Message::Error(error) => {
            let code = error_code_from_neutral(error.code)?;
            M::Error(v13::Error { code, data: error.data.clone() })
        }
        Message::EchoRequest(echo) => M::EchoRequest(echo.clone()),
        Message::EchoReply(echo) => M::EchoReply(echo.clone()),
        Message::Experimenter(experimenter) => M::Experimenter(experimenter.clone()),
        Message::FeaturesRequest => M::FeaturesRequest,
        Message::FeaturesReply(features) => M::FeaturesReply(features_from_neutral(features)?),
        Message::GetConfigRequest => M::GetConfigRequest,
        Message::GetConfigReply(config) => M::GetConfigReply(*config),
        Message::SetConfig(config) => M::SetConfig(*config),
        Message::PacketIn(packet_in) => M::PacketIn(packet_in.clone()),
        Message::FlowRemoved(removed) => M::FlowRemoved(removed.clone()),
        Message::PortChange(change) => M::PortStatus(port_change_from_neutral(change)?),
        Message::PacketOut(packet_out) => M::PacketOut(packet_out.clone()),
        Message::FlowMod(flow_mod) => M::FlowMod(flow_mod.clone()),
        Message::GroupMod(group_mod) => M::GroupMod(group_mod.clone()),
        Message::PortMod(port_mod) => M::PortMod(*port_mod),
        Message::TableMod(table_mod) => M::TableMod(*table_mod),
        Message::StatsRequest(request) => M::MultipartRequest(request.clone()),
        Message::StatsReply(reply) => M::MultipartReply(reply.clone()),
        Message::BarrierRequest => M::BarrierRequest,
        Message::BarrierReply => M::BarrierReply,
        Message::QueueGetConfigRequest(request) => M::QueueGetConfigRequest(*request),
        Message::QueueGetConfigReply(config) => M::QueueGetConfigReply(config.clone()),
        Message::RoleRequest(role) => M::RoleRequest(*role),
        Message::RoleReply(role) => M::RoleReply(*role),
        Message::GetAsyncRequest => M::GetAsyncRequest,
        Message::GetAsyncReply(config) => M::GetAsyncReply(*config),
        Message::SetAsync(config) => M::SetAsync(*config),
        Message::MeterMod(meter_mod) => M::MeterMod(meter_mod.clone()),
        Message::Other(Exact::V13(exact)) => (**exact).clone(),
        Message::Other(Exact::V10(exact)) => match v10::convert::meaning(exact) {
            Some(neutral) => from_neutral(&neutral)?,
            None => return Err(unsupported("this message of OpenFlow 1.0")),
        },
    })
}

/// Whether 1.3 has words for all of it.
fn check(neutral: &Message) -> Result<(), Unsupported> {
    match neutral {
        Message::FlowMod(flow_mod) => check_instructions(&flow_mod.instructions),
        Message::PacketOut(packet_out) => check_actions(&packet_out.actions),
        Message::GroupMod(group_mod) => {
            group_mod.buckets.iter().try_for_each(|bucket| check_actions(&bucket.actions))
        }
        Message::StatsReply(StatsReply { body: StatsReplyBody::Flow(flows), .. }) => {
            flows.iter().try_for_each(|flow| check_instructions(&flow.instructions))
        }
        Message::PortMod(port_mod) if (port_mod.config | port_mod.mask).0 & CONFIG_V10 != 0 => {
            Err(unsupported("a port left out of floods or of spanning tree"))
        }
        _ => Ok(()),
    }
}

fn check_instructions(instructions: &[Instruction]) -> Result<(), Unsupported> {
    instructions.iter().try_for_each(|instruction| match instruction {
        Instruction::ApplyActions(actions)
        | Instruction::WriteActions(actions)
        | Instruction::ClearActions(actions) => check_actions(actions),
        _ => Ok(()),
    })
}

/// A raw action whose number means something in either version is one of 1.0: here it is read
/// typed, or is nothing.
fn check_actions(actions: &[Action]) -> Result<(), Unsupported> {
    let of_v10 = |action: &Action| match action {
        Action::Unknown { kind, .. } => kind.0 <= ACTION_V10_MAX || kind.name().is_some(),
        _ => false,
    };
    match actions.iter().any(of_v10) {
        true => Err(unsupported("an action whose effect depends on what packet comes")),
        false => Ok(()),
    }
}

/// The types of error that both versions have under one number, and the codes that both name.
fn error_code_from_neutral(code: ErrorCode) -> Result<v13::ErrorCode, Unsupported> {
    Ok(match code {
        ErrorCode::V13(code) => code,
        ErrorCode::V10(code) if code.name().is_none() => {
            return Err(unsupported("an error of this code"));
        }
        ErrorCode::V10(v10::ErrorCode::HelloFailed(code)) => {
            v13::ErrorCode::HelloFailed(HelloFailedCode(code.0))
        }
        ErrorCode::V10(v10::ErrorCode::BadRequest(code)) => {
            v13::ErrorCode::BadRequest(BadRequestCode(code.0))
        }
        ErrorCode::V10(v10::ErrorCode::BadAction(code)) => {
            v13::ErrorCode::BadAction(BadActionCode(code.0))
        }
        ErrorCode::V10(_) => return Err(unsupported("an error of this type")),
    })
}

fn features(exact: &v13::FeaturesReply) -> Features {
    Features {
        datapath_id: exact.datapath_id,
        n_buffers: exact.n_buffers,
        n_tables: exact.n_tables,
        auxiliary_id: exact.auxiliary_id,
        capabilities: exact.capabilities,
        actions: None,
        ports: Default::default(),
    }
}

fn features_from_neutral(neutral: &Features) -> Result<v13::FeaturesReply, Unsupported> {
    if neutral.actions.is_some() || neutral.capabilities.0 & CAPABILITIES_V10 != 0 {
        return Err(unsupported("the actions of a switch in its features"));
    }
    if !neutral.ports.is_empty() {
        return Err(unsupported("the ports of a switch in its features"));
    }
    Ok(v13::FeaturesReply {
        datapath_id: neutral.datapath_id,
        n_buffers: neutral.n_buffers,
        n_tables: neutral.n_tables,
        auxiliary_id: neutral.auxiliary_id,
        capabilities: neutral.capabilities,
        reserved: 0,
    })
}

/// The port in neutral words.
pub fn port(exact: &v13::Port) -> Port {
    Port {
        number: exact.port_no,
        hw_addr: exact.hw_addr,
        name: exact.name,
        admin_down: exact.config.contains(PortConfig::PORT_DOWN),
        link_down: exact.state.contains(PortState::LINK_DOWN),
        speed_kbps: exact.curr_speed,
        details: PortDetails {
            config: PortConfig(exact.config.0 & !PortConfig::PORT_DOWN.0),
            state: PortState(exact.state.0 & !PortState::LINK_DOWN.0),
            current: exact.curr,
            advertised: exact.advertised,
            supported: exact.supported,
            peer: exact.peer,
            max_speed_kbps: exact.max_speed,
        },
    }
}

/// The port as 1.3 says it.
///
/// # Errors
/// [`Unsupported`] for what 1.0 alone says of a port: spanning tree, and that it is left out of
/// floods.
pub fn port_from_neutral(neutral: &Port) -> Result<v13::Port, Unsupported> {
    let Port { details, .. } = neutral;
    if details.config.0 & CONFIG_V10 != 0 || details.state.0 & STATE_V10 != 0 {
        return Err(unsupported("a port left out of floods or of spanning tree"));
    }
    Ok(v13::Port {
        port_no: neutral.number,
        hw_addr: neutral.hw_addr,
        name: neutral.name,
        config: PortConfig(details.config.0 | u32::from(neutral.admin_down)),
        state: PortState(details.state.0 | u32::from(neutral.link_down)),
        curr: details.current,
        advertised: details.advertised,
        supported: details.supported,
        peer: details.peer,
        curr_speed: neutral.speed_kbps,
        max_speed: details.max_speed_kbps,
    })
}

/// What happened to a port. A reason that 1.3 does not name is taken for a change.
pub fn port_change(exact: &PortStatus) -> PortChange {
    let reason = match exact.reason {
        PortReason::ADD => PortChangeReason::Added,
        PortReason::DELETE => PortChangeReason::Removed,
        _ => PortChangeReason::Modified,
    };
    PortChange { reason, port: port(&exact.desc) }
}

fn port_change_from_neutral(neutral: &PortChange) -> Result<PortStatus, Unsupported> {
    let reason = match neutral.reason {
        PortChangeReason::Added => PortReason::ADD,
        PortChangeReason::Removed => PortReason::DELETE,
        PortChangeReason::Modified => PortReason::MODIFY,
    };
    Ok(PortStatus { reason, desc: port_from_neutral(&neutral.port)? })
}
