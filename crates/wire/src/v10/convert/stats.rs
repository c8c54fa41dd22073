//! Statistics: what 1.0 counts, 1.3 counts too.
//!
//! Some of it 1.3 no longer says (the name and size of a table), some it says besides (how long a
//! port has been there). The first has a meaning here and no way back; the second is 0 where it
//! comes from 1.0.

use alloc::boxed::Box;

use super::flows::{instructions, instructions_from_neutral};
use super::{match_from_neutral, match_to_neutral, narrow, unsupported};
use crate::msg::{
    AggregateStats, Desc, ExperimenterStats, FlowModFlags, FlowStats, FlowStatsRequest, GroupNo,
    PortNo, PortStats, PortStatsRequest, QueueNo, QueueStats, QueueStatsRequest, StatsFlags,
    StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody, TableNo, TableStats, Unsupported,
};
use crate::v10::stats::flow::TABLE_EMERG;
use crate::v10::{self, stats as exact};

pub(super) fn request(request: &exact::StatsRequest) -> Option<StatsRequest> {
    use exact::StatsRequestBody as Body;
    let body = match &request.body {
        Body::Desc => StatsRequestBody::Desc,
        Body::Flow(flows) => StatsRequestBody::Flow(flow_request(flows)?),
        Body::Aggregate(flows) => StatsRequestBody::Aggregate(flow_request(flows)?),
        Body::Table => StatsRequestBody::Table,
        Body::Port(port) => {
            let port_no = PortNo(port.port_no.widen());
            StatsRequestBody::PortStats(PortStatsRequest { port_no })
        }
        Body::Queue(queue) => StatsRequestBody::Queue(queue_request(queue)?),
        Body::Vendor(vendor) => StatsRequestBody::Experimenter(experimenter(vendor)?),
        Body::Unknown { .. } => return None,
    };
    Some(StatsRequest { flags: StatsFlags(request.flags), body })
}

pub(super) fn request_from_neutral(
    request: &StatsRequest,
) -> Result<exact::StatsRequest, Unsupported> {
    use exact::StatsRequestBody as Body;
    let body = match &request.body {
        StatsRequestBody::Desc => Body::Desc,
        StatsRequestBody::Flow(flows) => Body::Flow(flow_request_from_neutral(flows)?),
        StatsRequestBody::Aggregate(flows) => Body::Aggregate(flow_request_from_neutral(flows)?),
        StatsRequestBody::Table => Body::Table,
        StatsRequestBody::PortStats(port) => {
            Body::Port(exact::PortStatsRequest { port_no: narrow(port.port_no)? })
        }
        StatsRequestBody::Queue(queue) => Body::Queue(queue_request_from_neutral(queue)?),
        StatsRequestBody::Experimenter(body) => Body::Vendor(vendor(body)),
        other => return Err(no_kind(other.multipart_type().name())),
    };
    Ok(exact::StatsRequest { flags: request.flags.0, body })
}

pub(super) fn reply(reply: &exact::StatsReply) -> Option<StatsReply> {
    use exact::StatsReplyBody as Body;
    let body = match &reply.body {
        Body::Desc(desc) => StatsReplyBody::Desc(Box::new(self::desc(desc))),
        Body::Flow(flows) => StatsReplyBody::Flow(flows.iter().map(flow).collect::<Option<_>>()?),
        Body::Aggregate(sums) => StatsReplyBody::Aggregate(AggregateStats {
            packet_count: sums.packet_count,
            byte_count: sums.byte_count,
            flow_count: sums.flow_count,
        }),
        Body::Table(tables) => StatsReplyBody::Table(tables.iter().map(table).collect()),
        Body::Port(ports) => StatsReplyBody::PortStats(ports.iter().map(port).collect()),
        Body::Queue(queues) => StatsReplyBody::Queue(queues.iter().map(queue).collect()),
        Body::Vendor(vendor) => StatsReplyBody::Experimenter(experimenter(vendor)?),
        Body::Unknown { .. } => return None,
    };
    Some(StatsReply { flags: StatsFlags(reply.flags.0), body })
}

