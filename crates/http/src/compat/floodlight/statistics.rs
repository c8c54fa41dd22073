//! `/wm/core/switch/…`: what a switch is and counts, asked of it now; numbers are text, as
//! Floodlight has them.

use aldis_wire::Version;
use aldis_wire::msg::{
    FlowStatsRequest, GroupNo, GroupStatsRequest, Message, MeterNo, MeterRequest, PortNo,
    PortStatsRequest, QueueNo, QueueStatsRequest, Role, RoleMessage, StatsReplyBody,
    StatsRequestBody,
};
use aldis_wire::v10::convert;
use axum::Json;
use axum::extract::State;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::words::{does, dpid, matching, port, quoted, version};
use crate::compat::ryu::body::{PathParts, beginning};
use crate::compat::ryu::switch_request::AskedSwitch;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// What can be asked for, as Floodlight calls it.
const KINDS: [&str; 13] = [
    "aggregate",
    "desc",
    "features",
    "flow",
    "group",
    "group-desc",
    "meter",
    "meter-config",
    "port",
    "port-desc",
    "queue",
    "role",
    "table",
];

pub(super) async fn one(State(shared): Ctx, at: PathParts) -> Result<Json<Value>, Problem> {
    let switch = AskedSwitch::at(&shared, &at)?;
    let kind = at.part("stat").unwrap_or_default();
    let shown = ask(&shared, switch, kind).await?;
    Ok(Json(match kind {
        "role" => json!({ dpid(switch.dpid): shown }),
        _ => quoted(shown),
    }))
}

/// Of all switches, beside each other; one that does not answer says so, and the others are shown.
pub(super) async fn all(State(shared): Ctx, at: PathParts) -> Result<Json<Value>, Problem> {
    let kind = at.part("stat").unwrap_or_default();
    known(kind)?;
    let switches = shared.controller.switches();
    let asked = switches.iter().map(async |seen| {
        let info = &seen.switch.info;
        let switch = AskedSwitch { dpid: info.dpid, version: info.version };
        let shown = ask(&shared, switch, kind).await;
        let shown = shown.map(quoted).unwrap_or_else(|why| json!({ "ERROR": why.detail }));
        (dpid(info.dpid), shown)
    });
    Ok(Json(Value::Object(join_all(asked).await.into_iter().collect::<Map<_, _>>())))
}

fn known(kind: &str) -> Result<(), Problem> {
    if KINDS.contains(&kind) {
        return Ok(());
    }
    let detail =
        format!("there are no statistics {:?}; there are: {}", beginning(kind), KINDS.join(", "));
    Err(Problem::missing("no-such-statistics", detail))
}

async fn ask(shared: &Shared, switch: AskedSwitch, kind: &str) -> Result<Value, Problem> {
    known(kind)?;
    let body = match kind {
        "features" => return features(shared, switch).await,
        "role" => return role(shared, switch).await,
        "port-desc" if switch.version == Version::V10 => return features(shared, switch).await,
        "aggregate" => StatsRequestBody::Aggregate(FlowStatsRequest::all()),
        "desc" => StatsRequestBody::Desc,
        "flow" => StatsRequestBody::Flow(FlowStatsRequest::all()),
        "group" => StatsRequestBody::Group(GroupStatsRequest { group_id: GroupNo::ALL }),
        "group-desc" => StatsRequestBody::GroupDesc,
        "meter" => StatsRequestBody::Meter(MeterRequest { meter_id: MeterNo::ALL }),
        "meter-config" => StatsRequestBody::MeterConfig(MeterRequest { meter_id: MeterNo::ALL }),
        "port-desc" => StatsRequestBody::PortDesc,
        "queue" => StatsRequestBody::Queue(QueueStatsRequest {
            port_no: PortNo::ANY,
            queue_id: QueueNo::ALL,
        }),
        "table" => StatsRequestBody::Table,
        _ => StatsRequestBody::PortStats(PortStatsRequest { port_no: PortNo::ANY }),
    };
    let body = switch.stats(shared, body).await?;
    show(&body, switch).ok_or_else(|| switch.unasked())
}

