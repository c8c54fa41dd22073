//! The applications that run, and how they work together.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::routes::From;

/// The applications that run, and how they work together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Apps {
    /// The applications, in order
    pub apps: Vec<App>,
    /// Which of them see which event, in which order
    pub sequences: Vec<Sequence>,
    /// The parts of the World that they publish
    pub world: Vec<WorldPart>,
}

/// An application.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct App {
    /// Its name
    #[schema(example = "learning-switch")]
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
}

/// Who sees an event, in which order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Sequence {
    /// The event
    #[schema(example = "flow-request")]
    pub on: String,
    /// The applications
    pub apps: Vec<String>,
}

/// A part of the World.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorldPart {
    /// Its name
    pub name: String,
    /// The application that publishes it
    pub publisher: String,
    /// The other parts that it is made of
    pub made_of: Vec<String>,
}

/// The applications that run, and how they work together
#[utoipa::path(get, path = "/api/v1/apps", operation_id = "apps", tag = "controller", responses(
    (status = 200, description = "Applications", body = Apps),
))]
pub(crate) async fn show(State(shared): From) -> Json<Apps> {
    Json(shared.controller.apps())
}
