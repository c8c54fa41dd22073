//! `aldis lab simulate`: designs over workers on cores that this machine does not have.

use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use aldis_engine::Design;
use aldis_engine::sim::{self, SIMULATED_SWITCHES_MAX, SIMULATED_WORKERS_MAX};
use aldis_lab::calibrate::Calibration;
use aldis_lab::simulate::{self, SimulatedExperiment, SimulatedLoad, SimulatedRow};
use serde::Serialize;

use crate::failure::CommandFailure;

/// What is simulated unless told otherwise: the default, and what the papers compare.
const DESIGNS: [&str; 5] = [
    "fair-rounds",
    "maestro-round-robin",
    "maestro-dynamic-partition",
    "maestro-static-partition",
    "maestro-shared-queue",
];

/// Arguments of `aldis lab simulate`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis lab simulate                                        five designs, 1 to 16 workers, 79 switches, queues always full
  aldis lab simulate --design fair-rounds --workers 8,64    one of them, on many cores
  aldis lab simulate --switches 4 --workers 1,2,4,8         Maestro's figure 16
  aldis lab simulate --costs costs.toml --scenario 2        with what \"aldis lab calibrate\" measured here

The workers are the real ones; sockets, cores and time are simulated, on one thread, from a seed. The costs are those of \
one worker, and what moves between two: what many cost each other in memory and in the kernel is not in them, so that the \
simulation is too kind to many cores. No claim rests on it alone.")]
pub(crate) struct Args {
    /// A design to simulate, by the name that "aldis designs" lists; may be repeated.
    #[arg(long, value_name = "NAME")]
    design: Vec<Design>,
    /// Numbers of workers, 1 to 64 each.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4,8,16", value_parser = workers)]
    workers: Vec<usize>,
    /// Switches, beside one that probes.
    #[arg(long, value_name = "N", default_value_t = 79, value_parser = switches)]
    switches: usize,
    /// What they offer: full (queues always full), or as in Maestro's figure 6: 1 is 4,000,000
    /// requests a second nearly uniform, 2 the same skewed, 3 is 1,400,000 skewed, 4 is 850,000
    /// skewed.
    #[arg(long, value_name = "full|1-4", default_value = "full", value_parser = scenario)]
    scenario: SimulatedLoad,
    /// Multiply these rates: today's requests cost far less than the paper's.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    scale: f64,
    /// Requests a second of the probing switch, at moments of chance: 1 to 10,000.
    #[arg(long, value_name = "RPS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    probe_rate: u32,
    /// Milliseconds of simulated time that are measured, 1 to 60,000; a quarter as long is warm-up.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    milliseconds: u64,
    /// What is left to chance follows from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// What things cost, as "aldis lab calibrate" writes it; where it is absent, some that were
    /// measured at rest on an Intel Xeon.
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
}

fn workers(text: &str) -> Result<usize, String> {
    within(text, 1..=SIMULATED_WORKERS_MAX)
}

fn switches(text: &str) -> Result<usize, String> {
    // One place is the probing switch's.
    within(text, 1..=SIMULATED_SWITCHES_MAX - 1)
}

fn within(text: &str, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("give {} to {}", range.start(), range.end()))
}

fn scenario(text: &str) -> Result<SimulatedLoad, String> {
    Ok(match text {
        "full" => SimulatedLoad::Full,
        "1" => SimulatedLoad::NearUniform(4e6),
        "2" => SimulatedLoad::Skewed(4e6),
        "3" => SimulatedLoad::Skewed(1.4e6),
        "4" => SimulatedLoad::Skewed(0.85e6),
        _ => return Err("give full, 1, 2, 3 or 4".into()),
    })
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| (1e-3..=1e3).contains(factor));
    factor.ok_or_else(|| "give 0.001 to 1000".into())
}

/// Simulates, and prints each row as soon as it is there.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let json = args.json;
    let experiment = experiment(args).map_err(CommandFailure::Usage)?;
    let mut rows = Vec::new();
    if !json {
        header(&experiment);
    }
    let visible = std::io::stderr().is_terminal();
    let (mut done, all) = (0, experiment.designs.len() * experiment.workers.len());
    let mut progress = || {
        if visible {
            eprint!(
                "\r\x1b[K{}",
                if done < all { format!("{done} of {all}") } else { String::new() }
            );
            let _ = std::io::stderr().flush();
        }
        done += 1;
    };
    progress();
    let simulated = simulate::run(&experiment, |row| {
        progress();
        match json {
            true => rows.push(row),
            false => line(&row),
        }
    });
    simulated.map_err(|refused| refused.to_string())?;
    if json {
        let report = SimulationReport { simulated: true, seed: experiment.seed, rows };
        println!("{}", serde_json::to_string(&report).expect("numbers and words"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What programs get.
#[derive(Serialize)]
struct SimulationReport {
    /// Always: so that it is not taken for a measurement.
    simulated: bool,
    seed: u64,
    rows: Vec<SimulatedRow>,
}

fn experiment(args: Args) -> Result<SimulatedExperiment, String> {
    let costs = match args.costs {
        None => sim::Costs::default(),
        Some(path) => {
            let calibration = Calibration::read(&path).map_err(|refused| refused.to_string())?;
            simulate::costs(&calibration.costs)
        }
    };
    let usual = || DESIGNS.iter().filter_map(|name| name.parse().ok()).collect();
    Ok(SimulatedExperiment {
        designs: if args.design.is_empty() { usual() } else { args.design },
        workers: args.workers,
        switches: args.switches,
        load: match args.scenario {
            SimulatedLoad::Full => SimulatedLoad::Full,
            SimulatedLoad::NearUniform(rate) => SimulatedLoad::NearUniform(rate * args.scale),
            SimulatedLoad::Skewed(rate) => SimulatedLoad::Skewed(rate * args.scale),
        },
        probe_rate: args.probe_rate.into(),
        length: Duration::from_millis(args.milliseconds),
        seed: args.seed,
        costs,
    })
}

fn header(experiment: &SimulatedExperiment) {
    let SimulatedExperiment { switches, length, seed, .. } = experiment;
    println!("simulated: {switches} switches, {length:?}, seed {seed}\n");
    println!(
        "{:<25} {:>7} {:>12} {:>14} {:>12} {:>12} {:>12}",
        "design",
        "workers",
        "M requests/s",
        "deviation max",
        "probe p50",
        "probe p99",
        "probe mean"
    );
}

fn line(row: &SimulatedRow) {
    println!(
        "{:<25} {:>7} {:>12.2} {:>12.2} % {:>9.1} µs {:>9.1} µs {:>9.1} µs",
        row.design,
        row.workers,
        row.throughput_rps / 1e6,
        row.deviation_max * 100.0,
        row.probe_us_p50,
        row.probe_us_p99,
        row.probe_us_mean,
    );
}
