//! Entity tags: a client that asks again for what did not change is told so in a few bytes (RFC
//! 9110 §8.8.3, §13.1.2).

use std::hash::{DefaultHasher, Hasher};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Gives every answer of JSON a tag, and leaves out those that the asker has.
pub(crate) async fn etag(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    let known: Vec<_> = request.headers().get_all(IF_NONE_MATCH).iter().cloned().collect();
    let response = next.run(request).await;
    if response.status() != StatusCode::OK || !is_json(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // It was made here and is whole: reading it cannot fail.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let tag = tag(&bytes);
    let has_it = known.iter().any(|known| names(known, &tag));
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(ETAG, value);
    }
    if has_it {
        let tag = parts.headers.remove(ETAG);
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        tag.into_iter().for_each(|tag| drop(response.headers_mut().insert(ETAG, tag)));
        return response;
    }
    Response::from_parts(parts, Body::from(bytes))
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
}

fn tag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("\"{:016x}\"", hasher.finish())
}

/// Whether the asker named no tag under this header, or one of what is there.
pub(crate) fn matches(headers: &HeaderMap, name: HeaderName, there: &impl Serialize) -> bool {
    let mut known = headers.get_all(name).iter().peekable();
    let tag = serde_json::to_vec(there).map(|bytes| tag(&bytes)).unwrap_or_default();
    known.peek().is_none() || known.any(|known| names(known, &tag))
}

/// Whether a list of tags, as `If-None-Match` has them, names this one; weak ones do too.
pub(crate) fn names(known: &HeaderValue, tag: &str) -> bool {
    let tags = known.to_str().unwrap_or_default().split(',').map(str::trim);
    tags.map(|known| known.trim_start_matches("W/")).any(|known| known == tag || known == "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_a_list() {
        let tag = tag(b"{}");
        for (known, is) in [
            (tag.clone(), true),
            (format!("W/{tag}"), true),
            (format!("\"other\", {tag}"), true),
            ("*".into(), true),
            ("\"other\"".into(), false),
            (String::new(), false),
        ] {
            assert_eq!(names(&HeaderValue::from_str(&known).unwrap(), &tag), is, "{known}");
        }
        assert_ne!(tag, super::tag(b"[]"));
    }
}
