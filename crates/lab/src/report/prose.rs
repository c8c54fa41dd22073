//! The little of Markdown that a discussion needs, as HTML: paragraphs, lists, headings, `code`,
//! **weight** and links.
//!
//! Nothing of it becomes markup that is not written here; a link leads to `https:`, `http:` or a
//! place in the page.

use crate::markup::escape;

/// A text of Markdown as HTML.
pub(super) fn html(text: &str) -> String {
    let mut html = String::new();
    let text = text.replace('\r', "");
    for block in text
        .split("\n\n")
        .map(|block| block.trim_matches('\n'))
        .filter(|block| !block.trim().is_empty())
    {
        html += &paragraphs(block);
    }
    html
}

/// One block: its lines that are headings or items stand for themselves, the others flow.
fn paragraphs(block: &str) -> String {
    let mut html = String::new();
    let mut flow: Vec<&str> = Vec::new();
    let mut items: Vec<String> = Vec::new();
    for line in block.lines() {
        let begin = line.trim_start();
        if let Some(item) = begin.strip_prefix("- ").or_else(|| begin.strip_prefix("* ")) {
            end(&mut html, &mut flow, "p");
            items.push(item.to_owned());
        } else if let Some(item) = items.last_mut() {
            item.push(' ');
            item.push_str(begin);
        } else if begin.starts_with('#') {
            end(&mut html, &mut flow, "p");
            end(&mut html, &mut vec![begin.trim_start_matches('#').trim()], "h4");
        } else {
            flow.push(line.trim());
        }
    }
    end(&mut html, &mut flow, "p");
    if !items.is_empty() {
        let items: String =
            items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
        html += &format!("<ul>\n{items}</ul>\n");
    }
    html
}

fn end(html: &mut String, lines: &mut Vec<&str>, tag: &str) {
    if !lines.is_empty() {
        *html += &format!("<{tag}>{}</{tag}>\n", inline(&lines.join(" ")));
        lines.clear();
    }
}

/// Code, weight and links in a line.
fn inline(text: &str) -> String {
    let mut html = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        html += &escape(&rest[..at]);
        rest = &rest[at..];
        let (piece, after) =
            code(rest).or_else(|| weight(rest)).or_else(|| link(rest)).unwrap_or_else(|| {
                let (sign, after) = rest.split_at(1);
                (sign.to_owned(), after)
            });
        html += &piece;
        rest = after;
    }
    html + &escape(rest)
}

fn code(text: &str) -> Option<(String, &str)> {
    let (inside, after) = text.strip_prefix('`')?.split_once('`')?;
    Some((format!("<code>{}</code>", escape(inside)), after))
}

fn weight(text: &str) -> Option<(String, &str)> {
    let (inside, after) = text.strip_prefix("**")?.split_once("**")?;
    Some((format!("<strong>{}</strong>", escape(inside)), after))
}

fn link(text: &str) -> Option<(String, &str)> {
    let (words, after) = text.strip_prefix('[')?.split_once("](")?;
    let (to, after) = after.split_once(')')?;
    // Whatever else a page could be told to open stays words: relative paths lead nowhere from a
    // file of its own.
    let safe = ["https://", "http://", "#"].iter().any(|begin| to.starts_with(begin));
    let piece = match safe {
        true => format!("<a href=\"{}\">{}</a>", escape(to), escape(words)),
        false => escape(words),
    };
    Some((piece, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discussion_becomes_paragraphs_and_lists() {
        let text = "# Agrees\nThe *order* is the paper's,\nsee `fair-rounds`.\n\n- **one**,\n  still one\n- [two](https://example.org)\n";
        assert_eq!(
            html(text),
            "<h4>Agrees</h4>\n<p>The *order* is the paper&#39;s, see <code>fair-rounds</code>.</p>\n\
             <ul>\n<li><strong>one</strong>, still one</li>\n<li><a href=\"https://example.org\">two</a></li>\n</ul>\n"
        );
    }

    #[test]
    fn nothing_in_it_becomes_markup() {
        let text = "<script>alert(1)</script> [x](javascript:alert(1)) [y](https://e\"onclick=\"z) `<b>` **<i>** [ ` **";
        let html = html(text);
        for wild in ["<script", "javascript:", "\"onclick", "<b>", "<i>"] {
            assert!(!html.contains(wild), "{wild} in {html}");
        }
    }
}
