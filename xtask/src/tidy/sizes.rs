//! Files and functions stay small enough to be read at one sitting.

use super::allow::{ALLOW_FILE, exceptions};
use super::{SourceFile, SourceTree};

/// Lines a file may have, its tests included.
const FILE_LINES: usize = 600;

/// Lines a function may have, from its `fn` to its closing brace.
const FUNCTION_LINES: usize = 70;

/// What is larger than it may be, and exceptions that allow more than is needed.
pub(super) fn sizes(tree: &SourceTree) -> Vec<String> {
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    for source in tree.ending(&[".rs", ".py"]) {
        files.push((source.path.clone(), source.text.lines().count()));
        functions.extend(function_sizes(source));
    }
    let mut wrong = ratchet(tree, "file", FILE_LINES, &files);
    wrong.extend(ratchet(tree, "function", FUNCTION_LINES, &functions));
    wrong
}

fn ratchet(tree: &SourceTree, kind: &str, usual: usize, sizes: &[(String, usize)]) -> Vec<String> {
    let allowed = exceptions(tree, kind);
    let limit = |place: &str| {
        allowed.iter().find(|exception| exception.place == place).map_or(usual, |found| found.limit)
    };
    let large =
        sizes.iter().filter(|(place, lines)| *lines > limit(place)).map(|(place, lines)| {
            format!("{place} has {lines} lines, {} allowed: split it", limit(place))
        });
    let slack = allowed.iter().filter_map(|exception| {
        let lines = sizes.iter().filter(|(place, _)| place == exception.place).map(|found| found.1);
        let lines = lines.max().unwrap_or(0);
        if lines <= usual {
            Some(format!(
                "{ALLOW_FILE}: {} needs no exception any more: remove it",
                exception.place
            ))
        } else if lines < exception.limit {
            Some(format!("{ALLOW_FILE}: {} has shrunk: write {lines}", exception.place))
        } else {
            None
        }
    });
    large.chain(slack).collect()
}

/// Every function of a Rust file with its lines, as `path::name`.
///
/// rustfmt puts the closing brace of a function under the first letter of its line, and nothing
/// else of it there: that is all this needs to know of the language.
fn function_sizes(source: &SourceFile) -> Vec<(String, usize)> {
    if !source.path.ends_with(".rs") {
        return Vec::new();
    }
    let lines: Vec<&str> = source.text.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(at, line)| Some((at, function_name(line)?)));
    let sized = starts.map(|(at, name)| {
        let indent = lines[at].len() - lines[at].trim_start().len();
        let [closing, arguments] = ["}", ")"].map(|end| format!("{}{end}", &lines[at][..indent]));
        let one_line = lines[at].ends_with(['}', ';']);
        // A declaration without a body, as in a trait, ends behind its arguments.
        let ends =
            |line: &&str| **line == closing || line.starts_with(&arguments) && line.ends_with(';');
        let length = lines[at..].iter().position(ends).unwrap_or(0);
        (format!("{}::{name}", source.path), if one_line { 1 } else { length + 1 })
    });
    sized.collect()
}

/// The name in a line that begins a function, whatever stands before `fn`.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let only_qualifiers = before.split_whitespace().all(|word| {
        let word = word.split('(').next().unwrap_or_default();
        ["pub", "const", "async", "unsafe", "extern", "\"C\""].contains(&word)
            || word.ends_with(')')
    });
    let name = after.split(['(', '<']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (only_qualifiers && is_name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, lines: usize) -> String {
        format!(
            "    pub(crate) fn {name}(&self) {{\n{}    }}\n",
            "        go();\n".repeat(lines - 2)
        )
    }

    #[test]
    fn a_long_file_and_a_long_function_are_found() {
        let long = function("long", FUNCTION_LINES + 1);
        let file = "// line\n".repeat(FILE_LINES + 1);
        let wrong =
            sizes(&SourceTree::of(&[("a.rs", &long), ("b.rs", &file), ("c.rs", "fn main() {}\n")]));
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("b.rs has 601 lines"), "{wrong:?}");
        assert!(wrong[1].starts_with("a.rs::long has 71 lines"), "{wrong:?}");
    }

    #[test]
    fn the_length_ends_with_the_function() {
        let text = format!("{}{}", function("one", 30), function("two", 60));
        let sizes = function_sizes(&SourceFile { path: "a.rs".into(), text });
        assert_eq!(sizes, [("a.rs::one".to_owned(), 30), ("a.rs::two".to_owned(), 60)]);
    }

    #[test]
    fn a_declaration_in_a_trait_is_as_long_as_it_is() {
        let text = format!("    fn no(\n        &self,\n    ) -> bool;\n{}", function("one", 30));
        let sizes = function_sizes(&SourceFile { path: "a.rs".into(), text });
        assert_eq!(sizes, [("a.rs::no".to_owned(), 3), ("a.rs::one".to_owned(), 30)]);
    }

    #[test]
    fn an_exception_allows_its_size_and_no_more() {
        let check = |allow: &str, lines: usize| {
            let text = function("f", lines);
            sizes(&SourceTree::of(&[("a.rs", &text), (ALLOW_FILE, allow)]))
        };
        assert!(check("function a.rs::f 80", 80).is_empty());
        assert!(check("function a.rs::f 80", 81)[0].contains("80 allowed"));
        assert!(check("function a.rs::f 80", 75)[0].contains("has shrunk: write 75"));
        assert!(check("function a.rs::f 80", 10)[0].contains("needs no exception"));
        assert!(check("file gone.rs 900", 10)[0].contains("needs no exception"));
    }

    #[test]
    fn a_function_is_told_from_a_mention_of_one() {
        assert_eq!(function_name("pub(crate) const async fn run<T>(a: T) {"), Some("run"));
        assert_eq!(function_name("    fn step(&mut self) {"), Some("step"));
        assert_eq!(function_name("    run: fn(&Path) -> Tally,"), None);
        assert_eq!(function_name("// a fn of time"), None);
    }
}
