//! The book names every page of `docs/` once, and links lead to places that are on their pages.

use super::SourceTree;
use super::documents::resolve;
use crate::book::{SUMMARY, chapters};
use std::collections::BTreeSet;

/// Pages that the book leaves out, names twice, or names in vain.
pub(super) fn pages(tree: &SourceTree) -> Vec<String> {
    let Some(summary) = tree.file(SUMMARY) else { return vec![format!("{SUMMARY} is missing")] };
    let named = chapters(&summary.text);
    let once: BTreeSet<&String> = named.iter().collect();
    let twice = named.iter().filter(|page| named.iter().filter(|it| it == page).count() > 1);
    let twice = twice.collect::<BTreeSet<_>>().into_iter();
    let twice = twice.map(|page| format!("{SUMMARY} names {page} twice"));
    let gone = once.iter().filter(|page| !tree.has(page));
    let gone = gone.map(|page| format!("{SUMMARY} names {page}, which is not there"));
    let pages = tree.ending(&[".md"]).filter(|it| it.path.starts_with("docs/"));
    let left_out = pages.filter(|it| it.path != SUMMARY && !once.contains(&it.path));
    let left_out = left_out.map(|it| format!("{SUMMARY} does not name {}", it.path));
    gone.chain(twice).chain(left_out).collect()
}

/// Links to a place of a page that has no heading of that name.
pub(super) fn places(tree: &SourceTree) -> Vec<String> {
    let mut dead = Vec::new();
    for source in tree.ending(&[".md"]) {
        let targets = source.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for (path, place) in targets.filter_map(|target| target.split_once('#')) {
            if path.contains("://") || !path.is_empty() && !path.ends_with(".md") {
                continue;
            }
            let page =
                if path.is_empty() { source.path.clone() } else { resolve(&source.path, path) };
            let has_it =
                tree.file(&page).is_none_or(|page| headings(&page.text).any(|it| it == place));
            if !has_it {
                dead.push(format!("{}: there is no heading #{place} in {page}", source.path));
            }
        }
    }
    dead
}

/// The headings of a page, as links name them: in small letters, without marks, hyphens for blanks.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('#'));
    lines.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_book_leaves_out_or_names_twice_is_found() {
        let summary = "- [a](a.md)\n- [a](a.md)\n- [gone](gone.md)\n";
        let tree = SourceTree::of(&[(SUMMARY, summary), ("docs/a.md", ""), ("docs/b.md", "")]);
        let expected = [
            "docs/SUMMARY.md names docs/gone.md, which is not there",
            "docs/SUMMARY.md names docs/a.md twice",
            "docs/SUMMARY.md does not name docs/b.md",
        ];
        assert_eq!(pages(&tree), expected);
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_found() {
        let text = "[x](b.md#what-it-does) [y](b.md#gone) [z](#none) [w](https://e.org/a.md#b)";
        let tree = SourceTree::of(&[("docs/a.md", text), ("docs/b.md", "## What *it* does?\n")]);
        let expected = [
            "docs/a.md: there is no heading #gone in docs/b.md",
            "docs/a.md: there is no heading #none in docs/a.md",
        ];
        assert_eq!(places(&tree), expected);
    }
}
