//! The book: `docs/` in the order of its `SUMMARY.md`. Its commands are run, page by page, by
//! `tests/mininet/book.py`.

mod layout;

use crate::e2e::PYTHON;
use crate::suites::{SuiteTally, cargo, counted, succeeds};
use std::path::Path;
use std::process::Command;

pub(crate) use layout::{SUMMARY, build, chapters};

/// Whether mdBook was compiled before: that takes too long for a run of all suites.
pub(crate) fn is_made_here(root: &Path) -> bool {
    root.join("target/mdbook/bin/mdbook").exists()
}

/// Runs the commands of the pages whose paths hold one of these words, or of all of them.
pub(crate) fn run(root: &Path, words: &[String]) -> SuiteTally {
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"])) {
        return SuiteTally::one(false);
    }
    let mut command = Command::new(PYTHON);
    command.args(["tests/mininet/run.py", "--book"]).args(words).current_dir(root);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    counted(&mut command)
}
