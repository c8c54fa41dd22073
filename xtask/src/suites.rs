//! `cargo xtask test`: every suite in order, the summary last.
//!
//! A suite that fails does not stop the ones after it: the reader of the log of a run wants all of
//! what is wrong.

use crate::{book, client, e2e, fuzz, native, package, peers, reference, ryu, tidy, unit, web};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// How many checks of a suite passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SuiteTally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl SuiteTally {
    /// One check that passed or failed.
    pub(crate) fn one(good: bool) -> Self {
        SuiteTally { passed: usize::from(good), failed: usize::from(!good) }
    }

    /// Something was checked and nothing failed: a suite that ran nothing proves nothing.
    pub(crate) fn is_good(self) -> bool {
        self.failed == 0 && self.passed > 0
    }

    /// Both tallies together.
    pub(crate) fn plus(self, other: Self) -> Self {
        SuiteTally { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }

    /// Without so many that failed and were tried again.
    pub(crate) fn minus_failed(self, tried_again: usize) -> Self {
        SuiteTally { failed: self.failed - tried_again, ..self }
    }
}

struct Suite {
    name: &'static str,
    says: &'static str,
    run: fn(&Path) -> SuiteTally,
}

/// Suites that run beside those behind them: these wait most of the time, and they give way.
const BESIDE: [&str; 4] = ["clippy", "features", "docs", "fuzz"];

/// In the order in which a mistake is cheapest to find, but for those that run beside others.
const SUITES: &[Suite] = &[
    Suite { name: "peers", says: "the programs the tests talk to are here", run: peers_suite },
    Suite { name: "format", says: "cargo fmt --check", run: format },
    Suite { name: "tidy", says: "the rules of the repository", run: rules },
    Suite { name: "unit", says: "unit tests and laws", run: unit::run },
    Suite { name: "clippy", says: "cargo clippy, warnings denied", run: clippy },
    Suite { name: "features", says: "aldis with fewer features", run: features },
    Suite { name: "docs", says: "cargo doc, warnings denied", run: docs },
    Suite { name: "e2e", says: "Open vSwitch and Mininet", run: |root| e2e::run(root, &[]) },
    Suite { name: "book", says: "the commands of the book", run: book_suite },
    Suite {
        name: "fuzz",
        says: "each fuzz target for a minute, beside what follows",
        run: |root| fuzz::run(root, &[]),
    },
    Suite { name: "ryu", says: "applications of Ryu", run: |root| ryu::run(root, &[]) },
    Suite { name: "client", says: "the client of Python", run: |root| client::run(root, &[]) },
    Suite { name: "package", says: "the package of Debian", run: package::run },
    Suite { name: "web", says: "a browser", run: |root| web::run(root, &[]) },
];

/// Runs the suites named, or all of them, and prints a table and the totals; whether nothing
/// failed.
pub(crate) fn test(root: &Path, names: &[String]) -> bool {
    if let Some(unknown) = names.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name))
    {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        eprintln!("there is no suite {unknown:?}; there are {}", known.join(", "));
        return false;
    }
    let chosen = SUITES
        .iter()
        .filter(|suite| names.is_empty() || names.iter().any(|name| name == suite.name));
    let results: Vec<_> = std::thread::scope(|scope| {
        let run = |suite: &'static Suite| {
            let running = scope.spawn(move || timed(suite, root));
            if BESIDE.contains(&suite.name) { Err(running) } else { Ok(joined(running)) }
        };
        let results: Vec<_> = chosen.map(run).collect();
        results.into_iter().map(|result| result.unwrap_or_else(joined)).collect()
    });
    summary(&results)
}

