//! The answers to STATS_REQUESTs.

use super::events::{match_of, number};
use super::read;
use crate::datapath::Datapath;
use crate::datapath::bounds::{FLOWS_MAX, PART_BYTES};
use crate::datapath::flow::{DatapathFlow, FlowModText};
use crate::datapath::port::DatapathPort;
use crate::datapath::tables::Filter;
use aldis_wire::FixedText;
use aldis_wire::v10::error::{BadRequestCode, ErrorCode};
use aldis_wire::v10::stats::flow::TABLE_ALL;
use aldis_wire::v10::stats::{
    AggregateStatsReply, DescStats, FlowStats, FlowStatsRequest, PortStats, StatsReply,
    StatsReplyBody, StatsReplyFlags, StatsRequestBody, TableStats,
};
use aldis_wire::v10::{Message, PortNo, Wildcards};
use std::time::Duration;

/// Length of a flow's statistics without its actions, in bytes; and of an action, at most.
const FLOW_LEN: usize = 88;
const ACTION_LEN_MAX: usize = 16;

pub(super) fn answer(
    switch: &Datapath,
    request: &StatsRequestBody,
    now: Duration,
) -> Result<Vec<Message>, ErrorCode> {
    let one = |body| Ok(parts(vec![body]));
    match request {
        StatsRequestBody::Desc => one(StatsReplyBody::Desc(Box::new(desc(switch)))),
        StatsRequestBody::Flow(request) => Ok(parts(flows(switch, request, now))),
        StatsRequestBody::Aggregate(request) => {
            one(StatsReplyBody::Aggregate(aggregate(switch, request)))
        }
        StatsRequestBody::Table => one(StatsReplyBody::Table(vec![table(switch)])),
        StatsRequestBody::Port(request) => {
            let wanted = |port: &&DatapathPort| {
                request.port_no == PortNo::NONE || port.number == request.port_no.widen()
            };
            let ports: Vec<PortStats> =
                switch.world.ports.iter().filter(wanted).map(port).collect();
            if ports.is_empty() && request.port_no != PortNo::NONE {
                return Err(ErrorCode::BadRequest(BadRequestCode::BAD_STAT));
            }
            let chunks = ports.chunks(PART_BYTES / 104);
            let bodies: Vec<_> = chunks.map(|part| StatsReplyBody::Port(part.to_vec())).collect();
            Ok(parts(if bodies.is_empty() { vec![StatsReplyBody::Port(vec![])] } else { bodies }))
        }
        StatsRequestBody::Queue(_) => one(StatsReplyBody::Queue(vec![])),
        StatsRequestBody::Vendor(_) => Err(ErrorCode::BadRequest(BadRequestCode::BAD_VENDOR)),
        StatsRequestBody::Unknown { .. } => Err(ErrorCode::BadRequest(BadRequestCode::BAD_STAT)),
    }
}

/// One answer in these parts.
fn parts(bodies: Vec<StatsReplyBody>) -> Vec<Message> {
    let last = bodies.len().saturating_sub(1);
    let part = |(at, body)| {
        let flags = if at < last { StatsReplyFlags::MORE } else { StatsReplyFlags::EMPTY };
        Message::StatsReply(StatsReply { flags, body })
    };
    bodies.into_iter().enumerate().map(part).collect()
}

fn desc(switch: &Datapath) -> DescStats {
    DescStats {
        mfr_desc: FixedText::new("Aldis"),
        hw_desc: FixedText::new("emulated switch"),
        sw_desc: FixedText::new(env!("CARGO_PKG_VERSION")),
        serial_num: FixedText::new(&switch.dpid.to_string()),
        dp_desc: FixedText::new(&switch.dpid.to_string()),
    }
}

fn found<'a>(
    switch: &'a Datapath,
    request: &FlowStatsRequest,
) -> impl Iterator<Item = (u8, &'a DatapathFlow)> {
    let filter = Filter {
        table: (request.table_id != TABLE_ALL).then_some(request.table_id),
        pattern: read::pattern(&request.match_).1,
        strict: None,
        out_port: (request.out_port != PortNo::NONE).then(|| request.out_port.widen()),
        out_group: None,
        cookie: 0,
        cookie_mask: 0,
    };
    let found = switch.tables.find(&filter).into_iter();
    found.filter_map(|at| Some((at.0, switch.tables.get(at)?)))
}

fn flows(switch: &Datapath, request: &FlowStatsRequest, now: Duration) -> Vec<StatsReplyBody> {
    let (mut bodies, mut part, mut length) = (Vec::new(), Vec::new(), 0);
    for (table_id, flow) in found(switch, request) {
        let actions = match &flow.said {
            FlowModText::V10 { actions, .. } => actions.to_vec(),
            FlowModText::V13 { .. } => Vec::new(),
        };
        let own = FLOW_LEN + actions.len() * ACTION_LEN_MAX;
        if length + own > PART_BYTES && !part.is_empty() {
            bodies.push(StatsReplyBody::Flow(std::mem::take(&mut part)));
            length = 0;
        }
        length += own;
        let lived = now.saturating_sub(flow.created);
        part.push(FlowStats {
            table_id,
            match_: match_of(flow),
            duration_sec: lived.as_secs() as u32,
            duration_nsec: lived.subsec_nanos(),
            priority: flow.priority,
            idle_timeout: flow.idle_timeout,
            hard_timeout: flow.hard_timeout,
            cookie: flow.cookie,
            packet_count: flow.counters.packets,
            byte_count: flow.counters.bytes,
            actions,
        });
    }
    bodies.push(StatsReplyBody::Flow(part));
    bodies
}

fn aggregate(switch: &Datapath, request: &FlowStatsRequest) -> AggregateStatsReply {
    let none = AggregateStatsReply { packet_count: 0, byte_count: 0, flow_count: 0 };
    found(switch, request).fold(none, |sum, (_, flow)| AggregateStatsReply {
        packet_count: sum.packet_count + flow.counters.packets,
        byte_count: sum.byte_count + flow.counters.bytes,
        flow_count: sum.flow_count + 1,
    })
}

/// The one table that 1.0 uses. The others would be as empty as they are many.
fn table(switch: &Datapath) -> TableStats {
    let table = switch.tables.table(0);
    TableStats {
        table_id: 0,
        name: FixedText::new("classifier"),
        wildcards: Wildcards::ALL,
        max_entries: FLOWS_MAX,
        active_count: table.map_or(0, |table| table.len()),
        lookup_count: table.map_or(0, |table| table.lookups),
        matched_count: table.map_or(0, |table| table.matched),
    }
}

fn port(port: &DatapathPort) -> PortStats {
    PortStats {
        port_no: number(port.number),
        rx_packets: port.rx_packets,
        tx_packets: port.tx_packets,
        rx_bytes: port.rx_bytes,
        tx_bytes: port.tx_bytes,
        rx_dropped: port.rx_dropped,
        tx_dropped: port.tx_dropped,
        rx_errors: 0,
        tx_errors: 0,
        rx_frame_err: 0,
        rx_over_err: 0,
        rx_crc_err: 0,
        collisions: 0,
    }
}
