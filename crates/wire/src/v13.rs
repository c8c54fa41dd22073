//! OpenFlow 1.3.5 (wire version 0x04), exactly: every message in both directions, one message a
//! file.
//!
//! [`Message::decode`] takes one whole message as [`Chop`](crate::Chop) cuts it;
//! [`Message::encode`] appends one. What this version does not name (an action, an instruction, a
//! match field, a multipart kind, …) is kept raw, so that decoding and encoding gives the same
//! bytes again wherever the padding was zero. Section numbers are those of the OpenFlow Switch
//! Specification 1.3.5.
//!
//! Deliberately not here: what a message means. Nothing checks that a port exists or that a match
//! has its prerequisites; that is for the switch to say.

pub mod action;
pub mod async_config;
pub mod bucket;
pub mod config;
pub mod convert;
pub mod echo;
pub mod error;
pub mod experimenter;
pub mod features;
pub mod flow_mod;
pub mod flow_removed;
pub mod group_mod;
pub mod hello;
pub mod instruction;
pub mod match_;
pub mod meter_band;
pub mod meter_mod;
pub mod oxm;
pub mod packet_in;
pub mod packet_out;
pub mod port;
pub mod port_mod;
pub mod port_status;
pub mod queue;
pub mod role;
pub mod stats;
pub mod table_mod;
pub mod template;

pub use action::{Action, ActionType};
pub use async_config::{AsyncConfig, AsyncMasks};
pub use bucket::{Bucket, GroupNo};
pub use config::{ConfigFlags, SwitchConfig};
pub use echo::Echo;
pub use error::{Error, ErrorCode, ErrorType};
pub use experimenter::Experimenter;
pub use features::{Capabilities, FeaturesReply};
pub use flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
pub use flow_removed::{FlowRemoved, FlowRemovedReason};
pub use group_mod::{GroupMod, GroupModCommand, GroupType};
pub use hello::{Hello, HelloElement};
pub use instruction::{Instruction, InstructionType};
pub use match_::Match;
pub use meter_band::{BandEffect, BandType, MeterBand};
pub use meter_mod::{MeterFlags, MeterMod, MeterModCommand, MeterNo};
pub use oxm::{Masked, Oxm, OxmHeader, OxmId, RawOxm};
pub use packet_in::{PacketIn, PacketInReason};
pub use packet_out::PacketOut;
pub use port::{Port, PortConfig, PortFeatures, PortNo, PortState};
pub use port_mod::PortMod;
pub use port_status::{PortReason, PortStatus};
pub use queue::{PacketQueue, QueueGetConfigReply, QueueGetConfigRequest, QueueNo, QueueProperty};
pub use role::{Role, RoleMessage};
pub use stats::{
    MultipartFlags, MultipartReply, MultipartReplyBody, MultipartRequest, MultipartRequestBody,
    MultipartType,
};
pub use table_mod::{TableConfig, TableMod, TableNo};

use crate::header::{HEADER_LEN, Header, Version};
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::{TooLong, Writer};
use alloc::vec::Vec;

/// The version that this module speaks.
pub const VERSION: Version = Version::V13;

open_enum! {
    /// The type byte of a header: `OFPT_*` (§7.1.1).
    pub struct MessageType(u8) "OFPT_" {
        /// The first message of either side.
        HELLO = 0,
        /// What could not be done.
        ERROR = 1,
        /// Are you there?
        ECHO_REQUEST = 2,
        /// I am.
        ECHO_REPLY = 3,
        /// An experimenter's.
        EXPERIMENTER = 4,
        /// Asks for the switch's id and features.
        FEATURES_REQUEST = 5,
        /// The switch's id and features.
        FEATURES_REPLY = 6,
        /// Asks for the configuration.
        GET_CONFIG_REQUEST = 7,
        /// The configuration.
        GET_CONFIG_REPLY = 8,
        /// Sets the configuration.
        SET_CONFIG = 9,
        /// A packet to the controller.
        PACKET_IN = 10,
        /// A flow is gone.
        FLOW_REMOVED = 11,
        /// A port came, went or changed.
        PORT_STATUS = 12,
        /// A packet from the controller.
        PACKET_OUT = 13,
        /// Changes flows.
        FLOW_MOD = 14,
        /// Changes groups.
        GROUP_MOD = 15,
        /// Changes a port.
        PORT_MOD = 16,
        /// Changes a table.
        TABLE_MOD = 17,
        /// Asks for statistics and descriptions.
        MULTIPART_REQUEST = 18,
        /// Statistics and descriptions.
        MULTIPART_REPLY = 19,
        /// Asks for everything before it to be finished.
        BARRIER_REQUEST = 20,
        /// Everything before the request is finished.
        BARRIER_REPLY = 21,
        /// Asks for the queues of a port.
        QUEUE_GET_CONFIG_REQUEST = 22,
        /// The queues of a port.
        QUEUE_GET_CONFIG_REPLY = 23,
        /// Asks for a role.
        ROLE_REQUEST = 24,
        /// The role that is.
        ROLE_REPLY = 25,
        /// Asks which events are told.
        GET_ASYNC_REQUEST = 26,
        /// Which events are told.
        GET_ASYNC_REPLY = 27,
        /// Sets which events are told.
        SET_ASYNC = 28,
        /// Changes meters.
        METER_MOD = 29,
    }
}

