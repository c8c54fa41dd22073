//! The controller's log: its newest lines as a list, and what follows as server-sent events.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use super::events::After;
use crate::auth::{Caller, Revocation};
use crate::extract::Query;
use crate::log::EncodedLine;
use crate::newest::{Newest, RingItem, stream};
use crate::problem::Problem;
use crate::routes::Ctx;

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct LogLine {
    /// Names it: a follower that saw it last goes on behind it
    #[cfg_attr(test, schema(example = "19b0c3d4e5f-17"))]
    pub id: String,
    /// When, in UTC (RFC 3339)
    pub at: String,
    /// How grave it is
    pub level: LineLevel,
    /// In words; parts of it may be those of a switch or a host
    pub text: String,
}

/// How grave a line is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LineLevel {
    /// The controller cannot do something
    Error,
    /// Something is wrong, and the controller goes on
    Warn,
    /// Something happened
    Info,
    /// What helps to find a fault: only where the controller runs with `--log debug`
    Debug,
    /// Every step: only with `--log trace`
    Trace,
}

/// Which lines of those that are kept.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct LinesWanted {
    /// This level and graver ones: `error`, `warn`, `info`, `debug`, `trace`; or else all
    level: Option<LineLevel>,
    /// Lines of a page, 1 to 10000; all that are kept where it is absent
    limit: Option<usize>,
    /// `next` of the page before, or the id of any line
    cursor: Option<String>,
}

/// The lines of the log that are kept, oldest first: the newest megabyte
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/log", operation_id = "log", tag = "controller", params(LinesWanted), responses(
    (status = 200, description = "Lines", body = Page<LogLine>),
    (status = 400, description = "No line's id, or no level", body = Problem),
)))]
pub(crate) async fn list(
    State(shared): Ctx,
    Query(LinesWanted { level, limit, cursor }): Query<LinesWanted>,
) -> Result<Page<LogLine>, Problem> {
    let all: &Newest<EncodedLine> = RingItem::all(&shared);
    let mut place = all.place(Some(cursor.as_deref().unwrap_or("oldest")))?;
    let mut lines = all.read(&mut place, usize::MAX, &shared.date());
    lines.retain(|kept| level.is_none_or(|level| kept.line.level <= level));
    let numbered: Vec<_> = lines.into_iter().enumerate().collect();
    let at = |(at, _): &(usize, Arc<EncodedLine>)| at + 1;
    let page = Page::cut(&numbered, limit, None, at, |(_, kept)| kept.line.clone())?;
    // A place among the lines is the id of one.
    let next = page.next.and_then(|_| page.items.last().map(|line| line.id.clone()));
    Ok(Page { next, ..page })
}

/// The log from now on, or from a line on, as server-sent events
///
/// Each is a JSON `LogLine`. A comment comes where nothing was written for 15 seconds.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/log/follow", operation_id = "follow_log", tag = "controller", params(After), responses(
    (status = 200, description = "A stream that does not end", content_type = "text/event-stream", body = LogLine),
    (status = 400, description = "No line's id", body = Problem),
    (status = 503, description = "Too many follow already", body = Problem),
)))]
pub(crate) async fn follow(
    State(shared): Ctx,
    Extension(caller): Extension<Caller>,
    Extension(revocation): Extension<Revocation>,
    headers: HeaderMap,
    Query(After { after }): Query<After>,
) -> Result<Response, Problem> {
    stream::<EncodedLine>(shared, caller, &revocation, &headers, after.as_deref())
}
