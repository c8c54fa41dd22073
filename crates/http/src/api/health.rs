//! Whether the controller is there, for a monitor.

use aldis_control::Time;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use crate::routes::Ctx;

/// That the controller runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Health {
    /// `up`: it listens for switches and serves them
    #[cfg_attr(test, schema(example = "up"))]
    pub state: String,
    /// When it started, in UTC (RFC 3339)
    #[cfg_attr(test, schema(example = "2026-02-03T04:05:06.789Z"))]
    pub up_since: String,
    /// Seconds since then
    pub up_for_s: f64,
    /// Switches that are connected
    pub switches: usize,
}

/// Whether the controller runs, since when, and how many switches it has
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/health", operation_id = "health", tag = "about", responses((status = 200, description = "It runs", body = Health))))]
pub(crate) async fn show(State(shared): Ctx) -> Json<Health> {
    Json(Health {
        state: "up".into(),
        up_since: shared.calendar.date(Time::START),
        up_for_s: shared.controller.now().since(Time::START).as_secs_f64(),
        switches: shared.controller.switches().len(),
    })
}
