//! Pages for browsers: a summary, and the description, which reads the OpenAPI document.
//! Neither downloads anything from anywhere else.

use aldis_control::Time;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;

use crate::routes::Ctx;

/// Scripts, styles and data of this server alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page without a script: its style, and nothing else.
const STILL: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                     frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";

/// Where the summary is: where the address of the banner leads, unless the web interface is there.
pub(crate) const HOME: &str = if cfg!(feature = "ui") { "/api" } else { "/" };

/// The files of the description: path, kind, text.
pub(crate) const FILES: [(&str, &str, &str); 3] = [
    ("/api/docs", HTML, include_str!("docs/page.html")),
    ("/api/docs/page.css", "text/css; charset=utf-8", include_str!("docs/page.css")),
    ("/api/docs/page.js", "text/javascript; charset=utf-8", include_str!("docs/page.js")),
];

pub(crate) fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY)], text)
}

/// Which Aldis this is, how much there is, and where to go on. All that is filled in is made here:
/// numbers, a date, the version.
pub(crate) async fn home(State(shared): Ctx) -> impl IntoResponse {
    let controller = &shared.controller;
    let (links, hosts) = (controller.links_count(), controller.hosts_count());
    let rows = [
        row("Switches", "/api/v1/switches", Some(controller.switches().len())),
        row("Links", "/api/v1/links", links),
        row("Hosts", "/api/v1/hosts", hosts),
    ];
    let text = include_str!("docs/home.html")
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{since}", &shared.calendar.date(Time::START))
        .replace("{rows}", &rows.join("\n"));
    ([(CONTENT_TYPE, HTML), (CONTENT_SECURITY_POLICY, STILL)], text)
}

/// How many there are of something, and where they are; or that no application looks for them.
fn row(name: &str, path: &str, found: Option<usize>) -> String {
    let cells = match found {
        Some(count) => format!("<td>{count}</td><td><a href=\"{path}\">as JSON</a></td>"),
        None => "<td>no application looks for them</td><td></td>".into(),
    };
    format!("<tr><th>{name}</th>{cells}</tr>")
}
