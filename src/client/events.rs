//! `aldis events`: what happens, a line each.

use std::io::Write;
use std::process::ExitCode;

use aldis_http::api::Page;
use aldis_http::api::events::Event;

use super::table::printable;
use super::{ClientArgs, query};

/// Arguments of `aldis events`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis events                   what happens from now on, until Ctrl-C
  aldis events --recent          what happened, as far as it is kept
  aldis events --after oldest    both, one after the other
  aldis events --json            a JSON object a line, with the id to go on from later")]
pub(crate) struct Args {
    /// Print what is kept, and end
    #[arg(long, conflicts_with = "after")]
    recent: bool,
    /// Begin behind the event of this id; "oldest" for all that are kept
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints events as they come.
///
/// # Errors
/// One sentence: no answer, or the controller ended.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    if args.recent {
        let answer = args.ask.http.get("/api/v1/events/recent")?;
        let page: Page<Event> = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        for event in &page.items {
            let json = serde_json::to_string(event).map_err(|error| error.to_string())?;
            if !say(event, &json, args.ask.json) {
                break;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let query = query(&[("after", args.after.as_deref())]);
    for line in args.ask.http.follow(&format!("/api/v1/events{query}"))? {
        let line = line.map_err(|error| format!("{} broke off: {error}", args.ask.http))?;
        let Some(json) = line.strip_prefix("data: ") else { continue };
        let event: Event = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if !say(&event, json, args.ask.json) {
            return Ok(ExitCode::SUCCESS);
        }
    }
    Err(format!("{} ended", args.ask.http))
}

/// Whether the output is still read.
fn say(event: &Event, json: &str, as_json: bool) -> bool {
    let line = match as_json {
        true => json.to_owned(),
        false => format!("{}  {:<14}  {}", event.at, event.kind.name(), printable(&event.text)),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}
