//! `aldis app dev`: an application is built, installed in a running controller, and put in its own
//! place each time its source is saved.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use aldis_http::api::apps::{App, AppLine, AppLog, AppState, Apps};
use aldis_sandbox::Manifest;

use super::build;
use crate::client::Base;
use crate::failure::CommandFailure;
use crate::interrupt;

/// How often the source and the controller are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Files that are looked at, and folders within each other.
const FILES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 16;

/// Arguments of `aldis app dev`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis run --apps hub &                           a controller
  aldis app dev                                    the application of this folder runs there
  aldis app dev knock.py --remove                  and is gone again after Ctrl-C
  aldis app dev --http http://10.0.0.1:8080        in another controller

Each time a file of the application is saved, it is built, and takes the place of the version that runs: no packet is
lost, and what it keeps is there for the next one. Where it does not build or start, the version before goes on. What it
writes to its log is printed as it comes. Ctrl-C ends this command; the application stays, unless --remove says otherwise.")]
pub(crate) struct Args {
    /// The application: a folder, or a module of Python
    #[arg(value_name = "FOLDER|FILE.py", default_value = ".")]
    source: PathBuf,
    /// Remove the application at the end
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    http: Base,
}

/// What is known of the application in the controller.
struct Session<'a> {
    http: &'a Base,
    /// Its manifest, once it was installed.
    manifest: Option<Manifest>,
    /// Its log, as far as it was printed.
    lines: Vec<AppLine>,
    /// What it was doing when that was last looked at.
    state: AppState,
    /// Whether the controller answered when it was last asked.
    answers: bool,
}

/// Goes on until Ctrl-C.
///
/// # Errors
/// One sentence: no application there, or no controller at the start.
pub(crate) fn run(args: &Args) -> Result<ExitCode, CommandFailure> {
    build::check(&args.source)?;
    let stop = interrupt::watched()?;
    args.http.get("/api/v1/apps")?;
    let (lines, state) = (vec![], AppState::Running);
    let mut session = Session { http: &args.http, manifest: None, lines, state, answers: true };
    while !stop.load(Ordering::Relaxed) {
        // Before the build: what is saved meanwhile is built next.
        let built = fingerprint(&args.source);
        let done = build::package(&args.source, None);
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match done.map_err(|why| why.sentence().to_owned()).and_then(|built| session.put(built)) {
            Ok(()) => {}
            Err(why) => eprintln!("aldis: {why}; it is tried again when a file is saved"),
        }
        while !stop.load(Ordering::Relaxed) && fingerprint(&args.source) == built {
            session.look();
            thread::sleep(LOOK_EVERY);
        }
        settle(&args.source, &stop);
    }
    session.look();
    if args.remove {
        session.remove()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits until nothing changes any more: an editor may save several files.
fn settle(source: &Path, stop: &AtomicBool) {
    let mut last = fingerprint(source);
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(LOOK_EVERY);
        let now = fingerprint(source);
        if std::mem::replace(&mut last, now) == now {
            return;
        }
    }
}

impl Session<'_> {
    /// Installs the application, or puts it in its own place.
    fn put(&mut self, (manifest, package): (Manifest, Vec<u8>)) -> Result<(), String> {
        let name = &manifest.name;
        let done = match self.app(name)? {
            None => {
                self.http.send("POST", "/api/v1/apps", &package)?;
                "installed"
            }
            Some(_) => {
                self.http.send("PUT", &format!("/api/v1/apps/{name}"), &package)?;
                "replaced"
            }
        };
        println!("{name} {}: {done}", manifest.version);
        self.lines.clear();
        (self.state, self.manifest) = (AppState::Running, Some(manifest));
        self.look();
        Ok(())
    }

    /// The application of this name, where the controller has one.
    fn app(&self, name: &str) -> Result<Option<App>, String> {
        let answer = self.http.get("/api/v1/apps")?;
        let apps: Apps = serde_json::from_str(&answer).map_err(|why| why.to_string())?;
        Ok(apps.apps.into_iter().find(|app| app.name == name))
    }

    /// Prints what the application wrote to its log, and what it does where that is another thing.
    fn look(&mut self) {
        let Some(name) = self.manifest.as_ref().map(|manifest| manifest.name.clone()) else {
            return;
        };
        let seen = self.seen(&name);
        match seen {
            Ok((app, log)) => {
                self.answers = true;
                fresh(&self.lines, &log.lines).iter().for_each(|line| {
                    let level = if line.warns { "warning" } else { "info" };
                    println!("{name}: {level}: {}", line.text);
                });
                self.lines = log.lines;
                if app.state != self.state {
                    self.state = app.state;
                    let reason = app.reason.map(|why| format!(": {why}")).unwrap_or_default();
                    println!("{name}: {}{reason}", state_in_words(app.state));
                }
            }
            Err(why) if std::mem::take(&mut self.answers) => eprintln!("aldis: {why}"),
            Err(_) => {}
        }
    }

    fn seen(&self, name: &str) -> Result<(App, AppLog), String> {
        let app = self.app(name)?.ok_or_else(|| format!("{name} is not there any more"))?;
        let log = self.http.get(&format!("/api/v1/apps/{name}/log"))?;
        Ok((app, serde_json::from_str(&log).map_err(|why| why.to_string())?))
    }

    fn remove(&self) -> Result<(), String> {
        let Some(manifest) = &self.manifest else { return Ok(()) };
        self.http.delete(&format!("/api/v1/apps/{}", manifest.name))?;
        println!("{}: removed", manifest.name);
        Ok(())
    }
}

