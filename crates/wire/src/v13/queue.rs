//! `OFPT_QUEUE_GET_CONFIG_REQUEST` and `OFPT_QUEUE_GET_CONFIG_REPLY` (§7.2.2, §7.3.6): the queues
//! of a port.

use super::port::PortNo;
use super::{list, tlv};
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::Writer;
use alloc::vec::Vec;

open_enum! {
    /// The number of a queue, one port's apart from another's.
    pub struct QueueNo(u32) "" {
        /// Every queue.
        ALL = 0xffff_ffff,
    }
}

/// Asks for the queues of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueGetConfigRequest {
    /// Which port, or [`PortNo::ANY`].
    pub port: PortNo,
}

/// The queues of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct QueueGetConfigReply {
    /// Which port, as it was asked for.
    pub port: PortNo,
    /// Its queues.
    pub queues: Vec<PacketQueue>,
}

/// One queue.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketQueue {
    /// Its number.
    pub queue_id: QueueNo,
    /// The port it belongs to.
    pub port: PortNo,
    /// What is known of it.
    pub properties: Vec<QueueProperty>,
}

/// One property of a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum QueueProperty {
    /// The rate it is sure of, in tenths of a percent of the port's; above 1000 where none is
    /// configured.
    MinRate(u16),
    /// The rate it never exceeds, in tenths of a percent of the port's; above 1000 where none is
    /// configured.
    MaxRate(u16),
    /// What the experimenter defines.
    Experimenter {
        /// Whose.
        experimenter: u32,
        /// The rest.
        body: Vec<u8>,
    },
    /// Of a type that this version does not name.
    Unknown {
        /// Its type.
        kind: QueuePropertyType,
        /// What follows its header of eight bytes.
        body: Vec<u8>,
    },
}

open_enum! {
    /// `OFPQT_*`: the type of a property.
    pub struct QueuePropertyType(u16) "OFPQT_" {
        /// Minimum rate.
        MIN_RATE = 1,
        /// Maximum rate.
        MAX_RATE = 2,
        /// An experimenter's.
        EXPERIMENTER = 0xffff,
    }
}

impl QueueGetConfigRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<QueueGetConfigRequest, Malformed> {
        let port = PortNo(reader.u32("queue_get_config_request.port")?);
        reader.pad("queue_get_config_request.pad", 4)?;
        Ok(QueueGetConfigRequest { port })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port.0);
        writer.pad(4);
    }
}

impl QueueGetConfigReply {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<QueueGetConfigReply, Malformed> {
        let port = PortNo(reader.u32("queue_get_config_reply.port")?);
        reader.pad("queue_get_config_reply.pad", 4)?;
        Ok(QueueGetConfigReply { port, queues: list(reader, PacketQueue::read)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port.0);
        writer.pad(4);
        self.queues.iter().for_each(|queue| queue.write(writer));
    }
}

impl PacketQueue {
    /// Bytes before the properties, which the length counts.
    const HEAD_LEN: usize = 16;

    fn read(reader: &mut Reader<'_>) -> Result<PacketQueue, Malformed> {
        let queue_id = QueueNo(reader.u32("packet_queue.queue_id")?);
        let port = PortNo(reader.u32("packet_queue.port")?);
        let bad = reader.malformed("packet_queue.len", Reason::BadLength);
        let length = usize::from(reader.u16("packet_queue.len")?);
        reader.pad("packet_queue.pad", 6)?;
        let properties = length.checked_sub(PacketQueue::HEAD_LEN).ok_or(bad)?;
        let mut properties = reader.sub("packet_queue.len", properties).map_err(|_| bad)?;
        Ok(PacketQueue { queue_id, port, properties: list(&mut properties, QueueProperty::read)? })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(8);
        writer.u32(self.queue_id.0);
        writer.u32(self.port.0);
        writer.u16(0);
        writer.pad(6);
        self.properties.iter().for_each(|property| property.write(writer));
        writer.close(open);
    }
}

impl QueueProperty {
    /// Its type.
    pub fn property_type(&self) -> QueuePropertyType {
        match self {
            QueueProperty::MinRate(_) => QueuePropertyType::MIN_RATE,
            QueueProperty::MaxRate(_) => QueuePropertyType::MAX_RATE,
            QueueProperty::Experimenter { .. } => QueuePropertyType::EXPERIMENTER,
            QueueProperty::Unknown { kind, .. } => *kind,
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<QueueProperty, Malformed> {
        let (kind, mut body) = tlv(reader, "queue_prop.len", 8)?;
        body.pad("queue_prop.pad", 4)?;
        let property = QueueProperty::read_body(QueuePropertyType(kind), &mut body)?;
        body.end("queue_prop.len").map_err(|e| Malformed { reason: Reason::BadLength, ..e })?;
        Ok(property)
    }

    fn read_body(
        kind: QueuePropertyType,
        body: &mut Reader<'_>,
    ) -> Result<QueueProperty, Malformed> {
        Ok(match kind {
            QueuePropertyType::MIN_RATE => QueueProperty::MinRate(rate(body)?),
            QueuePropertyType::MAX_RATE => QueueProperty::MaxRate(rate(body)?),
            QueuePropertyType::EXPERIMENTER => {
                let experimenter = body.u32("queue_prop_experimenter.experimenter")?;
                body.pad("queue_prop_experimenter.pad", 4)?;
                QueueProperty::Experimenter { experimenter, body: body.remaining().to_vec() }
            }
            _ => QueueProperty::Unknown { kind, body: body.remaining().to_vec() },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        writer.u16(self.property_type().0);
        writer.u16(0);
        writer.pad(4);
        match self {
            QueueProperty::MinRate(rate) | QueueProperty::MaxRate(rate) => {
                writer.u16(*rate);
                writer.pad(6);
            }
            QueueProperty::Experimenter { experimenter, body } => {
                writer.u32(*experimenter);
                writer.pad(4);
                writer.bytes(body);
            }
            QueueProperty::Unknown { body, .. } => writer.bytes(body),
        }
        writer.close(open);
    }
}

fn rate(body: &mut Reader<'_>) -> Result<u16, Malformed> {
    let rate = body.u16("queue_prop_rate.rate")?;
    body.pad("queue_prop_rate.pad", 6)?;
    Ok(rate)
}
