//! What switches have and count beside flows: groups, meters, tables, queues and ports. Asked of
//! the switch each time.

use std::collections::HashMap;

use aldis_wire::msg::{
    Action, Bucket, GroupNo, GroupStatsRequest, GroupType, MeterBand, MeterFlags, MeterNo,
    MeterRequest, PortNo, PortStatsRequest, QueueNo, QueueStatsRequest, StatsReplyBody,
    StatsRequestBody,
};
use aldis_wire::v13::meter_band::BandEffect;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use super::Page;
use super::switch_request::{all_stats, stats, unasked};
use crate::extract::Dpid;
use crate::problem::Problem;
use crate::routes::Ctx;

/// The counters of a port; absent where the switch does not count.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct PortCounters {
    /// Its number, or the name of a reserved one
    pub port: String,
    /// Packets received
    pub rx_packets: Option<u64>,
    /// Packets sent
    pub tx_packets: Option<u64>,
    /// Bytes received
    pub rx_bytes: Option<u64>,
    /// Bytes sent
    pub tx_bytes: Option<u64>,
    /// Packets dropped on the way in
    pub rx_dropped: Option<u64>,
    /// Packets dropped on the way out
    pub tx_dropped: Option<u64>,
    /// Errors on the way in, those below among them
    pub rx_errors: Option<u64>,
    /// Errors on the way out
    pub tx_errors: Option<u64>,
    /// Frame alignment errors
    pub rx_frame_errors: Option<u64>,
    /// Overruns
    pub rx_over_errors: Option<u64>,
    /// Checksum errors
    pub rx_crc_errors: Option<u64>,
    /// Collisions
    pub collisions: Option<u64>,
    /// Seconds since the port is there; 0 in OpenFlow 1.0, which does not say
    pub age_s: f64,
}

/// The counters of a table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct TableCounters {
    /// Its number
    pub table: u8,
    /// Flows in it
    pub flows: u32,
    /// Packets that were looked up
    pub lookups: Option<u64>,
    /// Those that found a flow
    pub matched: Option<u64>,
}

/// The counters of a queue.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct QueueCounters {
    /// Its port
    pub port: String,
    /// Its number there
    pub queue: u32,
    /// Packets sent
    pub tx_packets: Option<u64>,
    /// Bytes sent
    pub tx_bytes: Option<u64>,
    /// Packets dropped because it was full
    pub tx_errors: Option<u64>,
    /// Seconds since it is there; 0 in OpenFlow 1.0, which does not say
    pub age_s: f64,
}

/// A group, and what it counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Group {
    /// Its number
    pub group: u32,
    /// How it chooses among its buckets: `all`, `select`, `indirect`, `ff` (the first that is live), or a number
    #[serde(rename = "type")]
    pub kind: String,
    /// Flows and groups that lead to it
    pub references: Option<u32>,
    /// Packets
    pub packets: Option<u64>,
    /// Bytes
    pub bytes: Option<u64>,
    /// Seconds since it was made
    pub age_s: Option<f64>,
    /// What it may do
    pub buckets: Vec<GroupBucket>,
}

/// A bucket of a group.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct GroupBucket {
    /// How often it is chosen compared to others, where the group is of type `select`
    pub weight: u16,
    /// It is live as long as this port is
    pub watch_port: Option<String>,
    /// It is live as long as this group is
    pub watch_group: Option<u32>,
    /// What it does
    pub actions: Vec<String>,
    /// Packets
    pub packets: Option<u64>,
    /// Bytes
    pub bytes: Option<u64>,
}

/// A meter, and what it counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Meter {
    /// Its number, or the name of a reserved one
    pub meter: String,
    /// `kbps`, `pktps`, `burst`, `stats`
    pub flags: Vec<String>,
    /// Flows that use it
    pub flows: Option<u32>,
    /// Packets that it saw
    pub packets: Option<u64>,
    /// Bytes that it saw
    pub bytes: Option<u64>,
    /// Seconds since it was made
    pub age_s: Option<f64>,
    /// What happens above which rate
    pub bands: Vec<Band>,
}

/// A band of a meter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Band {
    /// The rate above which it does something, in kb/s or packets/s as the meter's flags say
    pub rate: u32,
    /// How much may come at once, in kb or packets
    pub burst: u32,
    /// What it does: `drop`, `dscp-remark:N`, `experimenter:N`, or the number of its kind
    pub effect: String,
    /// Packets that it did that to
    pub packets: Option<u64>,
    /// Their bytes
    pub bytes: Option<u64>,
}

