//! The routes of applications that were installed: requests below `/apps/NAME` go to the
//! application, which answers them from its sandbox.
//!
//! The headers of an answer are made here, except for its type, which is one of a few. A path is
//! handed over decoded, and only where it is plain: no part of it can be taken for another path by
//! the application.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::blocking;
use crate::extract;
use crate::limits::APP_PATH_MAX;
use crate::problem::Problem;
use crate::routes::Ctx;

/// What a browser may do with an answer that it opens by itself: nothing but show it.
const POLICY: HeaderValue =
    HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");

/// A request to an application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppRequest {
    /// The method, in capital letters.
    pub method: String,
    /// The path behind the name, decoded, from its `/` on: no part of it is empty, `.` or `..`.
    pub path: String,
    /// What is behind the question mark, as it was sent.
    pub query: String,
    /// The type of the body; empty where there is none.
    pub content_type: String,
    /// The body, up to [`crate::limits::APP_BODY_MAX`] bytes.
    pub body: Vec<u8>,
}

/// An application's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppAnswer {
    /// The status.
    pub status: u16,
    /// The type of the body: one that a browser runs nothing of.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// Why an application did not answer, in one sentence that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotAnswered {
    /// No application of this name was installed.
    Unknown(String),
    /// It answers no requests at all.
    NoRoutes(String),
    /// It does not run now.
    NotRunning(String),
    /// It has as many requests in hand as it may have.
    Busy(String),
    /// It failed while it answered.
    Failed(String),
    /// It answered something that it may not.
    Unfit(String),
}

impl From<NotAnswered> for Problem {
    fn from(why: NotAnswered) -> Problem {
        let late = StatusCode::SERVICE_UNAVAILABLE;
        match why {
            NotAnswered::Unknown(why) => Problem::missing("no-such-app", why),
            NotAnswered::NoRoutes(why) => Problem::missing("no-routes", why),
            NotAnswered::NotRunning(why) => Problem::new(late, "app-not-running", why),
            NotAnswered::Busy(why) => Problem::new(late, "busy", why),
            NotAnswered::Failed(why) => Problem::new(StatusCode::BAD_GATEWAY, "app-failed", why),
            NotAnswered::Unfit(why) => Problem::new(StatusCode::BAD_GATEWAY, "bad-answer", why),
        }
    }
}

/// Ask an application that was installed
///
/// What the path means, the application says. It answers where its manifest asks for `grants.http`.
#[cfg_attr(test, utoipa::path(get, path = "/apps/{name}/{path}", operation_id = "ask_app", tag = "applications", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
    ("path" = String, Path, description = "What it answers for; more parts may follow", example = "report"),
), responses(
    (status = 200, description = "What the application answers: text, JSON, CSV or bytes"),
    (status = 400, description = "A path with an empty part, a dot for a part, or a letter that cannot be seen", body = Problem),
    (status = 404, description = "No such application was installed, or it answers no requests", body = Problem),
    (status = 502, description = "It failed while it answered, or gave an answer that it may not give", body = Problem),
    (status = 503, description = "It does not run, or is busy", body = Problem),
)))]
pub(crate) async fn get(state: Ctx, request: Request) -> Result<Response, Problem> {
    answer(state, request).await
}

/// Tell an application that was installed something
///
/// As with `GET`; the body has 64 KiB at most.
#[cfg_attr(test, utoipa::path(post, path = "/apps/{name}/{path}", operation_id = "tell_app", tag = "applications", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
    ("path" = String, Path, description = "What it answers for; more parts may follow", example = "doors"),
), request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "What the application reads"),
responses(
    (status = 200, description = "What the application answers: text, JSON, CSV or bytes"),
    (status = 400, description = "A path with an empty part, a dot for a part, or a letter that cannot be seen", body = Problem),
    (status = 404, description = "No such application was installed, or it answers no requests", body = Problem),
    (status = 413, description = "Too long", body = Problem),
    (status = 502, description = "It failed while it answered, or gave an answer that it may not give", body = Problem),
    (status = 503, description = "It does not run, or is busy", body = Problem),
)))]
pub(crate) async fn post(state: Ctx, request: Request) -> Result<Response, Problem> {
    answer(state, request).await
}

