//! `aldis links`: the links between switches.

use std::process::ExitCode;

use aldis_apps::topology::LinkState;
use aldis_http::api::links::Link;

use super::{ClientArgs, query};

/// Arguments of `aldis links`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only those that end at the switch of this datapath id
    #[arg(value_name = "DPID")]
    dpid: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let query = query(&[("dpid", args.dpid.as_deref())]);
    let columns = ["from", "port", "to", "port", "state", "us", "since"];
    args.ask.list(&format!("/api/v1/links{query}"), ("link", "links"), &columns, row)
}

fn row(link: &Link) -> Vec<String> {
    let state = match link.state {
        LinkState::Up => "up",
        LinkState::OneWay => "one way",
        LinkState::Unproven => "unproven",
    };
    let far = if link.cable { "" } else { ", through others" };
    let slow = if link.slow { ", slow" } else { "" };
    vec![
        link.a.dpid.clone(),
        link.a.port.to_string(),
        link.b.dpid.clone(),
        link.b.port.to_string(),
        format!("{state}{far}{slow}"),
        link.latency_us.map_or_else(|| "-".into(), |us| us.to_string()),
        link.since.clone(),
    ]
}
