//! A location in the configuration file: its line and the key there.

#[cfg(feature = "config")]
use aldis_plain::plain;

/// `LINE: KEY: what is wrong`, as far as the error says where it is.
#[cfg(feature = "config")]
pub(crate) fn explain(text: &str, error: &toml::de::Error) -> String {
    let message = plain(&error.message().lines().collect::<Vec<_>>().join("; "));
    let location = error.span().map_or_else(|| " ".to_owned(), |at| location(text, at.start));
    location + &message
}

/// `LINE: KEY: `, as far as there is a key. A value may go over several lines: its key is before
/// it. Of a whole table the head is named.
pub(super) fn location(text: &str, at: usize) -> String {
    let line = line_at(text, at);
    let until: Vec<&str> = text.lines().take(line).collect();
    let told = until.iter().rev().filter(|line| !line.trim_start().starts_with('#'));
    let key = told.into_iter().find_map(|line| match line.split_once('=') {
        Some((key, _)) => Some(key.trim()),
        None => Some(line.trim()).filter(|head| is_head(head)),
    });
    key.map_or_else(|| format!("{line}: "), |key| format!("{line}: {key}: "))
}

/// Whether a line is the head of a table.
fn is_head(line: &str) -> bool {
    let name = line.trim_start_matches('[').trim_end_matches(']');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    line.starts_with('[') && !name.is_empty() && name.bytes().all(is_name)
}

/// The number of the line that holds this byte.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
