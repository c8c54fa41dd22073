//! `aldis acl`: the rules about which packets pass.

use std::process::ExitCode;

use aldis_apps::acl::{Rule, Verdict};
use aldis_http::api::acl::Acl;
use aldis_http::desired::Stored;
use aldis_wire::msg::PortNo;

use super::static_flows::{source, status};
use super::table::TextTable;
use super::{ClientArgs, escape, text};

/// Arguments of `aldis acl`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis acl                 the rules, in order: the first that matches a packet counts
  aldis acl \"no telnet\"     one, and what became of it at each switch")]
pub(crate) struct Args {
    /// The name of one rule
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each, or more about one.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    match args.name {
        Some(name) => args.ask.show(&format!("/api/v1/acl/{}", escape(&name)), one),
        None => args.ask.show("/api/v1/acl", all),
    }
}

fn all(Acl { rules }: &Acl) -> TextTable {
    let row = |rule: &Stored<Rule>| {
        let (it, source) = (&rule.it, source(rule.source).to_owned());
        vec![it.name.to_string(), verdict(it), text::match_(&it.match_), switches(it), source]
    };
    let count = format!("{} {}", rules.len(), if rules.len() == 1 { "rule" } else { "rules" });
    let columns = ["name", "action", "match", "switches", "source"];
    TextTable::new(&columns, rules.iter().map(row).collect()).ending(count)
}

fn one(rule: &Stored<Rule>) -> TextTable {
    let it = &rule.it;
    let said = vec![
        ("name", it.name.to_string()),
        ("action", verdict(it)),
        ("match", text::match_(&it.match_)),
        ("switches", switches(it)),
        ("source", source(rule.source).into()),
    ];
    TextTable::pairs([said, rule.at.iter().map(status).collect()].concat())
}

fn verdict(rule: &Rule) -> String {
    match rule.verdict {
        Verdict::Allow => "allow".into(),
        Verdict::Deny => "deny".into(),
        Verdict::Mirror(PortNo::LOCAL) => "mirror to local".into(),
        Verdict::Mirror(PortNo(port)) => format!("mirror to {port}"),
    }
}

fn switches(rule: &Rule) -> String {
    let all: Vec<_> = rule.switches.iter().map(ToString::to_string).collect();
    if all.is_empty() { "all".into() } else { all.join(" ") }
}
