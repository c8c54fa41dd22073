//! Subjects of commits: `component: imperative`, as STYLE.md says.

use super::SourceTree;
use super::prose::PERSONS;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The newest commit before this rule; older subjects stay as they are.
const BEFORE: &str = "26a2a40070b961217c7b45630b0ed99569a6aeb6";

/// Characters of a subject: what tools show of one on a line.
const SUBJECT_MAX: usize = 72;

/// Components that are no file or folder: the package of the command, and what builds it all.
const BESIDES: &[&str] = &["aldis-cli", "build", "ci"];

/// Imperatives that look like another form of a verb.
const IMPERATIVES: &[&str] = &["bring", "embed", "exceed", "feed", "need", "ping", "shed", "speed"];

/// What is wrong with the subjects of the commits since [`BEFORE`], merges left out.
///
/// Nothing where git does not know that commit: in a shallow clone, or without a history.
pub(super) fn subjects(root: &Path, tree: &SourceTree) -> Vec<String> {
    let since = format!("{BEFORE}..HEAD");
    let log = ["-c", "safe.directory=*", "log", "--no-merges", "--format=%h %s", &since];
    let output = Command::new("git").args(log).current_dir(root).output();
    let known = output.ok().filter(|output| output.status.success());
    let log = known.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into());
    let components = components(tree);
    let each = log.lines().filter_map(|line| line.split_once(' '));
    each.filter_map(|(hash, subject)| {
        let wrong = judge(subject, &components)?;
        Some(format!("{hash} \"{subject}\": {wrong}"))
    })
    .collect()
}

/// The names of all files and folders, without what stands behind a dot.
fn components(tree: &SourceTree) -> BTreeSet<String> {
    let names = tree.sources.iter().flat_map(|source| source.path.split('/'));
    let stems = names.filter_map(|name| name.trim_start_matches('.').split('.').next());
    stems.chain(BESIDES.iter().copied()).map(spelt).collect()
}

/// A component as it is compared: `route-flow` is the folder `route_flow`.
fn spelt(component: &str) -> String {
    component.to_lowercase().replace('_', "-")
}

/// What is wrong with a subject, if anything is.
fn judge(subject: &str, components: &BTreeSet<String>) -> Option<String> {
    let length = subject.chars().count();
    if length > SUBJECT_MAX {
        return Some(format!("{length} characters, and {SUBJECT_MAX} is the most"));
    }
    let Some((named, rest)) = subject.split_once(": ") else {
        return Some("begin with the component: `engine: release the claim`".to_owned());
    };
    let unknown = named.split(", ").map(spelt).find(|one| !components.contains(one));
    if let Some(unknown) = unknown {
        return Some(format!("{unknown} is no file or folder"));
    }
    let mut words = rest.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    let verb = rest.split(' ').next().unwrap_or_default();
    if !is_imperative(verb) {
        return Some(format!("{verb:?} is no imperative: say what the commit does, as an order"));
    }
    words
        .find(|word| PERSONS.contains(&word.to_lowercase().as_str()))
        .map(|person| format!("\"{person}\" is a person: name the component"))
}

/// Whether a word can be an imperative: small letters, and no ending of another form.
fn is_imperative(word: &str) -> bool {
    let has_other_ending = ["ing", "ed"].iter().any(|end| word.ends_with(end))
        || (word.ends_with('s') && !word.ends_with("ss"));
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_word && (!has_other_ending || IMPERATIVES.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(subject: &str) -> Option<String> {
        let files = ["crates/engine/src/lib.rs", "crates/apps/src/route_flow.rs", "docs/lab.md"];
        judge(subject, &components(&SourceTree::of(&files.map(|path| (path, "")))))
    }

    #[test]
    fn a_subject_names_components_and_gives_an_order() {
        for good in [
            "engine: release the claim before the write",
            "route-flow, docs: shed requests of a port that floods",
            "lab: pass the seed on",
            "build: bring the lock up to date",
        ] {
            assert_eq!(verdict(good), None, "{good}");
        }
    }

    #[test]
    fn what_is_no_such_subject_is_refused() {
        let long = format!("engine: release {}", "x".repeat(SUBJECT_MAX));
        for (bad, why) in [
            ("Let the engine release the claim", "begin with the component"),
            ("motor: release the claim", "motor is no file"),
            ("engine, motor: release the claim", "motor is no file"),
            ("engine: releases the claim", "no imperative"),
            ("engine: released the claim", "no imperative"),
            ("engine: releasing the claim", "no imperative"),
            ("engine: Release the claim", "no imperative"),
            ("engine: ", "no imperative"),
            ("engine: answer whoever asks", "a person"),
            (&long, "is the most"),
        ] {
            assert!(verdict(bad).is_some_and(|sentence| sentence.contains(why)), "{bad}");
        }
    }
}
