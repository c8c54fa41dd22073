//! OpenFlow 1.0 and the neutral vocabulary: the one place where the two meet.
//!
//! [`meaning`] says a message in neutral words; [`from_neutral`] says neutral words in 1.0.
//! [`to_neutral`] uses the neutral words only where they give the very same message back.
//!
//! Ports are widened from 16 bits to 32, the reserved ones with them ([`v10::PortNo::widen`]). A
//! deletion reaches every table, everything else is about the first. The one difference that a name
//! hides: a PACKET_OUT of the controller's own comes from `OFPP_NONE` in 1.0 and from
//! `OFPP_CONTROLLER` in 1.3, and the neutral words follow 1.3.

mod actions;
mod fields;
mod flows;
mod ports;
mod stats;

pub use actions::{Packet, actions_from_neutral, actions_to_neutral};
pub use fields::{match_from_neutral, match_to_neutral};
pub use ports::{port, port_change, port_from_neutral};

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::msg::{
    Capabilities, ConfigFlags, Echo, ErrorCode, Exact, Experimenter, Features, Field, Hello,
    Message, PacketQueue, PortNo, QueueGetConfigReply, QueueGetConfigRequest, QueueNo,
    QueueProperty, SwitchConfig, SwitchError, Unsupported,
};
use crate::v10::{self, VERSION};
use crate::v13;

/// A combination of match fields that 1.0 would read as another match.
const UNPLAIN_MATCH: &str = "a match field twice or without its prerequisites";

/// The capabilities whose bits mean the same in both versions, and `OFPC_ARP_MATCH_IP`, which 1.3
/// does not name.
const CAPABILITIES: u32 = 0xe7;

fn unsupported(feature: &'static str) -> Unsupported {
    Unsupported { feature, version: VERSION }
}

fn field_name(field: &Field) -> &'static str {
    field.header().name().unwrap_or("an experimenter's match field")
}

fn narrow(port: PortNo) -> Result<v10::PortNo, Unsupported> {
    v10::PortNo::narrow(port.0).ok_or(unsupported("a port number above 16 bits"))
}

/// The message in neutral words where they give it back exactly, and as it is where not.
pub fn to_neutral(exact: v10::Message) -> Message {
    match meaning(&exact) {
        Some(neutral) if from_neutral(&neutral).as_ref() == Ok(&exact) => neutral,
        _ => Message::Other(Exact::V10(Box::new(exact))),
    }
}

/// What the message means, in neutral words; `None` where they cannot say it.
pub fn meaning(exact: &v10::Message) -> Option<Message> {
    use v10::Message as M;
    Some(match exact {
        M::Hello(hello) => Message::Hello(Hello::read_body(&hello.body).ok()?),
        M::Error(error) => Message::Error(SwitchError {
            code: ErrorCode::V10(error.code),
            data: error.data.clone(),
        }),
        M::EchoRequest(echo) => Message::EchoRequest(Echo { data: echo.data.clone() }),
        M::EchoReply(echo) => Message::EchoReply(Echo { data: echo.data.clone() }),
        M::Vendor(vendor) => Message::Experimenter(experimenter(vendor)?),
        M::FeaturesRequest => Message::FeaturesRequest,
        M::FeaturesReply(reply) => Message::FeaturesReply(features(reply)),
        M::GetConfigRequest => Message::GetConfigRequest,
        M::GetConfigReply(config) => Message::GetConfigReply(switch_config(*config)),
        M::SetConfig(config) => Message::SetConfig(switch_config(*config)),
        M::PacketIn(packet_in) => Message::PacketIn(flows::packet_in(packet_in)?),
        M::FlowRemoved(removed) => Message::FlowRemoved(flows::flow_removed(removed)?),
        M::PortStatus(status) => Message::PortChange(port_change(status)),
        M::PacketOut(packet_out) => Message::PacketOut(flows::packet_out(packet_out)?),
        M::FlowMod(flow_mod) => Message::FlowMod(flows::flow_mod(flow_mod)?),
        M::PortMod(port_mod) => Message::PortMod(ports::port_mod(port_mod)),
        M::StatsRequest(request) => Message::StatsRequest(stats::request(request)?),
        M::StatsReply(reply) => Message::StatsReply(stats::reply(reply)?),
        M::BarrierRequest => Message::BarrierRequest,
        M::BarrierReply => Message::BarrierReply,
        M::QueueGetConfigRequest(request) => {
            let port = PortNo(request.port.widen());
            Message::QueueGetConfigRequest(QueueGetConfigRequest { port })
        }
        M::QueueGetConfigReply(reply) => Message::QueueGetConfigReply(queue_config(reply)?),
    })
}

