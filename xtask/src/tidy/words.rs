//! Words that do not belong in a finished file.

use super::allow::{ALLOW_FILE, exceptions};
use super::{SourceFile, SourceTree};

/// Written in two halves, so that this file does not find itself.
const MARKERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!"),
    concat!("unimplemented", "!"),
    concat!("dbg", "!"),
    concat!("#[ign", "ore"),
];

const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// What follows the keyword where it is code; a lint's name or a sentence goes on otherwise.
const UNSAFE: &[&str] = &[
    concat!("unsa", "fe {"),
    concat!("unsa", "fe fn"),
    concat!("unsa", "fe impl"),
    concat!("unsa", "fe trait"),
    concat!("unsa", "fe extern"),
    concat!("#[unsa", "fe("),
];

/// Work that was put off.
pub(super) fn markers(tree: &SourceTree) -> Vec<String> {
    let code = tree.ending(&[".rs", ".py", ".sh", ".toml", "Makefile", ".ci/run"]);
    code.flat_map(|source| finds(source, MARKERS)).collect()
}

/// Paths that exist on one machine only.
pub(super) fn machine_paths(tree: &SourceTree) -> Vec<String> {
    tree.sources.iter().flat_map(|source| finds(source, MACHINE_PATHS)).collect()
}

/// `unsafe` in files that are not on the list, neither by name nor by their folder, and places on
/// the list that have none.
pub(super) fn unsafe_code(tree: &SourceTree) -> Vec<String> {
    let allowed = exceptions(tree, "unsafe");
    let places: Vec<(&str, Vec<String>)> = tree
        .ending(&[".rs"])
        .map(|source| (source.path.as_str(), finds(source, UNSAFE)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    let covers =
        |place: &str, path: &str| path == place || place.ends_with('/') && path.starts_with(place);
    let listed = |path: &str| allowed.iter().any(|exception| covers(exception.place, path));
    let outside =
        places.iter().filter(|(path, _)| !listed(path)).flat_map(|(_, found)| found.clone());
    let needless = allowed
        .iter()
        .filter(|exception| !places.iter().any(|(path, _)| covers(exception.place, path)));
    let needless = needless.map(|exception| {
        format!("{ALLOW_FILE}: {} has no unsafe code any more: remove it", exception.place)
    });
    outside.chain(needless).collect()
}

fn finds(source: &SourceFile, words: &[&str]) -> Vec<String> {
    let lines = source.text.lines().enumerate();
    let found = lines.flat_map(|(at, line)| {
        let words = words.iter().filter(move |word| stands_alone(line, word));
        words.map(move |word| format!("{}:{}: {word}", source.path, at + 1))
    });
    found.collect()
}

/// Whether `word` is in `line` and not the middle or the end of a longer one.
fn stands_alone(line: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '-';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let ends_open = !word.ends_with(char::is_alphanumeric);
        !before.is_some_and(is_letter) && (ends_open || !after.is_some_and(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_is_found_where_it_stands() {
        for marker in MARKERS {
            let wrong =
                markers(&SourceTree::of(&[("a.rs", &format!("fn a() {{\n    {marker}\n}}\n"))]));
            assert_eq!(wrong, [format!("a.rs:2: {marker}")]);
        }
        assert!(markers(&SourceTree::of(&[("a.rs", "let mastodon_xxxl = 1;\n")])).is_empty());
    }

    #[test]
    fn a_path_of_a_machine_is_found_in_any_file() {
        for path in MACHINE_PATHS {
            let wrong =
                machine_paths(&SourceTree::of(&[("README.md", &format!("see {path}here\n"))]));
            assert_eq!(wrong.len(), 1, "{path}");
        }
        let inner = format!("crates/net{}a.rs", MACHINE_PATHS[0]);
        assert!(machine_paths(&SourceTree::of(&[("README.md", &inner)])).is_empty());
    }

    #[test]
    fn unsafe_code_needs_its_place_on_the_list() {
        let code = format!("    {} read() }}\n", UNSAFE[0]);
        assert_eq!(unsafe_code(&SourceTree::of(&[("a.rs", &code)])).len(), 1);
        assert!(
            unsafe_code(&SourceTree::of(&[("a.rs", &code), (ALLOW_FILE, "unsafe a.rs")]))
                .is_empty()
        );
        let folder = SourceTree::of(&[("a/b.rs", &code), (ALLOW_FILE, "unsafe a/")]);
        assert!(unsafe_code(&folder).is_empty());
        let needless =
            unsafe_code(&SourceTree::of(&[("a.rs", "fn a() {}"), (ALLOW_FILE, "unsafe a.rs")]));
        assert!(needless[0].contains("no unsafe code any more"), "{needless:?}");
        assert!(unsafe_code(&SourceTree::of(&[("a.rs", "#![forbid(unsafe_code)]")])).is_empty());
    }
}
