//! What a request says: the parts of its path, and the fields of its body, read as Ryu reads them.
//!
//! A number may stand as text, decimal or behind `0x`; a reserved one by its name, with its prefix
//! or without: `LOCAL`, `OFPP_LOCAL`. A field that is not there has Ryu's default. What is none of
//! what a field takes is refused, and the field named.

use std::collections::HashMap;

use aldis_wire::DatapathId;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde_json::{Map, Value};

use super::literal;
use crate::extract::{Path, body, understood};
use crate::problem::Problem;

/// The parts of a path: which switch, and what of it.
#[derive(Debug)]
pub(crate) struct PathParts(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for PathParts {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathParts, Problem> {
        Path::from_request_parts(parts, state).await.map(|Path(all)| PathParts(all))
    }
}

impl PathParts {
    /// The switch.
    ///
    /// # Errors
    /// It is no datapath id.
    pub(crate) fn dpid(&self) -> Result<DatapathId, Problem> {
        dpid(self.0.get("dpid").map_or("", String::as_str))
    }

    /// A part of this name, unless it is `ALL` or not there.
    pub(crate) fn part(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|part| *part != "ALL")
    }

    /// A part that is a number of 32 bits, or one of these names.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn number(
        &self,
        name: &str,
        names: &ReservedNames<'_>,
    ) -> Result<Option<u32>, Problem> {
        let read =
            |part: &str| names.read(part).ok_or_else(|| wrong(name, &part.into(), "a number"));
        self.part(name).map(read).transpose()
    }
}

/// A datapath id: Ryu's decimal before every other way to write it.
///
/// # Errors
/// It is none.
pub(crate) fn dpid(text: &str) -> Result<DatapathId, Problem> {
    let decimal = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    let number = decimal.then(|| text.parse::<u64>().ok()).flatten().map(DatapathId);
    let read = number.map_or_else(|| text.parse(), Ok);
    read.map_err(|why| Problem::bad("bad-dpid", format!("{:?} is {why}", beginning(text))))
}

/// A body that is a dict, or nothing.
#[derive(Clone, Debug)]
pub(crate) struct DictBody(pub(crate) Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for DictBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<DictBody, Problem> {
        let body = body(request, state).await?;
        understood(body, DictBody::read).await
    }
}

impl DictBody {
    pub(crate) fn read(bytes: &[u8]) -> Result<DictBody, Problem> {
        let refused = |why: String| Problem::bad("bad-body", format!("the body: {why}"));
        let text = std::str::from_utf8(bytes).map_err(|why| refused(why.to_string()))?;
        if text.trim().is_empty() {
            return Ok(DictBody(Map::new()));
        }
        match literal::parse(text).map_err(refused)? {
            Value::Object(map) => Ok(DictBody(map)),
            _ => Err(refused("it has to be a dict: {\"dpid\": 1, …}".into())),
        }
    }

    pub(crate) fn dict(&self) -> Dict<'_> {
        Dict { map: &self.0, path: String::new() }
    }
}

/// The fields of a dict, and where it stands in the body.
#[derive(Debug)]
pub(crate) struct Dict<'a> {
    pub(crate) map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Dict<'a> {
    /// The switch that is meant.
    ///
    /// # Errors
    /// It is not said, or no datapath id.
    pub(crate) fn dpid(&self) -> Result<DatapathId, Problem> {
        match self.map.get("dpid") {
            Some(Value::Number(number)) => dpid(&number.to_string()),
            Some(Value::String(text)) => dpid(text),
            Some(other) => Err(wrong("dpid", other, "a datapath id")),
            None => Err(Problem::bad("bad-field", "dpid: it has to be said which switch is meant")),
        }
    }

    /// How a field of this dict is called in a complaint.
    pub(crate) fn named(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }

    /// A field that is there and is not `None`.
    pub(crate) fn field(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A number up to `most`, or `default` where there is none.
    ///
    /// # Errors
    /// Something else.
    pub(crate) fn number(&self, key: &str, default: u64, most: u64) -> Result<u64, Problem> {
        let Some(value) = self.field(key) else { return Ok(default) };
        let number = whole(value).filter(|&number| number <= most);
        number.ok_or_else(|| wrong(&self.named(key), value, &format!("0 to {most}")))
    }

    /// A number, or a reserved one by its name; `default` where there is none.
    ///
    /// # Errors
    /// Something else.
    pub(crate) fn reserved(
        &self,
        key: &str,
        default: u32,
        names: &ReservedNames<'_>,
    ) -> Result<u32, Problem> {
        let Some(value) = self.field(key) else { return Ok(default) };
        let read = match value {
            Value::String(text) => names.read(text),
            other => whole(other).and_then(|number| u32::try_from(number).ok()),
        };
        read.filter(|number| *number <= names.most)
            .ok_or_else(|| wrong(&self.named(key), value, &names.accepted()))
    }

    /// A number that has to be there.
    ///
    /// # Errors
    /// Nothing, or something else.
    pub(crate) fn needed(&self, key: &str, most: u64) -> Result<u64, Problem> {
        match self.field(key) {
            Some(_) => self.number(key, 0, most),
            None => Err(missing(&self.named(key))),
        }
    }

    /// Text that has to be there.
    ///
    /// # Errors
    /// Nothing, or something else.
    pub(crate) fn text(&self, key: &str) -> Result<&'a str, Problem> {
        match self.field(key) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(wrong(&self.named(key), other, "a text")),
            None => Err(missing(&self.named(key))),
        }
    }

    /// A dict within; nothing where there is none.
    ///
    /// # Errors
    /// Something else.
    pub(crate) fn inner(&self, key: &str) -> Result<Option<Dict<'a>>, Problem> {
        match self.field(key) {
            Some(Value::Object(map)) => {
                Ok(Some(Dict { map, path: format!("{}.", self.named(key)) }))
            }
            Some(other) => Err(wrong(&self.named(key), other, "a dict")),
            None => Ok(None),
        }
    }

    /// A list of dicts; an empty one where there is none.
    ///
    /// # Errors
    /// Something else.
    pub(crate) fn dicts(&self, key: &str) -> Result<Vec<Dict<'a>>, Problem> {
        let Some(value) = self.field(key) else { return Ok(vec![]) };
        let Value::Array(all) = value else {
            return Err(wrong(&self.named(key), value, "a list"));
        };
        let dict = |(place, value): (usize, &'a Value)| match value {
            Value::Object(map) => Ok(Dict { map, path: format!("{}[{place}].", self.named(key)) }),
            other => Err(wrong(&format!("{}[{place}]", self.named(key)), other, "a dict")),
        };
        all.iter().enumerate().map(dict).collect()
    }
}

