//! `/wm/core`: the controller and its switches.

use aldis_control::Time;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::words::{dpid, version as of_version};
use crate::compat::ryu::topology::carrying;
use crate::extract::{Dpid, Query};
use crate::problem::Problem;
use crate::routes::Ctx;

/// Which switches.
#[derive(Debug, Deserialize)]
pub(super) struct StatSwitches {
    dpid: Option<String>,
}

pub(super) async fn switches(
    State(shared): Ctx,
    Query(which): Query<StatSwitches>,
) -> Result<Json<Vec<Value>>, Problem> {
    let only = which.dpid.as_deref().map(Dpid::read).transpose()?;
    let all = match only {
        Some(Dpid(dpid)) => shared.controller.switch(dpid).into_iter().collect(),
        None => shared.controller.switches(),
    };
    let show = |seen: &aldis_control::switch::Seen| {
        json!({
            "inetAddress": format!("/{}", seen.peer),
            "connectedSince": shared.calendar.millis(seen.up_since),
            "openFlowVersion": of_version(seen.switch.info.version),
            "switchDPID": dpid(seen.switch.info.dpid),
        })
    };
    Ok(Json(all.iter().map(show).collect()))
}

pub(super) async fn summary(State(shared): Ctx) -> Json<Value> {
    let links = shared.controller.links().unwrap_or_default();
    Json(json!({
        "# Switches": shared.controller.switches().len(),
        "# hosts": shared.controller.hosts_count().unwrap_or(0),
        // Floodlight counts both directions.
        "# inter-switch links": 2 * carrying(&links).count(),
        "# quarantine ports": 0,
    }))
}

pub(super) async fn health() -> Json<Value> {
    Json(json!({ "healthy": true }))
}

/// Floodlight means its own heap; here it is the machine's memory, and what of it is free.
pub(super) async fn memory() -> Json<Value> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    Json(json!({
        "total": bytes("MemTotal").unwrap_or_default(),
        "free": bytes("MemAvailable").unwrap_or_default(),
    }))
}

pub(super) async fn role(State(shared): Ctx) -> Json<Value> {
    Json(json!({
        "role": "ACTIVE",
        "role_change_description": "Aldis serves every switch that connects",
        "role_change_date_time": shared.calendar.date(Time::START),
    }))
}

pub(super) async fn uptime(State(shared): Ctx) -> Json<Value> {
    let since = shared.controller.now().since(Time::START);
    Json(json!({ "systemUptimeMsec": since.as_millis() as u64 }))
}

pub(super) async fn version() -> Json<Value> {
    Json(json!({ "name": "aldis", "version": env!("CARGO_PKG_VERSION") }))
}