fn show(body: &StatsReplyBody, switch: AskedSwitch) -> Option<Value> {
    let of = version(switch.version);
    Some(match body {
        StatsReplyBody::Aggregate(sum) => json!({ "aggregate": {
            "version": of, "flowCount": sum.flow_count, "packetCount": sum.packet_count,
            "byteCount": sum.byte_count, "flags": 0,
        }}),
        StatsReplyBody::Desc(desc) => json!({ "desc": {
            "version": of,
            "manufacturerDescription": desc.mfr_desc.to_string(),
            "hardwareDescription": desc.hw_desc.to_string(),
            "softwareDescription": desc.sw_desc.to_string(),
            "serialNumber": desc.serial_num.to_string(),
            "datapathDescription": desc.dp_desc.to_string(),
        }}),
        StatsReplyBody::Flow(flows) => {
            json!({ "flows": flows.iter().map(|flow| show_flow(flow, switch.version)).collect::<Vec<_>>() })
        }
        StatsReplyBody::PortStats(ports) => {
            let ports: Vec<_> = ports.iter().map(|port| show_port(port, switch.version)).collect();
            json!({ "port_reply": [{ "version": of, "port": ports }] })
        }
        StatsReplyBody::PortDesc(ports) => {
            json!({ "version": of, "portDesc": ports.iter().map(port_desc).collect::<Vec<_>>() })
        }
        StatsReplyBody::Table(tables) => {
            let show = |table: &aldis_wire::msg::TableStats| {
                json!({
                    "tableId": format!("{:#x}", table.table_id.0), "activeCount": table.active_count,
                    "lookUpCount": table.lookup_count, "matchCount": table.matched_count,
                })
            };
            json!({ "version": of, "table": tables.iter().map(show).collect::<Vec<_>>() })
        }
        StatsReplyBody::Queue(queues) => {
            let show = |queue: &aldis_wire::msg::QueueStats| {
                json!({
                    "portNumber": port(queue.port_no), "queueId": queue.queue_id.0, "transmitBytes": queue.tx_bytes,
                    "transmitPackets": queue.tx_packets, "transmitErrors": queue.tx_errors,
                })
            };
            json!({ "version": of, "queue": queues.iter().map(show).collect::<Vec<_>>() })
        }
        StatsReplyBody::Group(groups) => {
            json!({ "version": of, "group": groups.iter().map(group).collect::<Vec<_>>() })
        }
        StatsReplyBody::GroupDesc(groups) => {
            json!({ "version": of, "groupDesc": groups.iter().map(group_desc).collect::<Vec<_>>() })
        }
        StatsReplyBody::Meter(meters) => {
            json!({ "version": of, "meter": meters.iter().map(meter).collect::<Vec<_>>() })
        }
        StatsReplyBody::MeterConfig(meters) => {
            json!({ "version": of, "meterConfig": meters.iter().map(meter_config).collect::<Vec<_>>() })
        }
        _ => return None,
    })
}

fn show_flow(flow: &aldis_wire::msg::FlowStats, of: Version) -> Value {
    let mut shown = json!({
        "version": version(of),
        "cookie": flow.cookie,
        "tableId": format!("{:#x}", flow.table_id.0),
        "packetCount": flow.packet_count,
        "byteCount": flow.byte_count,
        "durationSeconds": flow.duration_sec,
        "durationNSeconds": flow.duration_nsec,
        "priority": flow.priority,
        "idleTimeoutSec": flow.idle_timeout,
        "hardTimeoutSec": flow.hard_timeout,
        "match": matching(&flow.match_),
    });
    if of == Version::V13 {
        shown["flags"] = flow.flags.0.into();
    }
    let (name, does) = does(&flow.instructions, &flow.match_, of);
    shown[name] = does;
    shown
}

fn show_port(stats: &aldis_wire::msg::PortStats, of: Version) -> Value {
    let mut shown = json!({
        "portNumber": port(stats.port_no),
        "receivePackets": stats.rx_packets,
        "transmitPackets": stats.tx_packets,
        "receiveBytes": stats.rx_bytes,
        "transmitBytes": stats.tx_bytes,
        "receiveDropped": stats.rx_dropped,
        "transmitDropped": stats.tx_dropped,
        "receiveErrors": stats.rx_errors,
        "transmitErrors": stats.tx_errors,
        "receiveFrameErrors": stats.rx_frame_err,
        "receiveOverrunErrors": stats.rx_over_err,
        "receiveCRCErrors": stats.rx_crc_err,
        "collisions": stats.collisions,
    });
    if of == Version::V13 {
        shown["durationSec"] = stats.duration_sec.into();
        shown["durationNsec"] = stats.duration_nsec.into();
    }
    shown
}

fn port_desc(desc: &aldis_wire::v13::port::Port) -> Value {
    json!({
        "portNumber": port(desc.port_no),
        "hardwareAddress": desc.hw_addr.to_string(),
        "name": desc.name.to_string(),
        "config": desc.config.0,
        "state": desc.state.0,
        "currentFeatures": desc.curr.0,
        "advertisedFeatures": desc.advertised.0,
        "supportedFeatures": desc.supported.0,
        "peerFeatures": desc.peer.0,
        "currSpeed": desc.curr_speed,
        "maxSpeed": desc.max_speed,
    })
}

