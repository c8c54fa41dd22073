//! `aldis hosts`: the hosts that were seen.

use std::process::ExitCode;

use aldis_http::api::hosts::Host;

use super::{ClientArgs, query};

/// Arguments of `aldis hosts`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only those with this Ethernet address
    #[arg(long, value_name = "MAC")]
    mac: Option<String>,
    /// Only those with this IP address
    #[arg(long, value_name = "IP")]
    ip: Option<String>,
    /// Only those at this switch
    #[arg(long, value_name = "DPID")]
    dpid: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let query = query(&[
        ("mac", args.mac.as_deref()),
        ("ip", args.ip.as_deref()),
        ("dpid", args.dpid.as_deref()),
    ]);
    let columns = ["mac", "vlan", "dpid", "port", "last seen", "addresses"];
    args.ask.list(&format!("/api/v1/hosts{query}"), ("host", "hosts"), &columns, row)
}

fn row(host: &Host) -> Vec<String> {
    vec![
        host.mac.clone(),
        host.vlan.to_string(),
        host.dpid.clone(),
        if host.attached { host.port.to_string() } else { format!("{} (down)", host.port) },
        host.last_seen.clone(),
        host.ips.join(" "),
    ]
}
