//! STATS_REQUEST and STATS_REPLY (§5.3.5): a kind, flags, and a body by kind; one file a kind.

pub mod aggregate;
pub mod desc;
pub mod flow;
pub mod port;
pub mod queue;
pub mod table;
pub mod vendor;

use super::read_all;
use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::boxed::Box;
use alloc::vec::Vec;

pub use aggregate::AggregateStatsReply;
pub use desc::DescStats;
pub use flow::{FlowStats, FlowStatsRequest};
pub use port::{PortStats, PortStatsRequest};
pub use queue::{QueueStats, QueueStatsRequest};
pub use table::TableStats;
pub use vendor::VendorStats;

open_enum! {
    /// The kind of statistics: `enum ofp_stats_types`.
    pub struct StatsType(u16) "OFPST_" {
        /// What the switch is, in words.
        DESC = 0,
        /// Flows, one by one.
        FLOW = 1,
        /// Flows, summed up.
        AGGREGATE = 2,
        /// Tables.
        TABLE = 3,
        /// Ports.
        PORT = 4,
        /// Queues.
        QUEUE = 5,
        /// Vendor-defined.
        VENDOR = 0xffff,
    }
}

flags! {
    /// `enum ofp_stats_reply_flags`
    pub struct StatsReplyFlags(u16) {
        /// Another reply to the same request follows.
        MORE = 1 << 0,
    }
}

/// `OFPT_STATS_REQUEST`: `struct ofp_stats_request`, 12 bytes with the header, then the body.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StatsRequest {
    /// None is defined.
    pub flags: u16,
    /// What is asked for.
    pub body: StatsRequestBody,
}

/// What a [`StatsRequest`] asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum StatsRequestBody {
    /// `OFPST_DESC`
    Desc,
    /// `OFPST_FLOW`
    Flow(FlowStatsRequest),
    /// `OFPST_AGGREGATE`: over the same flows that `OFPST_FLOW` would list.
    Aggregate(FlowStatsRequest),
    /// `OFPST_TABLE`
    Table,
    /// `OFPST_PORT`
    Port(PortStatsRequest),
    /// `OFPST_QUEUE`
    Queue(QueueStatsRequest),
    /// `OFPST_VENDOR`
    Vendor(VendorStats),
    /// A kind that this version does not know.
    Unknown {
        /// The kind.
        kind: StatsType,
        /// Its body.
        body: Vec<u8>,
    },
}

impl StatsRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = StatsType(reader.u16("stats_request.type")?);
        let flags = reader.u16("stats_request.flags")?;
        Ok(StatsRequest { flags, body: StatsRequestBody::read(kind, reader)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.body.stats_type().0);
        writer.u16(self.flags);
        self.body.write(writer);
    }
}

impl StatsRequestBody {
    /// The kind of statistics.
    pub fn stats_type(&self) -> StatsType {
        match self {
            StatsRequestBody::Desc => StatsType::DESC,
            StatsRequestBody::Flow(_) => StatsType::FLOW,
            StatsRequestBody::Aggregate(_) => StatsType::AGGREGATE,
            StatsRequestBody::Table => StatsType::TABLE,
            StatsRequestBody::Port(_) => StatsType::PORT,
            StatsRequestBody::Queue(_) => StatsType::QUEUE,
            StatsRequestBody::Vendor(_) => StatsType::VENDOR,
            StatsRequestBody::Unknown { kind, .. } => *kind,
        }
    }

    fn read(kind: StatsType, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match kind {
            StatsType::DESC => StatsRequestBody::Desc,
            StatsType::FLOW => StatsRequestBody::Flow(FlowStatsRequest::read(reader)?),
            StatsType::AGGREGATE => StatsRequestBody::Aggregate(FlowStatsRequest::read(reader)?),
            StatsType::TABLE => StatsRequestBody::Table,
            StatsType::PORT => StatsRequestBody::Port(PortStatsRequest::read(reader)?),
            StatsType::QUEUE => StatsRequestBody::Queue(QueueStatsRequest::read(reader)?),
            StatsType::VENDOR => StatsRequestBody::Vendor(VendorStats::read(reader)?),
            _ => StatsRequestBody::Unknown { kind, body: reader.remaining().to_vec() },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            StatsRequestBody::Desc | StatsRequestBody::Table => {}
            StatsRequestBody::Flow(body) | StatsRequestBody::Aggregate(body) => body.write(writer),
            StatsRequestBody::Port(body) => body.write(writer),
            StatsRequestBody::Queue(body) => body.write(writer),
            StatsRequestBody::Vendor(body) => body.write(writer),
            StatsRequestBody::Unknown { body, .. } => writer.bytes(body),
        }
    }
}

