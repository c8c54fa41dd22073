//! `cargo xtask tidy`: the rules of the repository that no compiler knows.
//!
//! Every rule is a function from the tree to the sentences that say what is wrong, one file a
//! subject:
//!
//! 1. [`edges`] — which crate may depend on which, what the innermost ring may name, licences;
//! 2. [`sizes`] — files and functions stay small, with exceptions that may only shrink;
//! 3. [`words`] — left-over markers, paths of one machine, `unsafe` outside its places;
//! 4. [`documents`] — links resolve, and ARCHITECTURE.md names every room and no other;
//! 5. [`prose`] — comments and documents within the page, components as subjects, no hollow docs;
//! 6. [`names`] — a type's name is not defined again and again;
//! 7. [`rooms`] — the rooms of the engine use those below them;
//! 8. [`subjects`] — the subject of a commit names its component and is an order;
//! 9. [`summary`] — the book names every page, and headings that are linked to are there;
//! 10. [`assets`] — the built web interface is the one that its sources say.
//!
//! [`prose`], [`names`] and [`rooms`] are ratchets ([`ratchet`]): what is there today is counted,
//! and may only become less.

mod allow;
mod assets;
mod documents;
mod edges;
mod names;
mod prose;
mod ratchet;
mod rooms;
mod sizes;
mod subjects;
mod summary;
mod words;

use crate::suites::SuiteTally;
use std::path::Path;
use std::process::Command;

/// A file of the repository; `path` is relative to its top folder.
pub(crate) struct SourceFile {
    path: String,
    text: String,
}

/// Every file that is tracked, or would be with the next `git add`, and that is text.
pub(crate) struct SourceTree {
    sources: Vec<SourceFile>,
}

impl SourceTree {
    fn read(root: &Path) -> Result<Self, String> {
        // A checkout may belong to another user than the one that checks it.
        let list = ["-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"];
        let output = Command::new("git").args(list).current_dir(root).output();
        let output = output.map_err(|error| format!("cannot start git: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let names = String::from_utf8_lossy(&output.stdout);
        let sources = names.split('\0').filter_map(|path| {
            // Pictures have no text, and can be linked to.
            let text = std::fs::read(root.join(path)).ok().map(String::from_utf8)?;
            Some(SourceFile { path: path.to_owned(), text: text.unwrap_or_default() })
        });
        Ok(SourceTree { sources: sources.collect() })
    }

    /// The files whose name ends with one of `endings`.
    fn ending<'a>(&'a self, endings: &'a [&str]) -> impl Iterator<Item = &'a SourceFile> {
        self.sources.iter().filter(|source| endings.iter().any(|end| source.path.ends_with(end)))
    }

    fn file(&self, path: &str) -> Option<&SourceFile> {
        self.sources.iter().find(|source| source.path == path)
    }

    /// Whether a file or a folder of that name is in the repository.
    fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.sources.iter().any(|source| source.path == path || source.path.starts_with(&folder))
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        let source =
            |&(path, text): &(&str, &str)| SourceFile { path: path.into(), text: text.into() };
        SourceTree { sources: files.iter().map(source).collect() }
    }
}

type TidyRule = (&'static str, fn(&SourceTree) -> Vec<String>);

const RULES: &[TidyRule] = &[
    ("the innermost ring is no_std", edges::pure_crates),
    ("no manifest without the lints", edges::lints),
    ("files and functions are small", sizes::sizes),
    ("no left-over markers", words::markers),
    ("no path of a machine", words::machine_paths),
    ("unsafe only in its places", words::unsafe_code),
    ("links resolve", documents::links),
    ("links to headings resolve", summary::places),
    ("the book names every page once", summary::pages),
    ("ARCHITECTURE.md is the map", documents::map),
    ("the files every repository has", documents::present),
    ("no type allowed in vain", names::slack),
    ("the engine's rooms have an order", rooms::order),
];

/// A rule that is a ratchet: what it says, its name in the file of counts, what it finds.
type Ratchet = (&'static str, &'static str, fn(&SourceTree) -> Vec<ratchet::TidyFinding>);

const RATCHETS: &[Ratchet] = &[
    ("prose within 100 columns", "columns", prose::columns),
    ("a component is the subject, no person", "persons", prose::persons),
    ("docs say something", "hollow-docs", prose::hollow_docs),
    ("a type's name is one concept", "same-name", names::types),
    ("no arrow between rooms climbs", "climbs", rooms::climbs),
];

/// Checks everything and prints what is wrong; one check a rule.
pub(crate) fn run(root: &Path) -> SuiteTally {
    let tree = match SourceTree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("cannot list the files of the repository: {error}");
            return SuiteTally::one(false);
        }
    };
    let rules = RULES.iter().map(|(name, rule)| (*name, rule(&tree)));
    let graph = ("edges point inward, every dependency explained", edges::graph(root, &tree));
    let subjects = ("commits say what they do", subjects::subjects(root, &tree));
    let built = ("the web interface is built from its sources", assets::assets(root, &tree));
    let verdicts =
        rules.chain([graph, subjects, built]).map(|(name, wrong)| verdict(name, &wrong, &[]));
    let ratchets = RATCHETS.iter().map(|(name, rule, find)| {
        let judgement = ratchet::judge(&tree, rule, &find(&tree));
        verdict(name, &judgement.wrong, &judgement.notes)
    });
    verdicts.chain(ratchets).fold(SuiteTally::default(), SuiteTally::plus)
}

fn verdict(rule: &str, wrong: &[String], notes: &[String]) -> SuiteTally {
    println!("{} {rule}", if wrong.is_empty() { "ok  " } else { "FAIL" });
    wrong.iter().chain(notes).for_each(|sentence| println!("     {sentence}"));
    SuiteTally::one(wrong.is_empty())
}