/// Put something into an application that was installed
///
/// As with `POST`.
#[cfg_attr(test, utoipa::path(put, path = "/apps/{name}/{path}", operation_id = "put_into_app", tag = "applications", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
    ("path" = String, Path, description = "What it answers for; more parts may follow", example = "doors"),
), request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "What the application reads"),
responses(
    (status = 200, description = "What the application answers: text, JSON, CSV or bytes"),
    (status = 404, description = "No such application was installed, or it answers no requests", body = Problem),
    (status = 413, description = "Too long", body = Problem),
    (status = 502, description = "It failed while it answered, or gave an answer that it may not give", body = Problem),
    (status = 503, description = "It does not run, or is busy", body = Problem),
)))]
pub(crate) async fn put(state: Ctx, request: Request) -> Result<Response, Problem> {
    answer(state, request).await
}

/// Remove something from an application that was installed
///
/// As with `POST`.
#[cfg_attr(test, utoipa::path(delete, path = "/apps/{name}/{path}", operation_id = "remove_from_app", tag = "applications", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
    ("path" = String, Path, description = "What it answers for; more parts may follow", example = "doors"),
), responses(
    (status = 200, description = "What the application answers: text, JSON, CSV or bytes"),
    (status = 404, description = "No such application was installed, or it answers no requests", body = Problem),
    (status = 502, description = "It failed while it answered, or gave an answer that it may not give", body = Problem),
    (status = 503, description = "It does not run, or is busy", body = Problem),
)))]
pub(crate) async fn delete(state: Ctx, request: Request) -> Result<Response, Problem> {
    answer(state, request).await
}

/// The page of an application that was installed, or what the application answers for `/`
#[cfg_attr(test, utoipa::path(get, path = "/apps/{name}/", operation_id = "app_home", tag = "applications", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
), responses(
    (status = 200, description = "What the application answers, where its package has no pages"),
    (status = 307, description = "Its page is there"),
    (status = 404, description = "No such application was installed, or it has neither", body = Problem),
    (status = 502, description = "It failed while it answered, or gave an answer that it may not give", body = Problem),
    (status = 503, description = "It does not run, or is busy", body = Problem),
)))]
pub(crate) async fn home(State(shared): Ctx, request: Request) -> Result<Response, Problem> {
    let (name, _) = parts(request.uri())?;
    let controller = Arc::clone(&shared.controller);
    match blocking(move || controller.app_pages(&name)).await?? {
        Some(digest) => Ok(redirect(&format!("@pages/{digest}/"))),
        None => answer(State(shared), request).await,
    }
}

/// The same with the `/` that was left out
#[cfg_attr(test, utoipa::path(get, path = "/apps/{name}", operation_id = "app_home_redirect", tag = "applications", params(
    ("name" = String, Path, description = "The application", example = "port-knocking"),
), responses(
    (status = 307, description = "It is at the same path with a `/` behind it"),
    (status = 404, description = "No such application was installed", body = Problem),
)))]
pub(crate) async fn home_redirect(State(shared): Ctx, uri: Uri) -> Result<Response, Problem> {
    let (name, _) = parts(&uri)?;
    let controller = Arc::clone(&shared.controller);
    let known = name.clone();
    blocking(move || controller.app_pages(&known)).await??;
    // The name of an application that is there has letters, digits and hyphens alone.
    Ok(redirect(&format!("{name}/")))
}

fn redirect(to: &str) -> Response {
    let mut response = StatusCode::TEMPORARY_REDIRECT.into_response();
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(LOCATION, to);
    }
    response
}

