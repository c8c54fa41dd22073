//! Everything that the controller counts, at once.

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::problem::Problem;
use crate::routes::Ctx;

/// All counters: of each worker, of each switch, and of all workers together
///
/// The same document as `aldis run --stats` writes. Times are in nanoseconds; distributions have count, sum, least, greatest,
/// quantiles and buckets.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/statistics", operation_id = "statistics", tag = "statistics", responses(
    (status = 200, description = "Counters", body = Object),
)))]
pub(crate) async fn show(State(shared): Ctx) -> Result<Json<Value>, Problem> {
    serde_json::to_value(shared.controller.counters()).map(Json).map_err(|error| {
        let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
        Problem::new(status, "failed", format!("the counters cannot be written as JSON: {error}"))
    })
}
