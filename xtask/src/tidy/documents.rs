//! Documents say what is there: links resolve, and the map names every room and no other.

use super::{SourceFile, SourceTree};
use std::collections::BTreeSet;

const MAP: &str = "ARCHITECTURE.md";

/// What a stranger looks for first.
const PRESENT: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "STYLE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    "Cargo.lock",
    "Makefile",
    ".ci/run",
    "rust-toolchain.toml",
];

/// Files that are missing.
pub(super) fn present(tree: &SourceTree) -> Vec<String> {
    let missing = PRESENT.iter().filter(|path| tree.file(path).is_none());
    missing.map(|path| format!("{path} is missing")).collect()
}

/// Relative links of the documents that lead nowhere.
pub(super) fn links(tree: &SourceTree) -> Vec<String> {
    let documents = tree.ending(&[".md"]);
    let dead = documents.flat_map(|source| {
        let targets = relative_links(&source.text);
        let dead = targets.filter(|target| !tree.has(&resolve(&source.path, target)));
        dead.map(|target| format!("{}: the link {target} leads nowhere", source.path))
    });
    dead.collect()
}

/// The targets of Markdown links that are paths, without the part after `#`.
fn relative_links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let paths = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains("://") && !path.starts_with("mailto:"))
}

pub(super) fn resolve(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Rooms the map does not name, and names on the map that are no rooms.
pub(super) fn map(tree: &SourceTree) -> Vec<String> {
    let Some(map) = tree.file(MAP) else { return Vec::new() };
    let named: BTreeSet<&str> = folders_named(map).collect();
    let rooms = rooms(tree);
    let unnamed = rooms.iter().filter(|room| !named.contains(room.as_str()));
    let unnamed = unnamed.map(|room| format!("{MAP} does not name `{room}/`"));
    let gone = named.iter().filter(|name| !tree.has(name));
    let gone = gone.map(|name| format!("{MAP} names `{name}/`, which is not there"));
    unnamed.chain(gone).collect()
}

/// The folders at the top (hidden ones aside) and the crates.
fn rooms(tree: &SourceTree) -> BTreeSet<String> {
    tree.sources.iter().filter_map(|source| room(&source.path)).collect()
}

/// The room that a file belongs to; files at the top and in hidden folders belong to none.
pub(super) fn room(path: &str) -> Option<String> {
    let mut parts = path.split('/');
    let (top, next, below) = (parts.next()?, parts.next()?, parts.next());
    match top {
        _ if top.starts_with('.') => None,
        "crates" => below.map(|_| format!("crates/{next}")),
        _ => Some(top.to_owned()),
    }
}

/// Words in backticks that end like a folder: `` `crates/wire/` ``.
fn folders_named(map: &SourceFile) -> impl Iterator<Item = &str> {
    let quoted = map.text.split('`').skip(1).step_by(2);
    let folders = quoted.filter_map(|word| word.strip_suffix('/'));
    folders.filter(|name| !name.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nowhere_is_found() {
        let text = "[a](docs/a.md#top) [b](docs/gone.md) [c](https://example.org/x) [d](#here)";
        let tree =
            SourceTree::of(&[("README.md", text), ("docs/a.md", "[up](../README.md) [e](b.md)")]);
        let wrong = links(&tree);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("docs/gone.md"), "{wrong:?}");
        assert!(wrong[1].starts_with("docs/a.md: the link b.md"), "{wrong:?}");
    }

    #[test]
    fn a_room_missing_on_the_map_and_a_name_without_a_room_are_found() {
        let text = "`crates/wire/` and `crates/cellar/`; not a folder: `a / b`";
        let files =
            [(MAP, text), ("crates/wire/src/lib.rs", ""), ("docs/a.md", ""), (".ci/run", "")];
        let wrong = map(&SourceTree::of(&files));
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("does not name `docs/`"), "{wrong:?}");
        assert!(wrong[1].contains("`crates/cellar/`, which is not there"), "{wrong:?}");
    }

    #[test]
    fn a_missing_licence_is_found() {
        let files: Vec<(&str, &str)> =
            PRESENT.iter().filter(|path| **path != "LICENSE").map(|path| (*path, "")).collect();
        assert_eq!(present(&SourceTree::of(&files)), ["LICENSE is missing"]);
    }
}