fn state_in_words(state: AppState) -> &'static str {
    match state {
        AppState::Running => "running",
        AppState::Stopped => "stopped",
        AppState::Waiting => "waiting",
        AppState::Failed => "failed",
        AppState::Restarting => "restarting",
        AppState::Quarantined => "quarantined",
    }
}

/// The lines that came since `before`: a log keeps its newest lines alone.
fn fresh<'l, T: PartialEq>(before: &[T], now: &'l [T]) -> &'l [T] {
    let known = (0..=before.len()).map(|gone| &before[gone..]);
    let known = known.into_iter().find(|known| now.starts_with(known));
    &now[known.map_or(0, <[T]>::len)..]
}

/// Another one when a file of the application is changed, added or removed.
fn fingerprint(source: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = FILES_MAX;
    if source.is_dir() {
        add(source, DEPTH_MAX, &mut left, &mut hasher);
    } else {
        // Anything may lie beside a module: what it can import, manifests and its pages count.
        let folder = source.parent().unwrap_or(Path::new(""));
        let folder = if folder == Path::new("") { Path::new(".") } else { folder };
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let is_part =
            |path: &PathBuf| path.extension().is_some_and(|is| is == "py" || is == "toml");
        let parts = entries.map(|entry| entry.path()).filter(is_part).collect();
        add_all(parts, 0, &mut left, &mut hasher);
        add(&folder.join("pages"), DEPTH_MAX, &mut left, &mut hasher);
    }
    hasher.finish()
}

/// Adds the files of a folder, and of those in it down to a depth.
fn add(folder: &Path, depth: usize, left: &mut usize, hasher: &mut DefaultHasher) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    add_all(entries.map(|entry| entry.path()).collect(), depth, left, hasher);
}

fn add_all(mut paths: Vec<PathBuf>, depth: usize, left: &mut usize, hasher: &mut DefaultHasher) {
    paths.sort();
    for path in paths.into_iter().filter(|path| is_source(path)) {
        let Ok(data) = fs::symlink_metadata(&path) else { continue };
        if data.is_dir() && depth > 0 {
            add(&path, depth - 1, left, hasher);
        } else if data.is_file() && *left > 0 {
            *left -= 1;
            (path, data.modified().ok(), data.len()).hash(hasher);
        }
    }
}

/// Whether a file is none of those that a build makes, or an editor.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let made = ["target", "__pycache__", "tests", "Cargo.lock"].contains(&name);
    let ends = [".app", ".wasm", ".pyc", ".log", "~"].iter().any(|end| name.ends_with(end));
    !made && !ends && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_are_fresh_whatever_a_log_has_forgotten() {
        let of = |before: &str, now: &str| {
            let (before, now): (Vec<_>, Vec<_>) = (before.chars().collect(), now.chars().collect());
            fresh(&before, &now).iter().collect::<String>()
        };
        assert_eq!(of("", "ab"), "ab");
        assert_eq!(of("ab", "ab"), "");
        assert_eq!(of("ab", "abc"), "c");
        assert_eq!(of("abc", "bcd"), "d");
        assert_eq!(of("abc", "xyz"), "xyz");
        assert_eq!(of("abc", ""), "");
    }

    #[test]
    fn what_is_saved_is_noticed_and_what_a_build_makes_is_not() {
        let folder = std::env::temp_dir().join(format!("aldis-dev-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("src/lib.rs"), "one").unwrap();
        let before = fingerprint(&folder);
        fs::create_dir_all(folder.join("target")).unwrap();
        for made in ["target/x", "knock.app", ".lib.rs.swp", "Cargo.lock"] {
            fs::write(folder.join(made), "x").unwrap();
        }
        assert_eq!(fingerprint(&folder), before);
        fs::write(folder.join("src/lib.rs"), "three").unwrap();
        let saved = fingerprint(&folder);
        assert_ne!(saved, before);
        fs::write(folder.join("src/more.rs"), "").unwrap();
        assert_ne!(fingerprint(&folder), saved);
        let module = folder.join("knock.py");
        fs::write(&module, "one").unwrap();
        let before = fingerprint(&module);
        fs::write(folder.join("notes.txt"), "x").unwrap();
        assert_eq!(fingerprint(&module), before);
        fs::write(folder.join("knock.toml"), "x").unwrap();
        assert_ne!(fingerprint(&module), before);
        fs::remove_dir_all(folder).unwrap();
    }
}
