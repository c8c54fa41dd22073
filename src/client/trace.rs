//! `aldis trace`: the way of a packet, with the flows that decide.

use std::process::ExitCode;

use aldis_http::api::flows::Flow;
use aldis_http::api::trace::{Beyond, Hop, Trace};
use serde_json::{Map, Value};

use super::table::printable;
use super::{ClientArgs, text};

/// Arguments of `aldis trace`.
#[derive(clap::Args)]
#[command(after_help = "\
Fields are those of matches, as NAME=VALUE; those that the packet has besides are zero. What a field needs is added.

Examples:
  aldis trace 1 1 eth_src=00:00:00:00:00:01,eth_dst=00:00:00:00:00:02
  aldis trace 1 1 ipv4_src=10.0.0.1,ipv4_dst=10.0.0.2,tcp_dst=80
  aldis trace 1 1 arp_op=1,arp_tpa=10.0.0.2,eth_dst=ff:ff:ff:ff:ff:ff --json

Nothing is sent into the network: the way is computed from the flows and groups that the switches have now, and from the links that
are known. docs/trace.md says what cannot be known so.")]
pub(crate) struct Args {
    /// The switch where the packet comes in, however its datapath id is written
    #[arg(value_name = "SWITCH")]
    switch: String,
    /// The port by which it comes in
    #[arg(value_name = "PORT")]
    port: String,
    /// Its fields: NAME=VALUE, separated by commas
    #[arg(value_name = "FIELDS", default_value = "")]
    fields: String,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints the way, a paragraph for each hop.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let mut packet = Map::new();
    for part in args.fields.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("\"{part}\" is no field; write it as NAME=VALUE"))?;
        if packet.insert(name.into(), Value::from(value)).is_some() {
            return Err(format!("the field {name} is there twice"));
        }
    }
    let question = serde_json::json!({"switch": args.switch, "port": args.port, "packet": packet});
    let answer = args.ask.http.post("/api/v1/trace", &question.to_string())?;
    args.ask.print(&answer, |trace: &Trace| way(trace))
}

fn way(trace: &Trace) -> String {
    let mut text = String::new();
    for (place, hop) in trace.hops.iter().enumerate() {
        text += &paragraph(place, hop);
    }
    for cut in &trace.cuts {
        text += &format!("cut: {}\n", printable(cut));
    }
    text
}

fn paragraph(place: usize, hop: &Hop) -> String {
    let fields: Vec<_> = hop.packet.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut lines =
        vec![format!("{place}  switch {} port {}  {}", hop.switch, hop.port, fields.join(","))];
    for decision in &hop.tables {
        let flow = decision.flow.as_ref().map_or_else(|| "no flow matches".to_owned(), rule);
        lines.push(format!("   table {}: {flow}", decision.table));
    }
    lines.extend(hop.does.iter().map(|did| format!("   {did}")));
    for out in &hop.out {
        let to = match &out.to {
            Beyond::Hop(hop) => format!("{hop}"),
            Beyond::Loop(hop) => format!("{hop} again: a loop"),
            Beyond::Hosts(hosts) if out.more_hosts > 0 => {
                format!("host {}, and {} more", hosts.join(", "), out.more_hosts)
            }
            Beyond::Hosts(hosts) => format!("host {}", hosts.join(", ")),
            Beyond::Nobody => "nobody who is known".into(),
            Beyond::Controller if out.asks.is_empty() => "the controller".into(),
            Beyond::Controller => {
                format!("the controller, which asks {}", out.asks.join(", then "))
            }
            Beyond::Local => "the switch itself".into(),
            Beyond::NotFollowed(why) => format!("not followed: {why}"),
        };
        let maybe = if out.maybe { " perhaps" } else { "" };
        lines.push(format!("   out {}{maybe} → {to}", out.port));
    }
    if hop.out.is_empty() {
        lines.push("   dropped".into());
    }
    lines.iter().map(|line| printable(line) + "\n").collect()
}

fn rule(flow: &Flow) -> String {
    let (fields, does) = (text::fields(&flow.matching), text::does(&flow.actions, &flow.then));
    format!("priority {} {fields} → {does} (cookie {})", flow.priority, flow.cookie)
}
