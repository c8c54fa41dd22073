//! `aldis flows`: the flows that switches have now.

use std::process::ExitCode;

use aldis_http::api::flows::Flow;

use super::each::SwitchList;
use super::{ClientArgs, query, text};

/// What is shown of a flow.
const COLUMNS: [&str; 7] = ["table", "prio", "match", "does", "packets", "age", "owner"];

/// What is shown with `--wide`.
const WIDE: [&str; 10] = [
    "table",
    "priority",
    "match",
    "does",
    "packets",
    "bytes",
    "age",
    "idle/hard",
    "owner",
    "cookie",
];

/// Arguments of `aldis flows`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis flows                                    those of all switches
  aldis flows 1                                  those of one
  aldis flows --match ipv4_dst=10.0.0.0/8        those about these packets
  aldis flows 1 --cookie 0x10 --cookie-mask 0xf0 --json
  aldis flows --wide | less -S                   all that is known of each, in one line

The table fits the terminal: long matches and actions go on in the next line. The owner is the application that made a flow.
The switches are asked now: what the controller remembers is not shown. Where one of several does not tell, the others
are shown, one sentence says why, and the exit code is 3.")]
pub(crate) struct Args {
    /// Only those of the switch of this datapath id
    #[arg(value_name = "DPID")]
    dpid: Option<String>,
    /// Only those of this table
    #[arg(long, value_name = "NUMBER")]
    table: Option<String>,
    /// Only those that match no more than these fields: NAME=VALUE, separated by commas
    #[arg(long = "match", value_name = "FIELDS")]
    matching: Option<String>,
    /// Only those with this cookie
    #[arg(long, value_name = "NUMBER")]
    cookie: Option<String>,
    /// The bits of the cookie that count [default: all]
    #[arg(long, value_name = "NUMBER", requires = "cookie")]
    cookie_mask: Option<String>,
    /// Only those with an output to this port
    #[arg(long, value_name = "PORT")]
    out_port: Option<String>,
    /// Only those that lead to this group
    #[arg(long, value_name = "NUMBER")]
    out_group: Option<String>,
    /// Show everything, each flow in one line: bytes, timeouts and cookie too
    #[arg(long)]
    wide: bool,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let query = query(&[
        ("table", args.table.as_deref()),
        ("match", args.matching.as_deref()),
        ("cookie", args.cookie.as_deref()),
        ("cookie_mask", args.cookie_mask.as_deref()),
        ("out_port", args.out_port.as_deref()),
        ("out_group", args.out_group.as_deref()),
    ]);
    let columns: &[&str] = if args.wide { &WIDE } else { &COLUMNS };
    let list = SwitchList {
        path: &format!("flows{query}"),
        names: ("flow", "flows"),
        columns,
        breakable: if args.wide { &[] } else { &["match", "does"] },
        short: !args.wide,
        new: false,
    };
    args.ask.of_switches(args.dpid.as_deref(), &list, if args.wide { everything } else { row })
}

fn row(flow: &Flow) -> Vec<String> {
    vec![
        flow.table.to_string(),
        flow.priority.to_string(),
        text::fields(&flow.matching),
        text::does(&flow.actions, &flow.then),
        text::count(flow.packets),
        text::age(Some(flow.age_s)),
        owner(flow),
    ]
}

fn everything(flow: &Flow) -> Vec<String> {
    vec![
        flow.table.to_string(),
        flow.priority.to_string(),
        text::fields(&flow.matching),
        text::does(&flow.actions, &flow.then),
        text::count(flow.packets),
        text::count(flow.bytes),
        text::age(Some(flow.age_s)),
        format!("{}/{} s", flow.idle_timeout_s, flow.hard_timeout_s),
        owner(flow),
        flow.cookie.clone(),
    ]
}

/// The application that made it.
fn owner(flow: &Flow) -> String {
    flow.owner.clone().unwrap_or_else(|| "-".into())
}
