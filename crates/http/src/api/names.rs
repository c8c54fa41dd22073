//! What people call switches.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use super::static_flows::Changed;
use super::{check_name, set};
use crate::extract::{Dpid, Json as Body};
use crate::problem::Problem;
use crate::routes::Ctx;

/// What people call switches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Names {
    /// By datapath id
    pub names: Vec<Named>,
}

/// A switch that has a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Named {
    /// Its datapath id
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// Its name
    #[cfg_attr(test, schema(example = "core-1"))]
    pub name: String,
}

/// A name for a switch.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewName {
    /// 1 to 200 bytes; no other switch has it
    pub name: String,
}

/// What people call switches
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/names", operation_id = "names", tag = "kept", responses(
    (status = 200, description = "Names, by datapath id", body = Names),
)))]
pub(crate) async fn list(State(shared): Ctx) -> Json<Names> {
    let named =
        |(dpid, name): (aldis_wire::DatapathId, String)| Named { dpid: dpid.to_string(), name };
    Json(Names { names: shared.config_store.names().into_iter().map(named).collect() })
}

/// Call a switch so, connected or not
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/names/{dpid}", operation_id = "set_name", tag = "kept",
    params(("dpid" = String, Path, description = "Its datapath id")), request_body = NewName, responses(
    (status = 200, description = "It is called so, and that is on disk", body = Named),
    (status = 400, description = "No datapath id", body = Problem),
    (status = 422, description = "No name, or that of another switch; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn put(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
    Body(NewName { name }): Body<NewName>,
) -> Result<Json<Named>, Problem> {
    check_name(&name)?;
    let given = Some(name.clone());
    set(&shared, move |store| store.set_name(dpid, given)).await?;
    Ok(Json(Named { dpid: dpid.to_string(), name }))
}

/// Call a switch by its datapath id alone again
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/names/{dpid}", operation_id = "remove_name", tag = "kept",
    params(("dpid" = String, Path, description = "Its datapath id")), responses(
    (status = 200, description = "It has no name any more", body = Changed),
    (status = 404, description = "It had none", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn remove(State(shared): Ctx, Dpid(dpid): Dpid) -> Result<Json<Changed>, Problem> {
    set(&shared, move |store| store.set_name(dpid, None)).await?;
    Ok(Json(Changed { set: 0, removed: 1, durable: shared.config_store.is_durable() }))
}
