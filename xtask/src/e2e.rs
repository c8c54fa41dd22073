//! The end-to-end suite: builds the controller and hands it to the scenarios of `tests/mininet`.

use crate::ryu;
use crate::suites::{SuiteTally, cargo, counted, succeeds};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The system's Python, which has Mininet's library; another one first in the path may not.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// The controller that a scenario runs as a guest, on PyPI.
const FAUCET: &str = "faucet==1.10.12";

/// What scenarios install: the source below `sdk`, and the name of the package.
const PACKAGES: [(&str, &str); 6] = [
    ("rust/examples/learning-switch", "simple-switch"),
    ("rust/examples/packet-count", "packet-count"),
    ("rust/examples/port-knocking", "port-knocking"),
    ("rust/examples/rate-monitor", "rate-monitor"),
    ("python/examples/learning_switch.py", "learning_switch"),
    ("python/examples/load_balancer.py", "load_balancer"),
];

/// Builds the packages that scenarios install; they run where nothing can be fetched. One that is
/// newer than all of the SDKs is there already.
pub(crate) fn packages(root: &Path) -> bool {
    let Some(python) = python_tools(root) else { return false };
    let path = std::env::var("PATH").unwrap_or_default();
    let changed = newest(&root.join("sdk")).max(newest(&root.join("wit")));
    let build = |(source, name): (&str, &str)| {
        let file = root.join(format!("target/sdk/{name}.app"));
        let built = std::fs::metadata(&file).and_then(|data| data.modified());
        if built.is_ok_and(|built| built > changed) {
            return true;
        }
        let mut build = Command::new(root.join("target/debug/aldis"));
        build.args(["app", "build", &format!("sdk/{source}"), "--output"]).arg(file);
        build.env("PATH", format!("{}:{path}", python.display())).current_dir(root);
        build.env("PYTHONPATH", root.join("sdk/python")).env("PYTHONDONTWRITEBYTECODE", "1");
        build.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", root.join("target/sdk"));
        succeeds(&mut build)
    };
    PACKAGES.into_iter().all(build)
}

/// The programs of a Python that has what compiles components, made where it is missing; the tests
/// of the SDKs use the same.
fn python_tools(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/sdk/python");
    if !folder.join("bin/componentize-py").exists() {
        println!("missing: the SDK of Python; installing with pip");
        let made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "./sdk/python"]);
        if !made || !succeeds(pip.current_dir(root)) {
            return None;
        }
    }
    Some(folder.join("bin"))
}

/// Whether Faucet is there, a guest of scenarios; it is fetched where it is missing. It needs an
/// older os-ken than the package of `sdk/ryu`, and so a Python of its own.
fn faucet(root: &Path) -> bool {
    let folder = root.join("target/faucet");
    if folder.join("bin/faucet").exists() {
        return true;
    }
    println!("missing: Faucet; installing with pip");
    let made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder));
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", FAUCET]);
    made && succeeds(&mut pip)
}

/// When the newest file below a folder was changed, what is built there left out.
fn newest(folder: &Path) -> SystemTime {
    let made = |name: &str| ["build", "target", "__pycache__"].contains(&name);
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let entries = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        !made(&name) && !name.ends_with(".egg-info")
    });
    let changed = entries.filter_map(|entry| match entry.file_type().ok()?.is_dir() {
        true => Some(newest(&entry.path())),
        false => entry.metadata().ok()?.modified().ok(),
    });
    changed.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Runs the named scenarios, or all of them.
///
/// `ALDIS_CONTROLLER` names another controller command to run them against, for instance to find
/// out whether a failure is the controller's or the scenario's.
pub(crate) fn run(root: &Path, scenarios: &[String]) -> SuiteTally {
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"]))
        || !packages(root)
        || ryu::python(root).is_none()
        || !faucet(root)
    {
        return SuiteTally::one(false);
    }
    let mut command = Command::new(PYTHON);
    command.arg("tests/mininet/run.py").args(scenarios).current_dir(root);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    counted(&mut command)
}
