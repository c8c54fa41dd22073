//! `aldis acl`: the rules about which packets pass.

use std::process::ExitCode;

use aldis_http::api::acl::{Acl, AclRule, Deed};

use super::static_flows::{fate, source};
use super::table::Table;
use super::{Ask, escape, words};

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
    ask: Ask,
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

fn all(Acl { rules }: &Acl) -> Table {
    let row = |rule: &AclRule| {
        let source = source(rule.source).to_owned();
        vec![rule.name.clone(), deed(rule), words::fields(&rule.matching), switches(rule), source]
    };
    let count = format!("{} {}", rules.len(), if rules.len() == 1 { "rule" } else { "rules" });
    let columns = ["name", "action", "match", "switches", "source"];
    Table::new(&columns, rules.iter().map(row).collect()).ending(count)
}

fn one(rule: &AclRule) -> Table {
    let said = vec![
        ("name", rule.name.clone()),
        ("action", deed(rule)),
        ("match", words::fields(&rule.matching)),
        ("switches", switches(rule)),
        ("source", source(rule.source).into()),
    ];
    Table::pairs([said, rule.at.iter().map(fate).collect()].concat())
}

fn deed(rule: &AclRule) -> String {
    match (rule.action, &rule.mirror_to) {
        (Deed::Allow, _) => "allow".into(),
        (Deed::Deny, _) => "deny".into(),
        (Deed::Mirror, Some(port)) => format!("mirror to {port}"),
        (Deed::Mirror, None) => "mirror".into(),
    }
}

fn switches(rule: &AclRule) -> String {
    if rule.switches.is_empty() { "all".into() } else { rule.switches.join(" ") }
}
