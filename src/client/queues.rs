//! `aldis queues`: the queues that switches have now.

use std::process::ExitCode;

use aldis_http::api::inventory::QueueCounters;

use super::each::SwitchList;
use super::{ClientArgs, text};

/// Arguments of `aldis queues`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only those of the switch of this datapath id
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
    let list = SwitchList {
        path: "queues",
        names: ("queue", "queues"),
        columns: &["port", "queue", "packets", "bytes", "dropped", "age"],
        breakable: &[],
        short: false,
        new: false,
    };
    args.ask.of_switches(args.dpid.as_deref(), &list, row)
}

fn row(queue: &QueueCounters) -> Vec<String> {
    vec![
        queue.port.clone(),
        queue.queue.to_string(),
        text::count(queue.tx_packets),
        text::count(queue.tx_bytes),
        text::count(queue.tx_errors),
        text::age(Some(queue.age_s)),
    ]
}
