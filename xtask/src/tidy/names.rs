//! A type's name says which concept it is: one that is defined again and again says none.

use super::SourceTree;
use super::allow::{ALLOW_FILE, exceptions};
use super::ratchet::TidyFinding;
use std::collections::BTreeMap;

/// How often a name may be defined in the tree.
const DEFINITIONS: usize = 3;

/// The same message in two versions of the protocol has the same name on purpose.
const MIRRORS: &[&str] = &["/v10/", "/v13/", "/v10.rs", "/v13.rs"];

/// Definitions beyond the third of one name. Names that are allowed, each with its reason, stand in
/// the list of exceptions as `type NAME`.
pub(super) fn types(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in tree.ending(&[".rs"]) {
        if MIRRORS.iter().all(|mirror| !source.path.contains(mirror)) {
            for name in source.text.lines().filter_map(type_name) {
                places.entry(name).or_default().push(&source.path);
            }
        }
    }
    let allowed = exceptions(tree, "type");
    places.retain(|name, _| allowed.iter().all(|exception| exception.place != *name));
    let beyond = places.iter().filter(|(_, paths)| paths.len() > DEFINITIONS);
    let found = beyond.flat_map(|(name, paths)| {
        let sentence = format!("{name} is defined {} times: {}", paths.len(), paths.join(", "));
        let finding = move || TidyFinding { place: "types".to_owned(), sentence: sentence.clone() };
        std::iter::repeat_with(finding).take(paths.len() - DEFINITIONS)
    });
    found.collect()
}

/// Exceptions for names that need none any more.
pub(super) fn slack(tree: &SourceTree) -> Vec<String> {
    let allowed = exceptions(tree, "type");
    let times = |name: &str| {
        let lines = tree.ending(&[".rs"]).flat_map(|source| source.text.lines());
        lines.filter(|line| type_name(line) == Some(name)).count()
    };
    let needless = allowed.iter().filter(|exception| times(exception.place) <= DEFINITIONS);
    needless.map(|found| format!("{ALLOW_FILE}: {} needs no exception", found.place)).collect()
}

/// The name in a line that defines a type. A `type` inside of a block belongs to a trait.
fn type_name(line: &str) -> Option<&str> {
    let (mut words, is_inner) = (line.split_whitespace().peekable(), line.starts_with(' '));
    while words.next_if(|word| word.starts_with("pub") || *word == "unsafe").is_some() {}
    let keyword = words.next()?;
    let defines = ["struct", "enum", "trait", "union"].contains(&keyword);
    let defines = defines || (keyword == "type" && !is_inner);
    let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (defines && name.starts_with(char::is_uppercase)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINED: &str = "pub(crate) struct Place<'a> {\n    type Place = u8;\n// enum Place\n";

    #[test]
    fn the_fourth_definition_of_a_name_is_found() {
        let files = [("a.rs", DEFINED), ("b.rs", "enum Place {}\n"), ("c.rs", "trait Place {}\n")];
        assert!(types(&SourceTree::of(&files)).is_empty());
        let more = [files[0], files[1], files[2], ("d.rs", "type Place = u8;\n"), files[1]];
        let found = types(&SourceTree::of(&more));
        assert_eq!(found.len(), 2, "{found:?}");
        let expected = "Place is defined 5 times: a.rs, b.rs, c.rs, d.rs, b.rs";
        assert_eq!(found[0].sentence, expected);
        let allowed = [&more[..], &[(ALLOW_FILE, "type Place # why\n")]].concat();
        assert!(types(&SourceTree::of(&allowed)).is_empty());
    }

    #[test]
    fn versions_of_the_protocol_may_mirror_each_other() {
        let paths = ["w/v10/a.rs", "w/v10/b.rs", "w/v13.rs", "w/v13/b.rs"];
        let files = paths.map(|path| (path, "struct Body;\n"));
        assert!(types(&SourceTree::of(&files)).is_empty());
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        let tree = SourceTree::of(&[("a.rs", DEFINED), (ALLOW_FILE, "type Place\n")]);
        assert_eq!(slack(&tree), [format!("{ALLOW_FILE}: Place needs no exception")]);
    }
}
