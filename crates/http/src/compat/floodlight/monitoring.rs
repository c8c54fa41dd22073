//! `/wm/statistics` and `/wm/performance`: what ports carry, and what the applications take.

use aldis_apps::monitor::Statistics;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::words::dpid;
use crate::api::not_published;
use crate::api::port_statistics::sampled;
use crate::compat::ryu::body::{beginning, number};
use crate::extract::{Dpid, Path};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Which ports; `all` of a switch, or of each.
#[derive(Debug, Deserialize)]
pub(super) struct PortsAsked {
    dpid: String,
    port: String,
}

/// A second's worth of bits, as `monitor` counted it last.
pub(super) async fn bandwidth(
    State(shared): Ctx,
    Path(asked): Path<PortsAsked>,
) -> Result<Json<Vec<Value>>, Problem> {
    let given = |text: &str| (!text.eq_ignore_ascii_case("all")).then(|| text.to_owned());
    let at = given(&asked.dpid).map(|text| Dpid::read(&text)).transpose()?;
    let refused =
        |text: &str| Problem::bad("bad-port", format!("{:?} is no port number", beginning(text)));
    let read = |text: String| number(&text).ok_or_else(|| refused(&text));
    let port = given(&asked.port).map(read).transpose()?;
    let world = shared.controller.world();
    let statistics = world.part::<Statistics>();
    let statistics = statistics.ok_or_else(|| not_published("port statistics"))?;
    let mut shown = vec![];
    for row in sampled(statistics, usize::MAX) {
        let sample = row.show(&shared.calendar);
        let Dpid(of) = Dpid::read(&sample.dpid)?;
        let is_asked = at.as_ref().is_none_or(|Dpid(at)| *at == of)
            && port.is_none_or(|port| port == u64::from(sample.port));
        // Bytes of a second that are not known count as none.
        let bits = |bytes: Option<u64>| (bytes.unwrap_or(0).saturating_mul(8)).to_string();
        if let (true, Some(per_s)) = (is_asked, sample.per_s) {
            shown.push(json!({
                "dpid": dpid(of),
                "port": sample.port.to_string(),
                "updated": sample.at,
                "bits-per-second-rx": bits(per_s.rx_bytes),
                "bits-per-second-tx": bits(per_s.tx_bytes),
            }));
        }
    }
    Ok(Json(shown))
}

pub(super) async fn collect(State(shared): Ctx) -> Result<Json<Value>, Problem> {
    collecting(&shared, true)
}

pub(super) async fn collect_no_more(State(shared): Ctx) -> Result<Json<Value>, Problem> {
    collecting(&shared, false)
}

/// Whether it is so already; it cannot be changed while the controller runs.
fn collecting(shared: &Shared, on: bool) -> Result<Json<Value>, Problem> {
    let words = if on { "enabled" } else { "disabled" };
    if shared.controller.world().part::<Statistics>().is_some() == on {
        return Ok(Json(json!({ "statistics-collection": words })));
    }
    let detail = format!(
        "statistics of ports are collected where the application monitor runs, which is chosen at \
         the start: {} it among --apps, or in apps of the configuration",
        if on { "name" } else { "leave out" }
    );
    Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "not-here", detail))
}

/// What the applications took, in nanoseconds: the average for each packet, and of each run over a
/// batch of packets the least, the most and the standard deviation.
pub(super) async fn performance(State(shared): Ctx) -> Json<Value> {
    let counters = shared.controller.counters();
    let (packets, runs) = (counters.total.requests, &counters.total.handling_time_ns);
    let count = runs.count() as f64;
    let mean = if count > 0.0 { runs.sum() as f64 / count } else { 0.0 };
    let square = |bucket: aldis_control::stats::Bucket| {
        (bucket.upper as f64 - mean).powi(2) * bucket.count as f64
    };
    let squares: f64 = runs.buckets().map(square).sum();
    let deviation = if count > 0.0 { (squares / count).sqrt() } else { 0.0 };
    Json(json!({
        "start-time": shared.calendar.date(aldis_control::Time::START),
        "current-time": shared.date(),
        "total-packets": packets,
        "average": runs.sum().checked_div(packets).unwrap_or(0),
        "min": runs.min(),
        "max": runs.max(),
        "std-dev": deviation as u64,
        "modules": [],
    }))
}

/// What performance is asked to do.
#[derive(Debug, Deserialize)]
pub(super) struct PerformanceWord {
    word: String,
}

/// It is always counted, and never from anew.
pub(super) async fn performance_is(
    Path(PerformanceWord { word }): Path<PerformanceWord>,
) -> Result<Json<Value>, Problem> {
    match word.to_ascii_lowercase().as_str() {
        "enable" | "true" => Ok(Json(json!({ "enabled": true }))),
        _ => {
            let detail = "performance is counted from the start of the controller to its end, and \
                          never from anew: take the difference of two answers of \
                          /wm/performance/data/json";
            Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "not-here", detail))
        }
    }
}
