//! `aldis static-flows`: the flows that are kept on their switches.

use std::process::ExitCode;

use aldis_http::api::static_flows::{AtSwitch, Source, StaticFlow};

use super::table::Table;
use super::{Ask, escape, words};

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
    ask: Ask,
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

fn row(flow: &StaticFlow) -> Vec<String> {
    vec![
        flow.name.clone(),
        flow.switch.clone(),
        words::count(flow.table),
        flow.priority.to_string(),
        words::fields(&flow.matching),
        words::does(&flow.actions, &flow.then),
        there(flow),
        source(flow.source).into(),
    ]
}

fn one(flow: &StaticFlow) -> Table {
    let said = vec![
        ("name", flow.name.clone()),
        ("switches", flow.switch.clone()),
        (
            "table",
            flow.table.map_or_else(|| "that which forwards".into(), |table| table.to_string()),
        ),
        ("priority", flow.priority.to_string()),
        ("match", words::fields(&flow.matching)),
        ("does", words::does(&flow.actions, &flow.then)),
        ("there", there(flow)),
        ("source", source(flow.source).into()),
    ];
    Table::pairs([said, flow.at.iter().map(fate).collect()].concat())
}

fn there(flow: &StaticFlow) -> String {
    format!("{} of {}", flow.there, flow.there.saturating_add(flow.missing))
}

/// What became of something at a switch.
pub(super) fn fate(at: &AtSwitch) -> (&str, String) {
    let there = if at.there { "there" } else { "not there" };
    (&at.switch, format!("{there}: {}", at.words))
}

/// Who said it.
pub(super) fn source(source: Source) -> &'static str {
    match source {
        Source::Configuration => "configuration",
        Source::Http => "http",
    }
}
