//! `aldis lab calibrate`: what the steps of a worker cost on this machine, as a table and as a
//! file.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use aldis_lab::calibrate::{
    self, Calibration, CalibrationFailure, CalibrationStep, Conditions, CostQuartiles, CostRow,
};
use aldis_lab::run::check::{self, Check, Checked};
use aldis_lab::simulate;

use crate::failure::CommandFailure::Usage as usage;
use crate::failure::EXIT_STOPPED;
use crate::interrupt;

/// How long each run of a check is, behind a warm-up of twice as long: adaptive batching climbs for
/// seconds. Shorter where the sittings are short too.
const RUN: RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_secs(1);
const RUN_OF_ALL: u32 = 60;

/// Arguments of `aldis lab calibrate`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis lab calibrate                          a minute, a table, and costs.toml in this folder
  aldis lab calibrate --out lab.toml           the same, kept elsewhere
  aldis lab calibrate --check                  besides, how well a simulation predicts this machine
  aldis lab calibrate --check --seconds 300    the same with five times as many runs, for a machine that is fast and slow by turns
  aldis lab calibrate --switches 64            visits to 64 switches instead of 16
  aldis lab calibrate --json | jq .costs       for programs

A simulation of workers on cores that this machine does not have takes from such a file what a poll, a read, a request or \
a wake-up costs. Measure on a machine that does nothing else: everything is measured in twelve sittings of many rounds or, where there is time, in one for every five seconds, with new connections each; \
the table shows the median of the sittings, or under load the mean of all rounds, and between what bounds the middle of the sittings lay; wide \
bounds mean that something disturbed.
Two cores are used, where there are two; everything stays on the loop-back. Ctrl-C ends it and leaves nothing behind.")]
pub(crate) struct Args {
    /// The file that is written: TOML. One that is there is replaced, if it is one of costs.
    #[arg(long, value_name = "FILE", default_value = "costs.toml")]
    out: PathBuf,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// How long to measure, about: 1 to 600 seconds, shared by all sittings and steps.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Switches whose queues are full while visits are measured: 1 to 400.
    #[arg(long, value_name = "N", default_value_t = Conditions::default().switches, value_parser = clap::value_parser!(u32).range(1..=400))]
    switches: u32,
    /// Hosts of each of them that are known: 2 to 1,000,000.
    #[arg(long, value_name = "N", default_value_t = Conditions::default().macs, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    macs: u32,
    /// Run controllers between the sittings, and show how well a simulation with the costs predicts
    /// them; three times as long again.
    #[arg(long)]
    check: bool,
}

impl Args {
    fn conditions(&self) -> Conditions {
        Conditions { switches: self.switches, macs: self.macs }
    }
}

/// Measures, prints and writes.
pub(crate) fn run(args: Args) -> Result<ExitCode, crate::failure::CommandFailure> {
    calibrate::check(&args.out).map_err(|refused| usage(refused.to_string()))?;
    let stop = interrupt::watched()?;
    let conditions = args.conditions();
    let say: fn(&str) = if std::io::stderr().is_terminal() { over_the_last } else { |_| {} };
    let aldis = std::env::current_exe().map_err(|error| {
        format!("cannot find this program, to start it as a controller: {error}")
    })?;
    let length = (Duration::from_secs(args.seconds) / RUN_OF_ALL).clamp(*RUN.start(), *RUN.end());
    let mut check = args.check.then(|| Check::new(&aldis, conditions, length, &stop));
    let (count, sitting_length) = calibrate::sittings(Duration::from_secs(args.seconds));
    let mut sittings = Vec::with_capacity(count);
    for sitting in 1..=count {
        let of_all = format!("{sitting} of {count}");
        let measured =
            calibrate::run(sitting_length, conditions, &stop, &mut |step: CalibrationStep| {
                say(&format!("sitting {of_all}: {}", step.words()));
            });
        match measured {
            Ok(calibration) => sittings.push(calibration),
            Err(CalibrationFailure::Stopped) => {
                say("");
                eprintln!("aldis: {}; nothing is written", CalibrationFailure::Stopped);
                return Ok(ExitCode::from(EXIT_STOPPED));
            }
            Err(failure) => {
                say("");
                return Err(failure.to_string().into());
            }
        }
        // Between the sittings, so that what makes this machine slower for a while does so to both.
        if let Some(Ok(running)) = &mut check
            && let Err(why) = running.round(&mut |what| say(&format!("run {of_all}: {what}")))
        {
            check = Some(Err(why));
        }
    }
    say("");
    let calibration = Calibration::of(&sittings);
    // Before the file: what was measured is seen though a disk be full.
    if !args.json {
        print!("{}", table(&calibration));
    }
    let written = calibration.write(&args.out).map_err(|refused| refused.to_string());
    if !args.json && written.is_ok() {
        println!("\nWritten to {}.", args.out.display());
        if !args.check {
            println!(
                "With --check it also shows how well a simulation with these costs predicts a run."
            );
        }
    }
    let checked = check.map(|check| {
        let costs = simulate::costs(&calibration.values().costs);
        check
            .and_then(|check| check.compare(costs, &mut |what| say(what)))
            .map_err(|why| format!("the costs could not be checked: {why}"))
    });
    say("");
    let rows = checked.as_ref().and_then(|checked| checked.as_deref().ok());
    match args.json {
        true => println!("{}", json(&calibration, rows)),
        false => {
            print!("{}", rows.map_or(String::new(), |rows| predictions(rows, conditions, count)))
        }
    }
    written.and(checked.map_or(Ok(()), |checked| checked.map(drop)))?;
    Ok(ExitCode::SUCCESS)
}

