//! The results of the laboratory: the files of a folder that the operator named.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use super::blocking;
use crate::problem::Problem;
use crate::routes::Ctx;
use crate::timestamp::rfc3339;

/// A file that the laboratory wrote.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct ReportFile {
    /// Its name, from the folder on
    #[cfg_attr(test, schema(example = "maestro/figure-7/points.csv"))]
    pub name: String,
    /// How long it is
    pub bytes: u64,
    /// When it was written last, in UTC (RFC 3339)
    pub at: String,
}

impl ReportFile {
    /// A file that was written so long after 1970.
    pub fn new(name: String, bytes: u64, since_1970: Duration) -> ReportFile {
        ReportFile { name, bytes, at: rfc3339(since_1970) }
    }
}

/// The files of the laboratory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct ApiReports {
    /// The files, by name
    pub items: Vec<ReportFile>,
    /// How many there are
    pub total: usize,
    /// Before the name of each, its address from the root on, until the controller ends
    #[cfg_attr(test, schema(example = "reports/5f0c…/"))]
    pub place: String,
}

/// What the laboratory found: the files below the folder of `--http-reports`
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/reports", operation_id = "reports", tag = "controller", responses(
    (status = 200, description = "The files", body = ApiReports),
    (status = 404, description = "The controller was started without a folder of results", body = Problem),
)))]
pub(crate) async fn list(State(shared): Ctx) -> Result<Json<ApiReports>, Problem> {
    let controller = shared.controller.clone();
    let items = blocking(move || controller.reports()).await?.ok_or_else(|| {
        let detail = "the controller was started without a folder of results: name it with --http-reports DIR, \
                      or reports in [http]";
        Problem::missing("no-reports", detail)
    })?;
    let place = shared.report_place.address();
    Ok(Json(ApiReports { total: items.len(), items, place }))
}
