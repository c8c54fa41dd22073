//! `aldis lab check-simulator`: the simulator against real workers, design by design.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use aldis_engine::Design;
use aldis_lab::run::check;
use aldis_lab::simulate::check::{MemoryLoad, SharedCheck};

use super::calibrate::{checked_json, compared, over_the_last};
use crate::failure::CommandFailure;
use crate::interrupt;

/// Arguments of `aldis lab check-simulator`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis lab check-simulator                                 every design, a worker on each core
  aldis lab check-simulator --design maestro-round-robin    one of them
  aldis lab check-simulator --rounds 24                     longer, for a machine that is fast and slow by turns

Real workers serve switches in memory, so that the load needs no core and no kernel. The costs of the simulation are measured \
before each round, and nothing of the runs goes into them. A thread that only reads counts as a worker: designs with a queue \
have one. A design is off where throughput differs by more than 15 %, or fairness by more than 1 point. Measure on a machine \
that does nothing else.")]
pub(crate) struct Args {
    /// A design to compare, by the name that "aldis designs" lists; may be repeated; all where it
    /// is absent.
    #[arg(long, value_name = "NAME")]
    design: Vec<Design>,
    /// How often each is run: 1 to 1,000.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Milliseconds that a run is measured, behind a warm-up of twice as long: 20 to 10,000.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(20..=10_000))]
    milliseconds: u64,
    /// Switches, whose queues are always full: 2 to 10,000.
    #[arg(long, value_name = "N", default_value_t = MemoryLoad::default().switches as u32, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    switches: u32,
    /// Hosts of each of them that are known: 2 to 65,536.
    #[arg(long, value_name = "N", default_value_t = MemoryLoad::default().hosts, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    macs: u32,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
}

/// Measures, simulates and prints.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let Args { rounds, switches, macs, .. } = args;
    let stop = interrupt::watched()?;
    let say: fn(&str) = if std::io::stderr().is_terminal() { over_the_last } else { |_| {} };
    let designs = if args.design.is_empty() { Design::ALL.to_vec() } else { args.design };
    let load = MemoryLoad { switches: switches as usize, hosts: macs };
    let length = Duration::from_millis(args.milliseconds);
    let mut check = SharedCheck::new(load, &designs, length, &stop)?;
    let threads = check.threads();
    let compare = |check: &mut SharedCheck<'_>| {
        (1..=rounds).try_for_each(|round| {
            check.round(&mut |what| say(&format!("round {round} of {rounds}: {what}")))
        })
    };
    let rows = compare(&mut check).and_then(|()| check.compare(&mut |what| say(what)));
    say("");
    let rows = rows?;
    if args.json {
        let rows_json: Vec<_> = rows.iter().map(checked_json).collect();
        let verdict = check::verdict(&rows);
        let report =
            serde_json::json!({ "threads": threads, "rows": rows_json, "verdict": verdict });
        println!("{report}");
        return Ok(ExitCode::SUCCESS);
    }
    let under = format!(
        "{threads} workers, a thread that only reads among them, {switches} switches in memory of {macs} hosts, queues always full; the mean of {rounds} runs in turn, ± twice its standard error"
    );
    print!("{}", compared(&under, &rows));
    Ok(ExitCode::SUCCESS)
}
