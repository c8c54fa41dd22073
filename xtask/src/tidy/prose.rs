//! Comments and documents: lines within the page, a component as the subject, docs that say
//! something.

use super::documents::room;
use super::ratchet::TidyFinding;
use super::{SourceFile, SourceTree};

/// Columns of a line of prose, as of code.
const COLUMNS: usize = 100;

/// Words for a person, where mostly a component is meant: "the worker releases the claim". Where a
/// person is meant, an operator say, the number in `tidy.counts` stays as it is.
pub(super) const PERSONS: &[&str] = &[
    "who",
    "whom",
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "someone",
    "anyone",
    "everyone",
];

/// Words that say nothing of an item that stands below them.
const HOLLOW: &[&str] = &[
    "a", "above", "an", "and", "as", "below", "file", "here", "is", "it", "its", "one", "same",
    "see", "that", "the", "there", "this", "which",
];

/// A line of prose and where it stands.
struct ProseLine<'a> {
    number: usize,
    /// The whole line, code before the comment included.
    whole: &'a str,
    prose: &'a str,
}

/// Lines of prose that are wider than the page and can be broken.
///
/// Lines that cannot be are passed over: rows of a table, a single word such as an address, and in
/// documents text between fences, which is commands and their output.
pub(super) fn columns(tree: &SourceTree) -> Vec<TidyFinding> {
    let wide = |line: &ProseLine<'_>| line.whole.chars().count() > COLUMNS && can_be_broken(line);
    findings(tree, |line| {
        wide(line).then(|| format!("{} columns", line.whole.chars().count())).into_iter().collect()
    })
}

/// Words for persons.
pub(super) fn persons(tree: &SourceTree) -> Vec<TidyFinding> {
    findings(tree, |line| {
        let words = line.prose.split(|c: char| !c.is_alphanumeric() && c != '_');
        words
            .filter(|word| PERSONS.contains(&word.to_lowercase().as_str()))
            .map(str::to_owned)
            .collect()
    })
}

/// Doc comments that are there only because there has to be one: "It.", "See the file."
pub(super) fn hollow_docs(tree: &SourceTree) -> Vec<TidyFinding> {
    let sources = tree.ending(&[".rs"]);
    let found = sources.flat_map(|source| {
        let lines: Vec<&str> = source.text.lines().map(str::trim_start).collect();
        let is_doc = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("///"));
        let alone = (0..lines.len())
            .filter(|&at| is_doc(at) && !is_doc(at + 1) && !at.checked_sub(1).is_some_and(is_doc));
        let hollow = alone.filter(|&at| is_hollow(lines[at])).collect::<Vec<_>>();
        let sentence = |at: usize| format!("{}:{}: {}", source.path, at + 1, lines[at]);
        hollow.into_iter().map(|at| finding(source, sentence(at))).collect::<Vec<_>>()
    });
    found.collect()
}

fn is_hollow(doc: &str) -> bool {
    let mut words = doc.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| HOLLOW.contains(&word.to_lowercase().as_str()))
}

fn findings(tree: &SourceTree, wrong: impl Fn(&ProseLine<'_>) -> Vec<String>) -> Vec<TidyFinding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        for line in prose(source) {
            let sentences = wrong(&line).into_iter();
            let here = |what| format!("{}:{}: {what}", source.path, line.number);
            found.extend(sentences.map(|what| finding(source, here(what))));
        }
    }
    found
}

fn finding(source: &SourceFile, sentence: String) -> TidyFinding {
    TidyFinding { place: room(&source.path).unwrap_or_else(|| ".".to_owned()), sentence }
}

/// What is written by the laboratory, and from the code.
const MADE: [&str; 2] = ["docs/results/", "docs/reference/"];

