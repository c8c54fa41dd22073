//! `aldis ports`: the ports of the switches that are connected.

use std::process::ExitCode;

use aldis_http::api::ports::Port;

use super::{ClientArgs, escape};

/// Arguments of `aldis ports`.
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
    let path = match &args.dpid {
        Some(dpid) => format!("/api/v1/switches/{}/ports", escape(dpid)),
        None => "/api/v1/ports".into(),
    };
    let columns = ["dpid", "number", "name", "mac", "state", "kb/s", "shed"];
    args.ask.list(&path, ("port", "ports"), &columns, row)
}

fn row(port: &Port) -> Vec<String> {
    let state = match (port.admin_down, port.link_down) {
        (true, _) => "down by configuration",
        (false, true) => "no link",
        (false, false) => "up",
    };
    vec![
        port.dpid.clone(),
        port.number.to_string(),
        port.name.clone(),
        port.mac.clone(),
        state.into(),
        port.speed_kbps.to_string(),
        port.sheds.to_string(),
    ]
}
