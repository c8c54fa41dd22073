//! `aldis static-flows`: the flows that are kept on their switches.

use std::process::ExitCode;

use aldis_apps::static_flows::StaticFlow;
use aldis_http::desired::{InstallStatus, Source, Stored};

use super::table::TextTable;
use super::{ClientArgs, escape, text};

/// Arguments of `aldis static-flows`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis static-flows            all of them
  aldis static-flows uplink     one, and what became of it at each switch")]
pub(crate) struct Args {
    /// The name of one of them
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each, or more about one.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    match args.name {
        Some(name) => args.ask.show(&format!("/api/v1/static-flows/{}", escape(&name)), one),
        None => {
            let names = ("static flow", "static flows");
            let columns =
                ["name", "switches", "table", "priority", "match", "does", "there", "source"];
            args.ask.list("/api/v1/static-flows", names, &columns, row)
        }
    }
}

fn row(flow: &Stored<StaticFlow>) -> Vec<String> {
    let it = &flow.it;
    vec![
        it.name.to_string(),
        it.switches.to_string(),
        text::count(it.table.map(|table| table.0)),
        it.priority.to_string(),
        text::match_(&it.match_),
        text::instructions(&it.instructions),
        there(flow),
        source(flow.source).into(),
    ]
}

fn one(flow: &Stored<StaticFlow>) -> TextTable {
    let it = &flow.it;
    let table = it.table.map_or_else(|| "that which forwards".into(), |table| table.0.to_string());
    let said = vec![
        ("name", it.name.to_string()),
        ("switches", it.switches.to_string()),
        ("table", table),
        ("priority", it.priority.to_string()),
        ("match", text::match_(&it.match_)),
        ("does", text::instructions(&it.instructions)),
        ("there", there(flow)),
        ("source", source(flow.source).into()),
    ];
    TextTable::pairs([said, flow.at.iter().map(status).collect()].concat())
}

fn there(flow: &Stored<StaticFlow>) -> String {
    let installed = flow.installed.unwrap_or_default();
    format!("{} of {}", installed.there, installed.there.saturating_add(installed.missing))
}

/// What became of something at a switch.
pub(super) fn status(at: &InstallStatus) -> (&str, String) {
    let there = if at.there { "there" } else { "not there" };
    (&at.switch, format!("{there}: {}", at.words))
}

/// Where it was set.
pub(super) fn source(source: Source) -> &'static str {
    match source {
        Source::Configuration => "configuration",
        Source::Http => "http",
    }
}
