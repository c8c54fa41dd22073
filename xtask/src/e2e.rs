//! The end-to-end suite: builds the controller and hands it to the scenarios of `tests/mininet`.

use crate::suites::{SuiteTally, cargo, counts_of, each_line, succeeds};
use std::path::Path;
use std::process::Command;

/// The system's Python, which has Mininet's library; another one first in the path may not.
const PYTHON: &str = "/usr/bin/python3";

/// Builds the packages that scenarios install; they run where nothing can be fetched.
pub(crate) fn packages(root: &Path) -> bool {
    let build = |(example, name): (&str, &str)| {
        let mut build = Command::new(root.join("target/debug/aldis"));
        build.args(["app", "build", &format!("sdk/rust/examples/{example}")]);
        build.args(["--output", &format!("target/sdk/{name}.app")]).current_dir(root);
        build.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", root.join("target/sdk"));
        succeeds(&mut build)
    };
    [("learning-switch", "simple-switch"), ("packet-count", "packet-count")].into_iter().all(build)
}

/// Runs the named scenarios, or all of them.
///
/// `ALDIS_CONTROLLER` names another controller command to run them against, for instance to find
/// out whether a failure is the controller's or the scenario's.
pub(crate) fn run(root: &Path, scenarios: &[String]) -> SuiteTally {
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"])) || !packages(root) {
        return SuiteTally::one(false);
    }
    let mut command = Command::new(PYTHON);
    command.arg("tests/mininet/run.py").args(scenarios).current_dir(root);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let mut tally = None;
    let good = each_line(&mut command, |line| {
        println!("{line}");
        tally = counts_of(line, ',').or(tally);
    });
    match tally {
        Some(tally) if good || tally.failed > 0 => tally,
        _ => tally.unwrap_or_default().plus(SuiteTally::one(false)),
    }
}
