//! `aldis weights`: what is due to which switch, and other weights from now on.

use std::process::ExitCode;

use aldis_control::weights::WeightRule;
use aldis_http::api::weights::Rules;

use super::ClientArgs;
use super::table::TextTable;

/// Arguments of `aldis weights`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis weights                      the rules that count
  aldis weights --set 1=4 --set *=2  other rules in place of all, at once
  aldis weights --clear              no rules: every switch is due the same
  aldis weights --reset              those of the configuration and of the command line again")]
pub(crate) struct Args {
    /// A rule in place of those that are there, by datapath id, first octets (00:00:*), range
    /// (1-100) or *; the first counts
    #[arg(long, value_name = "SWITCHES=N")]
    set: Vec<WeightRule>,
    /// No rules
    #[arg(long, conflicts_with = "set")]
    clear: bool,
    /// The rules of the configuration and of the command line again
    #[arg(long, conflicts_with_all = ["set", "clear"])]
    reset: bool,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints the rules that count; those that were set, where any were.
///
/// # Errors
/// One sentence: no answer, or a rule is refused.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    if args.reset {
        let answer = args.ask.http.delete("/api/v1/weights")?;
        return args.ask.print(&answer, rules);
    }
    if args.set.is_empty() && !args.clear {
        return args.ask.show("/api/v1/weights", rules);
    }
    let body = serde_json::to_string(&Rules { rules: args.set, source: None });
    let body = body.map_err(|error| error.to_string())?;
    let answer = args.ask.http.put("/api/v1/weights", &body)?;
    args.ask.print(&answer, rules)
}

fn rules(Rules { rules, .. }: &Rules) -> TextTable {
    let rows = rules.iter().map(|rule| vec![rule.switches.clone(), rule.weight.to_string()]);
    TextTable::new(&["switches", "weight"], rows.collect()).ending("all others: 1".into())
}
