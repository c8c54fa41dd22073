//! `aldis store`: a copy of what a controller keeps, out of its file and into one.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis_store::limits::BACKUP_MAX;
use aldis_store::{Backup, Embedded, Store};
use clap::Subcommand;

/// Arguments of `aldis store`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis store export /var/lib/aldis/store --to backup.json
  aldis store import /var/lib/aldis/store --from backup.json

The controller that uses the file has to be stopped meanwhile. A backup holds its secrets too: keep it as you keep keys.")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Subcommand)]
enum StoreAction {
    /// Write all that a store keeps as one readable JSON file
    Export {
        /// The store, as it was given to "aldis run --store"
        store: PathBuf,
        /// The file to write, which must not be there yet [default: standard output]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Have a store keep what such a file says, and nothing else; it is made where there is none
    Import {
        /// The store
        store: PathBuf,
        /// The file to read [default: standard input]
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
}

/// Does as it is told.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    match args.action {
        StoreAction::Export { store, to } => export(&store, to.as_deref()),
        StoreAction::Import { store, from } => import(&store, from.as_deref()),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn export(store: &Path, to: Option<&Path>) -> Result<(), String> {
    if !store.exists() {
        return Err(format!("there is no store {}", store.display()));
    }
    // It is only read: what is exported is there afterwards as it was before.
    let backup = Embedded::look(store).map_err(|error| error.to_string())?;
    let text = backup.write();
    match to {
        None => print!("{text}"),
        Some(file) => {
            let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
            let written = new.and_then(|mut new| {
                new.write_all(text.as_bytes())?;
                new.sync_all()
            });
            written.map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    eprintln!("aldis: {} entries of {} exported", backup.len(), store.display());
    Ok(())
}

fn import(store: &Path, from: Option<&Path>) -> Result<(), String> {
    let text = match from {
        None => read(std::io::stdin()).map_err(|error| format!("standard input: {error}"))?,
        Some(file) => std::fs::File::open(file)
            .and_then(read)
            .map_err(|error| format!("{}: {error}", file.display()))?,
    };
    let name = from.map_or("standard input".into(), |file| file.display().to_string());
    let backup = Backup::read(&text).map_err(|error| format!("{name}: {error}"))?;
    let opened = Embedded::open(store).map_err(|error| error.to_string())?;
    opened.restore(&backup).map_err(|error| error.to_string())?;
    eprintln!("aldis: {} entries imported into {}", backup.len(), store.display());
    Ok(())
}

/// The whole text, and one byte more than a backup may have.
fn read(from: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(BACKUP_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}