/// `OFPT_STATS_REPLY`: `struct ofp_stats_reply`, 12 bytes with the header, then the body.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StatsReply {
    /// Whether more follows.
    pub flags: StatsReplyFlags,
    /// The statistics.
    pub body: StatsReplyBody,
}

/// What a [`StatsReply`] holds. A list that is too long for one message goes on in the next.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum StatsReplyBody {
    /// `OFPST_DESC`
    Desc(Box<DescStats>),
    /// `OFPST_FLOW`
    Flow(Vec<FlowStats>),
    /// `OFPST_AGGREGATE`
    Aggregate(AggregateStatsReply),
    /// `OFPST_TABLE`
    Table(Vec<TableStats>),
    /// `OFPST_PORT`
    Port(Vec<PortStats>),
    /// `OFPST_QUEUE`
    Queue(Vec<QueueStats>),
    /// `OFPST_VENDOR`
    Vendor(VendorStats),
    /// A kind that this version does not know.
    Unknown {
        /// The kind.
        kind: StatsType,
        /// Its body.
        body: Vec<u8>,
    },
}

impl StatsReply {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = StatsType(reader.u16("stats_reply.type")?);
        let flags = StatsReplyFlags(reader.u16("stats_reply.flags")?);
        Ok(StatsReply { flags, body: StatsReplyBody::read(kind, reader)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.body.stats_type().0);
        writer.u16(self.flags.0);
        self.body.write(writer);
    }
}

impl StatsReplyBody {
    /// The kind of statistics.
    pub fn stats_type(&self) -> StatsType {
        match self {
            StatsReplyBody::Desc(_) => StatsType::DESC,
            StatsReplyBody::Flow(_) => StatsType::FLOW,
            StatsReplyBody::Aggregate(_) => StatsType::AGGREGATE,
            StatsReplyBody::Table(_) => StatsType::TABLE,
            StatsReplyBody::Port(_) => StatsType::PORT,
            StatsReplyBody::Queue(_) => StatsType::QUEUE,
            StatsReplyBody::Vendor(_) => StatsType::VENDOR,
            StatsReplyBody::Unknown { kind, .. } => *kind,
        }
    }

    fn read(kind: StatsType, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match kind {
            StatsType::DESC => StatsReplyBody::Desc(Box::new(DescStats::read(reader)?)),
            StatsType::FLOW => StatsReplyBody::Flow(read_all(reader, FlowStats::read)?),
            StatsType::AGGREGATE => StatsReplyBody::Aggregate(AggregateStatsReply::read(reader)?),
            StatsType::TABLE => StatsReplyBody::Table(read_all(reader, TableStats::read)?),
            StatsType::PORT => StatsReplyBody::Port(read_all(reader, PortStats::read)?),
            StatsType::QUEUE => StatsReplyBody::Queue(read_all(reader, QueueStats::read)?),
            StatsType::VENDOR => StatsReplyBody::Vendor(VendorStats::read(reader)?),
            _ => StatsReplyBody::Unknown { kind, body: reader.remaining().to_vec() },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            StatsReplyBody::Desc(body) => body.write(writer),
            StatsReplyBody::Flow(flows) => flows.iter().for_each(|flow| flow.write(writer)),
            StatsReplyBody::Aggregate(body) => body.write(writer),
            StatsReplyBody::Table(tables) => tables.iter().for_each(|table| table.write(writer)),
            StatsReplyBody::Port(ports) => ports.iter().for_each(|port| port.write(writer)),
            StatsReplyBody::Queue(queues) => queues.iter().for_each(|queue| queue.write(writer)),
            StatsReplyBody::Vendor(body) => body.write(writer),
            StatsReplyBody::Unknown { body, .. } => writer.bytes(body),
        }
    }
}