/// The lines of prose of a file: comments of Rust, documents outside of fences and of comments,
/// which say how their commands are run. What is [`MADE`] is none.
fn prose(source: &SourceFile) -> Vec<ProseLine<'_>> {
    let lines = source.text.lines().enumerate();
    let is_document = source.path.ends_with(".md")
        && (!source.path.contains('/') || source.path.starts_with("docs/"))
        && !MADE.iter().any(|folder| source.path.starts_with(folder));
    if source.path.ends_with(".rs") {
        let comments = lines.filter_map(|(at, whole)| {
            Some(ProseLine { number: at + 1, whole, prose: comment(whole)? })
        });
        comments.collect()
    } else if is_document {
        let (mut is_fenced, mut is_mark) = (false, false);
        let outside = lines.filter(|(_, line)| {
            let is_fence = line.trim_start().starts_with("```");
            is_fenced ^= is_fence;
            is_mark |= line.starts_with("<!--");
            let is_prose = !is_fence && !is_fenced && !is_mark && !line.starts_with("    ");
            is_mark &= !line.trim_end().ends_with("-->");
            is_prose
        });
        outside.map(|(at, whole)| ProseLine { number: at + 1, whole, prose: whole }).collect()
    } else {
        Vec::new()
    }
}

/// The text of a comment: all of the line, or what stands behind code.
fn comment(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    if trimmed.starts_with("//") {
        return Some(trimmed.trim_start_matches(['/', '!']));
    }
    let (code, comment) = line.rsplit_once(" // ")?;
    code.matches('"').count().is_multiple_of(2).then_some(comment)
}

fn can_be_broken(line: &ProseLine<'_>) -> bool {
    let prose = line.prose.trim_start();
    let text = prose.trim_start_matches(|c: char| "-*>#".contains(c) || c.is_numeric());
    !prose.starts_with('|') && text.trim_start_matches('.').trim().contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(found: &[TidyFinding]) -> Vec<&str> {
        found.iter().map(|finding| finding.sentence.as_str()).collect()
    }

    #[test]
    fn a_wide_comment_and_a_wide_paragraph_are_found() {
        let wide = "many words ".repeat(10);
        let code = format!(
            "let text = \"{wide}\"; f(); // two words\n//! {wide}\n// {}\n",
            "x".repeat(120)
        );
        let page = format!("{wide}\n\n| {wide} |\n\n    {wide}\n```\n{wide}\n```\n- {wide}\n");
        let tree = SourceTree::of(&[("crates/a/src/a.rs", &code), ("README.md", &page)]);
        let found = columns(&tree);
        assert_eq!(found[0].place, "crates/a");
        let expected = [
            "crates/a/src/a.rs:1: 142 columns",
            "crates/a/src/a.rs:2: 114 columns",
            "README.md:1: 110 columns",
            "README.md:9: 112 columns",
        ];
        assert_eq!(sentences(&found), expected);
        assert_eq!(found[2].place, ".");
    }

    #[test]
    fn the_results_of_the_laboratory_are_no_prose() {
        let tree =
            SourceTree::of(&[("docs/results/a.md", "nobody\n"), ("experiments/a.md", "who\n")]);
        assert!(
            prose(&SourceFile { path: "docs/a.md".into(), text: "<!-- a\nb -->\n".into() })
                .is_empty()
        );
        assert!(persons(&tree).is_empty());
        assert_eq!(persons(&SourceTree::of(&[("docs/a.md", "nobody\n")]))[0].place, "docs");
    }

    #[test]
    fn a_person_is_found_in_comments_and_not_in_code() {
        let code = "/// Whoever asks; whose turn, the whole.\nlet who = 1;\nf(); // for nobody\n";
        let found = persons(&SourceTree::of(&[("src/a.rs", code)]));
        assert_eq!(sentences(&found), ["src/a.rs:1: Whoever", "src/a.rs:3: nobody"]);
    }

    #[test]
    fn a_doc_without_a_word_of_its_own_is_found() {
        let code = "    /// It.\n    pub it: T,\n/// See the file.\nmod a;\n/// See the file.\n/// Why.\n\
                    /// The xid.\nfn xid() {}\n";
        let found = hollow_docs(&SourceTree::of(&[("src/a.rs", code)]));
        assert_eq!(sentences(&found), ["src/a.rs:1: /// It.", "src/a.rs:3: /// See the file."]);
    }
}