/// The message as 1.0 says it.
///
/// # Errors
/// [`Unsupported`] where it cannot.
pub fn from_neutral(neutral: &Message) -> Result<v10::Message, Unsupported> {
    use v10::Message as M;
    Ok(match neutral {
        Message::Hello(hello) => M::Hello(hello_from_neutral(hello)?),
        Message::Error(error) => {
            let code = error_code_from_neutral(error.code)?;
            M::Error(v10::Error { code, data: error.data.clone() })
        }
        Message::EchoRequest(echo) => M::EchoRequest(v10::Echo { data: echo.data.clone() }),
        Message::EchoReply(echo) => M::EchoReply(v10::Echo { data: echo.data.clone() }),
        Message::Experimenter(experimenter) => M::Vendor(vendor(experimenter)),
        Message::FeaturesRequest => M::FeaturesRequest,
        Message::FeaturesReply(features) => M::FeaturesReply(features_from_neutral(features)?),
        Message::GetConfigRequest => M::GetConfigRequest,
        Message::GetConfigReply(config) => M::GetConfigReply(config_from_neutral(*config)),
        Message::SetConfig(config) => M::SetConfig(config_from_neutral(*config)),
        Message::PacketIn(packet_in) => M::PacketIn(flows::packet_in_from_neutral(packet_in)?),
        Message::FlowRemoved(removed) => M::FlowRemoved(flows::flow_removed_from_neutral(removed)?),
        Message::PortChange(change) => M::PortStatus(ports::port_change_from_neutral(change)?),
        Message::PacketOut(packet_out) => M::PacketOut(flows::packet_out_from_neutral(packet_out)?),
        Message::FlowMod(flow_mod) => M::FlowMod(flows::flow_mod_from_neutral(flow_mod)?),
        Message::PortMod(port_mod) => M::PortMod(ports::port_mod_from_neutral(port_mod)?),
        Message::StatsRequest(request) => M::StatsRequest(stats::request_from_neutral(request)?),
        Message::StatsReply(reply) => M::StatsReply(stats::reply_from_neutral(reply)?),
        Message::BarrierRequest => M::BarrierRequest,
        Message::BarrierReply => M::BarrierReply,
        Message::QueueGetConfigRequest(request) => {
            M::QueueGetConfigRequest(v10::QueueGetConfigRequest { port: narrow(request.port)? })
        }
        Message::QueueGetConfigReply(config) => {
            M::QueueGetConfigReply(queue_config_from_neutral(config)?)
        }
        Message::GroupMod(_) => return Err(unsupported("a group")),
        Message::MeterMod(_) => return Err(unsupported("a meter")),
        Message::TableMod(_) => return Err(unsupported("the configuration of a table")),
        Message::RoleRequest(_) | Message::RoleReply(_) => return Err(unsupported("a role")),
        Message::GetAsyncRequest | Message::GetAsyncReply(_) | Message::SetAsync(_) => {
            return Err(unsupported("which events a controller gets"));
        }
        Message::Other(Exact::V10(exact)) => (**exact).clone(),
        Message::Other(Exact::V13(exact)) => match v13::convert::meaning(exact) {
            Some(neutral) => from_neutral(&neutral)?,
            None => return Err(unsupported("this message of OpenFlow 1.3")),
        },
    })
}

fn hello_from_neutral(hello: &Hello) -> Result<v10::Hello, Unsupported> {
    // The elements are the same in every version, and so is the way they are written.
    let mut message = Vec::new();
    v13::Message::Hello(hello.clone())
        .encode(0, &mut message)
        .map_err(|_| unsupported("a HELLO of this length"))?;
    Ok(v10::Hello { body: message.split_off(crate::header::HEADER_LEN) })
}

