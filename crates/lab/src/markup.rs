//! Words as markup sees them: nothing in a name becomes a tag.

/// A text between tags or in a quoted attribute, of HTML and of XML. Control characters, which XML
/// does not know, are left out.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            letter if letter.is_control() => (),
            letter => escaped.push(letter),
        }
    }
    escaped
}