fn predictions(rows: &[Checked], Conditions { switches, macs }: Conditions, runs: usize) -> String {
    if rows.is_empty() {
        return "\nA run to compare a simulation with needs two cores.\n".into();
    }
    let under = format!(
        "One worker, {switches} switches of {macs} hosts, queues always full; the mean of {runs} runs in turn, ± twice its standard error"
    );
    compared(&under, rows)
}

/// Each row with what was measured and what was simulated, and the verdict on all; one at least.
pub(super) fn compared(under: &str, rows: &[Checked]) -> String {
    let title = "M requests/s";
    let width = rows.iter().map(|row| row.design.len()).max().unwrap_or(0).max(title.len());
    let mut text = format!(
        "\n{under}:\n\n\
         {title:<width$} {:>14} {:>13} {:>9} {:>8}   {:>18} {:>9} {:>6}\n",
        "measured", "from – to", "simulated", "off by", "deviation measured", "simulated", "off by"
    );
    for row in rows {
        let Checked { design, measured_rps, measured_rps_range: (least, most), .. } = row;
        let error = row.measured_rps_error.unwrap_or(f64::NAN) / 1e6;
        let measured = format!("{:.2} ± {error:.2}", measured_rps / 1e6);
        let range = format!("{:.2} – {:.2}", least / 1e6, most / 1e6);
        let mark = match (row.is_within(), row.generator_limited) {
            (_, true) => "  generator-limited",
            (false, _) => "  off",
            (true, _) => "",
        };
        let _ = writeln!(
            text,
            "{design:<width$} {measured:>14} {range:>13} {:>9.2} {:>+6.1} %   {:>16.2} % {:>7.2} % {:>+6.2}{mark}",
            row.simulated_rps / 1e6,
            row.off() * 100.0,
            row.measured_deviation * 100.0,
            row.simulated_deviation * 100.0,
            row.fairness_off() * 100.0,
        );
    }
    let _ = writeln!(text, "\n{}", check::verdict(rows));
    text
}

/// Says what is done now over what was done before.
pub(super) fn over_the_last(what: &str) {
    eprint!("\r\x1b[K{what}");
    let _ = std::io::stderr().flush();
}

fn json(calibration: &Calibration<CostQuartiles>, checked: Option<&[Checked]>) -> String {
    let mut object = serde_json::to_value(calibration).expect("numbers and words");
    if let Some(checked) = checked {
        object["checked"] = checked.iter().map(checked_json).collect();
        object["verdict"] = match checked {
            [] => serde_json::Value::Null,
            rows => check::verdict(rows).into(),
        };
    }
    object.to_string()
}

/// A row with what follows from it.
pub(super) fn checked_json(row: &Checked) -> serde_json::Value {
    let mut object = serde_json::to_value(row).expect("numbers and words");
    object["off"] = row.off().into();
    object["fairness_off"] = row.fairness_off().into();
    object["within"] = row.is_within().into();
    object
}

fn table(Calibration { aldis, date, machine, costs }: &Calibration<CostQuartiles>) -> String {
    let plural = if machine.cores == 1 { "" } else { "s" };
    let mut text = format!(
        "Aldis {aldis} on {date}: {}, {} core{plural}, {}\n\n{:<18} {:>10}     {:>21}  what it is\n",
        machine.cpu, machine.cores, machine.kernel, "cost", "middle", "half of the sittings"
    );
    for CostRow { name, words, cost } in costs.rows() {
        let (name, unit) = name.rsplit_once('_').unwrap_or((name, ""));
        let name = name.replace('_', " ");
        let _ = match cost {
            Some(CostQuartiles { value, low, high, .. }) => {
                let half = format!("{low:.1} – {high:.1}");
                writeln!(text, "{name:<18} {value:>10.1} {unit}  {half:>21}  {words}")
            }
            None => writeln!(text, "{name:<18} {:>10}     {:>21}  {words}", "–", "not measured"),
        };
    }
    text
}
