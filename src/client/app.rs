//! `aldis app`: the applications of a running controller are started, stopped and put in order.

use std::process::ExitCode;

use aldis_http::api::apps::{App, AppState, Apps, Order};

use super::table::TextTable;
use super::{ClientArgs, escape};

/// Arguments of `aldis app`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis app list                                  what there is, and what it does
  aldis app stop route-flow                       no worker calls it any more
  aldis app start route-flow                      it begins anew
  aldis app order flow-request acl,hosts,spanning another order for an event
  aldis app order flow-request --reset            the usual one again")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: AppCommand,
}

#[derive(clap::Subcommand)]
enum AppCommand {
    /// List the applications, with what they do and did.
    List(List),
    /// Start an application, or one that failed again: it is told of every switch as if that joined
    /// now, and no request is lost.
    Start(Named),
    /// Stop an application, and those that need what it publishes: these start with it again. What
    /// it installed on switches stays there.
    Stop(Named),
    /// Say which applications see an event, and in which order.
    Order(Ordering),
}

#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    ask: ClientArgs,
}

#[derive(clap::Args)]
struct Named {
    /// The application
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    ask: ClientArgs,
}

#[derive(clap::Args)]
struct Ordering {
    /// The event, as flow-request
    #[arg(value_name = "EVENT")]
    on: String,
    /// The applications, in order, separated by commas; others do not see the event
    #[arg(value_name = "NAME,…", value_delimiter = ',', required_unless_present = "reset")]
    apps: Vec<String>,
    /// The usual order again: all that start on the event, as "aldis app list" has them
    #[arg(long, conflicts_with = "apps")]
    reset: bool,
    #[command(flatten)]
    ask: ClientArgs,
}

/// Does it, and prints the applications as they are then.
///
/// # Errors
/// One sentence: no answer, or the controller refuses.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    match args.command {
        AppCommand::List(List { ask }) => ask.show("/api/v1/apps", table),
        AppCommand::Start(named) => named.change("start"),
        AppCommand::Stop(named) => named.change("stop"),
        AppCommand::Order(order) => order.run(),
    }
}

impl Named {
    fn change(self, how: &str) -> Result<ExitCode, String> {
        let path = format!("/api/v1/apps/{}/{how}", escape(&self.name));
        let answer = self.ask.http.post(&path, "{}")?;
        self.ask.print(&answer, table)
    }
}

impl Ordering {
    fn run(self) -> Result<ExitCode, String> {
        let path = format!("/api/v1/sequences/{}", escape(&self.on));
        let answer = match self.reset {
            true => self.ask.http.delete(&path)?,
            false => {
                let body = serde_json::to_string(&Order { apps: self.apps });
                self.ask.http.put(&path, &body.map_err(|error| error.to_string())?)?
            }
        };
        self.ask.print(&answer, |apps: &Apps| {
            let of = apps
                .sequences
                .iter()
                .map(|sequence| vec![sequence.on.clone(), sequence.apps.join(" → ")]);
            TextTable::new(&["event", "applications"], of.collect())
        })
    }
}

fn table(apps: &Apps) -> TextTable {
    let running = apps.apps.iter().filter(|app| app.state == AppState::Running).count();
    let rows = apps.apps.iter().map(row).collect();
    let count = format!("{running} of {} run", apps.apps.len());
    TextTable::new(&["application", "state", "requests", "bytes written", ""], rows).ending(count)
}

fn row(app: &App) -> Vec<String> {
    let state = match app.state {
        AppState::Running => "running",
        AppState::Stopped => "stopped",
        AppState::Waiting => "waiting",
        AppState::Failed => "failed",
    };
    let counted = app.counted.clone().unwrap_or_default();
    let requests = counted.events.get("flow-request").copied().unwrap_or(0);
    let words = app.reason.clone().unwrap_or_else(|| app.says.clone());
    vec![
        app.name.clone(),
        state.to_owned(),
        requests.to_string(),
        counted.bytes_out.to_string(),
        words,
    ]
}
