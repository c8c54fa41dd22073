//! OpenFlow 1.0 (wire version 0x01): every message, both directions, with exactly the types of the
//! specification.
//!
//! One message a file; [`Message`] is any of them. What [`Message::decode`] reads,
//! [`Message::encode`] writes again byte by byte, values unknown to the specification included;
//! only padding becomes zero, and even that is kept in a [`Match`]. [`packet_in::view`] and
//! [`template`] are the short cuts of the data path: they neither allocate nor build field by
//! field.
//!
//! Sections are those of "OpenFlow Switch Specification", version 1.0.0 (1.0.1 and 1.0.2 change no
//! layout).

pub mod action;
pub mod config;
pub mod convert;
pub mod echo;
pub mod error;
pub mod features;
pub mod flow_mod;
pub mod flow_removed;
pub mod hello;
pub mod match_;
pub mod packet_in;
pub mod packet_out;
pub mod port;
pub mod port_mod;
pub mod port_status;
pub mod queue;
pub mod stats;
pub mod template;
pub mod vendor;

use crate::header::{HEADER_LEN, Header, Version};
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::{TooLong, Writer};
use alloc::vec::Vec;

pub use action::{Action, ActionType};
pub use config::{ConfigFlags, SwitchConfig};
pub use echo::Echo;
pub use error::{Error, ErrorCode};
pub use features::{ActionBits, Capabilities, FeaturesReply};
pub use flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
pub use flow_removed::{FlowRemoved, FlowRemovedReason};
pub use hello::Hello;
pub use match_::{Match, Wildcards};
pub use packet_in::{PacketIn, PacketInReason};
pub use packet_out::PacketOut;
pub use port::{PhyPort, PortConfig, PortFeatures, PortNo, PortState};
pub use port_mod::PortMod;
pub use port_status::{PortReason, PortStatus};
pub use queue::{PacketQueue, QueueGetConfigReply, QueueGetConfigRequest, QueueProperty};
pub use stats::{StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody};
pub use vendor::Vendor;

/// The version that this module speaks.
pub const VERSION: Version = Version::V10;

/// The VLAN id that stands for a frame without a tag (`OFP_VLAN_NONE`, §5.2.3).
pub const VLAN_NONE: u16 = 0xffff;

/// The Ethernet type that stands for an 802.3 frame without one (`OFP_DL_TYPE_NOT_ETH_TYPE`,
/// §5.2.3). Switches of 1.3 have it too.
pub const DL_TYPE_NOT_ETH_TYPE: u16 = 0x05ff;

open_enum! {
    /// The type byte of a header: `enum ofp_type` (§5.1).
    pub struct MessageType(u8) "OFPT_" {
        /// Opens a connection, from both ends.
        HELLO = 0,
        /// Something the peer sent was wrong.
        ERROR = 1,
        /// Are you there?
        ECHO_REQUEST = 2,
        /// Yes, and here are your bytes.
        ECHO_REPLY = 3,
        /// Vendor-defined.
        VENDOR = 4,
        /// Asks the switch what it is and what it can do.
        FEATURES_REQUEST = 5,
        /// The answer, ports included.
        FEATURES_REPLY = 6,
        /// How are you configured?
        GET_CONFIG_REQUEST = 7,
        /// The answer.
        GET_CONFIG_REPLY = 8,
        /// Configures fragment handling and how much of a frame travels in a PACKET_IN.
        SET_CONFIG = 9,
        /// A frame for the controller.
        PACKET_IN = 10,
        /// A flow is gone.
        FLOW_REMOVED = 11,
        /// A port came, went or changed.
        PORT_STATUS = 12,
        /// Send this frame.
        PACKET_OUT = 13,
        /// Changes the flow table.
        FLOW_MOD = 14,
        /// Changes a port's behaviour.
        PORT_MOD = 15,
        /// Asks for statistics.
        STATS_REQUEST = 16,
        /// Statistics, perhaps a part of them.
        STATS_REPLY = 17,
        /// Finish what came before, then answer.
        BARRIER_REQUEST = 18,
        /// Finished.
        BARRIER_REPLY = 19,
        /// Which queues has this port?
        QUEUE_GET_CONFIG_REQUEST = 20,
        /// These.
        QUEUE_GET_CONFIG_REPLY = 21,
    }
}

