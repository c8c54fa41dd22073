//! The pages that applications bring along, for browsers.
//!
//! A page runs in a sandbox of the browser's: it has no origin, and so no key and no way to the
//! API. In the web interface it is in a frame, and asks that for what the routes of its own
//! application answer, by `aldis.js`, which lies beside every page.
//!
//! The path of a page holds the digest of its package, which is known with the package, or by a key
//! that may list the applications. So a page needs no key, which a frame could not send, and may be
//! kept for ever.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::memory;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Scripts, styles and pictures of this server alone, without an origin, in frames of the web
/// interface. The page itself asks for nothing: the frame's parent does.
const POLICY: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
);

const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// What lies beside every page.
const SCRIPT: (&str, &str) = ("aldis.js", include_str!("app_pages/aldis.js"));

/// Where the pages of an application are; the files lie below.
const PAGES: &str = "/apps/{name}/@pages/{digest}/";

/// The types of files, by the ends of their names. Others are shown as bytes.
const KINDS: [(&str, &str); 13] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("json", "application/json"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("csv", "text/csv; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
];

/// The routes of the pages, which need no key.
pub(crate) fn routes(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let file = |state: Ctx, Path((name, digest, path)): Path<(String, String, String)>| {
        show(state, name, digest, path)
    };
    let index = |state: Ctx, Path((name, digest)): Path<(String, String)>| {
        show(state, name, digest, "index.html".to_owned())
    };
    Router::new()
        .route(PAGES, get(index))
        .route(&format!("{PAGES}{{*path}}"), get(file))
        .layer(from_fn_with_state(Arc::clone(shared), memory::check))
}

/// Whether a path is one of a page: such a path leads nowhere else.
pub(crate) fn is_page(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    let (apps, place, digest) = (parts.next(), parts.nth(1), parts.next());
    apps == Some("apps") && place == Some("@pages") && digest.is_some() && parts.next().is_some()
}

/// A file of a package.
async fn show(
    State(shared): Ctx,
    name: String,
    digest: String,
    path: String,
) -> Result<Response, Problem> {
    let controller = Arc::clone(&shared.controller);
    let asked = path.clone();
    let found = tokio::task::spawn_blocking(move || controller.app_page(&name, &digest, &asked));
    let found = found.await.ok().flatten();
    let script = || (path == SCRIPT.0).then(|| SCRIPT.1.as_bytes().to_vec());
    // An application with no pages has no script either: nothing tells it from one that is not
    // there.
    let bytes = found.map(|file| file.or_else(script)).ok_or_else(none)?.ok_or_else(none)?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind_of(&path))),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, FOR_EVER),
    ];
    Ok((headers, bytes).into_response())
}

fn none() -> Problem {
    Problem::missing("no-such-page", "there is no such page of an application")
}

fn kind_of(path: &str) -> &'static str {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let known = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(end));
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_pages_are_told_from_others() {
        for path in ["/apps/a/@pages/0/", "/apps/a/@pages/0/b/c"] {
            assert!(is_page(path), "{path}");
        }
        let others =
            ["/apps/a/@pages", "/apps/a/@pages/0", "/apps/a/%40pages/0/", "/apps/@pages/0/1", "/"];
        for path in others {
            assert!(!is_page(path), "{path}");
        }
    }

    #[test]
    fn a_file_is_of_the_type_that_its_name_ends_with() {
        for (path, kind) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a/b.min.JS", "text/javascript; charset=utf-8"),
            ("html", "application/octet-stream"),
            ("a.html/b", "application/octet-stream"),
            ("a.xhtml", "application/octet-stream"),
        ] {
            assert_eq!(kind_of(path), kind, "{path}");
        }
    }
}