pub(super) fn reply_from_neutral(reply: &StatsReply) -> Result<exact::StatsReply, Unsupported> {
    use exact::StatsReplyBody as Body;
    let body = match &reply.body {
        StatsReplyBody::Desc(desc) => Body::Desc(Box::new(desc_from_neutral(desc))),
        StatsReplyBody::Flow(flows) => {
            Body::Flow(flows.iter().map(flow_from_neutral).collect::<Result<_, _>>()?)
        }
        StatsReplyBody::Aggregate(sums) => Body::Aggregate(exact::AggregateStatsReply {
            packet_count: sums.packet_count,
            byte_count: sums.byte_count,
            flow_count: sums.flow_count,
        }),
        StatsReplyBody::Table(tables) if tables.is_empty() => Body::Table(Default::default()),
        StatsReplyBody::Table(_) => {
            return Err(unsupported("a table without its name and size"));
        }
        StatsReplyBody::PortStats(ports) => {
            Body::Port(ports.iter().map(port_from_neutral).collect::<Result<_, _>>()?)
        }
        StatsReplyBody::Queue(queues) => {
            Body::Queue(queues.iter().map(queue_from_neutral).collect::<Result<_, _>>()?)
        }
        StatsReplyBody::Experimenter(body) => Body::Vendor(vendor(body)),
        other => return Err(no_kind(other.multipart_type().name())),
    };
    Ok(exact::StatsReply { flags: exact::StatsReplyFlags(reply.flags.0), body })
}

fn no_kind(name: Option<&'static str>) -> Unsupported {
    unsupported(name.unwrap_or("statistics of this kind"))
}

fn flow_request(request: &exact::FlowStatsRequest) -> Option<FlowStatsRequest> {
    if request.table_id == TABLE_EMERG {
        return None;
    }
    Some(FlowStatsRequest {
        table_id: TableNo(request.table_id),
        out_port: PortNo(request.out_port.widen()),
        out_group: GroupNo::ANY,
        cookie: 0,
        cookie_mask: 0,
        match_: match_to_neutral(&request.match_)?,
    })
}

fn flow_request_from_neutral(
    request: &FlowStatsRequest,
) -> Result<exact::FlowStatsRequest, Unsupported> {
    if request.table_id.0 == TABLE_EMERG {
        return Err(unsupported("table 254"));
    }
    if request.out_group != GroupNo::ANY {
        return Err(unsupported("a group"));
    }
    if request.cookie_mask != 0 {
        return Err(unsupported("only flows of a cookie"));
    }
    Ok(exact::FlowStatsRequest {
        match_: match_from_neutral(&request.match_)?,
        table_id: request.table_id.0,
        out_port: narrow(request.out_port)?,
    })
}

/// Every port is `OFPP_ALL` here in 1.0, and `OFPP_ANY` in 1.3.
fn queue_request(request: &exact::QueueStatsRequest) -> Option<QueueStatsRequest> {
    let port_no = match request.port_no {
        v10::PortNo::ALL => PortNo::ANY,
        v10::PortNo::NONE => return None,
        port => PortNo(port.widen()),
    };
    Some(QueueStatsRequest { port_no, queue_id: QueueNo(request.queue_id) })
}

fn queue_request_from_neutral(
    request: &QueueStatsRequest,
) -> Result<exact::QueueStatsRequest, Unsupported> {
    let port_no = match request.port_no {
        PortNo::ANY => v10::PortNo::ALL,
        PortNo::ALL => return Err(unsupported("the queues of OFPP_ALL, which is not OFPP_ANY")),
        port => narrow(port)?,
    };
    Ok(exact::QueueStatsRequest { port_no, queue_id: request.queue_id.0 })
}

fn experimenter(exact: &exact::VendorStats) -> Option<ExperimenterStats> {
    let (exp_type, body) = exact.body.split_first_chunk()?;
    let exp_type = u32::from_be_bytes(*exp_type);
    Some(ExperimenterStats { experimenter: exact.vendor, exp_type, body: body.to_vec() })
}

fn vendor(neutral: &ExperimenterStats) -> exact::VendorStats {
    let body = [&neutral.exp_type.to_be_bytes()[..], &neutral.body].concat();
    exact::VendorStats { vendor: neutral.experimenter, body }
}

fn desc(exact: &exact::DescStats) -> Desc {
    let exact::DescStats { mfr_desc, hw_desc, sw_desc, serial_num, dp_desc } = *exact;
    Desc { mfr_desc, hw_desc, sw_desc, serial_num, dp_desc }
}

fn desc_from_neutral(neutral: &Desc) -> exact::DescStats {
    let Desc { mfr_desc, hw_desc, sw_desc, serial_num, dp_desc } = *neutral;
    exact::DescStats { mfr_desc, hw_desc, sw_desc, serial_num, dp_desc }
}

