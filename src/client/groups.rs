//! `aldis groups`: the groups that switches have now.

use std::process::ExitCode;

use aldis_http::api::inventory::{Group, GroupBucket};

use super::each::SwitchList;
use super::{ClientArgs, text};

/// Arguments of `aldis groups`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only those of the switch of this datapath id
    #[arg(value_name = "DPID")]
    dpid: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints a line for each. OpenFlow 1.0 has none.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let list = SwitchList {
        path: "groups",
        names: ("group", "groups"),
        columns: &["group", "type", "buckets", "references", "packets", "bytes", "age"],
        breakable: &[],
        short: false,
        new: true,
    };
    args.ask.of_switches(args.dpid.as_deref(), &list, row)
}

fn row(group: &Group) -> Vec<String> {
    let buckets: Vec<_> = group.buckets.iter().map(|one| bucket(one, &group.kind)).collect();
    vec![
        group.group.to_string(),
        group.kind.clone(),
        buckets.join(" | "),
        text::count(group.references),
        text::count(group.packets),
        text::count(group.bytes),
        text::age(group.age_s),
    ]
}

fn bucket(bucket: &GroupBucket, kind: &str) -> String {
    let mut said = text::does(&bucket.actions, &[]);
    if kind == "select" {
        said += &format!(" weight {}", bucket.weight);
    }
    if let Some(port) = &bucket.watch_port {
        said += &format!(" while port {port} is live");
    }
    if let Some(group) = bucket.watch_group {
        said += &format!(" while group {group} is live");
    }
    said
}
