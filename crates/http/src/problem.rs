//! What is said to somebody whose request was not done: a problem in the form of RFC 9457.

use std::fmt::Display;

use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request was not done (`application/problem+json`, RFC 9457).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The kind of problem, the same for ever: `urn:aldis:` and a few words
    #[schema(example = "urn:aldis:no-such-switch")]
    #[serde(rename = "type")]
    pub kind: String,
    /// What the status means
    #[schema(example = "Not Found")]
    pub title: String,
    /// The HTTP status
    #[schema(example = 404)]
    pub status: u16,
    /// What happened, and what to do
    #[schema(example = "switch 0000000000000001 is not connected")]
    pub detail: String,
}

impl Problem {
    /// A problem of this kind, a few words joined by hyphens.
    pub fn new(status: StatusCode, kind: &str, detail: impl Display) -> Problem {
        Problem {
            kind: format!("urn:aldis:{kind}"),
            title: status.canonical_reason().unwrap_or("Problem").to_owned(),
            status: status.as_u16(),
            detail: detail.to_string(),
        }
    }

    /// Something about the request cannot be understood, or is outside its range.
    pub fn bad(kind: &str, detail: impl Display) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, kind, detail)
    }

    /// What the path names is not there.
    pub fn missing(kind: &str, detail: impl Display) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, kind, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status);
        let mut response = axum::Json(self).into_response();
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }
}

/// No route leads there.
pub(crate) async fn no_such_resource(uri: Uri) -> Problem {
    let detail =
        format!("there is no {}; {} lists what there is", uri.path(), crate::openapi::PATH);
    Problem::missing("no-such-resource", detail)
}

/// A route leads there, but not for this method.
pub(crate) async fn no_such_method(method: axum::http::Method, uri: Uri) -> Problem {
    let detail = format!("{} cannot be used with {method}", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", detail)
}