/// Any message of OpenFlow 1.3 (§7.1.1), without its header.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Message {
    /// `OFPT_HELLO`, both ways
    Hello(Hello),
    /// `OFPT_ERROR`, both ways
    Error(Error),
    /// `OFPT_ECHO_REQUEST`, both ways
    EchoRequest(Echo),
    /// `OFPT_ECHO_REPLY`, both ways
    EchoReply(Echo),
    /// `OFPT_EXPERIMENTER`, both ways
    Experimenter(Experimenter),
    /// `OFPT_FEATURES_REQUEST`, to the switch (§7.3.1); no body
    FeaturesRequest,
    /// `OFPT_FEATURES_REPLY`, from the switch
    FeaturesReply(FeaturesReply),
    /// `OFPT_GET_CONFIG_REQUEST`, to the switch (§7.3.2); no body
    GetConfigRequest,
    /// `OFPT_GET_CONFIG_REPLY`, from the switch
    GetConfigReply(SwitchConfig),
    /// `OFPT_SET_CONFIG`, to the switch
    SetConfig(SwitchConfig),
    /// `OFPT_PACKET_IN`, from the switch
    PacketIn(PacketIn),
    /// `OFPT_FLOW_REMOVED`, from the switch
    FlowRemoved(FlowRemoved),
    /// `OFPT_PORT_STATUS`, from the switch
    PortStatus(PortStatus),
    /// `OFPT_PACKET_OUT`, to the switch
    PacketOut(PacketOut),
    /// `OFPT_FLOW_MOD`, to the switch
    FlowMod(FlowMod),
    /// `OFPT_GROUP_MOD`, to the switch
    GroupMod(GroupMod),
    /// `OFPT_PORT_MOD`, to the switch
    PortMod(PortMod),
    /// `OFPT_TABLE_MOD`, to the switch
    TableMod(TableMod),
    /// `OFPT_MULTIPART_REQUEST`, to the switch
    MultipartRequest(MultipartRequest),
    /// `OFPT_MULTIPART_REPLY`, from the switch
    MultipartReply(MultipartReply),
    /// `OFPT_BARRIER_REQUEST`, to the switch (§7.3.8): finish everything before it first; no body
    BarrierRequest,
    /// `OFPT_BARRIER_REPLY`, from the switch: everything before the request is finished; no body
    BarrierReply,
    /// `OFPT_QUEUE_GET_CONFIG_REQUEST`, to the switch
    QueueGetConfigRequest(QueueGetConfigRequest),
    /// `OFPT_QUEUE_GET_CONFIG_REPLY`, from the switch
    QueueGetConfigReply(QueueGetConfigReply),
    /// `OFPT_ROLE_REQUEST`, to the switch
    RoleRequest(RoleMessage),
    /// `OFPT_ROLE_REPLY`, from the switch
    RoleReply(RoleMessage),
    /// `OFPT_GET_ASYNC_REQUEST`, to the switch (§7.3.10); no body
    GetAsyncRequest,
    /// `OFPT_GET_ASYNC_REPLY`, from the switch
    GetAsyncReply(AsyncConfig),
    /// `OFPT_SET_ASYNC`, to the switch
    SetAsync(AsyncConfig),
    /// `OFPT_METER_MOD`, to the switch
    MeterMod(MeterMod),
}

impl Message {
    /// Reads one whole message, header included, and gives its transaction id with it.
    ///
    /// # Errors
    /// [`Malformed`] names the first field that cannot be: another version, an unknown type, a
    /// header length that is not that of `bytes`, or anything in the body.
    pub fn decode(bytes: &[u8]) -> Result<(u32, Message), Malformed> {
        let header = whole_header(bytes)?;
        let mut reader = Reader::new(bytes);
        reader.pad("header", HEADER_LEN)?;
        let message = Message::read(MessageType(header.kind), &mut reader)?;
        reader.end("message")?;
        Ok((header.xid, message))
    }

