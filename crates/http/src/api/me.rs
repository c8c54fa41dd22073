//! The caller: the key of this request, and what it may do.

use std::time::UNIX_EPOCH;

use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::timestamp::rfc3339;

/// The sender of this request, as its key says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Me {
    /// `read`, `write` or `admin`: each may do what those before it may
    #[cfg_attr(test, schema(example = "write"))]
    pub role: String,
    /// The name of the key; absent where the controller needs none
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "ada"))]
    pub name: Option<String>,
    /// `token` or `user`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "user"))]
    pub kind: Option<String>,
    /// From when on the key is good for nothing, in UTC (RFC 3339); absent where it does not expire
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

/// The key of this request, and its role
///
/// So that a page or a script knows beforehand what it may do. Where the controller needs no key,
/// every caller has the role `admin`.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/me", operation_id = "me", tag = "controller", responses(
    (status = 200, description = "The caller", body = Me),
)))]
pub(crate) async fn show(Extension(caller): Extension<Caller>) -> Json<Me> {
    let key = caller.grant.key();
    let expires = key.and_then(|key| key.expires);
    let expires = expires.and_then(|end| end.duration_since(UNIX_EPOCH).ok()).map(rfc3339);
    Json(Me {
        role: caller.role.name().to_owned(),
        name: key.map(|key| key.name.clone()),
        kind: key.map(|key| key.kind.name().to_owned()),
        expires,
    })
}
