//! Messages in words, after the manner of `ovs-ofctl ofp-print`: its names of fields, actions and
//! flags, one line a message where one is enough.
//!
//! Each version has its own folder, for its messages have their own types; what both say alike is
//! beside them. Names and texts that come from a switch are printed with their control characters
//! escaped, so that they cannot command the terminal that shows them.

mod fields;
mod flow;
mod frame;
mod port;
mod shared;
mod v10;
mod v13;

use super::DecodedMessage;
use aldis_wire::{Header, Version};
use std::fmt::{self, Display, Formatter};

/// A message to be printed, without a newline at the end.
pub(super) struct MessageText<'a> {
    pub(super) xid: u32,
    pub(super) message: &'a DecodedMessage,
}

impl Display for MessageText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.message {
            DecodedMessage::V10(message) => v10::message(f, self.xid, message),
            DecodedMessage::V13(message) => v13::message(f, self.xid, message),
        }
    }
}

/// What begins the words of a message whose type has this number, `OFPT_FLOW_MOD (OF1.3)
/// (xid=0x5):`.
pub(super) fn title(version: Version, kind: u8, xid: u32) -> String {
    let name = match version {
        Version::V10 => aldis_wire::v10::MessageType(kind).name(),
        Version::V13 => aldis_wire::v13::MessageType(kind).name(),
    };
    named_title(version, name.unwrap_or(&format!("type {kind}")), xid)
}

/// The same for a name; the version goes without saying where it is 1.0.
fn named_title(version: Version, name: &str, xid: u32) -> String {
    match version {
        Version::V10 => format!("{name} (xid={xid:#x}):"),
        Version::V13 => format!("{name} (OF1.3) (xid={xid:#x}):"),
    }
}

/// The message that an error is about, as far as the error carries it.
///
/// An error within an error is named and not followed, so that no sender decides how deep this
/// goes.
fn offending(f: &mut Formatter<'_>, data: &[u8]) -> fmt::Result {
    let Ok(Some(header)) = Header::peek(data) else { return dump(f, data) };
    let Some(version) = Version::from_wire(header.version) else { return dump(f, data) };
    let title = title(version, header.kind, header.xid);
    if header.kind == aldis_wire::header::kind::ERROR {
        return write!(f, "\n{title} another error");
    }
    match DecodedMessage::decode(version, data) {
        Ok(message) => write!(f, "\n{}", MessageText { xid: header.xid, message: &message }),
        Err(_) if data.len() < usize::from(header.length) => {
            write!(
                f,
                "\n{title}\n(***truncated to {} bytes from {}***)",
                data.len(),
                header.length
            )?;
            dump(f, data)
        }
        Err(malformed) => {
            write!(f, "\n{title} malformed: {malformed}")?;
            dump(f, data)
        }
    }
}

/// Bytes that mean nothing to us, sixteen a line, as hex and as text.
fn dump(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for (at, line) in bytes.chunks(16).enumerate() {
        let mut hex = String::new();
        for i in 0..16 {
            let separator = if i == 7 && line.len() > 8 { "-" } else { " " };
            match line.get(i) {
                Some(byte) => hex.push_str(&format!("{byte:02x}{separator}")),
                None => hex.push_str("   "),
            }
        }
        let text: String = line.iter().map(|&byte| printable(byte)).collect();
        write!(f, "\n{:08x}  {hex}|{text:<16}|", at * 16)?;
    }
    Ok(())
}

fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '.' }
}

/// Bytes in hex, without spaces.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// A name or a text from outside, its control characters escaped.
fn text(bytes: &[u8]) -> impl Display {
    let text = String::from_utf8_lossy(bytes).into_owned();
    fmt::from_fn(move |f| {
        text.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => write!(f, "{c}"),
        })
    })
}

/// `words` of all `items`, with `separator` between them.
fn joined<T>(
    items: &[T],
    separator: &str,
    words: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
) -> impl Display {
    fmt::from_fn(move |f| {
        items.iter().enumerate().try_for_each(|(at, item)| {
            f.write_str(if at == 0 { "" } else { separator })?;
            words(f, item)
        })
    })
}

/// A duration in seconds, as precise as it has to be.
fn duration(seconds: u32, nanoseconds: u32) -> impl Display {
    fmt::from_fn(move |f| match nanoseconds {
        0 => write!(f, "{seconds}s"),
        _ => {
            let fraction = format!("{nanoseconds:09}");
            write!(f, "{seconds}.{}s", fraction.trim_end_matches('0'))
        }
    })
}

/// A counter, `?` where the switch does not count (all ones, OpenFlow 1.3.5 §7.3.5.6).
fn counter(count: u64) -> impl Display {
    fmt::from_fn(move |f| if count == u64::MAX { f.write_str("?") } else { write!(f, "{count}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_switch_calls_itself_cannot_command_the_terminal() {
        assert_eq!(
            text("gr\u{fc}n \x1b[31m\n\x07".as_bytes()).to_string(),
            "grün \\u{1b}[31m\\n\\u{7}"
        );
        assert_eq!(text(b"\xff").to_string(), "\u{fffd}");
    }

    #[test]
    fn durations_have_no_digits_too_many() {
        let words = [(9, 0), (9, 256), (0, 500_000_000)].map(|(s, ns)| duration(s, ns).to_string());
        assert_eq!(words, ["9s", "9.000000256s", "0.5s"]);
    }

    #[test]
    fn bytes_are_dumped_as_ovs_ofctl_does() {
        let bytes: Vec<u8> = (0x38..0x50).collect();
        let dumped = fmt::from_fn(|f| dump(f, &bytes)).to_string();
        assert_eq!(
            dumped,
            "\n00000000  38 39 3a 3b 3c 3d 3e 3f-40 41 42 43 44 45 46 47 |89:;<=>?@ABCDEFG|\
             \n00000010  48 49 4a 4b 4c 4d 4e 4f                         |HIJKLMNO        |"
        );
    }
}
