//! `aldis paths`: the ways between two hosts or switches.

use std::process::ExitCode;

use aldis_http::api::paths::{Passing, Paths};

use super::table::TextTable;
use super::{ClientArgs, query};

/// Arguments of `aldis paths`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis paths 10.0.0.1 10.0.0.2
  aldis paths 00:00:00:00:00:01 00:00:00:00:00:02 --max 1
  aldis paths 1 9 --json

These are the ways that routing finds now, all of equal cost; a flow takes one of them by its addresses. What the flows of the
switches do with a packet is told by \"aldis trace\".")]
pub(crate) struct Args {
    /// A host, by an Ethernet or IP address, or a switch, by its datapath id
    #[arg(value_name = "FROM")]
    from: String,
    /// Likewise
    #[arg(value_name = "TO")]
    to: String,
    /// The VLAN in which the hosts were seen, where they were in several
    #[arg(long, value_name = "VLAN")]
    vlan: Option<u16>,
    /// Ways that are listed, 1 to 256 [default: 16]
    #[arg(long, value_name = "NUMBER")]
    max: Option<usize>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each switch of each way.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let (vlan, max) = (args.vlan.map(|vlan| vlan.to_string()), args.max.map(|max| max.to_string()));
    let query = query(&[
        ("from", Some(&args.from)),
        ("to", Some(&args.to)),
        ("vlan", vlan.as_deref()),
        ("max", max.as_deref()),
    ]);
    args.ask.show(&format!("/api/v1/paths{query}"), table)
}

fn table(paths: &Paths) -> TextTable {
    let rows = paths
        .paths
        .iter()
        .enumerate()
        .flat_map(|(place, path)| path.iter().map(move |passing| row(place + 1, passing)));
    TextTable::new(&["way", "switch", "in", "out"], rows.collect()).ending(ending(paths))
}

fn row(way: usize, passing: &Passing) -> Vec<String> {
    let port = |port: Option<u32>| port.map_or_else(|| "-".into(), |port| port.to_string());
    vec![way.to_string(), passing.dpid.clone(), port(passing.in_port), port(passing.out_port)]
}

fn ending(paths: &Paths) -> String {
    let Some(distance) = paths.distance else { return "no way leads there".into() };
    let (count, more) = (paths.paths.len(), if paths.more { ", and more" } else { "" });
    let ways = if count == 1 { "way" } else { "ways" };
    format!("{count} {ways} of distance {distance} ({}){more}", paths.engine)
}
