//! `aldis http`: tokens and passwords for programs and people that use a controller, which knows
//! only their hashes.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aldis_http::access::{AccessRole, KeyKind, SecretHash, check_name};
use clap::Subcommand;
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::failure::CommandFailure;

/// Letters of a password, at least and at most.
const PASSWORD: std::ops::RangeInclusive<usize> = 8..=512;

/// Bytes of a token's secret, of chance alone.
const SECRET: usize = 32;

const DAY_S: u64 = 86_400;

/// Arguments of `aldis http`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis http token grafana --role read --days 365 --to access.toml
  aldis http password ada --role admin --to access.toml
  aldis run --http 0.0.0.0:8443 --http-certificate http.pem --http-key http.key --http-access access.toml
  curl --cacert ca.pem -H 'Authorization: Bearer grafana.…' https://HOST:8443/api/v1/switches

A token is printed once (on standard error where the hash goes to standard output) and is nowhere kept: the file has its hash. A
password is read from standard input, one line. A controller that runs reads the file again on SIGHUP.")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: HttpAction,
}

#[derive(Subcommand)]
enum HttpAction {
    /// Make a token, for a program (Authorization: Bearer)
    Token(WantedKey),
    /// Make the hash of a password, for a person (Authorization: Basic)
    Password(WantedKey),
}

#[derive(clap::Args)]
struct WantedKey {
    /// What it is called: letters, digits and -._@
    name: String,
    /// What it is good for: read, write (flows, rules, weights) or admin (the controller itself)
    #[arg(long, value_name = "ROLE")]
    role: AccessRole,
    /// In so many days it expires [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=36_500))]
    days: Option<u64>,
    /// Add it to this file, which only its owner can read when it is made [default: standard
    /// output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Does as it is told.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    match args.action {
        HttpAction::Token(wanted) => {
            check_name(&wanted.name).map_err(CommandFailure::Usage)?;
            let secret = secret()?;
            give(&wanted, KeyKind::Token, secret.as_bytes())?;
            eprintln!("The token, shown this once:");
            match wanted.to {
                Some(_) => println!("{}.{secret}", wanted.name),
                None => eprintln!("{}.{secret}", wanted.name),
            }
        }
        HttpAction::Password(wanted) => {
            check_name(&wanted.name).map_err(CommandFailure::Usage)?;
            let password = password()?;
            if !PASSWORD.contains(&password.len()) {
                let (min, max) = (PASSWORD.start(), PASSWORD.end());
                return Err(format!("a password has {min} to {max} letters").into());
            }
            give(&wanted, KeyKind::User, password.as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes what the controller is to know of it.
fn give(wanted: &WantedKey, kind: KeyKind, secret: &[u8]) -> Result<(), String> {
    let hash = SecretHash::of(secret, chance()?).map_err(|why| why.to_string())?;
    let WantedKey { name, role, days, to } = wanted;
    let expires = days.map_or_else(String::new, |days| format!("expires = {}\n", date_in(days)));
    let kind = kind.name();
    let text =
        format!("[[{kind}]]\nname = \"{name}\"\nrole = \"{role}\"\nhash = \"{hash}\"\n{expires}\n");
    match to {
        Some(file) => {
            append(file, &text).map_err(|error| format!("cannot write {}: {error}", file.display()))
        }
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Letters and digits that cannot be guessed.
fn secret() -> Result<String, String> {
    Ok(chance::<SECRET>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn chance<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    // So few come all at once, or none do.
    let filled = getrandom(&mut bytes[..], GetRandomFlags::empty());
    match filled {
        Ok(count) if count == N => Ok(bytes),
        _ => Err("the system has no random numbers".into()),
    }
}

/// One line, which a terminal does not show.
fn password() -> Result<String, String> {
    let cannot = |error: io::Error| format!("cannot read the password: {error}");
    let input = io::stdin();
    let shown = if input.is_terminal() { tcgetattr(&input).ok() } else { None };
    if let Some(shown) = &shown {
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(&input, OptionalActions::Flush, &hidden);
        eprint!("The password: ");
    }
    let mut line = String::new();
    let read = match shown.is_some() {
        true => input.read_line(&mut line),
        false => input.lock().take(*PASSWORD.end() as u64 + 3).read_to_string(&mut line),
    };
    if let Some(shown) = &shown {
        let _ = tcsetattr(&input, OptionalActions::Flush, shown);
        eprintln!();
    }
    read.map_err(cannot)?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line.contains(char::is_control) {
        true => Err("a password is one line, without control characters".into()),
        false => Ok(line.to_owned()),
    }
}

/// The date of the day in so many days, in UTC.
fn date_in(days: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (year, month, day) = aldis_http::date_of_day(now.as_secs() / DAY_S + days);
    format!("{year:04}-{month:02}-{day:02}T00:00:00Z")
}
