//! `OFPT_MULTIPART_REQUEST` and `OFPT_MULTIPART_REPLY` (§7.3.5): statistics and descriptions, in
//! one message or many.
//!
//! The kind of body is a number at the front; each body has its file below. The parts of one answer
//! carry the same transaction id, and all but the last the flag [`MultipartFlags::MORE`]; joining
//! them is the session's affair.

pub mod aggregate;
pub mod desc;
pub mod experimenter;
pub mod flow;
pub mod group;
pub mod group_desc;
pub mod group_features;
pub mod meter;
pub mod meter_config;
pub mod meter_features;
pub mod port;
pub mod queue;
pub mod table;
pub mod table_features;

pub use aggregate::AggregateStats;
pub use desc::Desc;
pub use experimenter::ExperimenterStats;
pub use flow::{FlowStats, FlowStatsRequest};
pub use group::{GroupStats, GroupStatsRequest};
pub use group_desc::GroupDesc;
pub use group_features::GroupFeatures;
pub use meter::{MeterRequest, MeterStats};
pub use meter_config::MeterConfig;
pub use meter_features::MeterFeatures;
pub use port::{PortStats, PortStatsRequest};
pub use queue::{QueueStats, QueueStatsRequest};
pub use table::TableStats;
pub use table_features::{TableFeatures, TableProperty};

use super::list;
use super::port::Port;
use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::boxed::Box;
use alloc::vec::Vec;

open_enum! {
    /// `OFPMP_*`: the kind of a multipart message.
    pub struct MultipartType(u16) "OFPMP_" {
        /// The switch in words.
        DESC = 0,
        /// Flows, one by one.
        FLOW = 1,
        /// Flows, summed up.
        AGGREGATE = 2,
        /// Counters of tables.
        TABLE = 3,
        /// Counters of ports.
        PORT_STATS = 4,
        /// Counters of queues.
        QUEUE = 5,
        /// Counters of groups.
        GROUP = 6,
        /// The groups themselves.
        GROUP_DESC = 7,
        /// What groups can do.
        GROUP_FEATURES = 8,
        /// Counters of meters.
        METER = 9,
        /// The meters themselves.
        METER_CONFIG = 10,
        /// What meters can do.
        METER_FEATURES = 11,
        /// What tables can do, and setting it.
        TABLE_FEATURES = 12,
        /// The ports themselves.
        PORT_DESC = 13,
        /// An experimenter's.
        EXPERIMENTER = 0xffff,
    }
}

flags! {
    /// `OFPMPF_REQ_MORE`, `OFPMPF_REPLY_MORE`: whether this is the last part.
    pub struct MultipartFlags(u16) {
        /// More parts follow.
        MORE = 1 << 0,
    }
}

/// Asks for statistics or a description.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MultipartRequest {
    /// Whether more parts follow.
    pub flags: MultipartFlags,
    /// What is asked.
    pub body: MultipartRequestBody,
}

/// What a multipart request asks.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum MultipartRequestBody {
    /// The switch in words.
    Desc,
    /// Flows, one by one.
    Flow(FlowStatsRequest),
    /// Flows, summed up.
    Aggregate(FlowStatsRequest),
    /// Counters of tables.
    Table,
    /// Counters of ports.
    PortStats(PortStatsRequest),
    /// Counters of queues.
    Queue(QueueStatsRequest),
    /// Counters of groups.
    Group(GroupStatsRequest),
    /// The groups themselves.
    GroupDesc,
    /// What groups can do.
    GroupFeatures,
    /// Counters of meters.
    Meter(MeterRequest),
    /// The meters themselves.
    MeterConfig(MeterRequest),
    /// What meters can do.
    MeterFeatures,
    /// What tables can do; a list that is not empty sets it.
    TableFeatures(Vec<TableFeatures>),
    /// The ports themselves.
    PortDesc,
    /// What the experimenter defines.
    Experimenter(ExperimenterStats),
    /// A kind that this version does not name.
    Unknown {
        /// The kind.
        kind: MultipartType,
        /// Its body.
        body: Vec<u8>,
    },
}

/// Answers a [`MultipartRequest`], or a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MultipartReply {
    /// Whether more parts follow.
    pub flags: MultipartFlags,
    /// The answer, or this part of it.
    pub body: MultipartReplyBody,
}

