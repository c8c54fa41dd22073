//! What holds for every answer: it comes in time, even where its handler panics, and its headers
//! tell a browser to guess nothing and to show it in no frame.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tokio::time::timeout;

use crate::limits::PACKAGE_WITHIN;
use crate::problem::Problem;

/// Headers of every answer that does not have its own.
const SAID: [(HeaderName, HeaderValue); 4] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
];

/// Lets a handler make the answer, within this time; where a package is brought, within more.
pub(crate) async fn limit(
    State(within): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    let within = if brings_package(&request) { within.max(PACKAGE_WITHIN) } else { within };
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
    let mut response = match timeout(within, answer).await {
        Ok(Ok(response)) => response,
        Ok(Err(_panic)) => failed().into_response(),
        Err(_elapsed) => too_slow(within).into_response(),
    };
    for (name, value) in SAID {
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// Whether it installs, replaces or shadows an application.
fn brings_package(request: &Request) -> bool {
    matches!(*request.method(), Method::POST | Method::PUT)
        && request.uri().path().starts_with("/api/v1/apps")
        && request
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind == "application/octet-stream")
}

fn failed() -> Problem {
    let detail = "the controller failed to make this answer: its log says where; please report it";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail)
}

fn too_slow(within: Duration) -> Problem {
    let detail =
        format!("the request, with its body, did not come and was not answered within {within:?}");
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use hyper_util::service::TowerToHyperService;

    async fn panics() {
        panic!("as it was told");
    }

    fn answer(path: &str, within: Duration) -> Response {
        let router = Router::new()
            .route("/panics", get(panics))
            .route("/never", get(std::future::pending::<()>))
            .route("/framed", get(|| async { [(CONTENT_SECURITY_POLICY, "default-src 'self'")] }))
            .layer(from_fn_with_state(within, limit));
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let answer = hyper::service::Service::call(&TowerToHyperService::new(router), request);
        runtime.block_on(answer).unwrap()
    }

    #[test]
    fn an_answer_comes_whatever_happens() {
        let long = Duration::from_secs(3600);
        assert_eq!(answer("/panics", long).status(), StatusCode::INTERNAL_SERVER_ERROR);
        let never = answer("/never", Duration::from_millis(1));
        assert_eq!(never.status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(never.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
        let bring = |kind: &str, uri: &str| {
            let request = Request::builder().method("PUT").uri(uri).header(CONTENT_TYPE, kind);
            brings_package(&request.body(Body::empty()).unwrap())
        };
        assert!(bring("application/octet-stream", "/api/v1/apps/hub"));
        assert!(!bring("application/json", "/api/v1/apps/hub"));
        assert!(!bring("application/octet-stream", "/api/v1/flows"));
        let framed = answer("/framed", long);
        assert_eq!(framed.headers()[CONTENT_SECURITY_POLICY], "default-src 'self'");
    }
}
