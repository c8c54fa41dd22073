//! What was asked: the parts of a path, of a query and of a body, checked, with a [`Problem`] that names what is wrong.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use aldis_wire::DatapathId;

use crate::limits::{BODY_MAX, DEPTH_MAX};
use crate::problem::Problem;

/// The datapath id that a path names, however it is written.
#[derive(Clone, Copy, Debug)]
pub struct Dpid(pub DatapathId);

impl<S: Send + Sync> FromRequestParts<S> for Dpid {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await?;
        Dpid::read(&text)
    }
}

impl Dpid {
    /// Reads it, however it is written.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: &str) -> Result<Dpid, Problem> {
        let refused = |why| Problem::bad("bad-dpid", format!("{text:?} is {why}"));
        text.parse().map(Dpid).map_err(refused)
    }
}

/// The parts of a path.
#[derive(Clone, Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        let refused = |why: axum::extract::rejection::PathRejection| {
            Problem::bad("bad-path", format!("the path: {}", why.body_text()))
        };
        path.map(|axum::extract::Path(path)| Path(path)).map_err(refused)
    }
}

/// The parts of a query: what stands behind the question mark.
#[derive(Clone, Debug)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        let refused = |why: axum::extract::rejection::QueryRejection| {
            Problem::bad("bad-query", format!("the query: {}", why.body_text()))
        };
        query.map(|axum::extract::Query(query)| Query(query)).map_err(refused)
    }
}

/// How many bytes of a body are read where it is not [`BODY_MAX`], to be said to who sends more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyMax(pub(crate) usize);

/// A body of JSON.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            let detail = "the body has to be JSON, and say so: Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail));
        }
        let max = request.extensions().get().map_or(BODY_MAX, |BodyMax(max)| *max);
        let body = Bytes::from_request(request, state).await.map_err(|why| {
            let detail = match why.status() {
                StatusCode::PAYLOAD_TOO_LARGE => {
                    format!("the body is longer than the {max} bytes that are read here")
                }
                _ => format!("the body: {}", why.body_text()),
            };
            Problem::new(why.status(), "bad-body", detail)
        })?;
        parse(&body).map(Json)
    }
}

/// Reads JSON.
///
/// # Errors
/// It is no JSON, nested too deep, or not what is expected: the problem names the field, the line and the column.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    if depth(text) > DEPTH_MAX {
        let detail = format!("the body is nested deeper than {DEPTH_MAX} levels");
        return Err(Problem::bad("too-deep", detail));
    }
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json);
    let value = value.map_err(|error| match (error.path().to_string(), error.inner()) {
        (path, why) if why.is_data() && path != "." => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", format!("{path}: {why}"))
        }
        (_, why) if why.is_data() => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", why)
        }
        (_, why) => Problem::bad("not-json", format!("the body is no JSON: {why}")),
    })?;
    let ended = json.end();
    ended.map_err(|why| Problem::bad("not-json", format!("the body is no JSON: {why}")))?;
    Ok(value)
}

/// How deep arrays and objects are nested, at most; brackets in strings are none.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Flow {
        #[allow(dead_code, reason = "only read")]
        priority: u16,
        ports: Vec<u8>,
    }

    #[test]
    fn a_body_is_read_or_what_is_wrong_with_it_is_named() {
        let flow: Flow = parse(br#" {"priority": 1, "ports": [1, 2]} "#).unwrap();
        assert_eq!(flow.ports, [1, 2]);
        for (text, status, words) in [
            (
                r#"{"priority": 70000, "ports": []}"#,
                422,
                "priority: invalid value: integer `70000`",
            ),
            (r#"{"priority": 1, "ports": [1, -2]}"#, 422, "ports[1]: invalid value: integer `-2`"),
            (r#"{"priority": 1, "ports": [], "prots": 3}"#, 422, "unknown field `prots`"),
            (r#"{"priority": 1, "priority": 2, "ports": []}"#, 422, "duplicate field `priority`"),
            (r#"{"priority": 1}"#, 422, "missing field `ports`"),
            (r#"{"priority": 1, "ports": []} []"#, 400, "line 1 column 30"),
            ("{", 400, "EOF"),
            ("", 400, "EOF"),
            ("\u{0}", 400, "no JSON"),
        ] {
            let problem = parse::<Flow>(text.as_bytes()).unwrap_err();
            assert_eq!(problem.status, status, "{text}: {problem:?}");
            assert!(problem.detail.contains(words), "{text}: {problem:?}");
        }
    }

    #[test]
    fn depth_counts_what_is_nested_and_no_brackets_in_strings() {
        assert_eq!(depth(br#"{"a": [1, {"b\"[[[[": "[[[["}]}"#), 3);
        assert_eq!(depth(b"[][][]"), 1);
        assert_eq!(depth(b"]]]]"), 0);
        let deep = "[".repeat(1 << 20);
        let problem = parse::<Vec<u8>>(deep.as_bytes()).unwrap_err();
        assert!(problem.detail.contains("deeper than 32"), "{problem:?}");
    }
}
