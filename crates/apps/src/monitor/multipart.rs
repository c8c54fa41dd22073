//! A multipart reply, put together of its parts.

use core::cmp::Reverse;

use aldis_control::account::flow_bytes;

use aldis_wire::msg::{
    FlowStats, FlowStatsRequest, GroupNo, Match, PortNo, PortStats, PortStatsRequest, QueueNo,
    QueueStats, QueueStatsRequest, StatsReplyBody, StatsRequestBody, TableNo, TableStats,
};

/// Ports and queues of a switch that are kept; tables are 255 at most by their numbers. As many as
/// a switch may have ports.
pub const ROWS_MAX: usize = aldis_control::limits::PORTS_MAX;

/// A flow that takes more bytes is not kept: it has hundreds of actions.
const FLOW_BYTES_MAX: usize = 16 * 1024;

/// What a switch is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Counters of ports.
    Ports,
    /// Counters of flows.
    Flows,
    /// Counters of tables.
    Tables,
    /// Counters of queues.
    Queues,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Ports, Kind::Flows, Kind::Tables, Kind::Queues];

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }

    pub(super) fn request(self) -> StatsRequestBody {
        match self {
            Kind::Ports => StatsRequestBody::PortStats(PortStatsRequest { port_no: PortNo::ANY }),
            Kind::Tables => StatsRequestBody::Table,
            Kind::Queues => {
                let (port_no, queue_id) = (PortNo::ANY, QueueNo::ALL);
                StatsRequestBody::Queue(QueueStatsRequest { port_no, queue_id })
            }
            Kind::Flows => StatsRequestBody::Flow(FlowStatsRequest {
                table_id: TableNo::ALL,
                out_port: PortNo::ANY,
                out_group: GroupNo::ANY,
                cookie: 0,
                cookie_mask: 0,
                match_: Match::new(),
            }),
        }
    }
}

/// What came so far.
#[derive(Debug)]
pub(super) struct Multipart {
    pub(super) rows: Rows,
    /// Rows for which there is no room.
    pub(super) left_out: u64,
    flows_max: usize,
}

#[derive(Debug)]
pub(super) enum Rows {
    Ports(Vec<PortStats>),
    Flows(Vec<FlowStats>),
    Tables(Vec<TableStats>),
    Queues(Vec<QueueStats>),
}

impl Multipart {
    pub(super) fn new(kind: Kind, flows_max: usize) -> Multipart {
        let rows = match kind {
            Kind::Ports => Rows::Ports(vec![]),
            Kind::Flows => Rows::Flows(vec![]),
            Kind::Tables => Rows::Tables(vec![]),
            Kind::Queues => Rows::Queues(vec![]),
        };
        Multipart { rows, left_out: 0, flows_max }
    }

    pub(super) fn kind(&self) -> Kind {
        match self.rows {
            Rows::Ports(_) => Kind::Ports,
            Rows::Flows(_) => Kind::Flows,
            Rows::Tables(_) => Kind::Tables,
            Rows::Queues(_) => Kind::Queues,
        }
    }

    /// Adds a part. Whether it is one of what was asked for.
    pub(super) fn add(&mut self, body: &StatsReplyBody) -> bool {
        let left_out = match (&mut self.rows, body) {
            (Rows::Ports(rows), StatsReplyBody::PortStats(more)) => extend(rows, more),
            (Rows::Tables(rows), StatsReplyBody::Table(more)) => extend(rows, more),
            (Rows::Queues(rows), StatsReplyBody::Queue(more)) => extend(rows, more),
            (Rows::Flows(rows), StatsReplyBody::Flow(more)) => {
                let before = rows.len();
                let kept = more.iter().filter(|flow| flow_bytes(flow) <= FLOW_BYTES_MAX);
                rows.extend(kept.cloned());
                let long = before + more.len() - rows.len();
                long + keep_busiest(rows, self.flows_max)
            }
            _ => return false,
        };
        self.left_out += left_out as u64;
        true
    }
}

/// Adds rows as far as there is room for them; how many there is none for.
fn extend<T: Copy>(rows: &mut Vec<T>, more: &[T]) -> usize {
    let room = ROWS_MAX.saturating_sub(rows.len()).min(more.len());
    rows.extend_from_slice(&more[..room]);
    more.len() - room
}

/// Keeps the flows that carried most bytes; how many others there were.
fn keep_busiest(flows: &mut Vec<FlowStats>, most: usize) -> usize {
    let others = flows.len().saturating_sub(most);
    if others > 0 {
        // Where a switch does not count, it says all ones.
        let bytes = |flow: &FlowStats| Reverse(flow.byte_count.checked_add(1).map_or(0, |n| n - 1));
        flows.select_nth_unstable_by_key(most, bytes);
        flows.truncate(most);
    }
    others
}
