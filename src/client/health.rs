//! `aldis health`: whether a controller runs.

use std::process::ExitCode;

use aldis_http::api::health::Health;

use super::ClientArgs;
use super::table::TextTable;

/// Arguments of `aldis health`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints it; the exit code is 0 where it runs.
///
/// # Errors
/// One sentence: no answer.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    args.ask.show("/api/v1/health", |health: &Health| {
        TextTable::pairs(vec![
            ("state", health.state.clone()),
            ("up since", health.up_since.clone()),
            ("for", format!("{:.0} s", health.up_for_s)),
            ("switches", health.switches.to_string()),
        ])
    })
}