/// The counters of a switch's ports
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/ports/stats", operation_id = "port_counters", tag = "statistics",
    params(("dpid" = String, Path, description = "Its datapath id")), responses(
    (status = 200, description = "Counters, by port", body = Page<PortCounters>),
    (status = 404, description = "The switch is not connected", body = Problem),
    (status = 504, description = "The switch did not answer", body = Problem),
)))]
pub(crate) async fn ports(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
) -> Result<Page<PortCounters>, Problem> {
    let any = PortStatsRequest { port_no: PortNo::ANY };
    let body = stats(&shared, dpid, StatsRequestBody::PortStats(any)).await?;
    let StatsReplyBody::PortStats(mut ports) = body else { return Err(unasked(dpid)) };
    ports.sort_by_key(|port| port.port_no);
    let show = |stats: &aldis_wire::msg::PortStats| PortCounters {
        port: port(stats.port_no),
        rx_packets: counted(stats.rx_packets),
        tx_packets: counted(stats.tx_packets),
        rx_bytes: counted(stats.rx_bytes),
        tx_bytes: counted(stats.tx_bytes),
        rx_dropped: counted(stats.rx_dropped),
        tx_dropped: counted(stats.tx_dropped),
        rx_errors: counted(stats.rx_errors),
        tx_errors: counted(stats.tx_errors),
        rx_frame_errors: counted(stats.rx_frame_err),
        rx_over_errors: counted(stats.rx_over_err),
        rx_crc_errors: counted(stats.rx_crc_err),
        collisions: counted(stats.collisions),
        age_s: age(stats.duration_sec, stats.duration_nsec),
    };
    Ok(Page::whole(ports.iter().map(show)))
}

/// The counters of a switch's tables
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/tables", operation_id = "tables", tag = "statistics",
    params(("dpid" = String, Path, description = "Its datapath id")), responses(
    (status = 200, description = "Counters, by table", body = Page<TableCounters>),
    (status = 404, description = "The switch is not connected", body = Problem),
    (status = 504, description = "The switch did not answer", body = Problem),
)))]
pub(crate) async fn tables(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
) -> Result<Page<TableCounters>, Problem> {
    let body = stats(&shared, dpid, StatsRequestBody::Table).await?;
    let StatsReplyBody::Table(mut tables) = body else { return Err(unasked(dpid)) };
    tables.sort_by_key(|table| table.table_id);
    let show = |stats: &aldis_wire::msg::TableStats| TableCounters {
        table: stats.table_id.0,
        flows: stats.active_count,
        lookups: counted(stats.lookup_count),
        matched: counted(stats.matched_count),
    };
    Ok(Page::whole(tables.iter().map(show)))
}

/// The counters of a switch's queues
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/queues", operation_id = "queues", tag = "statistics",
    params(("dpid" = String, Path, description = "Its datapath id")), responses(
    (status = 200, description = "Counters, by port and queue", body = Page<QueueCounters>),
    (status = 404, description = "The switch is not connected", body = Problem),
    (status = 504, description = "The switch did not answer", body = Problem),
)))]
pub(crate) async fn queues(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
) -> Result<Page<QueueCounters>, Problem> {
    let any = QueueStatsRequest { port_no: PortNo::ANY, queue_id: QueueNo::ALL };
    let body = stats(&shared, dpid, StatsRequestBody::Queue(any)).await?;
    let StatsReplyBody::Queue(mut queues) = body else { return Err(unasked(dpid)) };
    queues.sort_by_key(|queue| (queue.port_no, queue.queue_id));
    let show = |stats: &aldis_wire::msg::QueueStats| QueueCounters {
        port: port(stats.port_no),
        queue: stats.queue_id.0,
        tx_packets: counted(stats.tx_packets),
        tx_bytes: counted(stats.tx_bytes),
        tx_errors: counted(stats.tx_errors),
        age_s: age(stats.duration_sec, stats.duration_nsec),
    };
    Ok(Page::whole(queues.iter().map(show)))
}

/// The groups of a switch
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/groups", operation_id = "groups", tag = "statistics",
    params(("dpid" = String, Path, description = "Its datapath id")), responses(
    (status = 200, description = "Groups and their counters, by number", body = Page<Group>),
    (status = 404, description = "The switch is not connected", body = Problem),
    (status = 422, description = "OpenFlow 1.0 has no groups", body = Problem),
    (status = 504, description = "The switch did not answer", body = Problem),
)))]
pub(crate) async fn groups(State(shared): Ctx, Dpid(dpid): Dpid) -> Result<Page<Group>, Problem> {
    let any = GroupStatsRequest { group_id: GroupNo::ALL };
    let both = [StatsRequestBody::GroupDesc, StatsRequestBody::Group(any)];
    let bodies = all_stats(&shared, dpid, both).await?;
    let [StatsReplyBody::GroupDesc(mut groups), StatsReplyBody::Group(counts)] = bodies else {
        return Err(unasked(dpid));
    };
    groups.sort_by_key(|group| group.group_id);
    let counts: HashMap<_, _> = counts.iter().map(|stats| (stats.group_id, stats)).collect();
    let show = |desc: &aldis_wire::msg::GroupDesc| {
        let stats = counts.get(&desc.group_id);
        let bucket = |(place, bucket): (usize, &Bucket)| {
            let counter = stats.and_then(|stats| stats.buckets.get(place));
            GroupBucket {
                weight: bucket.weight,
                watch_port: (bucket.watch_port != PortNo::ANY).then(|| port(bucket.watch_port)),
                watch_group: (bucket.watch_group != GroupNo::ANY).then_some(bucket.watch_group.0),
                actions: bucket.actions.iter().map(Action::in_words).collect(),
                packets: counter.and_then(|counter| counted(counter.packet_count)),
                bytes: counter.and_then(|counter| counted(counter.byte_count)),
            }
        };
        Group {
            group: desc.group_id.0,
            kind: group_type(desc.kind),
            references: stats.map(|stats| stats.ref_count),
            packets: stats.and_then(|stats| counted(stats.packet_count)),
            bytes: stats.and_then(|stats| counted(stats.byte_count)),
            age_s: stats.map(|stats| age(stats.duration_sec, stats.duration_nsec)),
            buckets: desc.buckets.iter().enumerate().map(bucket).collect(),
        }
    };
    Ok(Page::whole(groups.iter().map(show)))
}

