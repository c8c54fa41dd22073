//! The answer to a request that was not done: a problem in the form of RFC 9457.

use std::fmt::Display;

use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use crate::limits::DETAIL_MAX;

/// Why a request was not done (`application/problem+json`, RFC 9457).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Problem {
    /// The kind of problem, the same for ever: `urn:aldis:` and a few words
    #[cfg_attr(test, schema(example = "urn:aldis:no-such-switch"))]
    #[serde(rename = "type")]
    pub kind: String,
    /// What the status means
    #[cfg_attr(test, schema(example = "Not Found"))]
    pub title: String,
    /// The HTTP status
    #[cfg_attr(test, schema(example = 404))]
    pub status: u16,
    /// What happened, and what to do
    #[cfg_attr(test, schema(example = "switch 0000000000000001 is not connected"))]
    pub detail: String,
}

impl Problem {
    /// A problem of this kind, a few words joined by hyphens.
    pub fn new(status: StatusCode, kind: &str, detail: impl Display) -> Problem {
        Problem {
            kind: format!("urn:aldis:{kind}"),
            title: status.canonical_reason().unwrap_or("Problem").to_owned(),
            status: status.as_u16(),
            detail: cut(detail.to_string()),
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

/// A text of the request may be repeated in it: as much of that as a person reads.
fn cut(mut detail: String) -> String {
    if let Some((end, _)) = detail.char_indices().nth(DETAIL_MAX) {
        detail.truncate(end);
        detail.push('…');
    }
    detail
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = axum::Json(self).into_response();
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            // What is left of the request is not read, so no other can follow it.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_cut_where_it_is_long() {
        assert_eq!(Problem::bad("any", "é").detail, "é");
        let long = Problem::bad("any", "é".repeat(1 << 20)).detail;
        assert_eq!(long, "é".repeat(DETAIL_MAX) + "…");
    }
}
