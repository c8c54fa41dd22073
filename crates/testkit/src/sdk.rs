//! Sandboxed applications of the SDKs, built as their authors would: in `target/sdk`, once for all
//! tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::running::program;

/// One build at a time: they share their folder.
static BUILDING: Mutex<()> = Mutex::new(());

/// The top folder of the repository.
///
/// # Panics
/// Where this crate does not lie in it.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/testkit lies in the repository").to_owned()
}

/// The `aldis` command as an author runs it: with the tools of both SDKs.
///
/// # Panics
/// Where those of Python cannot be had.
pub fn author() -> Command {
    let (root, path) = (root(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program());
    command.current_dir(&root).env("PATH", format!("{}:{path}", python().display()));
    // The SDK as it is here, and not as it was when its tools were installed.
    command.env("PYTHONPATH", root.join("sdk/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    // What it is built for is another machine than that of the tests.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_INCREMENTAL");
    command.env("CARGO_TARGET_DIR", root.join("target/sdk"));
    command
}

/// The folder of a Python that has what compiles components.
fn python() -> PathBuf {
    let _alone = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let (root, folder) = (root(), root().join("target/sdk/python"));
    if !folder.join("bin/componentize-py").exists() {
        let run = |command: &mut Command| {
            let output = command.current_dir(&root).output().expect("python3 is here");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "the tools of the SDK of Python: {errors}");
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let mut pip = Command::new(folder.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", "./sdk/python"]));
    }
    folder.join("bin")
}

/// The package of an application in this repository, as `sdk/rust/examples/learning-switch`; built
/// where there is none that is newer than the SDKs and the controller.
///
/// # Panics
/// Where it does not build.
pub fn package(source: &str) -> PathBuf {
    let root = root();
    let name = Path::new(source).file_stem().and_then(|stem| stem.to_str()).expect("a name");
    let file = root.join("target/sdk").join(format!("{name}.app"));
    let mut command = author();
    let _alone = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let built = fs::metadata(&file).and_then(|data| data.modified()).ok();
    if built.is_none_or(|built| built < newest(&root.join("sdk")).max(newest(&root.join("wit")))) {
        let output = command.args(["app", "build", source, "--output"]).arg(&file).output();
        let output = output.expect("the command starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    file
}

/// When the newest file below a folder was changed, what is built there left out.
fn newest(folder: &Path) -> SystemTime {
    let made = |name: &str| ["build", "target", "__pycache__"].contains(&name);
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
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
