//! The suite of `sdk/client`: makes the client from the document of the interface, and runs its
//! tests against the controller's command.

use crate::suites::{SuiteTally, cargo, each_line, succeeds};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What the client is made from.
const SOURCES: [&str; 5] = [
    "openapi/aldis.json",
    "sdk/client/events.py",
    "sdk/client/generator.yml",
    "sdk/client/make.py",
    "sdk/client/pyproject.toml",
];

/// Runs the tests whose names hold one of these words, or all of them.
pub(crate) fn run(root: &Path, words: &[String]) -> SuiteTally {
    let Some(python) = python(root) else { return SuiteTally::one(false) };
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"])) {
        return SuiteTally::one(false);
    }
    let mut command = Command::new(python);
    command.args(["-u", "-c", UNITTEST, "discover", "--verbose", "--start-directory"]);
    command.arg("sdk/client/tests").current_dir(root);
    command.args(words.iter().flat_map(|word| ["-k", word]));
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("ALDIS", root.join("target/debug/aldis"));
    let mut tally = SuiteTally::default();
    let good = each_line(&mut command, |line| {
        println!("{line}");
        tally = tally.plus(one_test(line).unwrap_or_default());
    });
    if good || tally.failed > 0 { tally } else { tally.plus(SuiteTally::one(false)) }
}

/// `python -m unittest`, which says how tests went on standard error otherwise.
const UNITTEST: &str = "import sys, unittest; sys.stderr = sys.stdout; unittest.main(module=None)";

/// What `unittest` says of a test: its name, and behind dots how it went.
fn one_test(line: &str) -> Option<SuiteTally> {
    match line.rsplit_once(" ... ")?.1 {
        "ok" => Some(SuiteTally::one(true)),
        "FAIL" | "ERROR" => Some(SuiteTally::one(false)),
        _ => None,
    }
}

/// A Python that has the client, made anew where it is missing or older than its sources.
fn python(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/client");
    let (python, mark) = (folder.join("python/bin/python"), folder.join("installed"));
    let sources = SOURCES.map(|source| modified(&root.join(source)));
    if modified(&mark).is_some_and(|made| sources.iter().all(|source| *source < Some(made))) {
        return Some(python);
    }
    println!("making the client of Python");
    let pip = |what: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        succeeds(pip.args(what).current_dir(root))
    };
    let package = folder.join("package");
    let mut make = Command::new(&python);
    make.arg("sdk/client/make.py").arg(&package).current_dir(root);
    make.env("PYTHONDONTWRITEBYTECODE", "1");
    let made = (python.exists()
        || succeeds(Command::new("python3").args(["-m", "venv"]).arg(folder.join("python"))))
        && pip(&[MAKER])
        && succeeds(&mut make)
        // Its version says nothing of what it is made from.
        && pip(&["--force-reinstall", "--no-deps", package.to_str()?]);
    (made && std::fs::write(mark, []).is_ok()).then_some(python)
}

/// The generator, which needs all that the client needs.
const MAKER: &str = "openapi-python-client==0.29.1";

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|data| data.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_unittest_are_counted() {
        let ok = "test_a (test_client.ClientTest.test_a) ... ok";
        assert_eq!(one_test(ok), Some(SuiteTally { passed: 1, failed: 0 }));
        assert_eq!(one_test("test_b (…) ... FAIL"), Some(SuiteTally { passed: 0, failed: 1 }));
        assert_eq!(one_test("test_c (…) ... skipped 'x'"), None);
        assert_eq!(one_test("Ran 5 tests in 2.0s"), None);
    }
}
