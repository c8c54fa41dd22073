//! The description as a page: it reads the OpenAPI document, and downloads nothing from anywhere else.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;

/// Scripts, styles and data of this server alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files of the page: path, kind, text.
pub(crate) const FILES: [(&str, &str, &str); 3] = [
    ("/api/docs", "text/html; charset=utf-8", include_str!("docs/page.html")),
    ("/api/docs/page.css", "text/css; charset=utf-8", include_str!("docs/page.css")),
    ("/api/docs/page.js", "text/javascript; charset=utf-8", include_str!("docs/page.js")),
];

pub(crate) fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY)], text)
}
