//! What stands between the laboratory and a controller: a process that binds itself to cores, asks
//! to be killed when the laboratory is, and then becomes the controller.
//!
//! A laboratory that is killed outright (`SIGKILL`, or a second Ctrl-C) ends nothing any more.
//! Linux does it instead: a process may have itself killed when the thread that started it ends
//! (`PR_SET_PDEATHSIG`), which survives becoming another program. What the controller itself has
//! started by then it does not reach; that goes with the process group where the laboratory ends in
//! order.

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::cores;

/// The arguments of our own program with which it is this process.
pub const WORDS: [&str; 2] = ["lab", "child"];

/// A command that becomes `command`, on these cores, for as long as the calling thread is there.
/// `aldis` is our own program.
pub(super) fn command(aldis: &Path, command: &Command, on: &[usize]) -> Command {
    let cores: Vec<String> = on.iter().map(usize::to_string).collect();
    let mut launched = Command::new(aldis);
    launched.args(WORDS).arg("--parent").arg(getpid().as_raw_nonzero().to_string());
    launched.arg("--cores").arg(cores.join(",")).arg("--");
    launched.arg(command.get_program()).args(command.get_args());
    launched
}

/// Becomes `words`, the first of which is the program; `parent` is the process of the laboratory.
/// Comes back only with why it could not.
pub fn exec(parent: i32, on: &[usize], words: &[OsString]) -> io::Error {
    let Some((program, arguments)) = words.split_first() else {
        return io::ErrorKind::InvalidInput.into();
    };
    cores::bind(on);
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // It may have ended before it was asked for.
    match getppid().is_some_and(|now| now.as_raw_nonzero().get() == parent) {
        true => Command::new(program).args(arguments).exec(),
        false => io::Error::other("the laboratory has ended"),
    }
}
