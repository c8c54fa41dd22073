//! A message as a JSON object: `{"version":"1.3","type":"OFPT_FLOW_MOD","xid":5,"body":{…}}`.
//!
//! The body has the fields of the message's type in `aldis-wire`, by the names of the
//! specification; a message without a body has `null`.

use super::DecodedMessage;
use aldis_wire::Version;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the object on a line of its own.
pub(super) fn write(out: &mut impl Write, xid: u32, message: &DecodedMessage) -> io::Result<()> {
    let (version, name, value) = match message {
        DecodedMessage::V10(message) => {
            (Version::V10, message.name(), serde_json::to_value(message))
        }
        DecodedMessage::V13(message) => {
            (Version::V13, message.name(), serde_json::to_value(message))
        }
    };
    let body = body(value.map_err(io::Error::from)?);
    let version = match version {
        Version::V10 => "1.0",
        Version::V13 => "1.3",
    };
    serde_json::to_writer(
        &mut *out,
        &json!({ "version": version, "type": name, "xid": xid, "body": body }),
    )?;
    out.write_all(b"\n")
}

/// What is inside the name of the message's variant, which says the same as its type.
fn body(message: Value) -> Value {
    match message {
        Value::Object(variant) if variant.len() == 1 => {
            variant.into_iter().next().map_or(Value::Null, |(_, body)| body)
        }
        _ => Value::Null,
    }
}
