//! The web suite: builds the controller and hands it to the scenarios of `tests/web`, which use its
//! web interface as a person does, in a browser.

use crate::e2e;
use crate::peers;
use crate::suites::{SuiteTally, cargo, counted, succeeds};
use std::path::Path;
use std::process::Command;

/// The file that proves that the packages of `web/package-lock.json` are installed.
const INSTALLED: &str = "web/node_modules/playwright-core/package.json";

/// Runs the scenarios whose sentence holds one of these words, or all of them.
///
/// Only this suite needs a browser and Node.js: the interface is committed as it was built.
pub(crate) fn run(root: &Path, words: &[String]) -> SuiteTally {
    if !peers::provide_browser() {
        eprintln!("no browser or no Node.js is here");
        return SuiteTally::one(false);
    }
    if !root.join(INSTALLED).exists()
        && !succeeds(npm(root).args(["ci", "--no-audit", "--no-fund"]))
    {
        eprintln!("the packages of web/package-lock.json could not be had");
        return SuiteTally::one(false);
    }
    let types = SuiteTally::one(succeeds(npm(root).args(["run", "--silent", "check"])));
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"])) || !e2e::packages(root) {
        return types.plus(SuiteTally::one(false));
    }
    let mut command = Command::new("node");
    command.arg("tests/web/run.mjs").args(words).current_dir(root);
    types.plus(counted(&mut command))
}

fn npm(root: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(root.join("web"));
    command
}
