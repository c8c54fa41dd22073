//! A multipart reply, put together of its parts.

use core::cmp::Reverse;

use aldis_control::Account;
use aldis_control::account::{Held, flow_bytes};
use aldis_wire::msg::{
    FlowStats, FlowStatsRequest, GroupNo, Match, PortNo, PortStats, PortStatsRequest, QueueNo,
    QueueStats, QueueStatsRequest, StatsReplyBody, StatsRequestBody, TableNo, TableStats,
};

use super::rates::Identified;
use super::statistics::StatisticsRow;

/// Ports and queues of a switch that are kept; tables are 255 at most by their numbers. As many as
/// a switch may have ports.
pub const ROWS_MAX: usize = aldis_control::limits::PORTS_MAX;

/// A flow that takes more bytes is not kept: it has hundreds of actions.
const FLOW_BYTES_MAX: usize = 16 * 1024;

/// What a switch is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatisticsKind {
    /// Counters of ports.
    Ports,
    /// Counters of flows.
    Flows,
    /// Counters of tables.
    Tables,
    /// Counters of queues.
    Queues,
}

impl StatisticsKind {
    /// All of them.
    pub const ALL: [StatisticsKind; 4] = [
        StatisticsKind::Ports,
        StatisticsKind::Flows,
        StatisticsKind::Tables,
        StatisticsKind::Queues,
    ];

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }

    pub(super) fn request(self) -> StatsRequestBody {
        match self {
            StatisticsKind::Ports => {
                StatsRequestBody::PortStats(PortStatsRequest { port_no: PortNo::ANY })
            }
            StatisticsKind::Tables => StatsRequestBody::Table,
            StatisticsKind::Queues => {
                let (port_no, queue_id) = (PortNo::ANY, QueueNo::ALL);
                StatsRequestBody::Queue(QueueStatsRequest { port_no, queue_id })
            }
            StatisticsKind::Flows => StatsRequestBody::Flow(FlowStatsRequest {
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
    pub(super) rows: MultipartRows,
    /// Rows for which there is no room.
    pub(super) left_out: u64,
    /// What the rows take, on the account of the switch.
    pub(super) held: Held,
    flows_max: usize,
}

#[derive(Debug)]
pub(super) enum MultipartRows {
    Ports(Vec<PortStats>),
    Flows(Vec<FlowStats>),
    Tables(Vec<TableStats>),
    Queues(Vec<QueueStats>),
}

impl Multipart {
    pub(super) fn new(kind: StatisticsKind, flows_max: usize, account: &Account) -> Multipart {
        let rows = match kind {
            StatisticsKind::Ports => MultipartRows::Ports(vec![]),
            StatisticsKind::Flows => MultipartRows::Flows(vec![]),
            StatisticsKind::Tables => MultipartRows::Tables(vec![]),
            StatisticsKind::Queues => MultipartRows::Queues(vec![]),
        };
        Multipart { rows, left_out: 0, held: account.hold(), flows_max }
    }

    pub(super) fn kind(&self) -> StatisticsKind {
        match self.rows {
            MultipartRows::Ports(_) => StatisticsKind::Ports,
            MultipartRows::Flows(_) => StatisticsKind::Flows,
            MultipartRows::Tables(_) => StatisticsKind::Tables,
            MultipartRows::Queues(_) => StatisticsKind::Queues,
        }
    }

    /// Adds a part. Whether it is one of what was asked for.
    pub(super) fn add(&mut self, body: &StatsReplyBody) -> bool {
        let held = &mut self.held;
        let left_out = match (&mut self.rows, body) {
            (MultipartRows::Ports(rows), StatsReplyBody::PortStats(more)) => {
                extend(rows, more, held)
            }
            (MultipartRows::Tables(rows), StatsReplyBody::Table(more)) => extend(rows, more, held),
            (MultipartRows::Queues(rows), StatsReplyBody::Queue(more)) => extend(rows, more, held),
            (MultipartRows::Flows(rows), StatsReplyBody::Flow(more)) => {
                let before = rows.len();
                let short = more.iter().filter(|flow| flow_bytes(flow) <= FLOW_BYTES_MAX);
                // Where there is no room for one, the others of this part are not tried: an
                // account counts each refusal.
                rows.extend(short.take_while(|flow| held.more(kept_bytes(flow))).cloned());
                let not_added = before + more.len() - rows.len();
                not_added + keep_busiest(rows, self.flows_max, held)
            }
            _ => return false,
        };
        self.left_out += left_out as u64;
        true
    }
}

/// Adds rows as far as there is room for them; how many there is none for.
fn extend<T: Copy + Identified>(rows: &mut Vec<T>, more: &[T], held: &mut Held) -> usize {
    let most = ROWS_MAX.saturating_sub(rows.len()).min(more.len());
    let room = (0..most).take_while(|_| held.more(size_of::<StatisticsRow<T>>())).count();
    rows.extend_from_slice(&more[..room]);
    more.len() - room
}

/// What a flow takes as a row of a sample.
fn kept_bytes(flow: &FlowStats) -> usize {
    size_of::<StatisticsRow<FlowStats>>() - size_of::<FlowStats>() + flow_bytes(flow)
}

/// Keeps the flows that carried most bytes; how many others there were.
fn keep_busiest(flows: &mut Vec<FlowStats>, most: usize, held: &mut Held) -> usize {
    let others = flows.len().saturating_sub(most);
    if others > 0 {
        // Where a switch does not count, it says all ones.
        let bytes = |flow: &FlowStats| Reverse(flow.byte_count.checked_add(1).map_or(0, |n| n - 1));
        flows.select_nth_unstable_by_key(most, bytes);
        held.less(flows.drain(most..).map(|flow| kept_bytes(&flow)).sum());
    }
    others
}