/// The meters of a switch
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/meters", operation_id = "meters", tag = "statistics",
    params(("dpid" = String, Path, description = "Its datapath id")), responses(
    (status = 200, description = "Meters and their counters, by number", body = Page<Meter>),
    (status = 404, description = "The switch is not connected", body = Problem),
    (status = 422, description = "OpenFlow 1.0 has no meters, and some switches have none", body = Problem),
    (status = 504, description = "The switch did not answer", body = Problem),
)))]
pub(crate) async fn meters(State(shared): Ctx, Dpid(dpid): Dpid) -> Result<Page<Meter>, Problem> {
    let all = MeterRequest { meter_id: MeterNo::ALL };
    let both = [StatsRequestBody::MeterConfig(all), StatsRequestBody::Meter(all)];
    let bodies = all_stats(&shared, dpid, both).await?;
    let [StatsReplyBody::MeterConfig(mut meters), StatsReplyBody::Meter(counts)] = bodies else {
        return Err(unasked(dpid));
    };
    meters.sort_by_key(|meter| meter.meter_id);
    let counts: HashMap<_, _> = counts.iter().map(|stats| (stats.meter_id, stats)).collect();
    let show = |config: &aldis_wire::msg::MeterConfig| {
        let stats = counts.get(&config.meter_id);
        let band = |(place, band): (usize, &MeterBand)| {
            let counter = stats.and_then(|stats| stats.bands.get(place));
            Band {
                rate: band.rate,
                burst: band.burst_size,
                effect: effect(&band.effect),
                packets: counter.and_then(|counter| counted(counter.packet_band_count)),
                bytes: counter.and_then(|counter| counted(counter.byte_band_count)),
            }
        };
        Meter {
            meter: named(config.meter_id.name(), config.meter_id.0),
            flags: meter_flags(config.flags),
            flows: stats.map(|stats| stats.flow_count),
            packets: stats.and_then(|stats| counted(stats.packet_in_count)),
            bytes: stats.and_then(|stats| counted(stats.byte_in_count)),
            age_s: stats.map(|stats| age(stats.duration_sec, stats.duration_nsec)),
            bands: config.bands.iter().enumerate().map(band).collect(),
        }
    };
    Ok(Page::whole(meters.iter().map(show)))
}

/// All ones is what a switch says that does not count.
fn counted(number: u64) -> Option<u64> {
    Some(number).filter(|&number| number != u64::MAX)
}

fn age(seconds: u32, nanoseconds: u32) -> f64 {
    f64::from(seconds) + f64::from(nanoseconds) / 1e9
}

fn named(name: Option<&str>, number: u32) -> String {
    name.map_or_else(|| number.to_string(), |name| name.to_ascii_lowercase().replace('_', "-"))
}

fn port(number: PortNo) -> String {
    named(number.name(), number.0)
}

fn group_type(kind: GroupType) -> String {
    match kind {
        GroupType::ALL => "all".into(),
        GroupType::SELECT => "select".into(),
        GroupType::INDIRECT => "indirect".into(),
        GroupType::FF => "ff".into(),
        GroupType(number) => number.to_string(),
    }
}

fn meter_flags(flags: MeterFlags) -> Vec<String> {
    let set = MeterFlags::NAMED.iter().filter(|(flag, _)| flags.contains(*flag));
    set.map(|(_, name)| name.to_ascii_lowercase()).collect()
}

fn effect(effect: &BandEffect) -> String {
    match effect {
        BandEffect::Drop => "drop".into(),
        BandEffect::DscpRemark { prec_level } => format!("dscp-remark:{prec_level}"),
        BandEffect::Experimenter { experimenter, .. } => format!("experimenter:{experimenter:#x}"),
        BandEffect::Unknown { kind, .. } => kind.to_string(),
    }
}
