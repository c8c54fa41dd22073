//! `/stats/port`, `/stats/portdesc`.

use aldis_wire::Version;
use aldis_wire::msg::{
    Message, Port, PortMod, PortNo, PortStats, PortStatsRequest, StatsReplyBody, StatsRequestBody,
};
use aldis_wire::v10::convert;
use aldis_wire::v13::port::{PortConfig, PortFeatures};
use axum::extract::State;
use serde_json::{Value, json};

use super::body::{DictBody, PathParts, wrong};
use super::names::{PORTS_10, PORTS_13, port as port_no, ports, wide};
use super::switch_request::{AskedSwitch, BySwitch, seen};
use crate::problem::Problem;
use crate::routes::Ctx;

/// Bits of the features that 1.0 has under other numbers than 1.3: copper and what follows it.
const MEDIA_10: u32 = 0x0f80;
const MEDIA_SHIFT: u32 = 4;

pub(super) async fn port(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let number = at.number("port", ports(switch.version))?;
    let port_no = number.map_or(PortNo::ANY, |number| wide(number, switch.version));
    let request = StatsRequestBody::PortStats(PortStatsRequest { port_no });
    let StatsReplyBody::PortStats(all) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(all.iter().map(|port| show(port, switch.version)).collect::<Vec<_>>()))
}

fn show(stats: &PortStats, version: Version) -> Value {
    let mut shown = json!({
        "port_no": ports(version).show(stats.port_no.0),
        "rx_packets": stats.rx_packets,
        "tx_packets": stats.tx_packets,
        "rx_bytes": stats.rx_bytes,
        "tx_bytes": stats.tx_bytes,
        "rx_dropped": stats.rx_dropped,
        "tx_dropped": stats.tx_dropped,
        "rx_errors": stats.rx_errors,
        "tx_errors": stats.tx_errors,
        "rx_frame_err": stats.rx_frame_err,
        "rx_over_err": stats.rx_over_err,
        "rx_crc_err": stats.rx_crc_err,
        "collisions": stats.collisions,
    });
    if version == Version::V13 {
        shown["duration_sec"] = stats.duration_sec.into();
        shown["duration_nsec"] = stats.duration_nsec.into();
    }
    shown
}

/// The ports, asked of the switch now. Ryu does not look at the number of a port here before
/// OpenFlow 1.5.
pub(super) async fn desc(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    if switch.version == Version::V10 {
        let reply = switch.reply(&shared, Message::FeaturesRequest).await?;
        let mut shown = vec![];
        for part in reply.messages() {
            let Message::FeaturesReply(features) = part.map_err(|why| switch.unreadable(why))?
            else {
                return Err(switch.unasked());
            };
            shown.extend(features.ports.iter().filter_map(desc_10));
        }
        return Ok(switch.shown(shown));
    }
    let StatsReplyBody::PortDesc(all) = switch.stats(&shared, StatsRequestBody::PortDesc).await?
    else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(all.iter().map(desc_13).collect::<Vec<_>>()))
}

fn desc_10(port: &Port) -> Option<Value> {
    let exact = convert::port_from_neutral(port).ok()?;
    Some(json!({
        "port_no": PORTS_10.show(exact.port_no.widen()),
        "hw_addr": exact.hw_addr.to_string(),
        "name": exact.name.to_string(),
        "config": exact.config.0,
        "state": exact.state.0,
        "curr": exact.curr.0,
        "advertised": exact.advertised.0,
        "supported": exact.supported.0,
        "peer": exact.peer.0,
    }))
}

fn desc_13(port: &aldis_wire::v13::port::Port) -> Value {
    json!({
        "port_no": PORTS_13.show(port.port_no.0),
        "hw_addr": port.hw_addr.to_string(),
        "name": port.name.to_string(),
        "config": port.config.0,
        "state": port.state.0,
        "curr": port.curr.0,
        "advertised": port.advertised.0,
        "supported": port.supported.0,
        "peer": port.peer.0,
        "curr_speed": port.curr_speed,
        "max_speed": port.max_speed,
    })
}

pub(super) async fn modify(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    let dict = body.dict();
    let switch = AskedSwitch::find(&shared, dict.dpid()?)?;
    let value = dict.field("port_no").unwrap_or(&Value::Null);
    let number = port_no(value, switch.version).ok_or_else(|| wrong("port_no", value, "a port"))?;
    let seen = seen(&shared, switch.dpid)?;
    let known = seen.ports().iter().find(|port| port.number == number).ok_or_else(|| {
        let detail = format!("switch {} has no port {}", switch.dpid, number.0);
        Problem::missing("no-such-port", detail)
    })?;
    let hw_addr = match dict.field("hw_addr") {
        Some(value) => {
            let read = value.as_str().and_then(|text| text.parse().ok());
            read.ok_or_else(|| wrong("hw_addr", value, "an address such as 02:00:00:00:00:01"))?
        }
        None => known.hw_addr,
    };
    let bits = |key, default: u32| {
        dict.number(key, default.into(), u32::MAX.into()).map(|bits| bits as u32)
    };
    let advertise = match dict.field("advertise") {
        Some(_) => features(bits("advertise", 0)?, switch.version),
        None => known.details.advertised,
    };
    let port_mod = PortMod {
        port_no: number,
        hw_addr,
        config: PortConfig(bits("config", 0)?),
        mask: PortConfig(bits("mask", 0)?),
        advertise,
    };
    switch.does(&shared, Message::PortMod(port_mod)).await
}

/// Features as this version numbers them.
fn features(bits: u32, version: Version) -> PortFeatures {
    match version {
        Version::V10 => PortFeatures(bits & !MEDIA_10 | (bits & MEDIA_10) << MEDIA_SHIFT),
        Version::V13 => PortFeatures(bits),
    }
}
