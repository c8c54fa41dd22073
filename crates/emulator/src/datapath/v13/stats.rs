//! The answers to MULTIPART_REQUESTs.

mod features;

use super::events::{counted, description, match_of};
use super::read;
use crate::datapath::Datapath;
use crate::datapath::action::DatapathAction;
use crate::datapath::bounds::{PART_BYTES, TABLES};
use crate::datapath::flow::{DatapathFlow, FlowCounters, FlowModText};
use crate::datapath::group::Group;
use crate::datapath::meter::Meter;
use crate::datapath::port::DatapathPort;
use crate::datapath::tables::Filter;
use aldis_wire::FixedText;
use aldis_wire::header::HEADER_LEN;
use aldis_wire::v13::Message;
use aldis_wire::v13::bucket::GroupNo;
use aldis_wire::v13::error::{BadRequestCode, ErrorCode, MeterModFailedCode};
use aldis_wire::v13::meter_mod::MeterNo;
use aldis_wire::v13::port::PortNo;
use aldis_wire::v13::stats::group::BucketCounter;
use aldis_wire::v13::stats::meter::BandStats;
use aldis_wire::v13::stats::{
    AggregateStats, Desc, FlowStats, FlowStatsRequest, GroupDesc, GroupStats, MeterConfig,
    MeterStats, MultipartFlags, MultipartReply, MultipartReplyBody, MultipartRequest,
    MultipartRequestBody, PortStats, PortStatsRequest, TableStats,
};
use aldis_wire::v13::table_mod::TableNo;
use std::time::Duration;

use MultipartReplyBody as Reply;
use MultipartRequestBody as Request;

pub(super) fn answer(
    switch: &Datapath,
    request: MultipartRequest,
    now: Duration,
) -> Result<Vec<Message>, ErrorCode> {
    let bad = |code| Err(ErrorCode::BadRequest(code));
    if request.flags.contains(MultipartFlags::MORE) {
        // Nothing that is asked here needs a second part.
        return bad(BadRequestCode::MULTIPART_BUFFER_OVERFLOW);
    }
    let one = |body| Ok(vec![Message::MultipartReply(MultipartReply::new(body))]);
    match &request.body {
        Request::Desc => one(Reply::Desc(Box::new(desc(switch)))),
        Request::Flow(request) => Ok(parts(flows(switch, request, now)?, Reply::Flow)),
        Request::Aggregate(request) => one(Reply::Aggregate(aggregate(switch, request)?)),
        Request::Table => Ok(parts((0..TABLES).map(|table| counters(switch, table)), Reply::Table)),
        Request::PortStats(request) => ports(switch, request, now),
        Request::PortDesc => Ok(parts(switch.world.ports.iter().map(description), Reply::PortDesc)),
        Request::Queue(_) => one(Reply::Queue(vec![])),
        Request::Group(request) => {
            let groups = switch.world.groups.0.iter();
            let asked = |id: u32| request.group_id == GroupNo::ALL || request.group_id.0 == id;
            let groups = groups.filter(|(id, _)| asked(**id));
            Ok(parts(groups.map(|(id, group)| group_stats(switch, *id, group, now)), Reply::Group))
        }
        Request::GroupDesc => {
            Ok(parts(switch.world.groups.0.iter().map(group_desc), Reply::GroupDesc))
        }
        Request::GroupFeatures => one(Reply::GroupFeatures(features::groups())),
        Request::Meter(request) => {
            let meters = meters(switch, request.meter_id)?;
            let stats = meters.map(|(id, meter)| meter_stats(switch, id, meter, now));
            Ok(parts(stats, Reply::Meter))
        }
        Request::MeterConfig(request) => {
            let meters = meters(switch, request.meter_id)?;
            Ok(parts(meters.map(|(id, meter)| meter_config(id, meter)), Reply::MeterConfig))
        }
        Request::MeterFeatures => one(Reply::MeterFeatures(features::meters())),
        Request::TableFeatures(wanted) if wanted.is_empty() => {
            Ok(parts((0..TABLES).map(features::table), Reply::TableFeatures))
        }
        Request::TableFeatures(_) => bad(BadRequestCode::EPERM),
        Request::Experimenter(_) => bad(BadRequestCode::BAD_EXPERIMENTER),
        Request::Unknown { .. } => bad(BadRequestCode::BAD_MULTIPART),
    }
}

