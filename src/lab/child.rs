//! `aldis lab child`: what `aldis lab run` starts a controller through, so that it never outlives
//! the run.

use std::ffi::OsString;
use std::process::ExitCode;

use aldis_lab::run::launcher;

/// Arguments of `aldis lab child`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The process that started it, with which it ends.
    #[arg(long, value_name = "PID")]
    parent: i32,
    /// The cores that it may run on.
    #[arg(long, value_name = "CORE,…", value_delimiter = ',', required = true)]
    cores: Vec<usize>,
    /// What it becomes.
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    command: Vec<OsString>,
}

/// Becomes the command.
///
/// # Errors
/// It could not.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let error = launcher::exec(args.parent, &args.cores, &args.command);
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    Err(format!("{} could not be started: {error}", words.join(" ")))
}
