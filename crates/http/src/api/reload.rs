//! Reading the configuration again.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use super::set;
use crate::desired::Reread;
use crate::problem::Problem;
use crate::routes::Ctx;

/// What became of a configuration that was read again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Reloaded {
    /// What changed and counts from now on
    #[cfg_attr(test, schema(example = json!(["bdu-us: 150 → 300"])))]
    pub applied: Vec<String>,
    /// What changed too, but counts only after a restart
    pub waiting: Vec<String>,
}

/// Read the configuration again, and apply what is different
///
/// As SIGHUP does. No session is dropped. Where the file makes no sense the old settings stay, and the answer says why.
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/reload", operation_id = "reload", tag = "controller", responses(
    (status = 200, description = "It was read", body = Reloaded),
    (status = 409, description = "The controller was started without a file", body = Problem),
    (status = 422, description = "The file makes no sense; the old settings stay", body = Problem),
)))]
pub(crate) async fn reload(State(shared): Ctx) -> Result<Json<Reloaded>, Problem> {
    let Reread { applied, waiting } = set(&shared, |store| store.reread()).await?;
    Ok(Json(Reloaded { applied, waiting }))
}
