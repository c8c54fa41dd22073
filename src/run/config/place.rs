//! Where in a file something is: its line and the key there.

/// `LINE: KEY: what is wrong`, as far as the error says where it is.
pub(in super::super) fn explain(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let place = error.span().map_or_else(|| " ".to_owned(), |span| place(text, span.start));
    place + &message
}

/// `LINE: KEY: `, as far as there is a key in the line.
pub(super) fn place(text: &str, at: usize) -> String {
    let line = line_at(text, at);
    let key =
        text.lines().nth(line - 1).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
    key.map_or_else(|| format!("{line}: "), |key| format!("{line}: {key}: "))
}

/// The number of the line that holds this byte.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