/// Any message of OpenFlow 1.0. The variants that hold nothing are messages without a body.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Message {
    /// `OFPT_HELLO`
    Hello(Hello),
    /// `OFPT_ERROR`
    Error(Error),
    /// `OFPT_ECHO_REQUEST`
    EchoRequest(Echo),
    /// `OFPT_ECHO_REPLY`
    EchoReply(Echo),
    /// `OFPT_VENDOR`
    Vendor(Vendor),
    /// `OFPT_FEATURES_REQUEST`
    FeaturesRequest,
    /// `OFPT_FEATURES_REPLY`
    FeaturesReply(FeaturesReply),
    /// `OFPT_GET_CONFIG_REQUEST`
    GetConfigRequest,
    /// `OFPT_GET_CONFIG_REPLY`
    GetConfigReply(SwitchConfig),
    /// `OFPT_SET_CONFIG`
    SetConfig(SwitchConfig),
    /// `OFPT_PACKET_IN`
    PacketIn(PacketIn),
    /// `OFPT_FLOW_REMOVED`
    FlowRemoved(FlowRemoved),
    /// `OFPT_PORT_STATUS`
    PortStatus(PortStatus),
    /// `OFPT_PACKET_OUT`
    PacketOut(PacketOut),
    /// `OFPT_FLOW_MOD`
    FlowMod(FlowMod),
    /// `OFPT_PORT_MOD`
    PortMod(PortMod),
    /// `OFPT_STATS_REQUEST`
    StatsRequest(StatsRequest),
    /// `OFPT_STATS_REPLY`
    StatsReply(StatsReply),
    /// `OFPT_BARRIER_REQUEST`
    BarrierRequest,
    /// `OFPT_BARRIER_REPLY`
    BarrierReply,
    /// `OFPT_QUEUE_GET_CONFIG_REQUEST`
    QueueGetConfigRequest(QueueGetConfigRequest),
    /// `OFPT_QUEUE_GET_CONFIG_REPLY`
    QueueGetConfigReply(QueueGetConfigReply),
}

impl Message {
    /// Reads one whole message, as [`Chop`](crate::Chop) cuts them, and its transaction id.
    ///
    /// # Errors
    /// [`Malformed`], naming the first field that is wrong: also where the version is not 1.0,
    /// where the header's length is not that of `bytes`, and where bytes are left over at the end.
    pub fn decode(bytes: &[u8]) -> Result<(u32, Message), Malformed> {
        let header = whole_header(bytes)?;
        let mut reader = Reader::new(bytes);
        reader.pad("header", HEADER_LEN)?;
        let message = Message::read(MessageType(header.kind), &mut reader)?;
        reader.end("message.body")?;
        Ok((header.xid, message))
    }

    /// Appends the message to `out`.
    ///
    /// # Errors
    /// [`TooLong`] where a length does not fit its field; `out` is then as it was.
    pub fn encode(&self, xid: u32, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let mut writer = Writer::message(out, VERSION.wire(), self.kind(), xid);
        self.write(&mut writer);
        writer.finish()
    }

    /// The header's type byte.
    pub fn kind(&self) -> u8 {
        self.message_type().0
    }

