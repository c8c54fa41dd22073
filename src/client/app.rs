//! `aldis app` at a running controller: its applications are installed, started, stopped, replaced,
//! removed and put in order.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis_http::api::apps::{App, AppLog, AppState, Apps, Order};
use aldis_http::limits::PACKAGE_MAX;
use aldis_sandbox::{Package, Trust};

use super::table::TextTable;
use super::{ClientArgs, escape, query};

/// What is asked of a running controller.
#[derive(clap::Subcommand)]
pub(crate) enum RunningAppCommand {
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
    /// Install an application from its package, and start it.
    Install(Packaged),
    /// Put another version of an application in its place, without a pause; where that fails soon,
    /// the one before comes back by itself.
    Replace(Packaged),
    /// Run another version in the shadow of an application: its commands are compared and not sent.
    Shadow(Shadowed),
    /// Put the version in the shadow of an application in its place.
    Promote(Named),
    /// Remove an application that was installed.
    Remove(Named),
    /// Print the newest lines that an installed application wrote to the log.
    Logs(Named),
}

#[derive(clap::Args)]
pub(crate) struct Packaged {
    /// The package
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The application, where the package is not to say it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    ask: ClientArgs,
}

#[derive(clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    ask: ClientArgs,
}

#[derive(clap::Args)]
pub(crate) struct Named {
    /// The application
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    ask: ClientArgs,
}

#[derive(clap::Args)]
pub(crate) struct Ordering {
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
pub(crate) fn run(command: RunningAppCommand) -> Result<ExitCode, String> {
    match command {
        RunningAppCommand::List(List { ask }) => ask.show("/api/v1/apps", table),
        RunningAppCommand::Start(named) => named.change("start"),
        RunningAppCommand::Stop(named) => named.change("stop"),
        RunningAppCommand::Order(order) => order.run(),
        RunningAppCommand::Install(package) => package.install(),
        RunningAppCommand::Replace(package) => package.replace(),
        RunningAppCommand::Shadow(shadowed) => shadowed.run(),
        RunningAppCommand::Promote(named) => named.promote(),
        RunningAppCommand::Remove(named) => named.remove(),
        RunningAppCommand::Logs(named) => named.logs(),
    }
}

impl Named {
    fn change(self, how: &str) -> Result<ExitCode, String> {
        let path = format!("/api/v1/apps/{}/{how}", escape(&self.name));
        let answer = self.ask.http.post(&path, "{}")?;
        self.ask.print(&answer, table)
    }
}

#[derive(clap::Args)]
pub(crate) struct Shadowed {
    #[command(flatten)]
    package: Packaged,
    /// Promote it by itself after so many batches in a row with the same commands
    #[arg(long, value_name = "BATCHES")]
    after: Option<u64>,
}

impl Shadowed {
    fn run(self) -> Result<ExitCode, String> {
        let (path, bytes) = self.package.at()?;
        let after = self.after.map(|after| after.to_string());
        let path = format!("{path}/candidate{}", query(&[("after", after.as_deref())]));
        let answer = self.package.ask.http.send("PUT", &path, &bytes)?;
        self.package.ask.print(&answer, candidates)
    }
}

/// How far those in the shadow of others agree.
fn candidates(apps: &Apps) -> TextTable {
    let row = |app: &App| {
        let candidate = app.candidate.as_ref()?;
        Some(vec![
            app.name.clone(),
            app.version.clone().unwrap_or_default(),
            candidate.version.clone(),
            candidate.agreed.to_string(),
            candidate.differed.to_string(),
            candidate.last_difference.clone().unwrap_or_default(),
        ])
    };
    let columns = ["application", "version", "candidate", "agreed", "differed", "last difference"];
    TextTable::new(&columns, apps.apps.iter().filter_map(row).collect())
}

impl Named {
    fn promote(self) -> Result<ExitCode, String> {
        let path = format!("/api/v1/apps/{}/promote", escape(&self.name));
        let answer = self.ask.http.post(&path, "{}")?;
        self.ask.print(&answer, table)
    }

    fn remove(self) -> Result<ExitCode, String> {
        let answer = self.ask.http.delete(&format!("/api/v1/apps/{}", escape(&self.name)))?;
        self.ask.print(&answer, table)
    }

    fn logs(self) -> Result<ExitCode, String> {
        let path = format!("/api/v1/apps/{}/log", escape(&self.name));
        self.ask.show(&path, |log: &AppLog| {
            let level = |warns: bool| if warns { "warning" } else { "info" }.to_owned();
            let rows = log.lines.iter().map(|line| vec![level(line.warns), line.text.clone()]);
            TextTable::new(&["level", "line"], rows.collect())
        })
    }
}

impl Packaged {
    fn install(self) -> Result<ExitCode, String> {
        let answer = self.ask.http.send("POST", "/api/v1/apps", &package_bytes(&self.file)?)?;
        self.ask.print(&answer, table)
    }

    fn replace(self) -> Result<ExitCode, String> {
        let (path, bytes) = self.at()?;
        let answer = self.ask.http.send("PUT", &path, &bytes)?;
        self.ask.print(&answer, table)
    }

    /// The path of the application, and the package.
    fn at(&self) -> Result<(String, Vec<u8>), String> {
        let bytes = package_bytes(&self.file)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => Package::read(&bytes, &Trust::Anyone)
                .map_err(|why| format!("{}: {why}", self.file.display()))?
                .manifest()
                .name
                .clone(),
        };
        Ok((format!("/api/v1/apps/{}", escape(&name)), bytes))
    }
}

/// The bytes of a package, or of a file that becomes a part of one, if a controller takes as many.
///
/// # Errors
/// One sentence that names the file.
pub(crate) fn package_bytes(file: &Path) -> Result<Vec<u8>, String> {
    let (mut bytes, most) = (Vec::new(), PACKAGE_MAX as u64);
    let read = File::open(file).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        Ok(size) if size > PACKAGE_MAX => {
            let most = PACKAGE_MAX >> 20;
            Err(format!("{} has more than {most} MB, the most of a package", file.display()))
        }
        Ok(_) => Ok(bytes),
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
    let shadowed = apps.apps.iter().filter(|app| app.candidate.is_some()).count();
    let shadowed = match shadowed {
        0 => String::new(),
        count => format!(", {count} with a candidate in its shadow"),
    };
    let count = format!("{running} of {} run{shadowed}", apps.apps.len());
    TextTable::new(&["application", "state", "requests", "bytes written", ""], rows).ending(count)
}

fn row(app: &App) -> Vec<String> {
    let state = match app.state {
        AppState::Running => "running",
        AppState::Stopped => "stopped",
        AppState::Waiting => "waiting",
        AppState::Failed => "failed",
        AppState::Restarting => "restarting",
        AppState::Quarantined => "quarantined",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_for_a_package_is_not_read_to_its_end() {
        let why = package_bytes(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(why, "/dev/zero has more than 64 MB, the most of a package");
        assert!(package_bytes(Path::new("/none")).unwrap_err().starts_with("cannot read /none: "));
    }
}
