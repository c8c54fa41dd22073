//! The document that describes every resource: OpenAPI 3.1. It is `openapi/aldis.json`, which a
//! test keeps fresh.

#[cfg(test)]
mod document;
#[cfg(test)]
mod examples;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

/// Where the document is served.
pub const PATH: &str = "/api/v1/openapi.json";

/// The document.
pub const TEXT: &str = include_str!("../../../openapi/aldis.json");

/// This document
#[cfg_attr(test, utoipa::path(get, path = PATH, operation_id = "openapi", tag = "about", responses((status = 200, description = "OpenAPI 3.1", body = Object))))]
pub(crate) async fn show() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], TEXT)
}