fn flow(exact: &exact::FlowStats) -> Option<FlowStats> {
    let match_ = match_to_neutral(&exact.match_)?;
    Some(FlowStats {
        table_id: TableNo(exact.table_id),
        duration_sec: exact.duration_sec,
        duration_nsec: exact.duration_nsec,
        priority: exact.priority,
        idle_timeout: exact.idle_timeout,
        hard_timeout: exact.hard_timeout,
        flags: FlowModFlags::EMPTY,
        cookie: exact.cookie,
        packet_count: exact.packet_count,
        byte_count: exact.byte_count,
        instructions: instructions(&exact.actions, &match_)?,
        match_,
    })
}

fn flow_from_neutral(neutral: &FlowStats) -> Result<exact::FlowStats, Unsupported> {
    if neutral.flags != FlowModFlags::EMPTY {
        return Err(unsupported("the flags of a flow that is there"));
    }
    Ok(exact::FlowStats {
        table_id: neutral.table_id.0,
        match_: match_from_neutral(&neutral.match_)?,
        duration_sec: neutral.duration_sec,
        duration_nsec: neutral.duration_nsec,
        priority: neutral.priority,
        idle_timeout: neutral.idle_timeout,
        hard_timeout: neutral.hard_timeout,
        cookie: neutral.cookie,
        packet_count: neutral.packet_count,
        byte_count: neutral.byte_count,
        actions: instructions_from_neutral(&neutral.instructions, &neutral.match_)?,
    })
}

fn table(exact: &exact::TableStats) -> TableStats {
    TableStats {
        table_id: TableNo(exact.table_id),
        active_count: exact.active_count,
        lookup_count: exact.lookup_count,
        matched_count: exact.matched_count,
    }
}

fn port(exact: &exact::PortStats) -> PortStats {
    PortStats {
        port_no: PortNo(exact.port_no.widen()),
        rx_packets: exact.rx_packets,
        tx_packets: exact.tx_packets,
        rx_bytes: exact.rx_bytes,
        tx_bytes: exact.tx_bytes,
        rx_dropped: exact.rx_dropped,
        tx_dropped: exact.tx_dropped,
        rx_errors: exact.rx_errors,
        tx_errors: exact.tx_errors,
        rx_frame_err: exact.rx_frame_err,
        rx_over_err: exact.rx_over_err,
        rx_crc_err: exact.rx_crc_err,
        collisions: exact.collisions,
        duration_sec: 0,
        duration_nsec: 0,
    }
}

fn port_from_neutral(neutral: &PortStats) -> Result<exact::PortStats, Unsupported> {
    if (neutral.duration_sec, neutral.duration_nsec) != (0, 0) {
        return Err(unsupported("how long a port has been there"));
    }
    Ok(exact::PortStats {
        port_no: narrow(neutral.port_no)?,
        rx_packets: neutral.rx_packets,
        tx_packets: neutral.tx_packets,
        rx_bytes: neutral.rx_bytes,
        tx_bytes: neutral.tx_bytes,
        rx_dropped: neutral.rx_dropped,
        tx_dropped: neutral.tx_dropped,
        rx_errors: neutral.rx_errors,
        tx_errors: neutral.tx_errors,
        rx_frame_err: neutral.rx_frame_err,
        rx_over_err: neutral.rx_over_err,
        rx_crc_err: neutral.rx_crc_err,
        collisions: neutral.collisions,
    })
}

fn queue(exact: &exact::QueueStats) -> QueueStats {
    QueueStats {
        port_no: PortNo(exact.port_no.widen()),
        queue_id: QueueNo(exact.queue_id),
        tx_bytes: exact.tx_bytes,
        tx_packets: exact.tx_packets,
        tx_errors: exact.tx_errors,
        duration_sec: 0,
        duration_nsec: 0,
    }
}

fn queue_from_neutral(neutral: &QueueStats) -> Result<exact::QueueStats, Unsupported> {
    if (neutral.duration_sec, neutral.duration_nsec) != (0, 0) {
        return Err(unsupported("how long a queue has been there"));
    }
    Ok(exact::QueueStats {
        port_no: narrow(neutral.port_no)?,
        queue_id: neutral.queue_id.0,
        tx_bytes: neutral.tx_bytes,
        tx_packets: neutral.tx_packets,
        tx_errors: neutral.tx_errors,
    })
}
