//! Requests over HTTP that an application answers: what it is handed, what it may answer, and what
//! becomes of an answer that it may not.

use std::fmt;

use crate::application::AppState;
use crate::limits::HTTP_ANSWER_MAX;

/// A request below the path of an application.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HttpRequest {
    /// The method, in capital letters.
    pub method: String,
    /// The path below the application's own, decoded, from its `/` on.
    pub path: String,
    /// What is behind the question mark, as it was sent.
    pub query: String,
    /// The type of the body; empty where it has none.
    pub content_type: String,
    /// The body, up to [`crate::limits::HTTP_BODY_MAX`] bytes.
    pub body: Vec<u8>,
}

/// An application's answer, which is in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpResponse {
    /// The status: 200 to 299, or 400 to 599.
    pub status: u16,
    /// The type of the body.
    pub content_type: ContentType,
    /// The body, up to [`HTTP_ANSWER_MAX`] bytes.
    pub body: Vec<u8>,
}

/// The types of an answer. None of them is a page, a script or a picture with scripts: a browser
/// that opens the answer by itself runs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContentType {
    /// `text/plain`, in UTF-8.
    Text,
    /// `application/json`.
    Json,
    /// `text/csv`, in UTF-8.
    Csv,
    /// `application/octet-stream`.
    Bytes,
}

impl ContentType {
    /// All of them, the value of the header with each.
    const ALL: [(ContentType, &'static str); 4] = [
        (ContentType::Text, "text/plain; charset=utf-8"),
        (ContentType::Json, "application/json"),
        (ContentType::Csv, "text/csv; charset=utf-8"),
        (ContentType::Bytes, "application/octet-stream"),
    ];

    /// The value of the header.
    pub fn header(self) -> &'static str {
        ContentType::ALL[self as usize].1
    }

    /// The type that an application names, whatever parameters come behind it.
    fn named(text: &str) -> Option<ContentType> {
        let base = |text: &'static str| text.split(';').next().unwrap_or_default();
        let asked = text.split(';').next().unwrap_or_default().trim();
        let found =
            ContentType::ALL.iter().find(|(_, name)| base(name).eq_ignore_ascii_case(asked));
        found.map(|(kind, _)| *kind)
    }
}

/// Why a request has no answer of the application's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HttpError {
    /// Its manifest does not ask for it (`grants.http`).
    NotOffered,
    /// It does not run now.
    NotRunning(AppState),
    /// As many requests as may wait for it do, or it was held by a worker all the time.
    Busy,
    /// It failed in this call, which counts like any other failure: what is to be told to the
    /// operator.
    Failed(String),
    /// It answered something that it may not, in words for its author. It goes on.
    Unfit(String),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpError::NotOffered => {
                f.write_str("it answers no requests: its manifest does not ask for grants.http")
            }
            HttpError::NotRunning(AppState::Running) => f.write_str("it has no instance yet"),
            HttpError::NotRunning(AppState::Stopped) => f.write_str("it is stopped"),
            HttpError::NotRunning(AppState::Restarting(fault)) => {
                write!(f, "it failed, and starts again soon: {fault}")
            }
            HttpError::NotRunning(AppState::Quarantined(fault)) => {
                write!(f, "it is quarantined until it is started again: {fault}")
            }
            HttpError::Busy => f.write_str("it is busy with other requests"),
            HttpError::Failed(words) | HttpError::Unfit(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for HttpError {}

/// An answer as the component gives it: status, type and body.
pub(crate) type RawAnswer = (u16, String, Vec<u8>);

impl HttpResponse {
    /// The answer, where it may be given.
    ///
    /// # Errors
    /// [`HttpError::Unfit`] with what is wrong.
    pub(crate) fn check((status, content_type, body): RawAnswer) -> Result<Self, HttpError> {
        let unfit = |words: String| Err(HttpError::Unfit(words));
        if !matches!(status, 200..=299 | 400..=599) {
            return unfit(format!("its answer has status {status}: 200 to 299 and 400 to 599 are"));
        }
        if body.len() > HTTP_ANSWER_MAX {
            let len = body.len();
            return unfit(format!("its answer has {len} bytes: {HTTP_ANSWER_MAX} are the most"));
        }
        match ContentType::named(&content_type) {
            Some(content_type) => Ok(HttpResponse { status, content_type, body }),
            None => {
                let known: Vec<_> = ContentType::ALL.iter().map(|(_, name)| *name).collect();
                let said: String = content_type.chars().take(80).collect();
                unfit(format!("its answer is of type {said:?}: {} are possible", known.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_in_order_or_what_is_wrong_with_it_is_said() {
        let check = |status, kind: &str, len| {
            HttpResponse::check((status, kind.to_owned(), vec![b'x'; len]))
        };
        for (named, kind) in [
            ("text/plain", ContentType::Text),
            ("Text/CSV ; header=present", ContentType::Csv),
            ("application/json;charset=utf-8", ContentType::Json),
            ("application/octet-stream", ContentType::Bytes),
        ] {
            assert_eq!(check(200, named, 1).unwrap().content_type, kind);
        }
        assert_eq!(check(503, "text/plain", HTTP_ANSWER_MAX).unwrap().status, 503);
        for (status, kind, len, words) in [
            (199, "text/plain", 0, "status 199"),
            (302, "text/plain", 0, "status 302"),
            (600, "text/plain", 0, "status 600"),
            (200, "text/plain", HTTP_ANSWER_MAX + 1, "1048576 are the most"),
            (200, "text/html", 0, "\"text/html\""),
            (200, "image/svg+xml", 0, "text/csv"),
            (200, "application/json\r\nX-A: b", 0, "are possible"),
            (200, "", 0, "are possible"),
        ] {
            let refused = check(status, kind, len).unwrap_err().to_string();
            assert!(refused.contains(words) && !refused.contains('\n'), "{refused}");
        }
        assert_eq!(
            ContentType::ALL.map(|(kind, _)| kind.header()),
            ContentType::ALL.map(|of| of.1)
        );
    }
}
