//! The suite `unit`: the programs of tests of all crates, and the examples of their documentation.
//!
//! The last test of a program often waits alone, for a peer or for a time to pass. Cargo runs one
//! program after the other; here the next one begins meanwhile.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::suites::{SuiteTally, cargo, counts_of, each_line, joined};

/// Programs that run at a time.
const AT_ONCE: usize = 2;

/// More failures than this are no accident: nothing is tried again.
const AGAIN_MAX: usize = 5;

const TEST: &[&str] = &["test", "--locked", "--workspace", "--no-fail-fast"];

/// A program of tests, as Cargo has built it.
#[derive(Debug, PartialEq, Eq)]
struct TestProgram {
    /// The crate, or its folder and that of its tests: `aldis_wire`, `wire/codec`, `cli`.
    name: String,
    program: PathBuf,
    /// The folder of the crate, in which its tests begin.
    folder: PathBuf,
    /// Whether it tests a crate from outside: these take longest.
    is_outside: bool,
}

/// What was counted, and the names of the tests that failed.
#[derive(Debug, Default)]
struct Found {
    tally: SuiteTally,
    failed: Vec<String>,
    /// Whether a result line came.
    is_counted: bool,
}

impl Found {
    /// Takes a line of a program of tests.
    fn line(&mut self, line: &str) {
        let counts = test_result(line);
        self.is_counted |= counts.is_some();
        self.tally = self.tally.plus(counts.unwrap_or_default());
        self.failed.extend(failed_test(line).map(str::to_owned));
    }

    /// A program that ends without a result line, or badly in spite of it, is a failure without a
    /// name: to try again what had failed by then would leave out what it did not come to.
    fn end(mut self, good: bool) -> Found {
        if !self.is_counted || !good && self.tally.failed == 0 {
            self.tally = self.tally.plus(SuiteTally::one(false));
            self.failed.clear();
        }
        self
    }

    fn plus(mut self, other: Found) -> Found {
        self.tally = self.tally.plus(other.tally);
        self.failed.extend(other.failed);
        self
    }
}

/// Runs all of them; what failed is tried once more.
pub(crate) fn run(root: &Path) -> SuiteTally {
    let Some(programs) = build(root) else { return SuiteTally::one(false) };
    let next = AtomicUsize::new(0);
    let in_turn = || {
        let mine = std::iter::from_fn(|| programs.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(run_program).fold(Found::default(), Found::plus)
    };
    let found = std::thread::scope(|scope| {
        let running: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(in_turn)).collect();
        running.into_iter().map(joined).fold(Found::default(), Found::plus)
    });
    let found = found.plus(examples(root));
    let (tally, names) = (found.tally, found.failed);
    if tally.failed > 0 && tally.failed == names.len() && names.len() <= AGAIN_MAX {
        return tally.plus(again(root, &names)).minus_failed(names.len());
    }
    tally
}

/// Builds all programs of tests; none where something does not compile.
fn build(root: &Path) -> Option<Vec<TestProgram>> {
    let mut programs = Vec::new();
    let mut building = cargo(root);
    building.args(TEST).args(["--no-run", "--message-format=json-render-diagnostics"]);
    let good = each_line(&mut building, |line| programs.extend(test_program(root, line)));
    programs.sort_by_key(|program| !program.is_outside);
    good.then_some(programs)
}

/// The program that a message of Cargo tells of, if it is one of tests.
fn test_program(root: &Path, message: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let program = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let target = message["target"]["name"].as_str()?;
    let is_outside = message["target"]["kind"][0] == "test";
    let name = if is_outside && folder != root {
        format!("{}/{target}", folder.file_name()?.to_str()?)
    } else {
        target.to_owned()
    };
    Some(TestProgram { name, program, folder, is_outside })
}