fn group(stats: &aldis_wire::msg::GroupStats) -> Value {
    let buckets = stats.buckets.iter();
    json!({
        "groupNumber": stats.group_id.0,
        "refCount": stats.ref_count,
        "packetCount": stats.packet_count,
        "byteCount": stats.byte_count,
        "bucketCounters": buckets
            .map(|one| json!({ "packetCount": one.packet_count, "byteCount": one.byte_count }))
            .collect::<Vec<_>>(),
        "durationSec": stats.duration_sec,
        "durationNsec": stats.duration_nsec,
    })
}

fn group_desc(desc: &aldis_wire::msg::GroupDesc) -> Value {
    let kind = desc.kind.name().and_then(|name| name.strip_prefix("OFPGT_"));
    let nothing = aldis_wire::msg::Match::new();
    let bucket = |bucket: &aldis_wire::msg::Bucket| {
        json!({
            "weight": bucket.weight,
            "watchPortNumber": bucket.watch_port.0,
            "watchGroup": bucket.watch_group.0,
            "actions": super::words::actions(&bucket.actions, &nothing, Version::V13),
        })
    };
    json!({
        "groupType": kind.unwrap_or("UNKNOWN"),
        "groupNumber": desc.group_id.0,
        "buckets": desc.buckets.iter().map(bucket).collect::<Vec<_>>(),
    })
}

fn meter(stats: &aldis_wire::msg::MeterStats) -> Value {
    let bands = stats.bands.iter();
    json!({
        "meterId": stats.meter_id.0,
        "flowCount": stats.flow_count,
        "packetInCount": stats.packet_in_count,
        "byteInCount": stats.byte_in_count,
        "meterBandStats": bands
            .map(|one| json!({ "packetBandCount": one.packet_band_count, "byteBandCount": one.byte_band_count }))
            .collect::<Vec<_>>(),
        "durationSec": stats.duration_sec,
        "durationNsec": stats.duration_nsec,
    })
}

fn meter_config(config: &aldis_wire::msg::MeterConfig) -> Value {
    let band = |band: &aldis_wire::msg::MeterBand| {
        json!({
            "bandType": band.band_type().0, "rate": band.rate, "burstSize": band.burst_size,
        })
    };
    json!({
        "meterId": config.meter_id.0,
        "flags": config.flags.0,
        "meterBands": config.bands.iter().map(band).collect::<Vec<_>>(),
    })
}

/// What the switch says of itself, and in 1.0 its ports with it.
async fn features(shared: &Shared, switch: AskedSwitch) -> Result<Value, Problem> {
    let reply = switch.reply(shared, Message::FeaturesRequest).await?;
    let first = reply.messages().next().transpose().map_err(|why| switch.unreadable(why))?;
    let Some(Message::FeaturesReply(features)) = first else { return Err(switch.unasked()) };
    let mut shown = json!({
        "capabilities": format!("[{}]", features.capabilities.to_string().replace('|', ", ")),
        "dpid": dpid(features.datapath_id),
        "buffers": features.n_buffers,
        "tables": features.n_tables,
        "version": version(switch.version),
    });
    if switch.version == Version::V10 {
        let exact = features.ports.iter().filter_map(|port| convert::port_from_neutral(port).ok());
        let desc = exact.map(|desc| {
            json!({
                "portNumber": port(PortNo(desc.port_no.widen())),
                "hardwareAddress": desc.hw_addr.to_string(),
                "name": desc.name.to_string(),
                "config": desc.config.0,
                "state": desc.state.0,
                "currentFeatures": desc.curr.0,
                "advertisedFeatures": desc.advertised.0,
                "supportedFeatures": desc.supported.0,
                "peerFeatures": desc.peer.0,
            })
        });
        shown["portDesc"] = desc.collect::<Vec<_>>().into();
    }
    Ok(shown)
}

async fn role(shared: &Shared, switch: AskedSwitch) -> Result<Value, Problem> {
    let request = RoleMessage { role: Role::NOCHANGE, generation_id: 0 };
    let reply = switch.reply(shared, Message::RoleRequest(request)).await?;
    let first = reply.messages().next().transpose().map_err(|why| switch.unreadable(why))?;
    let Some(Message::RoleReply(reply)) = first else { return Err(switch.unasked()) };
    let name = reply.role.name().and_then(|name| name.strip_prefix("OFPCR_"));
    Ok(name.unwrap_or("ROLE_OTHER").into())
}
