//! The applications, how those that run work together, and how they are started, stopped and put in
//! order.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use super::blocking;
use crate::controller::Controller;
use crate::extract;
use crate::extract::Path;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// The applications, and how those that run work together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Apps {
    /// The applications, in order, whether they run or not
    pub apps: Vec<App>,
    /// Which of those that run see which event, in which order
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
    /// Whether it runs
    #[serde(default)]
    pub state: AppState,
    /// Why it does not run, where there is more to say than that it was stopped
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "it panicked: no port 7"))]
    pub reason: Option<String>,
    /// Whether it is alone with a switch; otherwise several workers may run it over one switch at once
    pub exclusive: bool,
    /// The events that it starts on
    pub starts_on: Vec<String>,
    /// The parts of the World that it reads
    pub reads: Vec<String>,
    /// The parts of the World that it publishes
    pub publishes: Vec<String>,
    /// What it did so far, where it is asked of a controller that runs
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
    /// How often it failed
    #[serde(default)]
    pub failures: u64,
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

/// Whether an application runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AppState {
    /// It is called
    #[default]
    Running,
    /// It is not, and can be started
    Stopped,
    /// It is not, and starts together with the application of which it reads what that publishes
    Waiting,
    /// It failed, is left out, and can be started again
    Failed,
}

/// The order of the applications for one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The applications that see the event, in order; those that are left out do not see it
    pub apps: Vec<String>,
}

/// Why a change of the applications was not made, in one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotChanged {
    /// There is no application of this name.
    Unknown(String),
    /// It cannot be as things are.
    Refused(String),
    /// A worker did not follow in time.
    Late(String),
}

impl From<NotChanged> for Problem {
    fn from(why: NotChanged) -> Problem {
        match why {
            NotChanged::Unknown(why) => Problem::missing("no-such-app", why),
            NotChanged::Refused(why) => Problem::new(StatusCode::CONFLICT, "app-not-changed", why),
            NotChanged::Late(why) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "late", why),
        }
    }
}

/// The applications, and how those that run work together
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/apps", operation_id = "apps", tag = "controller", responses(
    (status = 200, description = "Applications", body = Apps),
)))]
pub(crate) async fn show(State(shared): Ctx) -> Json<Apps> {
    Json(shared.controller.apps())
}

/// Start an application that does not run, or that failed
///
/// It begins anew, is told of the switches that are connected as if they joined now, and sees what comes from then on. Those that
/// waited for what it publishes start with it. No request is lost or answered twice.
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/apps/{name}/start", operation_id = "start_app", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "learning-switch"),
), responses(
    (status = 200, description = "It runs on every worker", body = Apps),
    (status = 404, description = "There is no such application", body = Problem),
    (status = 409, description = "It runs already, or cannot run here", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
)))]
pub(crate) async fn start(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Apps>, Problem> {
    change(&shared, move |controller| controller.start_app(&name)).await
}

/// Stop an application that runs
///
/// Those that need what it publishes stop with it, and start with it again. What it installed on switches stays there.
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/apps/{name}/stop", operation_id = "stop_app", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "learning-switch"),
), responses(
    (status = 200, description = "No worker calls it any more", body = Apps),
    (status = 404, description = "There is no such application", body = Problem),
    (status = 409, description = "It does not run", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
)))]
pub(crate) async fn stop(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Apps>, Problem> {
    change(&shared, move |controller| controller.stop_app(&name)).await
}

/// Another order of the applications for an event
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/sequences/{on}", operation_id = "set_sequence", tag = "controller", params(
    ("on" = String, Path, description = "The event", example = "flow-request"),
), request_body = Order, responses(
    (status = 200, description = "It counts on every worker", body = Apps),
    (status = 400, description = "No JSON", body = Problem),
    (status = 404, description = "There is no such event or application", body = Problem),
    (status = 409, description = "An application is there twice, or does not start on the event", body = Problem),
    (status = 413, description = "Too long", body = Problem),
    (status = 415, description = "Not said to be JSON", body = Problem),
    (status = 422, description = "Something else than an order", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
)))]
pub(crate) async fn order(
    State(shared): Ctx,
    Path(on): Path<String>,
    extract::Json(Order { apps }): extract::Json<Order>,
) -> Result<Json<Apps>, Problem> {
    change(&shared, move |controller| controller.order_apps(&on, apps)).await
}

/// The usual order of the applications for an event: all that start on it, as they are listed
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/sequences/{on}", operation_id = "reset_sequence", tag = "controller", params(
    ("on" = String, Path, description = "The event", example = "flow-request"),
), responses(
    (status = 200, description = "It counts on every worker", body = Apps),
    (status = 404, description = "There is no such event", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
)))]
pub(crate) async fn reset_order(
    State(shared): Ctx,
    Path(on): Path<String>,
) -> Result<Json<Apps>, Problem> {
    change(&shared, move |controller| controller.order_apps(&on, vec![])).await
}

/// Makes a change, which waits for the workers, on another thread than the one that serves.
async fn change(
    shared: &Shared,
    make: impl FnOnce(&dyn Controller) -> Result<(), NotChanged> + Send + 'static,
) -> Result<Json<Apps>, Problem> {
    let controller = Arc::clone(&shared.controller);
    blocking(move || make(&*controller)).await??;
    Ok(Json(shared.controller.apps()))
}