fn run_program(TestProgram { name, program, folder, .. }: &TestProgram) -> Found {
    // Most tests wait: with as many of each program as there are processors these are at work.
    let threads = std::thread::available_parallelism().map_or(2, NonZeroUsize::get);
    let mut tests = Command::new(program);
    tests.current_dir(folder).env("RUST_TEST_THREADS", threads.to_string());
    let mut found = Found::default();
    let good = each_line(&mut tests, |line| {
        if !line.is_empty() {
            println!("{name}: {line}");
        }
        found.line(line);
    });
    found.end(good)
}

fn examples(root: &Path) -> Found {
    let mut found = Found::default();
    let good = each_line(cargo(root).args(TEST).arg("--doc"), |line| {
        println!("{line}");
        found.line(line);
    });
    found.end(good)
}

/// What failed, once more and one at a time. On a machine that does other things too, or is stopped
/// for seconds by its host, a deadline passes without a fault of the code; what fails twice
/// is no accident. Either way its name is said, for a test that needs this is to be mended.
fn again(root: &Path, failed: &[String]) -> SuiteTally {
    println!("\n--- once more, one at a time: {}", failed.join(", "));
    let mut tally = SuiteTally::default();
    let exactly = ["--", "--exact", "--test-threads=1"];
    each_line(cargo(root).args(TEST).args(exactly).args(failed), |line| {
        let counts = test_result(line);
        tally = tally.plus(counts.unwrap_or_default());
        if !line.is_empty() && line != "running 0 tests" && counts != Some(SuiteTally::default()) {
            println!("{line}");
        }
    });
    let lost = failed.len().saturating_sub(tally.passed + tally.failed);
    let names = failed.join(", ");
    match tally.failed + lost {
        0 => println!("--- passed at the second try, to be mended: {names}"),
        _ => println!("--- failed twice, or one of them: {names}"),
    }
    SuiteTally { passed: tally.passed, failed: tally.failed + lost }
}

/// The name in a line such as `test chop::tests::any_cut ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The counts in a line such as `test result: ok. 12 passed; 0 failed; 0 ignored; …`.
fn test_result(line: &str) -> Option<SuiteTally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    counts_of(counts, ';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_counted_and_others_are_not() {
        let line =
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(test_result(line), Some(SuiteTally { passed: 12, failed: 3 }));
        assert_eq!(test_result("test chop::tests::any_cut ... ok"), None);
        assert_eq!(
            failed_test("test chop::tests::any_cut ... FAILED"),
            Some("chop::tests::any_cut")
        );
        assert_eq!(failed_test("test chop::tests::any_cut ... ok"), None);
    }

    #[test]
    fn programs_of_tests_are_told_from_others() {
        let message = |is_test, kind, target| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/a/crates/wire/Cargo.toml",
                "target":{{"kind":["{kind}"],"name":"{target}"}},"profile":{{"test":{is_test}}},
                "executable":"/a/target/debug/deps/codec-1"}}"#
            )
        };
        let name = |root, message: String| Some(test_program(Path::new(root), &message)?.name);
        assert_eq!(name("/a", message(true, "test", "codec")).as_deref(), Some("wire/codec"));
        assert_eq!(name("/a/crates/wire", message(true, "test", "cli")).as_deref(), Some("cli"));
        assert_eq!(name("/a", message(true, "lib", "aldis_wire")).as_deref(), Some("aldis_wire"));
        assert_eq!(name("/a", message(false, "bin", "aldis")), None);
        assert_eq!(name("/a", r#"{"reason":"build-finished","success":true}"#.into()), None);
    }

    #[test]
    fn a_program_that_crashes_is_a_failure() {
        let program = |text: &str| TestProgram {
            name: "made-up".into(),
            program: text.into(),
            folder: "/".into(),
            is_outside: false,
        };
        for ends in ["/bin/false", "/bin/true"] {
            assert_eq!(run_program(&program(ends)).tally, SuiteTally::one(false), "{ends}");
        }
        let mut aborted = Found::default();
        aborted.line("test chop::tests::any_cut ... FAILED");
        let aborted = aborted.end(false);
        assert_eq!((aborted.tally, aborted.failed.len()), (SuiteTally::one(false), 0));
    }
}
