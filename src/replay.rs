//! `aldis replay`: a recording of the control channel, played back into the same engine and
//! applications.

mod compare;
mod look;
mod play;
mod until;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis::replay::ReplayPlan;

use crate::failure::{CommandFailure, EXIT_FAILED};
use look::RecordingLook;
use play::{PlayEnd, PlayMode, Player};
use until::PlayUntil;

/// Arguments of `aldis replay`.
#[derive(clap::Args)]
#[command(after_help = "\
What switches said is said again to the same workers and applications, at the recorded times and in
the recorded order, as fast as they take it. What they are sent is compared with the recording byte
for byte. Nothing is listened to, and no switch is touched.

The recording has to begin before the switches connect, or with the controller: run it with
--recording-mib 64, and save with \"aldis record --last\". Where the controller has a configuration,
give the same file with --config. What came over HTTP and is no message to a switch, as new rules, is
not in a recording.

Examples:
  aldis replay net.pcapng                            is the same sent again?
  aldis replay net.pcapng --step --until 12.5        batch by batch, up to 12.5 s
  aldis replay net.pcapng --diff --apps hub          what would the hub have sent instead?
  aldis replay net.pcapng --diff --config new.toml   what would this configuration have sent?

Exit codes:
  0   all as recorded; with --diff, it was played
  1   something else was sent
  2   it cannot be played: cut, altered, of a newer version, with parts missing, of other applications")]
pub(crate) struct Args {
    /// The recording, as "aldis record" writes it
    file: PathBuf,
    /// Play the next batch with each Enter, and print what comes of it; q ends it
    #[arg(long)]
    step: bool,
    /// Play up to this time: seconds from the beginning, as 12.5, or a time of day in UTC, as
    /// 2026-11-26T11:51:43Z
    #[arg(long, value_name = "TIME")]
    until: Option<PlayUntil>,
    /// Print what would have been sent instead; differences are no failure then
    #[arg(long, conflicts_with = "step")]
    diff: bool,
    /// Applications, in order, separated by commas [default: those of the configuration; without
    /// one, those of the recording]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    apps: Vec<String>,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Plays it.
///
/// # Errors
/// One sentence: it cannot be played.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let mode = match (args.step, args.diff) {
        (true, _) => PlayMode::Step,
        (_, true) => PlayMode::Diff,
        _ => PlayMode::Compare,
    };
    play(&args, mode).map_err(CommandFailure::Usage)
}

fn play(args: &Args, mode: PlayMode) -> Result<ExitCode, String> {
    let file = &*args.file;
    let look = RecordingLook::at(file)?;
    let until = args.until.as_ref().map(|until| until.at_ns(&look)).transpose()?;
    look.check(file, until)?;
    let apps = match (&args.apps[..], &args.config) {
        ([], Some(_)) => None,
        ([], None) => Some(look.head.apps.clone()),
        (named, _) => Some(named.to_vec()),
    };
    let plan = ReplayPlan { config: args.config.clone(), apps, workers: look.head.workers };
    let names = plan.app_names()?;
    if mode != PlayMode::Diff && names != look.head.apps {
        return Err(format!(
            "{}: it is of a controller with the applications {}, and these are {}; give that \
             controller's --config or --apps, or ask with --diff what these would have sent",
            file.display(),
            look.head.apps.join(", "),
            names.join(", ")
        ));
    }
    eprintln!("aldis: {}", look.introduce(file, &names));
    look.notes().for_each(|note| eprintln!("aldis: {note}"));
    let (begin_ns, workers) = (look.begin_ns, look.head.workers);
    let in_order = look.is_one_after_the_other();
    let replay = plan.start(look.tags).map_err(|why| told(file, &why))?;
    let mut player = Player::new(replay, mode, begin_ns, until);
    let end = player.run(file)?;
    if let PlayEnd::Other(_) = &end
        && !in_order
    {
        eprintln!(
            "aldis: it is of {workers} workers: what two of them did to one table in the same moment \
             may have been in another order"
        );
    }
    Ok(conclude(file, &player, end))
}

/// A sentence about the file.
fn told(file: &Path, what: &str) -> String {
    format!("{}: {what}", file.display())
}

/// Says how it ended.
fn conclude(file: &Path, player: &Player, end: PlayEnd) -> ExitCode {
    let counts = player.counts();
    println!("{}: {}", file.display(), counts);
    match end {
        PlayEnd::Same => {
            println!("all {} commands came out byte for byte as recorded", counts.commands);
            ExitCode::SUCCESS
        }
        PlayEnd::Other(first) => {
            println!("the first difference:\n{first}");
            ExitCode::from(EXIT_FAILED)
        }
        PlayEnd::Listed(0) => {
            println!("the same would have been sent");
            ExitCode::SUCCESS
        }
        PlayEnd::Listed(count) => {
            println!("{count} times something else would have been sent");
            ExitCode::SUCCESS
        }
        PlayEnd::Stopped => ExitCode::SUCCESS,
    }
}
