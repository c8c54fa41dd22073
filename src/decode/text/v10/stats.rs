//! Statistics of OpenFlow 1.0 in words.

use super::{actions, fields, number};
use crate::decode::text::flow::{FlowStats, FlowStatsRequest};
use crate::decode::text::shared::{self, PortStats};
use crate::decode::text::{dump, text};
use aldis_wire::v10::stats::{self, StatsReplyBody, StatsRequestBody, StatsType, TableStats};
use aldis_wire::v10::{StatsReply, StatsRequest};
use std::fmt::{self, Formatter};

/// The name of a kind of statistics.
pub(super) fn name(kind: StatsType) -> String {
    kind.name().map_or_else(|| format!("OFPST_{}", kind.0), str::to_owned)
}

/// A request, behind its title.
pub(super) fn request(f: &mut Formatter<'_>, request: &StatsRequest) -> fmt::Result {
    if request.flags != 0 {
        write!(f, " flags={:#x}", request.flags)?;
    }
    match &request.body {
        StatsRequestBody::Desc | StatsRequestBody::Table => Ok(()),
        StatsRequestBody::Flow(request) | StatsRequestBody::Aggregate(request) => {
            let table = request.table_id;
            let matched = fields(&request.match_).alone().to_string();
            write!(f, "{}", FlowStatsRequest { table, out_port: request.out_port.widen(), matched })
        }
        StatsRequestBody::Port(request) => write!(f, " port_no={}", number(request.port_no)),
        StatsRequestBody::Queue(request) => {
            // Here all ports are meant by OFPP_ALL, which others call any.
            let port = if request.port_no == aldis_wire::v10::PortNo::ALL {
                u32::MAX
            } else {
                request.port_no.widen()
            };
            shared::queue_request(f, port, request.queue_id)
        }
        StatsRequestBody::Vendor(vendor) => shared::vendor(f, vendor.vendor, None, &vendor.body),
        StatsRequestBody::Unknown { body, .. } => dump(f, body),
    }
}

/// A reply, behind its title.
pub(super) fn reply(f: &mut Formatter<'_>, reply: &StatsReply) -> fmt::Result {
    match reply.flags.0 {
        0 => {}
        1 => f.write_str(" flags=[more]")?,
        flags => write!(f, " flags={flags:#x}")?,
    }
    match &reply.body {
        StatsReplyBody::Desc(desc) => {
            let names = [&desc.mfr_desc, &desc.hw_desc, &desc.sw_desc];
            shared::desc(f, names, &desc.serial_num, &desc.dp_desc)
        }
        StatsReplyBody::Flow(flows) => {
            flows.iter().try_for_each(|flow| write!(f, "\n{}", flow_stats(flow)))
        }
        StatsReplyBody::Aggregate(sums) => {
            shared::aggregate(f, sums.packet_count, sums.byte_count, sums.flow_count)
        }
        StatsReplyBody::Table(tables) => tables.iter().try_for_each(|stats| table(f, stats)),
        StatsReplyBody::Port(ports) => {
            write!(f, " {} ports", ports.len())?;
            ports.iter().try_for_each(|port| write!(f, "{}", port_stats(port)))
        }
        StatsReplyBody::Queue(queues) => {
            write!(f, " {} queues", queues.len())?;
            queues.iter().try_for_each(|queue| {
                let counts = [queue.tx_bytes, queue.tx_packets, queue.tx_errors];
                shared::queue_stats(f, queue.port_no.widen(), queue.queue_id, counts, None)
            })
        }
        StatsReplyBody::Vendor(vendor) => shared::vendor(f, vendor.vendor, None, &vendor.body),
        StatsReplyBody::Unknown { body, .. } => dump(f, body),
    }
}

fn flow_stats(flow: &stats::FlowStats) -> FlowStats {
    FlowStats {
        cookie: flow.cookie,
        duration: (flow.duration_sec, flow.duration_nsec),
        table: flow.table_id,
        packets: flow.packet_count,
        bytes: flow.byte_count,
        idle_timeout: flow.idle_timeout,
        hard_timeout: flow.hard_timeout,
        flags: String::new(),
        matched: fields(&flow.match_).with_priority(flow.priority).to_string(),
        actions: actions(&flow.actions).to_string(),
    }
}

fn table(f: &mut Formatter<'_>, table: &TableStats) -> fmt::Result {
    write!(f, "\n  table {} (\"{}\"):", table.table_id, text(table.name.trimmed()))?;
    write!(
        f,
        "\n    active={}, lookup={}, matched={}",
        table.active_count, table.lookup_count, table.matched_count
    )?;
    write!(f, "\n    max_entries={}", table.max_entries)?;
    write!(f, "\n    wildcards={}", table.wildcards)
}

fn port_stats(port: &stats::PortStats) -> PortStats {
    PortStats {
        port: port.port_no.widen(),
        rx: [port.rx_packets, port.rx_bytes, port.rx_dropped, port.rx_errors],
        rx_errors: [port.rx_frame_err, port.rx_over_err, port.rx_crc_err],
        tx: [port.tx_packets, port.tx_bytes, port.tx_dropped, port.tx_errors],
        collisions: port.collisions,
        duration: None,
    }
}