/// An answer in as many parts as it takes; at least one.
fn parts<T: Clone>(items: impl IntoIterator<Item = T>, body: fn(Vec<T>) -> Reply) -> Vec<Message> {
    let (mut bodies, mut part, mut length, mut scratch) = (Vec::new(), Vec::new(), 0, Vec::new());
    for item in items {
        scratch.clear();
        let alone = Message::MultipartReply(MultipartReply::new(body(vec![item.clone()])));
        // What does not fit a message of its own cannot be said; the bounds of lists see to it that
        // there is no such.
        if alone.encode(0, &mut scratch).is_err() {
            continue;
        }
        let own = scratch.len() - HEADER_LEN - 8;
        if length + own > PART_BYTES && !part.is_empty() {
            bodies.push(body(std::mem::take(&mut part)));
            length = 0;
        }
        length += own;
        part.push(item);
    }
    bodies.push(body(part));
    let last = bodies.len() - 1;
    let message = |(at, body)| {
        let flags = if at < last { MultipartFlags::MORE } else { MultipartFlags::EMPTY };
        Message::MultipartReply(MultipartReply { flags, body })
    };
    bodies.into_iter().enumerate().map(message).collect()
}

fn desc(switch: &Datapath) -> Desc {
    Desc {
        mfr_desc: FixedText::new("Aldis"),
        hw_desc: FixedText::new("emulated switch"),
        sw_desc: FixedText::new(env!("CARGO_PKG_VERSION")),
        serial_num: FixedText::new(&switch.dpid.to_string()),
        dp_desc: FixedText::new(&switch.dpid.to_string()),
    }
}

