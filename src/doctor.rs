//! `aldis doctor`: why a network does not work. What is looked at and how it is judged is in
//! [`aldis_doctor`]; here are the arguments, and how findings are printed.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use aldis_doctor::gather::{Asked, gather};
use aldis_doctor::{Facts, Finding, diagnose};
use serde_json::json;

use crate::client::Base;
use crate::failure::{EXIT_FAILED, EXIT_USAGE};

/// How long the controller may take for an answer.
const WITHIN: Duration = Duration::from_millis(1500);

/// Arguments of `aldis doctor`.
#[derive(clap::Args)]
#[command(after_help = "\
It looks at the controller over HTTP, at Open vSwitch on this machine where there is one, and at the
kernel; it changes nothing, and takes five seconds at most. It works without a controller, too.

Examples:
  aldis doctor                                 why does it not work?
  aldis doctor --json                          the same for scripts
  aldis doctor --http https://ctl:8443         at a controller elsewhere

Exit codes:
  0                                            nothing is wrong
  1                                            something is; the likeliest cause stands first
  2                                            it could not look: the controller wants a key")]
pub(crate) struct Args {
    #[command(flatten)]
    http: Base,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// Looks, and prints what it found.
///
/// # Errors
/// Never so far: what cannot be looked at is said among the findings.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let facts = facts(&args.http);
    let findings = diagnose(&facts);
    match args.json {
        true => println!("{:#}", in_json(&facts, &findings)),
        false => print!("{}", in_words(&facts, &findings)),
    }
    Ok(match (findings.is_empty(), facts.not_seen.is_empty()) {
        (false, _) => ExitCode::from(EXIT_FAILED),
        (true, false) => ExitCode::from(EXIT_USAGE),
        (true, true) => ExitCode::SUCCESS,
    })
}

/// What the doctor finds, as `--json` prints it.
pub(crate) fn look(http: &Base) -> serde_json::Value {
    let facts = facts(http);
    in_json(&facts, &diagnose(&facts))
}

fn facts(http: &Base) -> Facts {
    let url = http.to_string();
    let base = http.clone().hurried(WITHIN);
    let ask = |path: &str| base.get(path);
    let authority = base.authority().to_owned();
    gather(&Asked { url, authority, ask: &ask })
}

fn in_json(facts: &Facts, findings: &[Finding]) -> serde_json::Value {
    json!({
        "healthy": findings.is_empty() && facts.not_seen.is_empty(),
        "findings": findings,
        "not_seen": facts.not_seen,
        "looked_at": looked_at(facts),
    })
}

/// What was looked at, in a few words each.
fn looked_at(facts: &Facts) -> Vec<String> {
    let controller = &facts.controller;
    let mut seen = vec![match controller.answer {
        aldis_doctor::facts::Answer::Yes => {
            let all = [
                (controller.switches[1].len(), "switch", "switches"),
                (controller.links.len(), "link", "links"),
                (controller.hosts.len(), "host", "hosts"),
                (controller.flows.len(), "switch", "switches"),
            ];
            let [switches, links, hosts, dumped] = all.map(counted);
            let url = &controller.url;
            format!("the controller at {url}: {switches}, {links}, {hosts}, flows of {dumped}")
        }
        _ => format!("the controller at {}, which does not answer", controller.url),
    }];
    if let Some(ovs) = &facts.ovs {
        let bridges = counted((ovs.bridges.len(), "bridge", "bridges"));
        seen.push(format!("Open vSwitch: {bridges}"));
    }
    let listeners = facts.machine.listeners.len();
    let sockets = counted((listeners, "socket that listens", "sockets that listen"));
    seen.push(format!("the kernel: {sockets}"));
    seen
}

fn counted((count, one, several): (usize, &str, &str)) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn in_words(facts: &Facts, findings: &[Finding]) -> String {
    let mut text = String::new();
    for (number, finding) in findings.iter().enumerate() {
        let severity = finding.severity.name();
        let _ = writeln!(text, "{}. {severity}: {} [{}]", number + 1, finding.title, finding.id);
        for line in &finding.evidence {
            let _ = writeln!(text, "     seen: {line}");
        }
        let _ = writeln!(text, "     {}", finding.what_to_do);
        let _ = writeln!(text, "     $ {}\n", finding.command);
    }
    for why in &facts.not_seen {
        let _ = writeln!(text, "not looked at: {why}");
    }
    if findings.is_empty() && facts.not_seen.is_empty() {
        text += "nothing is wrong\n";
    }
    let _ = writeln!(text, "looked at {}", looked_at(facts).join("; "));
    text
}
