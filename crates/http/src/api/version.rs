//! Which Aldis this is.

use aldis_wire::Version as OpenFlow;
use axum::Json;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

/// Which Aldis this is and what it speaks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Version {
    /// The version of the controller
    #[cfg_attr(test, schema(example = "0.1.0"))]
    pub aldis: String,
    /// The versions of OpenFlow that it speaks, lowest first
    #[cfg_attr(test, schema(example = json!(["1.0", "1.3"])))]
    pub openflow: Vec<String>,
}

/// Which Aldis this is and which OpenFlow it speaks
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/version", operation_id = "version", tag = "about", responses((status = 200, description = "Versions", body = Version))))]
pub(crate) async fn show() -> Json<Version> {
    Json(Version {
        aldis: env!("CARGO_PKG_VERSION").into(),
        openflow: OpenFlow::ALL.map(number).into(),
    })
}

/// The version's number alone, as in `1.3`.
pub(crate) fn number(version: OpenFlow) -> String {
    version.to_string().trim_start_matches("OpenFlow ").to_owned()
}
