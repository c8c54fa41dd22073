//! QUEUE_GET_CONFIG_REQUEST and its reply (§5.3.4, §5.2.2): the queues of a port.

use super::{PortNo, read_all};
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::Writer;
use alloc::vec::Vec;

/// `OFPT_QUEUE_GET_CONFIG_REQUEST`: 12 bytes with the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueGetConfigRequest {
    /// The port asked about: a physical one.
    pub port: PortNo,
}

impl QueueGetConfigRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let port = PortNo(reader.u16("queue_get_config_request.port")?);
        reader.pad("queue_get_config_request.pad", 2)?;
        Ok(QueueGetConfigRequest { port })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port.0);
        writer.pad(2);
    }
}

/// `OFPT_QUEUE_GET_CONFIG_REPLY`: 16 bytes with the header, then the queues.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueGetConfigReply {
    /// The port asked about.
    pub port: PortNo,
    /// Its queues.
    pub queues: Vec<PacketQueue>,
}

impl QueueGetConfigReply {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let port = PortNo(reader.u16("queue_get_config_reply.port")?);
        reader.pad("queue_get_config_reply.pad", 6)?;
        Ok(QueueGetConfigReply { port, queues: read_all(reader, PacketQueue::read)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port.0);
        writer.pad(6);
        self.queues.iter().for_each(|queue| queue.write(writer));
    }
}

/// `struct ofp_packet_queue`: 8 bytes, then the properties.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketQueue {
    /// Its number, unique on its port.
    pub queue_id: u32,
    /// What is known of it.
    pub properties: Vec<QueueProperty>,
}

impl PacketQueue {
    /// Bytes before the properties.
    const HEAD_LEN: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let start = reader.clone();
        let queue_id = reader.u32("packet_queue.queue_id")?;
        let len = reader.u16("packet_queue.len")?;
        reader.pad("packet_queue.pad", 2)?;
        let Some(properties) = usize::from(len).checked_sub(PacketQueue::HEAD_LEN) else {
            return Err(start.malformed("packet_queue.len", Reason::BadLength));
        };
        let mut properties = reader.sub("packet_queue.len", properties)?;
        Ok(PacketQueue { queue_id, properties: read_all(&mut properties, QueueProperty::read)? })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(4);
        writer.u32(self.queue_id);
        writer.u16(0);
        writer.pad(2);
        self.properties.iter().for_each(|property| property.write(writer));
        writer.close(open);
    }
}

open_enum! {
    /// The kind of a queue property: `enum ofp_queue_properties`.
    pub struct QueuePropertyType(u16) "OFPQT_" {
        /// None at all.
        NONE = 0,
        /// A guaranteed rate.
        MIN_RATE = 1,
    }
}

/// `struct ofp_queue_prop_header` and what follows it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum QueueProperty {
    /// `OFPQT_MIN_RATE`, 16 bytes: the guaranteed rate in tenths of a percent; above 1000 where
    /// there is none.
    MinRate(u16),
    /// `OFPQT_NONE` and the properties that this version does not know.
    Other {
        /// Its type.
        kind: QueuePropertyType,
        /// What follows its length: at least the four bytes that pad the header; shorter ones are
        /// padded with zeros.
        body: Vec<u8>,
    },
}

impl QueueProperty {
    /// Bytes before the body: type and length.
    const HEAD_LEN: usize = 4;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let start = reader.clone();
        let kind = QueuePropertyType(reader.u16("queue_prop.property")?);
        let len = usize::from(reader.u16("queue_prop.len")?);
        let exact = kind != QueuePropertyType::MIN_RATE || len == 16;
        if len < 8 || !exact {
            return Err(start.malformed("queue_prop.len", Reason::BadLength));
        }
        let mut body = reader.sub("queue_prop.len", len - QueueProperty::HEAD_LEN)?;
        if kind != QueuePropertyType::MIN_RATE {
            return Ok(QueueProperty::Other { kind, body: body.remaining().to_vec() });
        }
        body.pad("queue_prop.pad", 4)?;
        Ok(QueueProperty::MinRate(body.u16("queue_prop_min_rate.rate")?))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        match self {
            QueueProperty::MinRate(rate) => {
                writer.u16(QueuePropertyType::MIN_RATE.0);
                writer.pad(6);
                writer.u16(*rate);
                writer.pad(6);
            }
            QueueProperty::Other { kind, body } => {
                writer.u16(kind.0);
                writer.u16(0);
                writer.bytes(body);
                writer.pad(4usize.saturating_sub(body.len()));
            }
        }
        writer.close(open);
    }
}
