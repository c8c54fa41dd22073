//! `aldis metrics`: all counters, as Prometheus reads them.

use std::process::ExitCode;

use super::Base;

/// Arguments of `aldis metrics`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    http: Base,
}

/// Prints them.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    print!("{}", args.http.get("/metrics")?);
    Ok(ExitCode::SUCCESS)
}
