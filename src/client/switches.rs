//! `aldis switches`: the switches that are connected.

use std::process::ExitCode;

use aldis_http::api::switches::{Standing, Switch};

use super::table::TextTable;
use super::{ClientArgs, escape};

/// Arguments of `aldis switches`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis switches                               all of them
  aldis switches 00:00:00:00:00:00:00:01       one, with its counters
  aldis switches --json                        as a script reads them")]
pub(crate) struct Args {
    /// The datapath id of one switch, however it is written
    #[arg(value_name = "DPID")]
    dpid: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each, or more about one.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    match args.dpid {
        Some(dpid) => args.ask.show(&format!("/api/v1/switches/{}", escape(&dpid)), one),
        None => {
            let columns = [
                "dpid", "address", "version", "state", "ports", "weight", "requests", "since",
                "name",
            ];
            args.ask.list("/api/v1/switches", ("switch", "switches"), &columns, row)
        }
    }
}

fn row(switch: &Switch) -> Vec<String> {
    vec![
        switch.dpid.clone(),
        switch.address.clone(),
        switch.version.clone(),
        state(switch).into(),
        format!("{}/{}", switch.ports_up, switch.ports),
        switch.weight.to_string(),
        switch.counters.requests.to_string(),
        switch.up_since.clone(),
        name(switch),
    ]
}

/// What people call it.
fn name(switch: &Switch) -> String {
    switch.name.clone().unwrap_or_else(|| "-".into())
}

fn state(switch: &Switch) -> &'static str {
    match switch.state {
        Standing::Up if switch.kept.refused > 0 => "up, over budget",
        Standing::Up => "up",
        Standing::NotReading => "not reading",
    }
}

fn kept(switch: &Switch) -> String {
    let kept = &switch.kept;
    let refused = match kept.refused {
        0 => String::new(),
        count => format!("; there was no room {count} times"),
    };
    format!("{} of {} (switch-mib-max){refused}", kept.bytes, kept.bytes_max)
}

fn one(switch: &Switch) -> TextTable {
    let counters = &switch.counters;
    TextTable::pairs(vec![
        ("dpid", switch.dpid.clone()),
        ("name", name(switch)),
        ("address", switch.address.clone()),
        ("version", format!("OpenFlow {}", switch.version)),
        ("state", state(switch).into()),
        ("up since", switch.up_since.clone()),
        ("ports", format!("{}, {} of them up", switch.ports, switch.ports_up)),
        ("tables", switch.tables.to_string()),
        ("buffers", switch.buffers.to_string()),
        ("auxiliaries", switch.auxiliaries.to_string()),
        ("kept bytes", kept(switch)),
        ("weight", switch.weight.to_string()),
        ("home worker", switch.worker.to_string()),
        ("requests", format!("{}, {} shed", counters.requests, counters.sheds)),
        ("batches", counters.batches.to_string()),
        ("bytes in, out", format!("{}, {}", counters.bytes_in, counters.bytes_out)),
        ("bytes waiting", counters.bytes_waiting.to_string()),
        ("visits", format!("{}, {} put off", counters.visits, counters.skips)),
        ("longest wait", format!("{} us", counters.queue_wait_ns_max / 1000)),
    ])
}
