//! Multipart messages of OpenFlow 1.3 in words.

use super::{fields, group, instructions, meter, port as described, table_features};
use crate::decode::text::dump;
use crate::decode::text::flow::{self, FLAGS, FlowStats, FlowStatsRequest};
use crate::decode::text::port::{self, flags};
use crate::decode::text::shared::{self, PortStats};
use aldis_wire::v13::stats::{self, MultipartReplyBody, MultipartRequestBody, MultipartType};
use aldis_wire::v13::{MultipartReply, MultipartRequest};
use std::fmt::{self, Formatter};

/// The name of a kind, by which `ovs-ofctl` calls it in every version.
pub(super) fn name(kind: MultipartType) -> String {
    match kind {
        MultipartType::PORT_STATS => "OFPST_PORT".to_owned(),
        _ => kind.name().map_or_else(
            || format!("OFPST_{}", kind.0),
            |name| name.replacen("OFPMP_", "OFPST_", 1),
        ),
    }
}

/// A request, behind its title.
pub(super) fn request(f: &mut Formatter<'_>, request: &MultipartRequest) -> fmt::Result {
    more(f, request.flags.0)?;
    match &request.body {
        MultipartRequestBody::Desc
        | MultipartRequestBody::Table
        | MultipartRequestBody::GroupFeatures
        | MultipartRequestBody::MeterFeatures => Ok(()),
        MultipartRequestBody::GroupDesc => f.write_str(" group_id=ALL"),
        MultipartRequestBody::PortDesc => f.write_str(" port=ANY"),
        MultipartRequestBody::Flow(request) | MultipartRequestBody::Aggregate(request) => {
            flow_request(f, request)
        }
        MultipartRequestBody::PortStats(request) => {
            write!(f, " port_no={}", port::number(request.port_no.0))
        }
        MultipartRequestBody::Queue(request) => {
            shared::queue_request(f, request.port_no.0, request.queue_id.0)
        }
        MultipartRequestBody::Group(request) => {
            write!(f, " group_id={}", group::number(request.group_id))
        }
        MultipartRequestBody::Meter(request) | MultipartRequestBody::MeterConfig(request) => {
            write!(f, " meter={}", meter::number(request.meter_id))
        }
        MultipartRequestBody::TableFeatures(tables) => {
            tables.iter().try_for_each(|table| table_features::table(f, table))
        }
        MultipartRequestBody::Experimenter(stats) => {
            shared::vendor(f, stats.experimenter, Some(stats.exp_type), &stats.body)
        }
        MultipartRequestBody::Unknown { body, .. } => dump(f, body),
    }
}

/// A reply, behind its title.
pub(super) fn reply(f: &mut Formatter<'_>, reply: &MultipartReply) -> fmt::Result {
    more(f, reply.flags.0)?;
    match &reply.body {
        MultipartReplyBody::Desc(desc) => {
            let names = [&desc.mfr_desc, &desc.hw_desc, &desc.sw_desc];
            shared::desc(f, names, &desc.serial_num, &desc.dp_desc)
        }
        MultipartReplyBody::Aggregate(sums) => {
            shared::aggregate(f, sums.packet_count, sums.byte_count, sums.flow_count)
        }
        MultipartReplyBody::GroupFeatures(features) => group::features(f, features),
        MultipartReplyBody::MeterFeatures(features) => meter::features(f, features),
        MultipartReplyBody::Experimenter(stats) => {
            shared::vendor(f, stats.experimenter, Some(stats.exp_type), &stats.body)
        }
        MultipartReplyBody::Unknown { body, .. } => dump(f, body),
        lists => list(f, lists),
    }
}