/// What a multipart reply answers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum MultipartReplyBody {
    /// The switch in words.
    Desc(Box<Desc>),
    /// Flows, one by one.
    Flow(Vec<FlowStats>),
    /// Flows, summed up.
    Aggregate(AggregateStats),
    /// Counters of tables.
    Table(Vec<TableStats>),
    /// Counters of ports.
    PortStats(Vec<PortStats>),
    /// Counters of queues.
    Queue(Vec<QueueStats>),
    /// Counters of groups.
    Group(Vec<GroupStats>),
    /// The groups themselves.
    GroupDesc(Vec<GroupDesc>),
    /// What groups can do.
    GroupFeatures(GroupFeatures),
    /// Counters of meters.
    Meter(Vec<MeterStats>),
    /// The meters themselves.
    MeterConfig(Vec<MeterConfig>),
    /// What meters can do.
    MeterFeatures(MeterFeatures),
    /// What tables can do.
    TableFeatures(Vec<TableFeatures>),
    /// The ports themselves.
    PortDesc(Vec<Port>),
    /// What the experimenter defines.
    Experimenter(ExperimenterStats),
    /// A kind that this version does not name.
    Unknown {
        /// The kind.
        kind: MultipartType,
        /// Its body.
        body: Vec<u8>,
    },
}