/// What a thread found; its panic is ours.
pub(crate) fn joined<T>(running: ScopedJoinHandle<'_, T>) -> T {
    running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn timed(suite: &'static Suite, root: &Path) -> (&'static Suite, SuiteTally, Duration) {
    println!("\n=== {}: {}", suite.name, suite.says);
    let start = Instant::now();
    let tally = (suite.run)(root);
    (suite, tally, start.elapsed())
}

fn summary(results: &[(&Suite, SuiteTally, Duration)]) -> bool {
    println!("\n{:<8} {:>7} {:>7} {:>6}", "suite", "passed", "failed", "s");
    for (suite, tally, took) in results {
        let mark = if tally.is_good() { "" } else { "  <-- FAILED" };
        println!(
            "{:<8} {:>7} {:>7} {:>6.0}{mark}",
            suite.name,
            tally.passed,
            tally.failed,
            took.as_secs_f32()
        );
    }
    // A suite that checked nothing is a failure of its own, so that the totals cannot hide it.
    let total = results.iter().fold(SuiteTally::default(), |sum, (_, tally, _)| {
        let empty = SuiteTally { passed: 0, failed: usize::from(*tally == SuiteTally::default()) };
        sum.plus(*tally).plus(empty)
    });
    println!("\n{} passed, {} failed", total.passed, total.failed);
    total.is_good()
}

fn peers_suite(_: &Path) -> SuiteTally {
    SuiteTally::one(peers::provide())
}

/// The book itself where mdBook is here, its commands, and its pages that are made from the code.
fn book_suite(root: &Path) -> SuiteTally {
    let made = if book::is_made_here(root) {
        SuiteTally::one(book::build(root))
    } else {
        println!("mdBook is not here: `make book` has it; the suite tidy has checked links");
        SuiteTally::default()
    };
    made.plus(reference::check(root)).plus(book::run(root, &[]))
}

fn format(root: &Path) -> SuiteTally {
    let workspace = succeeds(cargo(root).args(["fmt", "--all", "--check"]));
    SuiteTally::one(workspace && native::is_formatted(root))
}

fn rules(root: &Path) -> SuiteTally {
    tidy::run(root).plus(native::check(root))
}

fn clippy(root: &Path) -> SuiteTally {
    let args =
        ["clippy", "--quiet", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    SuiteTally::one(succeeds(linter(root).args(args)))
}

/// The features that `aldis` has alone: with all of them it is in every other suite.
fn features(root: &Path) -> SuiteTally {
    let one = |features: &&str| {
        let args = ["check", "--quiet", "--locked", "--package", "aldis", "--no-default-features"];
        let mut check = linter(root);
        SuiteTally::one(succeeds(check.args(args).args(["--features", features])))
    };
    ["", "config", "http", "cli"].iter().map(one).fold(SuiteTally::default(), SuiteTally::plus)
}

fn docs(root: &Path) -> SuiteTally {
    let args = ["doc", "--quiet", "--locked", "--workspace", "--no-deps"];
    SuiteTally::one(succeeds(linter(root).args(args).env("RUSTDOCFLAGS", "-D warnings")))
}

/// The counts in `12 passed; 3 failed…`, whatever separates them.
pub(crate) fn counts_of(text: &str, separator: char) -> Option<SuiteTally> {
    let mut counts = text.split(separator).map_while(|part| part.trim().split_once(' '));
    let passed = counts.next().filter(|(_, what)| *what == "passed")?.0.parse().ok()?;
    let failed = counts.next().filter(|(_, what)| *what == "failed")?.0.parse().ok()?;
    Some(SuiteTally { passed, failed })
}

/// The same cargo that started us, in the top folder.
pub(crate) fn cargo(root: &Path) -> Command {
    in_folder(root, Command::new(cargo_program()))
}

/// A Cargo that gives way and builds in a folder of its own, so that no other waits for its lock.
fn linter(root: &Path) -> Command {
    let mut command = in_folder(root, giving_way(cargo_program()));
    command.env("CARGO_TARGET_DIR", root.join("target/lint"));
    command
}

/// The same cargo that started us.
pub(crate) fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or("cargo".into())
}

/// A program that runs on what others leave of the processors: other suites run beside.
pub(crate) fn giving_way(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(program);
    command
}

/// In the top folder, and without what Cargo told us of this package: some build scripts run anew
/// where that changes, and what a plain `cargo test` has built would be built again.
fn in_folder(root: &Path, mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command.current_dir(root);
    command
}

/// Runs it to its end; a program that cannot be started is said and counts as failed.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cannot start {:?}: {error}", command.get_program());
            false
        }
    }
}

/// Runs it to its end, giving each line of its standard output to `line`; whether it succeeded.
pub(crate) fn each_line(command: &mut Command, mut line: impl FnMut(&str)) -> bool {
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cannot start {:?}: {error}", command.get_program());
            return false;
        }
    };
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).lines().map_while(Result::ok).for_each(|text| line(&text));
    }
    child.wait().is_ok_and(|status| status.success())
}

/// Runs a runner of tests, and shows what it says: its last line of counts, with one failure more
/// where it failed and does not count that.
pub(crate) fn counted(command: &mut Command) -> SuiteTally {
    let mut tally = None;
    let good = each_line(command, |line| {
        println!("{line}");
        tally = counts_of(line, ',').or(tally);
    });
    match tally {
        Some(tally) if good || tally.failed > 0 => tally,
        _ => tally.unwrap_or_default().plus(SuiteTally::one(false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_whatever_separates_them() {
        assert_eq!(counts_of("7 passed, 0 failed", ','), Some(SuiteTally { passed: 7, failed: 0 }));
        assert_eq!(counts_of("7 went", ','), None);
    }

    #[test]
    fn a_suite_that_checked_nothing_fails_the_run() {
        assert!(!summary(&[(&SUITES[0], SuiteTally::default(), Duration::ZERO)]));
        assert!(!summary(&[(&SUITES[0], SuiteTally { passed: 5, failed: 1 }, Duration::ZERO)]));
        assert!(summary(&[(&SUITES[0], SuiteTally { passed: 5, failed: 0 }, Duration::ZERO)]));
    }

    #[test]
    fn the_lines_and_the_status_of_a_child_are_seen() {
        let mut seen = Vec::new();
        let good = each_line(Command::new("sh").args(["-c", "echo a; echo b; exit 3"]), |line| {
            seen.push(line.to_owned());
        });
        assert!(!good);
        assert_eq!(seen, ["a", "b"]);
    }
}