/// The types of error that both versions have under one number; 1.3 only added codes to them.
fn error_code_from_neutral(code: ErrorCode) -> Result<v10::ErrorCode, Unsupported> {
    use v13::ErrorCode::{BadAction, BadRequest, HelloFailed};
    let common = match code {
        ErrorCode::V10(code) => return Ok(code),
        ErrorCode::V13(code @ (HelloFailed(_) | BadRequest(_) | BadAction(_))) => {
            v10::ErrorCode::from_wire(code.error_type().0, code.code())
        }
        ErrorCode::V13(_) => return Err(unsupported("an error of this type")),
    };
    match common.name() {
        Some(_) => Ok(common),
        None => Err(unsupported("an error of this code")),
    }
}

fn experimenter(exact: &v10::Vendor) -> Option<Experimenter> {
    let (exp_type, body) = exact.body.split_first_chunk()?;
    let exp_type = u32::from_be_bytes(*exp_type);
    Some(Experimenter { experimenter: exact.vendor, exp_type, body: body.to_vec() })
}

fn vendor(neutral: &Experimenter) -> v10::Vendor {
    let body = [&neutral.exp_type.to_be_bytes()[..], &neutral.body].concat();
    v10::Vendor { vendor: neutral.experimenter, body }
}

fn features(exact: &v10::FeaturesReply) -> Features {
    Features {
        datapath_id: exact.datapath_id,
        n_buffers: exact.n_buffers,
        n_tables: exact.n_tables,
        auxiliary_id: 0,
        capabilities: Capabilities(exact.capabilities.0 & CAPABILITIES),
        actions: Some(exact.actions),
        ports: exact.ports.iter().map(port).collect(),
    }
}

fn features_from_neutral(neutral: &Features) -> Result<v10::FeaturesReply, Unsupported> {
    if neutral.auxiliary_id != 0 {
        return Err(unsupported("an auxiliary connection"));
    }
    if neutral.capabilities.0 & !CAPABILITIES != 0 {
        return Err(unsupported("a capability that came with groups"));
    }
    Ok(v10::FeaturesReply {
        datapath_id: neutral.datapath_id,
        n_buffers: neutral.n_buffers,
        n_tables: neutral.n_tables,
        capabilities: v10::Capabilities(neutral.capabilities.0),
        actions: neutral.actions.unwrap_or_default(),
        ports: neutral.ports.iter().map(port_from_neutral).collect::<Result<_, _>>()?,
    })
}

fn switch_config(exact: v10::SwitchConfig) -> SwitchConfig {
    SwitchConfig { flags: ConfigFlags(exact.flags.0), miss_send_len: exact.miss_send_len }
}

fn config_from_neutral(neutral: SwitchConfig) -> v10::SwitchConfig {
    let flags = v10::ConfigFlags(neutral.flags.0);
    v10::SwitchConfig { flags, miss_send_len: neutral.miss_send_len }
}

fn queue_config(exact: &v10::QueueGetConfigReply) -> Option<QueueGetConfigReply> {
    let port = PortNo(exact.port.widen());
    let queue = |queue: &v10::PacketQueue| {
        let properties = queue.properties.iter().map(|property| match property {
            v10::QueueProperty::MinRate(rate) => Some(QueueProperty::MinRate(*rate)),
            v10::QueueProperty::Other { .. } => None,
        });
        let properties = properties.collect::<Option<_>>()?;
        Some(PacketQueue { queue_id: QueueNo(queue.queue_id), port, properties })
    };
    Some(QueueGetConfigReply {
        port,
        queues: exact.queues.iter().map(queue).collect::<Option<_>>()?,
    })
}

fn queue_config_from_neutral(
    neutral: &QueueGetConfigReply,
) -> Result<v10::QueueGetConfigReply, Unsupported> {
    let property = |property: &QueueProperty| match property {
        QueueProperty::MinRate(rate) => Ok(v10::QueueProperty::MinRate(*rate)),
        _ => Err(unsupported("a property of a queue besides its least rate")),
    };
    let queue = |queue: &PacketQueue| match queue.port == neutral.port {
        true => Ok(v10::PacketQueue {
            queue_id: queue.queue_id.0,
            properties: queue.properties.iter().map(property).collect::<Result<_, _>>()?,
        }),
        false => Err(unsupported("the queues of several ports")),
    };
    Ok(v10::QueueGetConfigReply {
        port: narrow(neutral.port)?,
        queues: neutral.queues.iter().map(queue).collect::<Result<_, _>>()?,
    })
}
