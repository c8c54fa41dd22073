//! Requests over HTTP to an application, and its answers.

use std::borrow::Cow;

/// A request below `/apps/NAME`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HttpRequest {
    /// `GET`, `POST`, `PUT` or `DELETE`.
    pub method: String,
    /// The path behind the application's name, decoded, from its `/` on.
    pub path: String,
    /// What is behind the question mark, as it was sent.
    pub query: String,
    /// The type of the body; empty where there is none.
    pub content_type: String,
    /// The body, up to 64 KiB.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The first value of a name in the query, decoded: 10 is that of `last` in `last=10&all`.
    pub fn query_value(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs
            .map(|(key, value)| (decoded(key), value))
            .find(|(key, _)| key == name)
            .map(|(_, value)| decoded(value))
    }
}

/// A part of a query as it was meant. A percent sign that stands alone is itself.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let coded = digits.filter(|two| !two.starts_with('+'));
        let coded = coded.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (bytes[at], coded) {
            (b'%', Some(byte)) => {
                plain.push(byte);
                at += 2;
            }
            (b'+', _) => plain.push(b' '),
            (byte, _) => plain.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpResponse {
    /// The status: 200 to 299, or 400 to 599.
    pub status: u16,
    /// The type of the body: `text/plain`, `application/json`, `text/csv` or
    /// `application/octet-stream`.
    pub content_type: Cow<'static, str>,
    /// The body, up to 1 MiB.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// An answer of text.
    pub fn text(text: impl Into<String>) -> HttpResponse {
        HttpResponse::of("text/plain", text.into())
    }

    /// An answer of JSON, which the application has written.
    pub fn json(json: impl Into<String>) -> HttpResponse {
        HttpResponse::of("application/json", json.into())
    }

    /// An answer of a table, which the application has written.
    pub fn csv(csv: impl Into<String>) -> HttpResponse {
        HttpResponse::of("text/csv", csv.into())
    }

    /// There is nothing at this path.
    pub fn not_found() -> HttpResponse {
        HttpResponse::text("there is nothing at this path\n").with_status(404)
    }

    /// The same with another status, 200 to 299 or 400 to 599.
    #[must_use]
    pub fn with_status(self, status: u16) -> HttpResponse {
        HttpResponse { status, ..self }
    }

    fn of(content_type: &'static str, text: String) -> HttpResponse {
        HttpResponse { status: 200, content_type: content_type.into(), body: text.into_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_query_is_found_and_decoded() {
        let query = "last=10&na+me=a%20b%2Bc+d&all&last=11&odd=%4&odd2=%zz".to_owned();
        let request = HttpRequest { query, ..HttpRequest::default() };
        for (name, value) in [
            ("last", Some("10")),
            ("na me", Some("a b+c d")),
            ("all", Some("")),
            ("odd", Some("%4")),
            ("odd2", Some("%zz")),
            ("other", None),
        ] {
            assert_eq!(request.query_value(name).as_deref(), value, "{name}");
        }
    }
}
