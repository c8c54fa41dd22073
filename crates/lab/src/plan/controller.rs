//! Controllers of other projects, as a plan starts them.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A controller that is started by a command.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ControllerCommand {
    /// The name by which runs and legends call it.
    pub name: String,
    /// The program and its arguments, without a shell. `{port}` stands for the TCP port of
    /// 127.0.0.1 to listen on, `{workers}` for the number of workers, `{folder}` for the folder
    /// that holds [`ControllerCommand::files`], and `{aldis}` for this program: Aldis as no design
    /// of the papers is started.
    pub command: Vec<String>,
    /// A command that succeeds where the controller is installed; without one it is enough that the
    /// program is found.
    #[serde(default)]
    pub present: Vec<String>,
    /// How it is installed: said where it is missing.
    pub install: String,
    /// Files that it needs, by name: written into `{folder}`.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// How long it may take to accept a connection.
    #[serde(default = "ready_within_s")]
    pub ready_within_s: u32,
    /// The most switches it serves; more are not started, and a note says so.
    pub switches_max: Option<u32>,
    /// The most addresses a switch, for one that learns them slowly.
    pub macs_max: Option<u32>,
}

fn ready_within_s() -> u32 {
    10
}

/// What stands for this program.
pub(crate) const OURS: &str = "{aldis}";

/// The longest that a controller may be waited for, in seconds.
const READY_WITHIN_MAX: u32 = 120;

impl ControllerCommand {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// The sentence that says what does not.
    pub(super) fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if self.command.is_empty() {
            return Err(format!("controller {name} has no command"));
        }
        if !self.command.iter().any(|word| word.contains("{port}")) {
            return Err(format!(
                "the command of controller {name} does not say {{port}}, and so nobody knows where it listens"
            ));
        }
        if !(1..=READY_WITHIN_MAX).contains(&self.ready_within_s) {
            return Err(format!(
                "ready-within-s of controller {name}: accepted are 1 to {READY_WITHIN_MAX}"
            ));
        }
        if self.switches_max == Some(0) || self.macs_max == Some(0) {
            return Err(format!("controller {name} would serve nobody: give 1 or more"));
        }
        let plain = |file: &String| {
            file.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
                && !file.starts_with('.')
        };
        match self.files.keys().find(|file| !plain(file)) {
            Some(file) => Err(format!(
                "\"{file}\" of controller {name} is no plain file name: use letters, digits, -, _ and ."
            )),
            None => Ok(()),
        }
    }
}
