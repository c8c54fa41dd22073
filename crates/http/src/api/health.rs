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
    /// Links between them; absent where no application looks for links
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<usize>,
    /// Hosts that are known; absent where no application looks for hosts
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<usize>,
    /// What the controller knows by itself to be wrong, the gravest first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<KnownFinding>,
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct KnownFinding {
    /// Its name, as in the table of `docs/doctor.md`
    #[cfg_attr(test, schema(example = "duplicate-dpid"))]
    pub id: String,
    /// How grave it is: `fault`, `warning` or `hint`
    #[cfg_attr(test, schema(example = "fault"))]
    pub severity: String,
    /// What it is about: a switch, an address, a file
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub about: String,
    /// What was seen last, in words; parts of it may be those of a switch
    pub evidence: String,
    /// What to do
    pub what_to_do: String,
    /// How often it was seen
    pub count: u64,
    /// Seconds since it was seen last
    pub last_s_ago: f64,
}

/// Whether the controller runs, since when, and how much there is of the network
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/health", operation_id = "health", tag = "about", responses((status = 200, description = "It runs", body = Health))))]
pub(crate) async fn show(State(shared): Ctx) -> Json<Health> {
    Json(Health {
        state: "up".into(),
        up_since: shared.calendar.date(Time::START),
        up_for_s: shared.controller.now().since(Time::START).as_secs_f64(),
        switches: shared.controller.switches().len(),
        links: shared.controller.links_count(),
        hosts: shared.controller.hosts_count(),
        findings: shared.controller.findings(),
    })
}
