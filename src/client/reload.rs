//! `aldis reload`: the configuration is read again.

use std::process::ExitCode;

use aldis_http::api::reload::Reloaded;

use super::ClientArgs;
use super::table::TextTable;

/// Arguments of `aldis reload`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis reload                       as SIGHUP does, and what came of it
  aldis reload --json                as a script reads it")]
pub(crate) struct Args {
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints what changed.
///
/// # Errors
/// One sentence: no answer, or the file makes no sense and the old settings stay.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let answer = args.ask.http.post("/api/v1/reload", "{}")?;
    args.ask.print(&answer, table)
}

fn table(Reloaded { applied, waiting }: &Reloaded) -> TextTable {
    let now = applied.iter().map(|line| ("now", line.clone()));
    let later = waiting.iter().map(|line| ("after a restart", line.clone()));
    let rows: Vec<_> = now.chain(later).collect();
    match rows.is_empty() {
        true => TextTable::pairs(rows).ending("nothing changed".into()),
        false => TextTable::pairs(rows),
    }
}