    /// The specification's name of the message's type, as `OFPT_FLOW_MOD`.
    pub fn name(&self) -> &'static str {
        self.message_type().name().unwrap_or_default()
    }

    /// The message's type.
    pub fn message_type(&self) -> MessageType {
        match self {
            Message::Hello(_) => MessageType::HELLO,
            Message::Error(_) => MessageType::ERROR,
            Message::EchoRequest(_) => MessageType::ECHO_REQUEST,
            Message::EchoReply(_) => MessageType::ECHO_REPLY,
            Message::Vendor(_) => MessageType::VENDOR,
            Message::FeaturesRequest => MessageType::FEATURES_REQUEST,
            Message::FeaturesReply(_) => MessageType::FEATURES_REPLY,
            Message::GetConfigRequest => MessageType::GET_CONFIG_REQUEST,
            Message::GetConfigReply(_) => MessageType::GET_CONFIG_REPLY,
            Message::SetConfig(_) => MessageType::SET_CONFIG,
            Message::PacketIn(_) => MessageType::PACKET_IN,
            Message::FlowRemoved(_) => MessageType::FLOW_REMOVED,
            Message::PortStatus(_) => MessageType::PORT_STATUS,
            Message::PacketOut(_) => MessageType::PACKET_OUT,
            Message::FlowMod(_) => MessageType::FLOW_MOD,
            Message::PortMod(_) => MessageType::PORT_MOD,
            Message::StatsRequest(_) => MessageType::STATS_REQUEST,
            Message::StatsReply(_) => MessageType::STATS_REPLY,
            Message::BarrierRequest => MessageType::BARRIER_REQUEST,
            Message::BarrierReply => MessageType::BARRIER_REPLY,
            Message::QueueGetConfigRequest(_) => MessageType::QUEUE_GET_CONFIG_REQUEST,
            Message::QueueGetConfigReply(_) => MessageType::QUEUE_GET_CONFIG_REPLY,
        }
    }

    fn read(kind: MessageType, reader: &mut Reader<'_>) -> Result<Message, Malformed> {
        Ok(match kind {
            MessageType::HELLO => Message::Hello(Hello::read(reader)?),
            MessageType::ERROR => Message::Error(Error::read(reader)?),
            MessageType::ECHO_REQUEST => Message::EchoRequest(Echo::read(reader)?),
            MessageType::ECHO_REPLY => Message::EchoReply(Echo::read(reader)?),
            MessageType::VENDOR => Message::Vendor(Vendor::read(reader)?),
            MessageType::FEATURES_REQUEST => Message::FeaturesRequest,
            MessageType::FEATURES_REPLY => Message::FeaturesReply(FeaturesReply::read(reader)?),
            MessageType::GET_CONFIG_REQUEST => Message::GetConfigRequest,
            MessageType::GET_CONFIG_REPLY => Message::GetConfigReply(SwitchConfig::read(reader)?),
            MessageType::SET_CONFIG => Message::SetConfig(SwitchConfig::read(reader)?),
            MessageType::PACKET_IN => Message::PacketIn(PacketIn::read(reader)?),
            MessageType::FLOW_REMOVED => Message::FlowRemoved(FlowRemoved::read(reader)?),
            MessageType::PORT_STATUS => Message::PortStatus(PortStatus::read(reader)?),
            MessageType::PACKET_OUT => Message::PacketOut(PacketOut::read(reader)?),
            MessageType::FLOW_MOD => Message::FlowMod(FlowMod::read(reader)?),
            MessageType::PORT_MOD => Message::PortMod(PortMod::read(reader)?),
            MessageType::STATS_REQUEST => Message::StatsRequest(StatsRequest::read(reader)?),
            MessageType::STATS_REPLY => Message::StatsReply(StatsReply::read(reader)?),
            MessageType::BARRIER_REQUEST => Message::BarrierRequest,
            MessageType::BARRIER_REPLY => Message::BarrierReply,
            MessageType::QUEUE_GET_CONFIG_REQUEST => {
                Message::QueueGetConfigRequest(QueueGetConfigRequest::read(reader)?)
            }
            MessageType::QUEUE_GET_CONFIG_REPLY => {
                Message::QueueGetConfigReply(QueueGetConfigReply::read(reader)?)
            }
            _ => {
                return Err(Malformed { field: "header.type", offset: 1, reason: Reason::BadType });
            }
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Message::Hello(hello) => hello.write(writer),
            Message::Error(error) => error.write(writer),
            Message::EchoRequest(echo) | Message::EchoReply(echo) => echo.write(writer),
            Message::Vendor(vendor) => vendor.write(writer),
            Message::FeaturesReply(reply) => reply.write(writer),
            Message::GetConfigReply(config) | Message::SetConfig(config) => config.write(writer),
            Message::PacketIn(packet_in) => packet_in.write(writer),
            Message::FlowRemoved(removed) => removed.write(writer),
            Message::PortStatus(status) => status.write(writer),
            Message::PacketOut(packet_out) => packet_out.write(writer),
            Message::FlowMod(flow_mod) => flow_mod.write(writer),
            Message::PortMod(port_mod) => port_mod.write(writer),
            Message::StatsRequest(request) => request.write(writer),
            Message::StatsReply(reply) => reply.write(writer),
            Message::QueueGetConfigRequest(request) => request.write(writer),
            Message::QueueGetConfigReply(reply) => reply.write(writer),
            Message::FeaturesRequest
            | Message::GetConfigRequest
            | Message::BarrierRequest
            | Message::BarrierReply => {}
        }
    }
}

/// The header of `bytes`, which must be one whole message of this version.
fn whole_header(bytes: &[u8]) -> Result<Header, Malformed> {
    let header = Header::peek(bytes)?.ok_or(Malformed {
        field: "header",
        offset: 0,
        reason: Reason::Truncated,
    })?;
    if header.version != VERSION.wire() {
        return Err(Malformed { field: "header.version", offset: 0, reason: Reason::BadVersion });
    }
    if header.length as usize != bytes.len() {
        return Err(Malformed { field: "header.length", offset: 2, reason: Reason::BadLength });
    }
    Ok(header)
}

/// Reads structures until nothing is left. Each takes at least one byte, so the input bounds the
/// list.
fn read_all<'a, T>(
    reader: &mut Reader<'a>,
    read: impl Fn(&mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut all = Vec::new();
    while !reader.is_empty() {
        all.push(read(reader)?);
    }
    Ok(all)
}
