//! The suite of `sdk/ryu`: builds the controller's command, whose emulated network Ryu's samples
//! are tried with, and runs the tests of the package in a Python that has what it depends on.

use crate::suites::{SuiteTally, cargo, counted, succeeds};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the tests whose names hold one of these words, or all of them.
pub(crate) fn run(root: &Path, words: &[String]) -> SuiteTally {
    let Some(python) = python(root) else { return SuiteTally::one(false) };
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"])) {
        return SuiteTally::one(false);
    }
    let mut command = Command::new(python);
    command.arg("sdk/ryu/tests/run.py").args(words).current_dir(root);
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("ALDIS", root.join("target/debug/aldis"));
    counted(&mut command)
}

/// A Python that has the package and what it depends on, made where it is missing or older than
/// the list of dependencies.
pub(crate) fn python(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/ryu");
    let (python, mark) = (folder.join("bin/python"), folder.join("installed"));
    let modified = |file: PathBuf| std::fs::metadata(file).and_then(|data| data.modified()).ok();
    let wanted = modified(root.join("sdk/ryu/pyproject.toml"));
    if modified(mark.clone()).is_some_and(|made| Some(made) > wanted) {
        return Some(python);
    }
    println!("missing: what Ryu's applications run on; installing with pip");
    let made = succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "./sdk/ryu"]);
    (made && succeeds(pip.current_dir(root)) && std::fs::write(mark, []).is_ok()).then_some(python)
}
