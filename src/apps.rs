//! `aldis apps`: the applications, and how they work together.

use std::path::PathBuf;
use std::process::ExitCode;

use aldis_control::pipeline::Graph;
use serde_json::{Value, json};

use crate::catalogue::{self, AppName};
use crate::run::Config;

/// Arguments of `aldis apps`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis apps                           what there is, and the graph of what runs by default
  aldis apps --apps learning-switch    the graph of these
  aldis apps --config aldis.toml       the graph of what a file says")]
pub(crate) struct Args {
    /// Applications, in order, separated by commas
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    apps: Vec<AppName>,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// Prints the applications and the graph on stdout.
///
/// # Errors
/// One sentence: a file that cannot be read, or applications that cannot work together.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if !args.apps.is_empty() {
        config.apps = args.apps;
    }
    let graph = config.recipe()?.graph().map_err(|wrong| wrong.to_string())?;
    if args.json {
        println!("{}", as_json(&graph));
    } else {
        print!("{}", in_words(&graph));
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(graph: &Graph) -> String {
    let mut lines = vec!["applications (* run here)".to_owned()];
    for known in catalogue::ALL {
        let runs = graph.apps.iter().any(|app| app.name == known.name);
        let mark = if runs { '*' } else { ' ' };
        lines.push(format!("{mark} {:<18} {}", known.name, known.says));
    }
    lines.push("\nwhat runs".to_owned());
    for app in &graph.apps {
        let kind = if app.exclusive { "alone with a switch" } else { "parallel" };
        let starts: Vec<_> = app.starts.iter().map(|on| on.name()).collect();
        lines.push(format!("  {:<18} {kind}", app.name));
        lines.push(format!("    starts on        {}", list(&starts)));
        lines.push(format!("    reads            {}", list(&app.reads)));
        lines.push(format!("    publishes        {}", list(&app.publishes)));
    }
    lines.push("\nsequences".to_owned());
    for (on, apps) in &graph.sequences {
        lines.push(format!("  {:<18} {}", on.name(), apps.join(" → ")));
    }
    if !graph.parts.is_empty() {
        lines.push("\nthe World".to_owned());
    }
    for part in &graph.parts {
        let made_of = match part.made_of.is_empty() {
            true => String::new(),
            false => format!(", made of {}", list(&part.made_of)),
        };
        lines.push(format!("  {:<18} by {}{made_of}", part.name, part.publisher));
    }
    lines.join("\n") + "\n"
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "-".into() } else { names.join(", ") }
}

fn as_json(graph: &Graph) -> Value {
    let known = catalogue::ALL.iter().map(|known| json!({"name": known.name, "says": known.says}));
    let apps = graph.apps.iter().map(|app| {
        let starts: Vec<_> = app.starts.iter().map(|on| on.name()).collect();
        json!({
            "name": app.name,
            "exclusive": app.exclusive,
            "starts_on": starts,
            "reads": app.reads,
            "publishes": app.publishes,
        })
    });
    let sequences = graph.sequences.iter().map(|(on, apps)| json!({"on": on.name(), "apps": apps}));
    let parts = graph.parts.iter().map(
        |part| json!({"name": part.name, "publisher": part.publisher, "made_of": part.made_of}),
    );
    json!({
        "known": known.collect::<Vec<_>>(),
        "apps": apps.collect::<Vec<_>>(),
        "sequences": sequences.collect::<Vec<_>>(),
        "world": parts.collect::<Vec<_>>(),
    })
}
