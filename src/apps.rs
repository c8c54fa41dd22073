//! `aldis apps`: the applications, and how they work together.

mod dot;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use aldis::Controller;
use aldis::app_registry::{AppName, BUILT_IN};
use aldis_http::api::apps::{App, AppState, Apps, Counted};
use serde_json::{Value, json};

use crate::client;
use crate::failure::CommandFailure;

/// Arguments of `aldis apps`.
#[derive(clap::Args)]
#[command(mut_arg("url", |arg| {
    arg.hide_default_value(true).help("Ask this running controller what runs there, as http://127.0.0.1:8080")
}))]
#[command(after_help = "\
Examples:
  aldis apps                                 what there is, and the graph of what runs by default
  aldis apps --apps learning-switch          the graph of these
  aldis apps --config aldis.toml             the graph of what a file says
  aldis apps --http http://127.0.0.1:8080    the graph of what runs in this controller, and what it did
  aldis apps --dot | dot -Tsvg > apps.svg    the graph as a picture, by Graphviz")]
pub(crate) struct Args {
    /// Applications, in order, separated by commas
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "Base")]
    apps: Vec<AppName>,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE", conflicts_with = "Base")]
    config: Option<PathBuf>,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
    /// Print the graph for Graphviz instead: sequences and branches are solid, data is dashed
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    #[command(flatten)]
    http: Option<client::Base>,
}

/// Prints the applications and the graph on stdout.
///
/// # Errors
/// One sentence: a file that cannot be read, applications that cannot work together, or a
/// controller that does not answer.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    if let Some(http) = args.http {
        let told = |apps: &Apps| match args.dot {
            true => dot::dot(apps),
            false => running(apps).join("\n") + "\n",
        };
        let asked = client::apps::run(http, args.json, told);
        return asked.map_err(CommandFailure::from);
    }
    let controller = args.config.map_or_else(Controller::new, Controller::from_file);
    let controller = controller.with_default_apps();
    let apps = match args.apps.is_empty() {
        true => controller.graph()?,
        false => controller.apps(args.apps).graph()?,
    };
    if args.json {
        println!("{}", as_json(&apps)?);
    } else if args.dot {
        print!("{}", dot::dot(&apps));
    } else {
        print!("{}", in_words(&apps));
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(apps: &Apps) -> String {
    let mut lines = vec!["applications (* run here)".to_owned()];
    for known in BUILT_IN {
        let runs = |app: &App| app.name == known.name && app.state == AppState::Running;
        let runs = apps.apps.iter().any(runs);
        let mark = if runs { '*' } else { ' ' };
        lines.push(format!("{mark} {:<18} {}", known.name, known.says));
    }
    lines.push(String::new());
    lines.extend(running(apps));
    lines.join("\n") + "\n"
}

/// What runs, a line each.
fn running(apps: &Apps) -> Vec<String> {
    let mut lines = vec!["what runs".to_owned()];
    for app in apps.apps.iter().filter(|app| is_told(app)) {
        let kind = if app.exclusive { "alone with a switch" } else { "parallel" };
        let state = match (app.state, &app.reason) {
            (AppState::Restarting, _) => ", restarting".to_owned(),
            (AppState::Quarantined, reason) => {
                format!(", quarantined: {}", reason.as_deref().unwrap_or_default())
            }
            (AppState::Failed, Some(reason)) => format!(", failed and left out: {reason}"),
            (AppState::Failed, None) => ", failed and left out".to_owned(),
            (AppState::Stopped | AppState::Waiting, _) => ", stopped".to_owned(),
            (AppState::Running, _) => String::new(),
        };
        lines.push(format!("  {:<18} {kind}{state}", app.name));
        lines.push(format!("    starts on        {}", list(&app.starts_on)));
        lines.push(format!("    reads            {}", list(&app.reads)));
        lines.push(format!("    publishes        {}", list(&app.publishes)));
        lines.extend(app.counted.iter().flat_map(did));
    }
    lines.push("\nsequences".to_owned());
    for sequence in &apps.sequences {
        lines.push(format!("  {:<18} {}", sequence.on, sequence.apps.join(" → ")));
        let kept = sequence.branches.iter().map(|branch| branch.join(" → "));
        lines.extend(kept.map(|branch| format!("    keeps            {branch}")));
    }
    if !apps.world.is_empty() {
        lines.push("\nthe World".to_owned());
    }
    for part in &apps.world {
        let made_of = match part.made_of.is_empty() {
            true => String::new(),
            false => format!(", made of {}", list(&part.made_of)),
        };
        lines.push(format!("  {:<18} by {}{made_of}", part.name, part.publisher));
    }
    lines
}

/// Whether an application runs, or did: those that could be started are listed above.
fn is_told(app: &App) -> bool {
    let did = app.counted.as_ref().is_some_and(|counted| !counted.events.is_empty());
    app.state != AppState::Stopped || did
}

/// What an application did, a line for each sort of number.
fn did(counted: &Counted) -> Vec<String> {
    let numbers = |numbers: &BTreeMap<String, u64>| {
        let numbers: Vec<_> =
            numbers.iter().map(|(name, count)| format!("{name} {count}")).collect();
        list(&numbers)
    };
    let mut lines = vec![
        format!("    was handed       {}", numbers(&counted.events)),
        format!("    wrote            {} bytes", counted.bytes_out),
    ];
    for (what, those) in [("counted", &counted.own), ("has now", &counted.now)] {
        if !those.is_empty() {
            lines.push(format!("    {what:<16} {}", numbers(those)));
        }
    }
    lines
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "-".into() } else { names.join(", ") }
}

fn as_json(apps: &Apps) -> Result<Value, String> {
    let known = BUILT_IN.iter().map(|known| json!({"name": known.name, "says": known.says}));
    let known = known.collect::<Vec<_>>();
    let mut value = serde_json::to_value(apps).map_err(|error| error.to_string())?;
    if let Some(object) = value.as_object_mut() {
        object.insert("known".into(), known.into());
    }
    Ok(value)
}