impl MultipartRequest {
    /// A request in one part.
    pub fn new(body: MultipartRequestBody) -> MultipartRequest {
        MultipartRequest { flags: MultipartFlags::EMPTY, body }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MultipartRequest, Malformed> {
        let (kind, flags) = read_head(reader)?;
        Ok(MultipartRequest { flags, body: MultipartRequestBody::read(kind, reader)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        write_head(writer, self.body.multipart_type(), self.flags);
        self.body.write(writer);
    }
}

impl MultipartReply {
    /// A reply in one part.
    pub fn new(body: MultipartReplyBody) -> MultipartReply {
        MultipartReply { flags: MultipartFlags::EMPTY, body }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MultipartReply, Malformed> {
        let (kind, flags) = read_head(reader)?;
        Ok(MultipartReply { flags, body: MultipartReplyBody::read(kind, reader)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        write_head(writer, self.body.multipart_type(), self.flags);
        self.body.write(writer);
    }
}

fn read_head(reader: &mut Reader<'_>) -> Result<(MultipartType, MultipartFlags), Malformed> {
    let kind = MultipartType(reader.u16("multipart.type")?);
    let flags = MultipartFlags(reader.u16("multipart.flags")?);
    reader.pad("multipart.pad", 4)?;
    Ok((kind, flags))
}

fn write_head(writer: &mut Writer<'_>, kind: MultipartType, flags: MultipartFlags) {
    writer.u16(kind.0);
    writer.u16(flags.0);
    writer.pad(4);
}

impl MultipartRequestBody {
    /// The kind that the number at the front says.
    pub fn multipart_type(&self) -> MultipartType {
        match self {
            MultipartRequestBody::Desc => MultipartType::DESC,
            MultipartRequestBody::Flow(_) => MultipartType::FLOW,
            MultipartRequestBody::Aggregate(_) => MultipartType::AGGREGATE,
            MultipartRequestBody::Table => MultipartType::TABLE,
            MultipartRequestBody::PortStats(_) => MultipartType::PORT_STATS,
            MultipartRequestBody::Queue(_) => MultipartType::QUEUE,
            MultipartRequestBody::Group(_) => MultipartType::GROUP,
            MultipartRequestBody::GroupDesc => MultipartType::GROUP_DESC,
            MultipartRequestBody::GroupFeatures => MultipartType::GROUP_FEATURES,
            MultipartRequestBody::Meter(_) => MultipartType::METER,
            MultipartRequestBody::MeterConfig(_) => MultipartType::METER_CONFIG,
            MultipartRequestBody::MeterFeatures => MultipartType::METER_FEATURES,
            MultipartRequestBody::TableFeatures(_) => MultipartType::TABLE_FEATURES,
            MultipartRequestBody::PortDesc => MultipartType::PORT_DESC,
            MultipartRequestBody::Experimenter(_) => MultipartType::EXPERIMENTER,
            MultipartRequestBody::Unknown { kind, .. } => *kind,
        }
    }

    fn read(
        kind: MultipartType,
        reader: &mut Reader<'_>,
    ) -> Result<MultipartRequestBody, Malformed> {
        Ok(match kind {
            MultipartType::DESC => MultipartRequestBody::Desc,
            MultipartType::FLOW => MultipartRequestBody::Flow(FlowStatsRequest::read(reader)?),
            MultipartType::AGGREGATE => {
                MultipartRequestBody::Aggregate(FlowStatsRequest::read(reader)?)
            }
            MultipartType::TABLE => MultipartRequestBody::Table,
            MultipartType::PORT_STATS => {
                MultipartRequestBody::PortStats(PortStatsRequest::read(reader)?)
            }
            MultipartType::QUEUE => MultipartRequestBody::Queue(QueueStatsRequest::read(reader)?),
            MultipartType::GROUP => MultipartRequestBody::Group(GroupStatsRequest::read(reader)?),
            MultipartType::GROUP_DESC => MultipartRequestBody::GroupDesc,
            MultipartType::GROUP_FEATURES => MultipartRequestBody::GroupFeatures,
            MultipartType::METER => MultipartRequestBody::Meter(MeterRequest::read(reader)?),
            MultipartType::METER_CONFIG => {
                MultipartRequestBody::MeterConfig(MeterRequest::read(reader)?)
            }
            MultipartType::METER_FEATURES => MultipartRequestBody::MeterFeatures,
            MultipartType::TABLE_FEATURES => {
                MultipartRequestBody::TableFeatures(list(reader, TableFeatures::read)?)
            }
            MultipartType::PORT_DESC => MultipartRequestBody::PortDesc,
            MultipartType::EXPERIMENTER => {
                MultipartRequestBody::Experimenter(ExperimenterStats::read(reader)?)
            }
            _ => MultipartRequestBody::Unknown { kind, body: reader.remaining().to_vec() },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            MultipartRequestBody::Flow(body) | MultipartRequestBody::Aggregate(body) => {
                body.write(writer)
            }
            MultipartRequestBody::PortStats(body) => body.write(writer),
            MultipartRequestBody::Queue(body) => body.write(writer),
            MultipartRequestBody::Group(body) => body.write(writer),
            MultipartRequestBody::Meter(body) | MultipartRequestBody::MeterConfig(body) => {
                body.write(writer)
            }
            MultipartRequestBody::TableFeatures(tables) => {
                tables.iter().for_each(|t| t.write(writer))
            }
            MultipartRequestBody::Experimenter(body) => body.write(writer),
            MultipartRequestBody::Unknown { body, .. } => writer.bytes(body),
            MultipartRequestBody::Desc
            | MultipartRequestBody::Table
            | MultipartRequestBody::GroupDesc
            | MultipartRequestBody::GroupFeatures
            | MultipartRequestBody::MeterFeatures
            | MultipartRequestBody::PortDesc => {}
        }
    }
}

impl MultipartReplyBody {
    /// Appends the next part of the same answer.
    ///
    /// # Errors
    /// The part: it is of another kind, or of one that is no list.
    pub fn append(&mut self, next: MultipartReplyBody) -> Result<(), MultipartReplyBody> {
        use MultipartReplyBody as Body;
        match (self, next) {
            (Body::Flow(all), Body::Flow(more)) => all.extend(more),
            (Body::Table(all), Body::Table(more)) => all.extend(more),
            (Body::PortStats(all), Body::PortStats(more)) => all.extend(more),
            (Body::Queue(all), Body::Queue(more)) => all.extend(more),
            (Body::Group(all), Body::Group(more)) => all.extend(more),
            (Body::GroupDesc(all), Body::GroupDesc(more)) => all.extend(more),
            (Body::Meter(all), Body::Meter(more)) => all.extend(more),
            (Body::MeterConfig(all), Body::MeterConfig(more)) => all.extend(more),
            (Body::TableFeatures(all), Body::TableFeatures(more)) => all.extend(more),
            (Body::PortDesc(all), Body::PortDesc(more)) => all.extend(more),
            (_, other) => return Err(other),
        }
        Ok(())
    }

    /// The kind that the number at the front says.
    pub fn multipart_type(&self) -> MultipartType {
        match self {
            MultipartReplyBody::Desc(_) => MultipartType::DESC,
            MultipartReplyBody::Flow(_) => MultipartType::FLOW,
            MultipartReplyBody::Aggregate(_) => MultipartType::AGGREGATE,
            MultipartReplyBody::Table(_) => MultipartType::TABLE,
            MultipartReplyBody::PortStats(_) => MultipartType::PORT_STATS,
            MultipartReplyBody::Queue(_) => MultipartType::QUEUE,
            MultipartReplyBody::Group(_) => MultipartType::GROUP,
            MultipartReplyBody::GroupDesc(_) => MultipartType::GROUP_DESC,
            MultipartReplyBody::GroupFeatures(_) => MultipartType::GROUP_FEATURES,
            MultipartReplyBody::Meter(_) => MultipartType::METER,
            MultipartReplyBody::MeterConfig(_) => MultipartType::METER_CONFIG,
            MultipartReplyBody::MeterFeatures(_) => MultipartType::METER_FEATURES,
            MultipartReplyBody::TableFeatures(_) => MultipartType::TABLE_FEATURES,
            MultipartReplyBody::PortDesc(_) => MultipartType::PORT_DESC,
            MultipartReplyBody::Experimenter(_) => MultipartType::EXPERIMENTER,
            MultipartReplyBody::Unknown { kind, .. } => *kind,
        }
    }

    fn read(kind: MultipartType, reader: &mut Reader<'_>) -> Result<MultipartReplyBody, Malformed> {
        Ok(match kind {
            MultipartType::DESC => MultipartReplyBody::Desc(Box::new(Desc::read(reader)?)),
            MultipartType::FLOW => MultipartReplyBody::Flow(list(reader, FlowStats::read)?),
            MultipartType::AGGREGATE => {
                MultipartReplyBody::Aggregate(AggregateStats::read(reader)?)
            }
            MultipartType::TABLE => MultipartReplyBody::Table(list(reader, TableStats::read)?),
            MultipartType::PORT_STATS => {
                MultipartReplyBody::PortStats(list(reader, PortStats::read)?)
            }
            MultipartType::QUEUE => MultipartReplyBody::Queue(list(reader, QueueStats::read)?),
            MultipartType::GROUP => MultipartReplyBody::Group(list(reader, GroupStats::read)?),
            MultipartType::GROUP_DESC => {
                MultipartReplyBody::GroupDesc(list(reader, GroupDesc::read)?)
            }
            MultipartType::GROUP_FEATURES => {
                MultipartReplyBody::GroupFeatures(GroupFeatures::read(reader)?)
            }
            MultipartType::METER => MultipartReplyBody::Meter(list(reader, MeterStats::read)?),
            MultipartType::METER_CONFIG => {
                MultipartReplyBody::MeterConfig(list(reader, MeterConfig::read)?)
            }
            MultipartType::METER_FEATURES => {
                MultipartReplyBody::MeterFeatures(MeterFeatures::read(reader)?)
            }
            MultipartType::TABLE_FEATURES => {
                MultipartReplyBody::TableFeatures(list(reader, TableFeatures::read)?)
            }
            MultipartType::PORT_DESC => MultipartReplyBody::PortDesc(list(reader, Port::read)?),
            MultipartType::EXPERIMENTER => {
                MultipartReplyBody::Experimenter(ExperimenterStats::read(reader)?)
            }
            _ => MultipartReplyBody::Unknown { kind, body: reader.remaining().to_vec() },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            MultipartReplyBody::Desc(body) => body.write(writer),
            MultipartReplyBody::Flow(flows) => flows.iter().for_each(|flow| flow.write(writer)),
            MultipartReplyBody::Aggregate(body) => body.write(writer),
            MultipartReplyBody::Table(tables) => {
                tables.iter().for_each(|table| table.write(writer))
            }
            MultipartReplyBody::PortStats(ports) => {
                ports.iter().for_each(|port| port.write(writer))
            }
            MultipartReplyBody::Queue(queues) => {
                queues.iter().for_each(|queue| queue.write(writer))
            }
            MultipartReplyBody::Group(groups) => {
                groups.iter().for_each(|group| group.write(writer))
            }
            MultipartReplyBody::GroupDesc(groups) => {
                groups.iter().for_each(|group| group.write(writer))
            }
            MultipartReplyBody::GroupFeatures(body) => body.write(writer),
            MultipartReplyBody::Meter(meters) => {
                meters.iter().for_each(|meter| meter.write(writer))
            }
            MultipartReplyBody::MeterConfig(meters) => {
                meters.iter().for_each(|meter| meter.write(writer))
            }
            MultipartReplyBody::MeterFeatures(body) => body.write(writer),
            MultipartReplyBody::TableFeatures(tables) => {
                tables.iter().for_each(|t| t.write(writer))
            }
            MultipartReplyBody::PortDesc(ports) => ports.iter().for_each(|port| port.write(writer)),
            MultipartReplyBody::Experimenter(body) => body.write(writer),
            MultipartReplyBody::Unknown { body, .. } => writer.bytes(body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_kind_are_joined_and_others_given_back() {
        let port =
            |port_no| PortStats { port_no: super::super::PortNo(port_no), ..PortStats::default() };
        let mut body = MultipartReplyBody::PortStats(Vec::from([port(1)]));
        assert_eq!(body.append(MultipartReplyBody::PortStats(Vec::from([port(2)]))), Ok(()));
        let other = MultipartReplyBody::Flow(Vec::new());
        assert_eq!(body.append(other.clone()), Err(other));
        assert_eq!(body, MultipartReplyBody::PortStats(Vec::from([port(1), port(2)])));
    }
}