/// The flows that a request is about, each with its table.
fn found<'a>(
    switch: &'a Datapath,
    request: &FlowStatsRequest,
) -> Result<impl Iterator<Item = (u8, &'a DatapathFlow)> + use<'a>, ErrorCode> {
    let all = request.table_id == TableNo::ALL;
    if !all && request.table_id.0 >= TABLES {
        return Err(ErrorCode::BadRequest(BadRequestCode::BAD_TABLE_ID));
    }
    let filter = Filter {
        table: (!all).then_some(request.table_id.0),
        pattern: read::pattern(&request.match_.fields)?,
        strict: None,
        out_port: (request.out_port != PortNo::ANY).then_some(request.out_port.0),
        out_group: (request.out_group != GroupNo::ANY).then_some(request.out_group.0),
        cookie: request.cookie,
        cookie_mask: request.cookie_mask,
    };
    let found = switch.tables.find(&filter).into_iter();
    Ok(found.filter_map(|at| Some((at.0, switch.tables.get(at)?))))
}

fn flows(
    switch: &Datapath,
    request: &FlowStatsRequest,
    now: Duration,
) -> Result<impl Iterator<Item = FlowStats>, ErrorCode> {
    let stats = move |(table, flow): (u8, &DatapathFlow)| {
        let lived = now.saturating_sub(flow.created);
        let FlowCounters { packets, bytes } = counted(flow);
        let instructions = match &flow.said {
            FlowModText::V13 { instructions, .. } => instructions.to_vec(),
            FlowModText::V10 { .. } => Vec::new(),
        };
        FlowStats {
            table_id: TableNo(table),
            duration_sec: lived.as_secs() as u32,
            duration_nsec: lived.subsec_nanos(),
            priority: flow.priority,
            idle_timeout: flow.idle_timeout,
            hard_timeout: flow.hard_timeout,
            flags: flow.flags,
            cookie: flow.cookie,
            packet_count: packets,
            byte_count: bytes,
            match_: match_of(flow),
            instructions,
        }
    };
    Ok(found(switch, request)?.map(stats))
}

fn aggregate(switch: &Datapath, request: &FlowStatsRequest) -> Result<AggregateStats, ErrorCode> {
    let none = AggregateStats { packet_count: 0, byte_count: 0, flow_count: 0 };
    Ok(found(switch, request)?.fold(none, |sum, (_, flow)| AggregateStats {
        packet_count: sum.packet_count + flow.counters.packets,
        byte_count: sum.byte_count + flow.counters.bytes,
        flow_count: sum.flow_count + 1,
    }))
}

fn counters(switch: &Datapath, number: u8) -> TableStats {
    let table = switch.tables.table(number);
    TableStats {
        table_id: TableNo(number),
        active_count: table.map_or(0, |table| table.len()),
        lookup_count: table.map_or(0, |table| table.lookups),
        matched_count: table.map_or(0, |table| table.matched),
    }
}

fn ports(
    switch: &Datapath,
    request: &PortStatsRequest,
    now: Duration,
) -> Result<Vec<Message>, ErrorCode> {
    let all = request.port_no == PortNo::ANY;
    if !all && switch.world.ports.get(request.port_no.0).is_none() {
        return Err(ErrorCode::BadRequest(BadRequestCode::BAD_PORT));
    }
    let ports = switch.world.ports.iter().filter(|port| all || port.number == request.port_no.0);
    Ok(parts(ports.map(|port| port_stats(port, now)), Reply::PortStats))
}

fn port_stats(port: &DatapathPort, now: Duration) -> PortStats {
    let lived = now.saturating_sub(port.since);
    PortStats {
        port_no: PortNo(port.number),
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
        duration_sec: lived.as_secs() as u32,
        duration_nsec: lived.subsec_nanos(),
    }
}

fn group_stats(switch: &Datapath, id: u32, group: &Group, now: Duration) -> GroupStats {
    let lived = now.saturating_sub(group.created);
    let leads = |flow: &DatapathFlow| {
        flow.program.actions().filter(|action| **action == DatapathAction::Group(id)).count()
    };
    let counter = |counters: FlowCounters| BucketCounter {
        packet_count: counters.packets,
        byte_count: counters.bytes,
    };
    GroupStats {
        group_id: GroupNo(id),
        ref_count: (switch.tables.sum(leads) + switch.world.groups.references(id)) as u32,
        packet_count: group.counters.packets,
        byte_count: group.counters.bytes,
        duration_sec: lived.as_secs() as u32,
        duration_nsec: lived.subsec_nanos(),
        buckets: group.buckets.iter().map(|bucket| counter(bucket.counters)).collect(),
    }
}

fn group_desc((id, group): (&u32, &Group)) -> GroupDesc {
    let buckets = group.buckets.iter().map(|bucket| bucket.said.clone()).collect();
    GroupDesc { kind: group.kind, group_id: GroupNo(*id), buckets }
}

/// The meters that a request is about.
fn meters(
    switch: &Datapath,
    wanted: MeterNo,
) -> Result<impl Iterator<Item = (u32, &Meter)>, ErrorCode> {
    if wanted != MeterNo::ALL && !switch.world.meters.contains_key(&wanted.0) {
        return Err(ErrorCode::MeterModFailed(MeterModFailedCode::UNKNOWN_METER));
    }
    let meters = switch.world.meters.iter().map(|(id, meter)| (*id, meter));
    Ok(meters.filter(move |(id, _)| wanted == MeterNo::ALL || wanted.0 == *id))
}

fn meter_stats(switch: &Datapath, id: u32, meter: &Meter, now: Duration) -> MeterStats {
    let lived = now.saturating_sub(meter.created);
    let band = |counters: FlowCounters| BandStats {
        packet_band_count: counters.packets,
        byte_band_count: counters.bytes,
    };
    MeterStats {
        meter_id: MeterNo(id),
        flow_count: switch.tables.sum(|flow| usize::from(flow.program.meter == Some(id))) as u32,
        packet_in_count: meter.counters.packets,
        byte_in_count: meter.counters.bytes,
        duration_sec: lived.as_secs() as u32,
        duration_nsec: lived.subsec_nanos(),
        bands: meter.bands.iter().map(|its| band(its.counters)).collect(),
    }
}

fn meter_config(id: u32, meter: &Meter) -> MeterConfig {
    let bands = meter.bands.iter().map(|band| band.said.clone()).collect();
    MeterConfig { flags: meter.flags, meter_id: MeterNo(id), bands }
}
