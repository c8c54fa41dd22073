//! `aldis lab list`: the plans that the program brings along.

use std::process::ExitCode;
use std::time::Duration;

use aldis_engine::pin;
use aldis_lab::plan::catalogue;
use aldis_lab::results::{RunForm, ValueOrigin};
use aldis_lab::run::estimate;

/// Nothing to choose.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints a line for each plan: its name, how long its forms take here, whether it is measured or
/// simulated, what it reproduces; and how long all of them take together.
///
/// # Errors
/// A plan that makes no sense, which a test would have found.
pub(crate) fn run(Args {}: Args) -> Result<ExitCode, String> {
    let cores = pin::cores().len().max(1);
    println!("{}", line("plan", RunForm::ALL.map(RunForm::name), "here", "source"));
    let mut all = [Duration::ZERO; RunForm::ALL.len()];
    for name in catalogue::names() {
        let plan = super::run::plan(name)?;
        let mut takes = [const { String::new() }; RunForm::ALL.len()];
        for ((form, all), takes) in RunForm::ALL.into_iter().zip(&mut all).zip(&mut takes) {
            let length = estimate(&plan, form, cores)?;
            *all += length;
            *takes = words(length);
        }
        let points = plan.expand(RunForm::Full, cores)?.points;
        let simulated =
            points.iter().filter(|point| point.origin == ValueOrigin::Simulated).count();
        let how = match (simulated, points.len() - simulated) {
            (0, _) => "measured",
            (_, 0) => "simulated",
            _ => "measured and simulated",
        };
        println!("{}", line(name, takes.each_ref().map(String::as_str), how, &plan.said.source));
    }
    let all = all.map(words);
    println!("{}", line("all", all.each_ref().map(String::as_str), "", ""));
    println!(
        "\n\"aldis lab run PLAN\" runs one, \"aldis lab run --all\" all of them: quickly, and with --full or --long as said."
    );
    Ok(ExitCode::SUCCESS)
}

fn line(name: &str, takes: [&str; RunForm::ALL.len()], how: &str, source: &str) -> String {
    let takes = takes.map(|takes| format!("{takes:>8}")).join(" ");
    format!("{name:<29} {takes}  {how:<22} {source}").trim_end().to_owned()
}

/// Seconds up to ten minutes, then minutes; rounded up.
pub(super) fn words(length: Duration) -> String {
    match length.as_secs_f64() {
        seconds if seconds <= 600.0 => format!("{:.0} s", seconds.ceil()),
        seconds => format!("{:.0} min", (seconds / 60.0).ceil()),
    }
}
