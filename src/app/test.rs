//! `aldis app test`: an application is tried in a controller and an emulated network, all of it in
//! this process.

mod controller;
mod frame;
mod play;
mod scenario;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis_sandbox::{Package, Trust};
use aldis_wire::Version;
use serde_json::{Value, json};

use super::build;
use crate::failure::{CommandFailure, EXIT_FAILED};
use controller::CodeFolder;
use play::{Played, play, seconds};
use scenario::Scenario;

/// Lines of the log that are shown of a scenario.
const LINES_MAX: usize = 20;

/// Arguments of `aldis app test`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis app test                                   the application of this folder, with its tests/*.toml
  aldis app test knock.py                          a module of Python, with its tests/knock.toml
  aldis app test knock.app --scenario busy.toml    a package, with another scenario
  aldis app test --json                            for scripts

A scenario is a file of TOML: a network, and steps with what must come of each.

  topology = \"single,3\"    as in aldis emulate [default: linear,3]
  openflow = [\"1.3\"]       [default: 1.3, then 1.0]
  apps = [\"hub\"]           those of the controller behind it [default: none]

  [[step]]
  send = \"h1\"              a host sends a frame, by fields of OpenFlow
  frame = { to = \"h2\", tcp_dst = 22 }
  received-by = [\"h2\"]     these receive it, and no others; [] for none
  [[step]]
  ping = [\"h1\", \"h2\"]      or pingall = true
  [[step]]
  wait = \"200ms\"
  [[step]]
  do = \"link-down s1 s2\"   what may happen in aldis emulate
  [[step]]
  flow.match.tcp_dst = 22    such flows are there
  flow.count = 1
  [[step]]
  log = \"opened\"           a line of its log
  [[step]]
  count = \"opened\"         a number that it counts
  at-least = 1
  [[step]]
  get = \"doors\"            its answer behind /apps/NAME/
  has = \"open\"

Host h1 has the addresses 10.0.0.1 and 00:00:00:00:00:01, and answers ARP and pings. Besides what steps say, the
application must not fail, and none of its commands may be refused. docs/app-testing.md has every key.

Exit code: 0; 1 where something went wrong, with the line of the step; 2 where a scenario, the manifest or the command
line is wrong, and nothing was tried.")]
pub(crate) struct Args {
    /// The application: a folder, a module of Python, or a package
    #[arg(value_name = "FOLDER|FILE.py|FILE.app", default_value = ".")]
    source: PathBuf,
    /// A scenario; may be given several times [default: tests/*.toml beside the manifest, or all
    /// pairs of three hosts ping where there is none]
    #[arg(long, value_name = "FILE")]
    scenario: Vec<PathBuf>,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// Tries it, and prints what came of it.
///
/// # Errors
/// One sentence: no application, or a scenario that is wrong.
pub(crate) fn run(args: &Args) -> Result<ExitCode, CommandFailure> {
    let scenarios = scenarios(args)?;
    let package = package(&args.source)?;
    let read = Package::read(&package, &Trust::Anyone);
    let read = read.map_err(|why| format!("{}: {why}", args.source.display()))?;
    let manifest = read.manifest().clone();
    let code = CodeFolder::new()?;
    code.compile(read)?;
    let mut all = vec![];
    for (scenario, version) in
        scenarios.iter().flat_map(|it| it.versions.iter().map(move |v| (it, *v)))
    {
        let played = play(scenario, version, (&manifest.name, &package), &code)?;
        if !args.json {
            print!("{}", in_words(&played, &manifest.name));
        }
        all.push(played);
    }
    let good = all.iter().filter(|played| played.is_good()).count();
    match args.json {
        true => println!("{:#}", as_json((&manifest.name, &manifest.version), &all)),
        false => println!("{} {}: {good} of {} passed", manifest.name, manifest.version, all.len()),
    }
    Ok(match good == all.len() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_FAILED),
    })
}

/// Those that are named, or lie beside the manifest; where there is none, the usual one.
fn scenarios(args: &Args) -> Result<Vec<Scenario>, CommandFailure> {
    let files = match args.scenario.is_empty() {
        true => scenario::beside(&args.source),
        false => args.scenario.clone(),
    };
    if files.is_empty() {
        return Ok(vec![Scenario::usual()]);
    }
    let read = files.iter().map(|file| Scenario::read(file));
    read.collect::<Result<_, _>>().map_err(CommandFailure::Usage)
}

/// The bytes of a package that is there, or that is built now.
fn package(source: &Path) -> Result<Vec<u8>, CommandFailure> {
    if source.extension().is_some_and(|is| is == "app") {
        return build::read(source);
    }
    build::package(source, None).map(|(_, package)| package)
}

fn in_words(played: &Played, app: &str) -> String {
    let Played { scenario, steps, pings, flows, refused, failures, .. } = played;
    let version = version(played.version);
    let verdict = if played.is_good() { "ok  " } else { "FAIL" };
    let mut line = format!("{verdict}  {scenario}, OpenFlow {version}: ");
    line += &match steps {
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
    if pings.0 > 0 {
        line += &format!(", {} of {} pings answered", pings.1, pings.0);
    }
    line += &format!(", {flows} flows of {app} at the end, {}\n", seconds(played.took));
    for (at, why) in &played.wrong {
        line += &match at {
            0 => format!("      {why}\n"),
            at => format!("      {scenario}:{at}: {why}\n"),
        };
    }
    if !played.is_good() || *refused > 0 || *failures > 0 {
        let told = played.told.iter().rev().take(LINES_MAX).rev();
        told.for_each(|told| line += &format!("      controller: {told}\n"));
    }
    for (warns, text) in played.log.iter().rev().take(LINES_MAX).rev() {
        line += &format!("      {}: {text}\n", if *warns { "warning" } else { "log" });
    }
    line
}

fn version(version: Version) -> &'static str {
    match version {
        Version::V10 => "1.0",
        Version::V13 => "1.3",
    }
}

fn as_json((name, of): (&str, &str), all: &[Played]) -> Value {
    let one = |played: &Played| {
        let wrong = played
            .wrong
            .iter()
            .map(|(line, why)| json!({"line": Some(*line).filter(|line| *line > 0), "why": why}));
        let log = played.log.iter().map(|(warns, text)| json!({"warns": warns, "text": text}));
        json!({
            "scenario": played.scenario,
            "openflow": version(played.version),
            "passed": played.is_good(),
            "wrong": wrong.collect::<Vec<_>>(),
            "steps": played.steps,
            "pings": played.pings.0,
            "answered": played.pings.1,
            "flows": played.flows,
            "failures": played.failures,
            "refused": played.refused,
            "told": played.told,
            "log": log.collect::<Vec<_>>(),
            "took_s": played.took.as_secs_f64(),
        })
    };
    let passed = all.iter().all(Played::is_good);
    let scenarios = all.iter().map(one).collect::<Vec<_>>();
    json!({"app": name, "version": of, "passed": passed, "scenarios": scenarios})
}
