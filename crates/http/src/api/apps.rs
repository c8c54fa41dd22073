//! The applications, how those that run work together, and how they are started, stopped and put in
//! order.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use super::blocking;
use crate::controller::Controller;
use crate::extract;
use crate::extract::{Path, Query};
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
    /// Whether it is alone with a switch; otherwise several workers may run it over one switch
    /// at once
    pub exclusive: bool,
    /// The events that it starts on
    pub starts_on: Vec<String>,
    /// The parts of the World that it reads
    pub reads: Vec<String>,
    /// The parts of the World that it publishes
    pub publishes: Vec<String>,
    /// The version of its package, where it was installed from one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "1.2.0"))]
    pub version: Option<String>,
    /// Where its page is, from the root of this server on, where its package brings one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        test,
        schema(
            example = "apps/port-knocking/@pages/5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9/"
        )
    )]
    pub page: Option<String>,
    /// The version that runs in its shadow, where one does
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
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
    /// Events that it was handed, by their kind, and each flow request, those included that an
    /// application before it stopped
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
    /// The sequences that this order keeps, where there are several on the event: branches, which
    /// join where they name the same application
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schema(example = json!([["hosts", "arp-proxy"], ["hosts", "nd-proxy"]])))]
    pub branches: Vec<Vec<String>>,
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
    /// It failed in its sandbox, and starts again after a while
    Restarting,
    /// It failed in its sandbox too often, and is left out until it is started again
    Quarantined,
}

/// A version that runs in the shadow of another: its commands are compared and not sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Candidate {
    /// The version of its package
    pub version: String,
    /// Whether it runs
    pub state: AppState,
    /// Batches that it answered with the same commands
    pub agreed: u64,
    /// Batches that it answered with others
    pub differed: u64,
    /// Batches that it answered with the same commands since it last did not
    pub agreed_last: u64,
    /// The first difference of the last such batch
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_difference: Option<String>,
}

/// When a candidate is promoted by itself.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    after: Option<u64>,
}

/// The order of the applications for one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The applications that see the event, in order; those that are left out do not see it
    pub apps: Vec<String>,
}

/// A line that an application wrote to the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct AppLine {
    /// Whether it is a warning
    pub warns: bool,
    /// The line
    pub text: String,
}

/// The newest lines that an application wrote to the log, the oldest of them first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct AppLog {
    /// The lines
    pub lines: Vec<AppLine>,
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
    /// The package is not one, or not one for here.
    BadPackage(String),
    /// The disk did not take it.
    Disk(String),
}

impl From<NotChanged> for Problem {
    fn from(why: NotChanged) -> Problem {
        match why {
            NotChanged::Unknown(why) => Problem::missing("no-such-app", why),
            NotChanged::Refused(why) => Problem::new(StatusCode::CONFLICT, "app-not-changed", why),
            NotChanged::BadPackage(why) => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-package", why)
            }
            NotChanged::Disk(why) => {
                Problem::new(StatusCode::INSUFFICIENT_STORAGE, "not-kept", why)
            }
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
/// It begins anew, is told of the switches that are connected as if they joined now, and sees
/// what comes from then on. Those that
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
/// Those that need what it publishes stop with it, and start with it again. What it installed on
/// switches stays there.
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

/// Install an application from its package, and start it
///
/// The body is the package. It is checked, compiled and kept, where the controller has a folder
/// for that, before any worker calls it.
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/apps", operation_id = "install_app", tag = "controller",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The package"),
responses(
    (status = 200, description = "It runs on every worker", body = Apps),
    (status = 409, description = "There is one of this name, or it cannot run here", body = Problem),
    (status = 413, description = "Too long", body = Problem),
    (status = 422, description = "No package, or one that asks for what is not granted", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
    (status = 507, description = "The disk did not take it; it does not run", body = Problem),
)))]
pub(crate) async fn install(State(shared): Ctx, request: Request) -> Result<Json<Apps>, Problem> {
    let package = extract::body(request, &shared).await?;
    change(&shared, move |controller| controller.install_app(&package)).await
}

/// Put another version of an application in its place
///
/// The body is the package. No request is lost. Where the new version fails soon, the one before
/// comes back by itself.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/apps/{name}", operation_id = "replace_app", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
), request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The package"),
responses(
    (status = 200, description = "It runs on every worker", body = Apps),
    (status = 404, description = "There is no such application", body = Problem),
    (status = 409, description = "It came with the controller", body = Problem),
    (status = 413, description = "Too long", body = Problem),
    (status = 422, description = "No package of this application, or one that asks for what is not granted", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
    (status = 507, description = "The disk did not take it; the old version stays", body = Problem),
)))]
pub(crate) async fn replace(
    State(shared): Ctx,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Apps>, Problem> {
    let package = extract::body(request, &shared).await?;
    change(&shared, move |controller| controller.replace_app(&name, &package)).await
}

/// Remove an application that was installed
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/apps/{name}", operation_id = "remove_app", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
), responses(
    (status = 200, description = "It is gone; what it installed on switches stays there", body = Apps),
    (status = 404, description = "There is no such application", body = Problem),
    (status = 409, description = "It came with the controller", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
)))]
pub(crate) async fn remove(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Apps>, Problem> {
    change(&shared, move |controller| controller.remove_app(&name)).await
}

/// Run another version of an application in its shadow
///
/// The body is the package. It is handed the same events; its commands are compared and not sent.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/apps/{name}/candidate", operation_id = "shadow_app", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
    ("after" = Option<u64>, Query, description = "Promote it after so many batches in a row with the same commands", example = 1000),
), request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The package"),
responses(
    (status = 200, description = "It runs beside", body = Apps),
    (status = 404, description = "No application of this name was installed", body = Problem),
    (status = 413, description = "Too long", body = Problem),
    (status = 422, description = "No package of this application", body = Problem),
)))]
pub(crate) async fn shadow(
    State(shared): Ctx,
    Path(name): Path<String>,
    Query(After { after }): Query<After>,
    request: Request,
) -> Result<Json<Apps>, Problem> {
    let package = extract::body(request, &shared).await?;
    change(&shared, move |controller| controller.shadow_app(&name, Some(&package), after)).await
}

/// Give the version in the shadow of an application up
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/apps/{name}/candidate", operation_id = "end_shadow", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
), responses(
    (status = 200, description = "It does not run any more", body = Apps),
    (status = 404, description = "There is none", body = Problem),
)))]
pub(crate) async fn end_shadow(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Apps>, Problem> {
    change(&shared, move |controller| controller.shadow_app(&name, None, None)).await
}

/// Put the version in the shadow of an application in its place, with the state that it has
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/apps/{name}/promote", operation_id = "promote_app", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
), responses(
    (status = 200, description = "It runs on every worker", body = Apps),
    (status = 404, description = "There is none", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
    (status = 507, description = "The disk did not take it; the old version stays", body = Problem),
)))]
pub(crate) async fn promote(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Apps>, Problem> {
    change(&shared, move |controller| controller.promote_app(&name)).await
}

/// The newest lines that an installed application wrote to the log
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/apps/{name}/log", operation_id = "app_log", tag = "controller", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
), responses(
    (status = 200, description = "Lines, the oldest first", body = AppLog),
    (status = 404, description = "No application of this name was installed", body = Problem),
)))]
pub(crate) async fn log(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<AppLog>, Problem> {
    let lines = shared.controller.app_log(&name).ok_or_else(|| {
        let detail = format!("no application {name:?} was installed from a package");
        Problem::missing("no-such-app", detail)
    })?;
    Ok(Json(AppLog { lines }))
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
