//! The files of the laboratory, for browsers: reports as pages, plots as pictures, others as text.
//!
//! A file is shown in a sandbox of the browser's, without scripts and without an origin. Its path
//! holds a secret of this process, which only a key that may list the files is told: so a file
//! needs no key, which a frame could not send.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::memory;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Nothing but the file itself, with the style that it brings.
const POLICY: HeaderValue = HeaderValue::from_static(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'self'",
);

/// The secret part of the paths.
#[derive(Debug)]
pub(crate) struct ReportPlace(Option<String>);

impl ReportPlace {
    /// Another one; none where the system has no random numbers, and then no file is shown.
    pub(crate) fn new() -> ReportPlace {
        let mut secret = [0; 32];
        let random = rustls::crypto::ring::default_provider().secure_random;
        let is_filled = random.fill(&mut secret).is_ok();
        ReportPlace(is_filled.then(|| secret.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Before the name of each file, from the root of the server on.
    pub(crate) fn address(&self) -> String {
        format!("reports/{}/", self.0.as_deref().unwrap_or("none"))
    }

    fn is(&self, place: &str) -> bool {
        self.0.as_deref().is_some_and(|known| known == place)
    }
}

/// The routes of the files, which need no key.
pub(crate) fn routes(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let router = Router::new().route("/reports/{place}/{*name}", get(show));
    router.layer(from_fn_with_state(Arc::clone(shared), memory::check))
}

async fn show(
    State(shared): Ctx,
    Path((place, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    if !shared.report_place.is(&place) {
        return Err(none());
    }
    let (controller, asked) = (Arc::clone(&shared.controller), name.clone());
    let read = tokio::task::spawn_blocking(move || controller.report(&asked)).await;
    let bytes = read.ok().flatten().ok_or_else(none)?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind_of(&name))),
        (CONTENT_SECURITY_POLICY, POLICY),
    ];
    Ok((headers, bytes).into_response())
}

fn none() -> Problem {
    Problem::missing("no-such-report", "there is no such file of the laboratory")
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_place_that_was_told_is_one() {
        let (one, other) = (ReportPlace::new(), ReportPlace::new());
        let told = one.address();
        let secret = told.trim_start_matches("reports/").trim_end_matches('/');
        assert!(secret.len() == 64 && one.is(secret) && !other.is(secret));
        for wrong in ["", "none", &secret[..63], &secret.to_uppercase()] {
            assert!(!one.is(wrong) && !ReportPlace(None).is(wrong), "{wrong}");
        }
    }
}
