//! What was asked: the parts of a path, of a query and of a body, checked, with a [`Problem`] that
//! names what is wrong.

use std::fmt;
use std::marker::PhantomData;

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, SeqAccess, Visitor};
use tokio::sync::Semaphore;

use aldis_wire::DatapathId;

use crate::limits::{BODY_MAX, DEPTH_MAX, LITERAL_MAX, READ_HERE_MAX};
use crate::problem::Problem;
use aldis_plain::plain;

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
            let why = why.body_text();
            Problem::bad(
                "bad-path",
                format!("the path: {}", plain(why.trim_start_matches("Invalid URL: "))),
            )
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
            let why = why.body_text();
            let why = why.trim_start_matches("Failed to deserialize query string: ");
            Problem::bad("bad-query", format!("the query: {}", plain(why)))
        };
        query.map(|axum::extract::Query(query)| Query(query)).map_err(refused)
    }
}

/// How many bytes of a body are read where it is not [`BODY_MAX`], for the answer to a longer one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyMax(pub(crate) usize);

/// A body of JSON.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            let detail = "the body has to be JSON, and say so: Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail));
        }
        let body = body(request, state).await?;
        understood(body, |body| parse(body)).await.map(Json)
    }
}

/// A body, whole. One that declares a length that is too long is not begun, so that the client does
/// not go on sending it (`100 Continue`); of one that declares none, no more is kept than what is
/// read here.
///
/// # Errors
/// It is too long, or ends too early.
pub(crate) async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    let max = request.extensions().get().map_or(BODY_MAX, |BodyMax(max)| *max);
    let too_long = || {
        let detail = format!("the body is longer than the {max} bytes that are read here");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "bad-body", detail)
    };
    if request.body().size_hint().lower() > max as u64 {
        return Err(too_long());
    }
    Bytes::from_request(request, state).await.map_err(|why| match why.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_long(),
        status => Problem::new(status, "bad-body", format!("the body: {}", why.body_text())),
    })
}

/// Permits to parse a long body, one at a time: the other cores are the workers'.
static UNDERSTANDING: Semaphore = Semaphore::const_new(1);

/// What a body says; where it is long, beside the thread that serves, which has others to answer.
///
/// # Errors
/// Those of `by`.
pub(crate) async fn understood<T: Send + 'static>(
    body: Bytes,
    by: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    if body.len() <= READ_HERE_MAX {
        return by(&body);
    }
    let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "the body");
    let _turn = UNDERSTANDING.acquire().await.ok();
    tokio::task::spawn_blocking(move || by(&body)).await.map_err(failed)?
}

/// Reads a list that is refused as soon as it is longer than `MAX`, however much more of it there
/// is.
///
/// # Errors
/// It is longer, or something in it is wrong.
pub(crate) fn at_most<'de, const MAX: usize, D: Deserializer<'de>, T: Deserialize<'de>>(
    json: D,
) -> Result<Vec<T>, D::Error> {
    struct Bounded<const MAX: usize, T>(PhantomData<T>);
    impl<'de, const MAX: usize, T: Deserialize<'de>> Visitor<'de> for Bounded<MAX, T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MAX}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut read = vec![];
            while let Some(one) = list.next_element()? {
                if read.len() == MAX {
                    return Err(A::Error::custom(format_args!("accepted are {MAX} at most")));
                }
                read.push(one);
            }
            Ok(read)
        }
    }
    json.deserialize_seq(Bounded::<MAX, T>(PhantomData))
}

/// Reads JSON.
///
/// # Errors
/// It is no JSON, nested too deep, or not what is expected: the problem names the field, the line
/// and the column.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    let too_deep = || {
        let detail = format!("the body is nested deeper than {DEPTH_MAX} levels");
        Problem::bad("too-deep", detail)
    };
    let is_too_deep = || is_deeper(&text[..text.len().min(READ_HERE_MAX)], DEPTH_MAX);
    if is_longer(text, LITERAL_MAX) {
        // The sentence that says what is wrong does not repeat a megabyte.
        let detail = format!("the body has {LITERAL_MAX} bytes in a row without any string");
        return Err(if is_too_deep() { too_deep() } else { Problem::bad("too-long", detail) });
    }
    // What is wrong is refused where it begins to be, however much more of it there is; below 128
    // levels reading ends by itself.
    match read(text) {
        Ok(_) if is_deeper(text, DEPTH_MAX) => Err(too_deep()),
        Err(_) if is_too_deep() => Err(too_deep()),
        read => read,
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json);
    let value = value.map_err(|error| match (error.path().to_string(), error.inner()) {
        (path, why) if why.is_data() && path != "." => {
            let detail = format!("{path}: {}", plain(&why.to_string()));
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail)
        }
        (_, why) if why.is_data() => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", plain(&why.to_string()))
        }
        (_, why) => Problem::bad("not-json", format!("the body is no JSON: {why}")),
    })?;
    let ended = json.end();
    ended.map_err(|why| Problem::bad("not-json", format!("the body is no JSON: {why}")))?;
    Ok(value)
}

/// Whether there is no quotation mark in so many bytes in a row: a string or number that long, or
/// nothing.
fn is_longer(text: &[u8], max: usize) -> bool {
    let mut rest = text;
    while let Some(stretch) = rest.get(..max) {
        let Some(mark) = stretch.iter().rposition(|byte| *byte == b'"') else { return true };
        rest = &rest[mark + 1..];
    }
    false
}

/// Whether arrays and objects are nested deeper than this; brackets in strings are none.
fn is_deeper(text: &[u8], max: usize) -> bool {
    let mut depth = 0_usize;
    let (mut in_string, mut escaped) = (false, false);
    text.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > max
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
                "priority: the number 70000 is given where a whole number from 0 to 65535 is wanted",
            ),
            (r#"{"priority": 1, "ports": [1, -2]}"#, 422, "ports[1]: the number -2 is given where"),
            (
                r#"{"priority": 1, "ports": [], "prots": 3}"#,
                422,
                "there is no key `prots` here; did you mean `ports`?",
            ),
            (r#"{"priority": 1, "priority": 2, "ports": []}"#, 422, "`priority` is there twice"),
            (r#"{"priority": 1}"#, 422, "`ports` is missing"),
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
    fn nothing_may_be_as_long_as_a_book() {
        for (text, max) in [(&br#"{"abc": 12}"#[..], 5), (b"", 1), (br#""""#, 1), (b"12345", 5)] {
            assert!(!is_longer(text, max + 1) && (max == 1 || is_longer(text, max)), "{max}");
        }
        let key = format!("{{\"{}\": 1}}", "k".repeat(LITERAL_MAX));
        let problem = parse::<Flow>(key.as_bytes()).unwrap_err();
        assert!(problem.status == 400 && problem.detail.len() < 100, "{problem:?}");
    }

    #[test]
    fn depth_counts_what_is_nested_and_no_brackets_in_strings() {
        for (text, depth) in
            [(&br#"{"a": [1, {"b\"[[[[": "[[[["}]}"#[..], 3), (b"[][][]", 1), (b"]]]]", 0)]
        {
            assert!(!is_deeper(text, depth));
            assert!(depth == 0 || is_deeper(text, depth - 1));
        }
        let deep = "[".repeat(1 << 20);
        let problem = parse::<Vec<u8>>(deep.as_bytes()).unwrap_err();
        assert!(problem.detail.contains("deeper than 32"), "{problem:?}");
    }
}