/// The replies that list things.
fn list(f: &mut Formatter<'_>, body: &MultipartReplyBody) -> fmt::Result {
    match body {
        MultipartReplyBody::Flow(list) => {
            list.iter().try_for_each(|flow| write!(f, "\n{}", flow_stats(flow)))
        }
        MultipartReplyBody::Table(list) => list.iter().try_for_each(|table| table_stats(f, table)),
        MultipartReplyBody::PortStats(list) => {
            write!(f, " {} ports", list.len())?;
            list.iter().try_for_each(|port| write!(f, "{}", port_stats(port)))
        }
        MultipartReplyBody::Queue(list) => {
            write!(f, " {} queues", list.len())?;
            list.iter().try_for_each(|queue| queue_stats(f, queue))
        }
        MultipartReplyBody::Group(list) => list.iter().try_for_each(|one| group::stats(f, one)),
        MultipartReplyBody::GroupDesc(list) => list.iter().try_for_each(|one| group::desc(f, one)),
        MultipartReplyBody::Meter(list) => list.iter().try_for_each(|one| meter::stats(f, one)),
        MultipartReplyBody::MeterConfig(list) => {
            list.iter().try_for_each(|one| meter::config(f, one))
        }
        MultipartReplyBody::TableFeatures(list) => {
            list.iter().try_for_each(|table| table_features::table(f, table))
        }
        MultipartReplyBody::PortDesc(list) => {
            list.iter().try_for_each(|port| write!(f, "\n{}", described(port)))
        }
        // The others are no lists.
        _ => Ok(()),
    }
}

fn more(f: &mut Formatter<'_>, flags: u16) -> fmt::Result {
    match flags {
        0 => Ok(()),
        1 => f.write_str(" flags=[more]"),
        _ => write!(f, " flags={flags:#x}"),
    }
}

fn flow_request(f: &mut Formatter<'_>, request: &stats::FlowStatsRequest) -> fmt::Result {
    let words = FlowStatsRequest {
        table: request.table_id.0,
        out_port: request.out_port.0,
        matched: fields(&request.match_).alone().to_string(),
    };
    write!(f, "{words}")?;
    if request.out_group.0 != flow::ANY {
        write!(f, " out_group={}", group::number(request.out_group))?;
    }
    match request.cookie_mask {
        0 => Ok(()),
        mask => write!(f, " cookie={:#x}/{mask:#x}", request.cookie),
    }
}

fn flow_stats(flow: &stats::FlowStats) -> FlowStats {
    FlowStats {
        cookie: flow.cookie,
        duration: (flow.duration_sec, flow.duration_nsec),
        table: flow.table_id.0,
        packets: flow.packet_count,
        bytes: flow.byte_count,
        idle_timeout: flow.idle_timeout,
        hard_timeout: flow.hard_timeout,
        flags: flags(flow.flags.0.into(), FLAGS, "").to_string(),
        matched: fields(&flow.match_).with_priority(flow.priority).to_string(),
        actions: instructions(&flow.instructions).to_string(),
    }
}

fn table_stats(f: &mut Formatter<'_>, table: &stats::TableStats) -> fmt::Result {
    let (active, lookup) = (table.active_count, table.lookup_count);
    write!(f, "\n  table {}:\n    active={active}, lookup={lookup}", table.table_id.0)?;
    write!(f, ", matched={}", table.matched_count)
}

fn port_stats(port: &stats::PortStats) -> PortStats {
    PortStats {
        port: port.port_no.0,
        rx: [port.rx_packets, port.rx_bytes, port.rx_dropped, port.rx_errors],
        rx_errors: [port.rx_frame_err, port.rx_over_err, port.rx_crc_err],
        tx: [port.tx_packets, port.tx_bytes, port.tx_dropped, port.tx_errors],
        collisions: port.collisions,
        duration: Some((port.duration_sec, port.duration_nsec)),
    }
}

fn queue_stats(f: &mut Formatter<'_>, queue: &stats::QueueStats) -> fmt::Result {
    let counts = [queue.tx_bytes, queue.tx_packets, queue.tx_errors];
    let age = Some((queue.duration_sec, queue.duration_nsec));
    shared::queue_stats(f, queue.port_no.0, queue.queue_id.0, counts, age)
}