    /// Appends the message to `out`, with its header.
    ///
    /// # Errors
    /// [`TooLong`] where it does not fit a 16-bit length; `out` is then unchanged.
    pub fn encode(&self, xid: u32, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let mut writer = Writer::message(out, VERSION.wire(), self.kind(), xid);
        self.write(&mut writer);
        writer.finish()
    }

    /// The number of its type in the header.
    pub fn kind(&self) -> u8 {
        self.message_type().0
    }

    /// The name of its type in the specification, such as `OFPT_FLOW_MOD`.
    pub fn name(&self) -> &'static str {
        self.message_type().name().unwrap_or_default()
    }

    /// Its type.
    pub fn message_type(&self) -> MessageType {
        match self {
            Message::Hello(_) => MessageType::HELLO,
            Message::Error(_) => MessageType::ERROR,
            Message::EchoRequest(_) => MessageType::ECHO_REQUEST,
            Message::EchoReply(_) => MessageType::ECHO_REPLY,
            Message::Experimenter(_) => MessageType::EXPERIMENTER,
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
            Message::GroupMod(_) => MessageType::GROUP_MOD,
            Message::PortMod(_) => MessageType::PORT_MOD,
            Message::TableMod(_) => MessageType::TABLE_MOD,
            Message::MultipartRequest(_) => MessageType::MULTIPART_REQUEST,
            Message::MultipartReply(_) => MessageType::MULTIPART_REPLY,
            Message::BarrierRequest => MessageType::BARRIER_REQUEST,
            Message::BarrierReply => MessageType::BARRIER_REPLY,
            Message::QueueGetConfigRequest(_) => MessageType::QUEUE_GET_CONFIG_REQUEST,
            Message::QueueGetConfigReply(_) => MessageType::QUEUE_GET_CONFIG_REPLY,
            Message::RoleRequest(_) => MessageType::ROLE_REQUEST,
            Message::RoleReply(_) => MessageType::ROLE_REPLY,
            Message::GetAsyncRequest => MessageType::GET_ASYNC_REQUEST,
            Message::GetAsyncReply(_) => MessageType::GET_ASYNC_REPLY,
            Message::SetAsync(_) => MessageType::SET_ASYNC,
            Message::MeterMod(_) => MessageType::METER_MOD,
        }
    }

    fn read(kind: MessageType, reader: &mut Reader<'_>) -> Result<Message, Malformed> {
        Ok(match kind {
            MessageType::HELLO => Message::Hello(Hello::read(reader)?),
            MessageType::ERROR => Message::Error(Error::read(reader)?),
            MessageType::ECHO_REQUEST => Message::EchoRequest(Echo::read(reader)?),
            MessageType::ECHO_REPLY => Message::EchoReply(Echo::read(reader)?),
            MessageType::EXPERIMENTER => Message::Experimenter(Experimenter::read(reader)?),
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
            MessageType::GROUP_MOD => Message::GroupMod(GroupMod::read(reader)?),
            MessageType::PORT_MOD => Message::PortMod(PortMod::read(reader)?),
            MessageType::TABLE_MOD => Message::TableMod(TableMod::read(reader)?),
            MessageType::MULTIPART_REQUEST => {
                Message::MultipartRequest(MultipartRequest::read(reader)?)
            }
            MessageType::MULTIPART_REPLY => Message::MultipartReply(MultipartReply::read(reader)?),
            MessageType::BARRIER_REQUEST => Message::BarrierRequest,
            MessageType::BARRIER_REPLY => Message::BarrierReply,
            MessageType::QUEUE_GET_CONFIG_REQUEST => {
                Message::QueueGetConfigRequest(QueueGetConfigRequest::read(reader)?)
            }
            MessageType::QUEUE_GET_CONFIG_REPLY => {
                Message::QueueGetConfigReply(QueueGetConfigReply::read(reader)?)
            }
            MessageType::ROLE_REQUEST => Message::RoleRequest(RoleMessage::read(reader)?),
            MessageType::ROLE_REPLY => Message::RoleReply(RoleMessage::read(reader)?),
            MessageType::GET_ASYNC_REQUEST => Message::GetAsyncRequest,
            MessageType::GET_ASYNC_REPLY => Message::GetAsyncReply(AsyncConfig::read(reader)?),
            MessageType::SET_ASYNC => Message::SetAsync(AsyncConfig::read(reader)?),
            MessageType::METER_MOD => Message::MeterMod(MeterMod::read(reader)?),
            _ => {
                return Err(Malformed { field: "header.type", offset: 1, reason: Reason::BadType });
            }
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Message::Hello(body) => body.write(writer),
            Message::Error(body) => body.write(writer),
            Message::EchoRequest(body) | Message::EchoReply(body) => body.write(writer),
            Message::Experimenter(body) => body.write(writer),
            Message::FeaturesReply(body) => body.write(writer),
            Message::GetConfigReply(body) | Message::SetConfig(body) => body.write(writer),
            Message::PacketIn(body) => body.write(writer),
            Message::FlowRemoved(body) => body.write(writer),
            Message::PortStatus(body) => body.write(writer),
            Message::PacketOut(body) => body.write(writer),
            Message::FlowMod(body) => body.write(writer),
            Message::GroupMod(body) => body.write(writer),
            Message::PortMod(body) => body.write(writer),
            Message::TableMod(body) => body.write(writer),
            Message::MultipartRequest(body) => body.write(writer),
            Message::MultipartReply(body) => body.write(writer),
            Message::QueueGetConfigRequest(body) => body.write(writer),
            Message::QueueGetConfigReply(body) => body.write(writer),
            Message::RoleRequest(body) | Message::RoleReply(body) => body.write(writer),
            Message::GetAsyncReply(body) | Message::SetAsync(body) => body.write(writer),
            Message::MeterMod(body) => body.write(writer),
            Message::FeaturesRequest
            | Message::GetConfigRequest
            | Message::BarrierRequest
            | Message::BarrierReply
            | Message::GetAsyncRequest => {}
        }
    }
}

