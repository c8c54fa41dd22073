//! The resources, one a file: what they look like as JSON, and how they are asked for. Programs of
//! ours that ask read the same types.

pub mod acl;
pub mod app_routes;
pub mod apps;
pub mod events;
mod flow;
pub mod flows;
pub mod guests;
pub mod health;
pub mod hosts;
pub mod inventory;
pub mod links;
pub mod log;
pub mod me;
pub mod names;
mod page;
pub mod paths;
pub mod port_statistics;
pub mod ports;
pub(crate) mod recording;
pub mod reload;
pub mod reports;
pub mod static_flows;
pub mod statistics;
pub(crate) mod switch_request;
pub mod switches;
pub mod trace;
pub mod version;
pub mod weights;

pub use page::Page;

use std::fmt::Display;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::StatusCode;
use axum::http::header::IF_NONE_MATCH;

use crate::desired::{ConfigStore, Only, SetError};
use crate::problem::Problem;
use crate::routes::Shared;

/// No application publishes what is asked for.
pub(crate) fn not_published(what: &str) -> Problem {
    let detail = format!(
        "no application looks for {what} here; /api/v1/apps says which run, and \"aldis apps\" which there are"
    );
    Problem::missing("not-published", detail)
}

fn bad_cursor(text: &str) -> Problem {
    let detail = format!("cursor: {text:?} is none; give the \"next\" of the page before");
    Problem::bad("bad-query", detail)
}

/// Makes a change that may wait for a disk, on another thread than the one that serves.
pub(crate) async fn set<T: Send + 'static>(
    shared: &Shared,
    change: impl FnOnce(&dyn ConfigStore) -> Result<T, SetError> + Send + 'static,
) -> Result<T, Problem> {
    let store: Arc<dyn ConfigStore> = Arc::clone(&shared.config_store);
    blocking(move || change(&*store)).await?.map_err(|refused| not_set(&refused))
}

/// Does what waits on another thread than the one that serves.
async fn blocking<T: Send + 'static>(
    what: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(what).await.map_err(|_| {
        let detail = "what became of this is not known: read it again";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "unknown-outcome", detail)
    })
}

/// Why something was not set.
pub(crate) fn not_set(refused: &SetError) -> Problem {
    let (status, kind) = match refused {
        SetError::NotRunning(_) => (StatusCode::CONFLICT, "not-running"),
        SetError::Missing(_) => (StatusCode::NOT_FOUND, "no-such-name"),
        SetError::NotSo(_) => (StatusCode::PRECONDITION_FAILED, "changed-meanwhile"),
        SetError::Configured(_) => (StatusCode::CONFLICT, "configured"),
        SetError::Senseless(_) => (StatusCode::UNPROCESSABLE_ENTITY, "senseless"),
        SetError::Disk(_) => (StatusCode::INSUFFICIENT_STORAGE, "not-kept"),
    };
    Problem::new(status, kind, refused)
}

/// A field of a body cannot be so.
fn bad_field(detail: impl Display) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail)
}

/// `If-None-Match: *`: only what is not there yet is set.
fn only(headers: &HeaderMap) -> Only {
    let new = headers.get_all(IF_NONE_MATCH).iter().any(|tag| tag == "*");
    if new { Only::IfNew } else { Only::Always }
}

/// A name that people give something.
fn check_name(name: &str) -> Result<(), Problem> {
    let refused = |why| {
        let detail = format!("name: {why}");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-name", detail)
    };
    match name {
        _ if name.trim().is_empty() => Err(refused("there is none")),
        _ if name.len() > crate::limits::NAME_MAX => Err(refused("it is longer than 200 bytes")),
        _ if name.chars().any(char::is_control) => Err(refused("it has letters nobody can see")),
        _ => Ok(()),
    }
}