/// Reserved numbers by their names.
pub(crate) struct ReservedNames<'a> {
    /// What may stand before a name.
    pub(crate) prefix: &'a str,
    pub(crate) names: &'a [(&'a str, u32)],
    pub(crate) most: u32,
}

impl ReservedNames<'_> {
    pub(crate) fn read(&self, text: &str) -> Option<u32> {
        let upper = text.trim().to_ascii_uppercase();
        let bare = upper.strip_prefix(self.prefix).unwrap_or(&upper);
        let named = self.names.iter().find(|(name, _)| *name == bare).map(|(_, number)| *number);
        named.or_else(|| u32::try_from(number(&upper)?).ok())
    }

    fn accepted(&self) -> String {
        let names: Vec<_> = self.names.iter().map(|(name, _)| *name).collect();
        format!("0 to {} {}", self.most, names.join(", "))
    }

    /// A number as it is shown: by its name where it has one.
    pub(crate) fn show(&self, number: u32) -> Value {
        let named = self.names.iter().find(|(_, there)| *there == number);
        named.map_or_else(|| number.into(), |(name, _)| (*name).into())
    }
}

/// A whole number, as a number or as text.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => number(text.trim()),
        _ => None,
    }
}

/// Decimal, or hexadecimal behind `0x`.
pub(crate) fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    match digits {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None if text.bytes().all(|digit| digit.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

pub(crate) fn wrong(key: &str, value: &Value, accepted: &str) -> Problem {
    let value = beginning(&value.to_string());
    Problem::bad("bad-field", format!("{}: {value}; accepted: {accepted}", beginning(key)))
}

fn missing(key: &str) -> Problem {
    Problem::bad("bad-field", format!("{}: it has to be there", beginning(key)))
}

/// The beginning of a text, for an error that repeats it.
pub(crate) fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datapath_id_is_decimal_first() {
        for (text, number) in [
            ("1", 1),
            ("1234567890123456", 1_234_567_890_123_456),
            ("0000000000000010", 16),
            ("0x10", 16),
            ("00:00:00:00:00:00:00:10", 16),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(dpid(text).unwrap(), DatapathId(number), "{text}");
        }
        for text in ["", "one", "-1", "18446744073709551616", "<script>"] {
            assert_eq!(dpid(text).unwrap_err().status, 400, "{text}");
        }
    }

    #[test]
    fn fields_are_read_or_named() {
        let body = DictBody::read(b"{'n': '0x10', 'm': 70000, 'p': 'OFPP_LOCAL', 'q': 'local', 'd': {'x': []}, 'none': None}");
        let body = body.unwrap();
        let dict = body.dict();
        let ports =
            ReservedNames { prefix: "OFPP_", names: &[("LOCAL", 0xffff_fffe)], most: u32::MAX };
        assert_eq!(dict.number("n", 0, 16).unwrap(), 16);
        assert_eq!(dict.number("none", 7, 16).unwrap(), 7);
        assert_eq!(dict.reserved("p", 0, &ports).unwrap(), 0xffff_fffe);
        assert_eq!(dict.reserved("q", 0, &ports).unwrap(), 0xffff_fffe);
        let refused = dict.number("m", 0, 65535).unwrap_err().detail;
        assert_eq!(refused, "m: 70000; accepted: 0 to 65535");
        let inner = dict.inner("d").unwrap().unwrap();
        assert!(inner.text("x").unwrap_err().detail.starts_with("d.x: []"));
        assert!(inner.needed("y", 1).unwrap_err().detail.starts_with("d.y: "));
        assert!(dict.dicts("n").unwrap_err().detail.contains("a list"));
        assert_eq!(DictBody::read(b" ").unwrap().0.len(), 0);
        assert!(DictBody::read(b"[1]").unwrap_err().detail.contains("has to be a dict"));
        assert!(DictBody::read(b"\xff").is_err());
    }
}
