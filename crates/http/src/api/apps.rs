//! The applications that run, and how they work together.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use crate::routes::Ctx;

/// The applications that run, and how they work together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Apps {
    /// The applications, in order
    pub apps: Vec<App>,
    /// Which of them see which event, in which order
    pub sequences: Vec<Sequence>,
    /// The parts of the World that they publish
    pub world: Vec<WorldPart>,
}

/// An application.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct App {
    /// Its name
    #[cfg_attr(test, schema(example = "learning-switch"))]
    pub name: String,
    /// What it does
    pub says: String,
    /// Whether it is alone with a switch; otherwise several workers may run it over one switch at once
    pub exclusive: bool,
    /// The events that it starts on
    pub starts_on: Vec<String>,
    /// The parts of the World that it reads
    pub reads: Vec<String>,
    /// The parts of the World that it publishes
    pub publishes: Vec<String>,
    /// What it did so far, where it runs
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// What an application did since the controller started, on all workers together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Counted {
    /// Whether it failed, or needs what another publishes that did: it is left out since then
    #[serde(default)]
    pub failed: bool,
    /// Events that it was handed, by their kind, and each flow request, those included that an application before it stopped
    #[cfg_attr(test, schema(example = json!({"flow-request": 12, "up": 2})))]
    pub events: BTreeMap<String, u64>,
    /// Bytes of the messages that it wrote to switches
    pub bytes_out: u64,
    /// What it counts itself
    #[cfg_attr(test, schema(example = json!({"flooded": 3, "installed": 9})))]
    pub own: BTreeMap<String, u64>,
    /// How much there is now of what it publishes
    #[cfg_attr(test, schema(example = json!({"hosts": 4})))]
    pub now: BTreeMap<String, u64>,
}

/// The applications that see an event, in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Sequence {
    /// The event
    #[cfg_attr(test, schema(example = "flow-request"))]
    pub on: String,
    /// The applications
    pub apps: Vec<String>,
}

/// A part of the World.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct WorldPart {
    /// Its name
    pub name: String,
    /// The application that publishes it
    pub publisher: String,
    /// The other parts that it is made of
    pub made_of: Vec<String>,
}

/// The applications that run, and how they work together
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/apps", operation_id = "apps", tag = "controller", responses(
    (status = 200, description = "Applications", body = Apps),
)))]
pub(crate) async fn show(State(shared): Ctx) -> Json<Apps> {
    Json(shared.controller.apps())
}
