//! Everything that the controller counts, at once.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;
use crate::routes::Ctx;

/// All counters: of each worker, of each switch, and of all workers together
///
/// The same document as `aldis run --stats` writes. Times are in nanoseconds; distributions have count, sum, least, greatest,
/// quantiles and buckets.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/statistics", operation_id = "statistics", tag = "statistics", responses(
    (status = 200, description = "Counters", body = Object),
)))]
pub(crate) async fn show(State(shared): Ctx) -> Result<Response, Problem> {
    // Straight to bytes: each open page asks once a second, and a tree of values in between took
    // most of the time.
    match serde_json::to_vec(&shared.controller.counters()) {
        Ok(document) => Ok(([(CONTENT_TYPE, "application/json")], document).into_response()),
        Err(error) => {
            let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
            let text = format!("the counters cannot be written as JSON: {error}");
            Err(Problem::new(status, "failed", text))
        }
    }
}
