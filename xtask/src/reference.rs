//! `cargo xtask reference`: pages of the book that are made from the code, so that they cannot say
//! something else than it.
//!
//! - `commands.md`: what each command prints for `--help`;
//! - `rest.md`: the paths of `openapi/aldis.json`, which a test holds against the routes;
//! - `events.md`: the kinds of events, by their comments in the source, and their fields;
//! - `metrics.md`: what a controller serves with an emulated network, `monitor` and a guest.

mod metrics;
mod openapi;

use crate::suites::{SuiteTally, cargo, succeeds};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// Where the pages are.
const FOLDER: &str = "docs/reference";

/// The command that makes them, as they say.
const MADE: &str = "<!-- made by `cargo xtask reference`; do not edit -->";

/// A page: its name, and its text.
type ReferencePage = (&'static str, String);

/// Writes the pages; whether that was possible.
pub(crate) fn write(root: &Path) -> bool {
    let Some(pages) = built(root) else { return false };
    let written = pages.iter().try_for_each(|(name, text)| {
        println!("{FOLDER}/{name}");
        fs::write(root.join(FOLDER).join(name), text)
    });
    written.inspect_err(|why| eprintln!("{FOLDER}: {why}")).is_ok()
}

/// Whether the pages are those that would be written now; one check a page.
pub(crate) fn check(root: &Path) -> SuiteTally {
    let Some(pages) = built(root) else { return SuiteTally::one(false) };
    let one = |(name, text): &ReferencePage| {
        let good = fs::read_to_string(root.join(FOLDER).join(name)).is_ok_and(|page| page == *text);
        let advice = if good { "" } else { "  (make it anew: cargo xtask reference)" };
        println!("{} {FOLDER}/{name} is as the code{advice}", if good { "ok  " } else { "FAIL" });
        SuiteTally::one(good)
    };
    pages.iter().map(one).fold(SuiteTally::default(), SuiteTally::plus)
}

/// All pages, by the program as it is now.
fn built(root: &Path) -> Option<[ReferencePage; 4]> {
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"])) {
        return None;
    }
    pages(root).inspect_err(|why| eprintln!("there is no reference: {why}")).ok()
}

fn pages(root: &Path) -> io::Result<[ReferencePage; 4]> {
    let aldis = root.join("target/debug/aldis");
    let document = fs::read(root.join("openapi/aldis.json"))?;
    let document = serde_json::from_slice(&document).map_err(io::Error::other)?;
    let kinds = fs::read_to_string(root.join("crates/http/src/api/events.rs"))?;
    Ok([
        ("commands.md", commands(&aldis, &root.join("target/reference"))?),
        ("rest.md", openapi::paths(&document)),
        ("events.md", openapi::events(&document, &kinds)),
        ("metrics.md", metrics::page(&aldis, &root.join("target/reference"))?),
    ])
}

/// Each command with its help. Which there are is asked of the command too: it writes a page of
/// the manual for each.
fn commands(aldis: &Path, folder: &Path) -> io::Result<String> {
    let manual = folder.join("manual");
    let _ = fs::remove_dir_all(&manual);
    fs::create_dir_all(&manual)?;
    said(Command::new(aldis).arg("man").arg(&manual))?;
    let pages = fs::read_dir(&manual)?.collect::<io::Result<Vec<_>>>()?;
    let mut names: Vec<String> =
        pages.iter().map(|page| page.file_name().to_string_lossy().into_owned()).collect();
    names.sort_by_key(|name| name.replace(".1", ""));
    let mut page = format!(
        "# Commands\n\n{MADE}\n\nWhat each command prints for `--help`. `man aldis` has the same, where \
         the package is installed;\n`aldis completions bash` completes all of it.\n"
    );
    for name in names {
        let words = spoken(&name, aldis)?;
        let help = said(Command::new(aldis).args(&words).arg("--help").env("COLUMNS", "100"))?;
        let title = ["aldis"].into_iter().chain(words.iter().map(String::as_str));
        let title = title.collect::<Vec<_>>().join(" ");
        page += &format!("\n## {title}\n\n```text\n{}\n```\n", help.trim_end());
    }
    Ok(page)
}

/// The words of the command of a page such as `aldis-lab-check-simulator.1`: some have a hyphen of
/// their own. Each is the shortest that the command knows.
fn spoken(page: &str, aldis: &Path) -> io::Result<Vec<String>> {
    let name = page.trim_end_matches(".1").trim_start_matches("aldis").trim_start_matches('-');
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for part in name.split('-') {
        word = if word.is_empty() { part.to_owned() } else { format!("{word}-{part}") };
        let known = Command::new(aldis).args(&words).arg(&word).arg("--help").output()?;
        if known.status.success() {
            words.push(std::mem::take(&mut word));
        }
    }
    match word.as_str() {
        "" => Ok(words),
        left => Err(io::Error::other(format!("{page}: the command has no {left}"))),
    }
}

/// What a command prints.
fn said(command: &mut Command) -> io::Result<String> {
    let output = command.output()?;
    let failed = || {
        let why = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("{command:?}: {}", why.trim()))
    };
    let text = || String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(text).ok_or_else(failed)
}
