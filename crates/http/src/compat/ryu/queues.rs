//! `/stats/queue`, `/stats/queueconfig`.

use aldis_wire::Version;
use aldis_wire::msg::{
    Message, PacketQueue, PortNo, QueueGetConfigReply, QueueGetConfigRequest, QueueNo,
    QueueProperty, QueueStats, QueueStatsRequest, StatsReplyBody, StatsRequestBody,
};
use axum::extract::State;
use serde_json::{Value, json};

use super::body::PathParts;
use super::names::{QUEUES, ports, wide};
use super::switch_request::{AskedSwitch, BySwitch};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

fn port(at: &PathParts, switch: AskedSwitch) -> Result<PortNo, Problem> {
    let number = at.number("port", ports(switch.version))?;
    Ok(number.map_or(PortNo::ANY, |number| wide(number, switch.version)))
}

pub(super) async fn queue(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let port_no = port(&at, switch)?;
    let queue_id = at.number("queue_id", &QUEUES)?.map_or(QueueNo::ALL, QueueNo);
    counted(&shared, switch, QueueStatsRequest { port_no, queue_id }).await
}

/// What queues counted.
///
/// # Errors
/// As [`AskedSwitch::stats`].
pub(super) async fn counted(
    shared: &Shared,
    switch: AskedSwitch,
    which: QueueStatsRequest,
) -> BySwitch {
    let request = StatsRequestBody::Queue(which);
    let StatsReplyBody::Queue(all) = switch.stats(shared, request).await? else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(all.iter().map(|queue| show(queue, switch.version)).collect::<Vec<_>>()))
}

fn show(stats: &QueueStats, version: Version) -> Value {
    let mut shown = json!({
        "port_no": stats.port_no.0,
        "queue_id": stats.queue_id.0,
        "tx_bytes": stats.tx_bytes,
        "tx_errors": stats.tx_errors,
        "tx_packets": stats.tx_packets,
    });
    if version == Version::V13 {
        shown["duration_sec"] = stats.duration_sec.into();
        shown["duration_nsec"] = stats.duration_nsec.into();
    }
    shown
}

pub(super) async fn config(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let port = port(&at, switch)?;
    let request = Message::QueueGetConfigRequest(QueueGetConfigRequest { port });
    let reply = switch.reply(&shared, request).await?;
    let mut shown = vec![];
    for part in reply.messages() {
        match part.map_err(|why| switch.unreadable(why))? {
            Message::QueueGetConfigReply(reply) => shown.push(queues(&reply, switch.version)),
            _ => return Err(switch.unasked()),
        }
    }
    Ok(switch.shown(shown))
}

fn queues(reply: &QueueGetConfigReply, version: Version) -> Value {
    let queue = |queue: &PacketQueue| {
        json!({
            "port": ports(version).show(queue.port.0),
            "queue_id": QUEUES.show(queue.queue_id.0),
            "properties": queue.properties.iter().map(property).collect::<Vec<_>>(),
        })
    };
    json!({
        "port": ports(version).show(reply.port.0),
        "queues": reply.queues.iter().map(queue).collect::<Vec<_>>(),
    })
}

fn property(property: &QueueProperty) -> Value {
    match property {
        QueueProperty::MinRate(rate) => json!({"property": "MIN_RATE", "rate": rate}),
        QueueProperty::MaxRate(rate) => json!({"property": "MAX_RATE", "rate": rate}),
        QueueProperty::Experimenter { experimenter, body } => {
            json!({"property": "EXPERIMENTER", "experimenter": experimenter, "data": body})
        }
        QueueProperty::Unknown { .. } => json!({"property": "UNKNOWN"}),
    }
}