async fn answer(State(shared): Ctx, request: Request) -> Result<Response, Problem> {
    let (name, path) = parts(request.uri())?;
    let query = request.uri().query().unwrap_or_default().to_owned();
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let content_type = kind.unwrap_or_default().to_owned();
    // The answer to HEAD is that to GET, whose body the server leaves out.
    let method = match *request.method() {
        Method::HEAD => Method::GET.to_string(),
        ref method => method.to_string(),
    };
    let body = extract::body(request, &shared).await?.to_vec();
    let asked = AppRequest { method, path, query, content_type, body };
    let controller = Arc::clone(&shared.controller);
    let AppAnswer { status, content_type, body } =
        blocking(move || controller.ask_app(&name, asked)).await??;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let has_none = matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT);
    let headers: [(HeaderName, HeaderValue); 3] = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers, if has_none { vec![] } else { body }).into_response())
}

/// The name of the application, and the path behind it, decoded.
///
/// # Errors
/// The path is too long, or could be taken for another one.
fn parts(uri: &Uri) -> Result<(String, String), Problem> {
    let whole = uri.path();
    let asked = uri.query().map_or(0, str::len);
    let refused = |why: &str| Problem::bad("bad-path", format!("the path: {why}"));
    if whole.len() > APP_PATH_MAX || asked > APP_PATH_MAX {
        return Err(refused(&format!("it, or the query, has more than {APP_PATH_MAX} bytes")));
    }
    let below = whole.strip_prefix("/apps/").unwrap_or_default();
    let (name, rest) = below.split_once('/').unwrap_or((below, ""));
    let mut path = String::with_capacity(whole.len());
    let mut pieces = rest.split('/').peekable();
    while let Some(piece) = pieces.next() {
        let piece = decoded(piece).ok_or_else(|| refused("it is no UTF-8"))?;
        let is_last = pieces.peek().is_none();
        match &*piece {
            "" if is_last => {}
            "" | "." | ".." => return Err(refused("a part of it is empty, or a dot or two")),
            piece if piece.starts_with('@') && path.is_empty() => {
                return Err(refused("what begins with \"@\" is the controller's own"));
            }
            piece if piece.contains(|c: char| c.is_control() || matches!(c, '/' | '\\')) => {
                return Err(refused("a part of it has a slash, or a letter that cannot be seen"));
            }
            _ => {}
        }
        path.push('/');
        path += &piece;
    }
    Ok((name.to_owned(), path))
}

/// A part of a path, as it was meant; none where that is no UTF-8, or a percent sign stands alone.
fn decoded(piece: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(piece.len());
    let mut rest = piece.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let digit = |byte: Option<&u8>| (*byte? as char).to_digit(16);
        bytes.push(match byte {
            b'%' => (digit(rest.next())? << 4 | digit(rest.next())?) as u8,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<(String, String), String> {
        parts(&path.parse().unwrap()).map_err(|problem| problem.detail)
    }

    #[test]
    fn a_path_is_decoded_once_and_handed_over_from_its_slash_on() {
        for (path, name, rest) in [
            ("/apps/hub", "hub", "/"),
            ("/apps/hub/", "hub", "/"),
            ("/apps/hub/a/b%20c?x=%2e", "hub", "/a/b c"),
            ("/apps/hub/a/", "hub", "/a/"),
            ("/apps/hub/%252e%252e", "hub", "/%2e%2e"),
            ("/apps/hub/a/@b", "hub", "/a/@b"),
            ("/apps/hub/%C3%A9", "hub", "/é"),
            ("/apps/h%75b/a", "h%75b", "/a"),
        ] {
            assert_eq!(read(path), Ok((name.to_owned(), rest.to_owned())), "{path}");
        }
    }

    #[test]
    fn a_path_that_could_be_taken_for_another_is_refused() {
        let long = format!("/apps/hub/{}", "a".repeat(APP_PATH_MAX));
        for path in [
            "/apps/hub//a",
            "/apps/hub/a//",
            "/apps/hub/../other",
            "/apps/hub/%2e%2E/other",
            "/apps/hub/.",
            "/apps/hub/a%2fb",
            "/apps/hub/a%5Cb",
            "/apps/hub/a%00",
            "/apps/hub/a%0d%0ab",
            "/apps/hub/%ff",
            "/apps/hub/%4",
            "/apps/hub/%zz",
            "/apps/hub/@pages",
            "/apps/hub/%40pages/a",
            long.as_str(),
        ] {
            assert!(read(path).is_err(), "{path}");
        }
    }
}
