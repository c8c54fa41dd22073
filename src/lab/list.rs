//! `aldis lab list`: the plans that the program brings along.

use std::process::ExitCode;

use aldis_engine::pin;
use aldis_lab::plan::catalogue;
use aldis_lab::results::{Form, Origin};
use aldis_lab::run::estimate;

/// Nothing to choose.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints a line for each plan: its name, how long its quick form takes here, whether it is measured or simulated, what it
/// reproduces.
///
/// # Errors
/// A plan that makes no sense, which a test would have found.
pub(crate) fn run(Args {}: Args) -> Result<ExitCode, String> {
    let cores = pin::cores().len().max(1);
    println!("{:<29} {:>7}  {:<22} source", "plan", "quick", "here");
    for name in catalogue::names() {
        let plan = super::run::plan(name)?;
        let seconds = estimate(&plan, Form::Quick, cores)?.as_secs_f64().ceil();
        let points = plan.expand(Form::Quick, cores)?.points;
        let simulated = points.iter().filter(|point| point.origin == Origin::Simulated).count();
        let how = match (simulated, points.len() - simulated) {
            (0, _) => "measured",
            (_, 0) => "simulated",
            _ => "measured and simulated",
        };
        println!("{name:<29} {seconds:>5} s  {how:<22} {}", plan.said.source);
    }
    println!("\n\"aldis lab run PLAN\" runs one, \"aldis lab run --all\" all of them.");
    Ok(ExitCode::SUCCESS)
}