/// The header of `bytes`, which must be one whole message of this version.
fn whole_header(bytes: &[u8]) -> Result<Header, Malformed> {
    let malformed = |field, offset, reason| Malformed { field, offset, reason };
    let header = Header::peek(bytes)?.ok_or(malformed("header", bytes.len(), Reason::Truncated))?;
    if header.version != VERSION.wire() {
        return Err(malformed("header.version", 0, Reason::BadVersion));
    }
    if usize::from(header.length) != bytes.len() {
        return Err(malformed("header.length", 2, Reason::BadLength));
    }
    Ok(header)
}

/// Reads structures one behind the other until nothing is left. Every structure takes at least a
/// byte or fails.
fn list<T>(
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut items = Vec::new();
    while !reader.is_empty() {
        items.push(read(reader)?);
    }
    Ok(items)
}

/// Reads the `type | length` that begins a structure: its type, and a reader over the rest of it.
///
/// `min` is the shortest such structure in bytes, header included.
fn tlv<'a>(
    reader: &mut Reader<'a>,
    field: &'static str,
    min: usize,
) -> Result<(u16, Reader<'a>), Malformed> {
    let offset = reader.offset();
    let kind = reader.u16(field)?;
    let length = usize::from(reader.u16(field)?);
    let bad = Malformed { field, offset: offset + 2, reason: Reason::BadLength };
    let body = length.checked_sub(4).filter(|_| length >= min).ok_or(bad)?;
    Ok((kind, reader.sub(field, body).map_err(|_| bad)?))
}

/// Reads a structure as [`tlv`] does, whose length must also be a multiple of eight.
fn tlv8<'a>(
    reader: &mut Reader<'a>,
    field: &'static str,
    min: usize,
) -> Result<(u16, Reader<'a>), Malformed> {
    let offset = reader.offset();
    let (kind, body) = tlv(reader, field, min)?;
    match (body.left() + 4) % 8 {
        0 => Ok((kind, body)),
        _ => Err(Malformed { field, offset: offset + 2, reason: Reason::BadLength }),
    }
}

/// Reads a structure as [`tlv`] does, and passes over the padding to a multiple of eight that its
/// length leaves out.
fn tlv_then_pad8<'a>(
    reader: &mut Reader<'a>,
    field: &'static str,
    min: usize,
) -> Result<(u16, Reader<'a>), Malformed> {
    let (kind, body) = tlv(reader, field, min)?;
    let length = body.left() + 4;
    reader.pad(field, length.next_multiple_of(8) - length)?;
    Ok((kind, body))
}

/// Reads a `length | …` that begins a structure: a reader over the rest of it.
fn sized<'a>(
    reader: &mut Reader<'a>,
    field: &'static str,
    min: usize,
) -> Result<Reader<'a>, Malformed> {
    let offset = reader.offset();
    let length = usize::from(reader.u16(field)?);
    let bad = Malformed { field, offset, reason: Reason::BadLength };
    let body = length.checked_sub(2).filter(|_| length >= min).ok_or(bad)?;
    reader.sub(field, body).map_err(|_| bad)
}
