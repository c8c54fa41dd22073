//! The exceptions, in `xtask/tidy.allow`: one a line, `KIND PLACE [NUMBER]`, `#` begins a comment.
//!
//! It is a ratchet: an entry that is no longer needed, or larger than needed, is itself a finding.
//! So the list can only shrink, unless a commit adds to it and argues for that in review.

use super::SourceTree;

/// Where the exceptions are written.
pub(super) const ALLOW_FILE: &str = "xtask/tidy.allow";

/// One exception.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exception<'a> {
    pub(super) kind: &'a str,
    /// A path, a path and a function (`src/a.rs::run`), or the name of a type.
    pub(super) place: &'a str,
    /// The size allowed; 0 where the kind has none.
    pub(super) limit: usize,
}

/// The exceptions of one kind.
pub(super) fn exceptions<'a>(tree: &'a SourceTree, kind: &str) -> Vec<Exception<'a>> {
    read(tree, ALLOW_FILE, kind)
}

/// The entries of one kind in a file of that form.
pub(super) fn read<'a>(tree: &'a SourceTree, file: &str, kind: &str) -> Vec<Exception<'a>> {
    let text = tree.file(file).map_or("", |source| source.text.as_str());
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.filter_map(exception).filter(|exception| exception.kind == kind).collect()
}

fn exception(line: &str) -> Option<Exception<'_>> {
    let mut words = line.split_whitespace();
    let (kind, place) = (words.next()?, words.next()?);
    Some(Exception { kind, place, limit: words.next().and_then(|n| n.parse().ok()).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_kinds_are_passed_over() {
        let text = "# why\nfile a.rs 700 # a table\nunsafe b.rs\n";
        let tree = SourceTree::of(&[(ALLOW_FILE, text)]);
        let file = Exception { kind: "file", place: "a.rs", limit: 700 };
        assert_eq!(exceptions(&tree, "file"), [file]);
        assert_eq!(exceptions(&tree, "unsafe")[0].place, "b.rs");
        assert!(exceptions(&tree, "function").is_empty());
    }
}
