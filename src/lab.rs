//! `aldis lab`: experiments, and what they have to know of this machine.

mod calibrate;
mod check;
mod child;
mod list;
mod progress;
mod report;
mod run;
mod simulate;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::CommandFailure;

/// Experiments, and what they have to know of this machine.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    experiment: ExperimentCommand,
}

#[derive(Subcommand)]
enum ExperimentCommand {
    /// Measure what the steps of a worker cost on this machine.
    Calibrate(calibrate::Args),
    /// Compare the simulator with real workers, design by design.
    CheckSimulator(check::Args),
    /// Show what experiments found: one page with plots and numbers, and Markdown.
    Report(report::Args),
    /// Simulate the workers of one design or another on cores that are not there.
    Simulate(simulate::Args),
    /// Reproduce figures and tables of the papers: measure, and simulate what needs more cores.
    Run(run::Args),
    /// List the figures and tables that can be reproduced.
    List(list::Args),
    /// Become a controller that ends with the process that started it.
    #[command(hide = true)]
    Child(child::Args),
}

/// Runs the one that was chosen.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    match args.experiment {
        ExperimentCommand::Calibrate(args) => calibrate::run(args),
        ExperimentCommand::CheckSimulator(args) => check::run(args),
        ExperimentCommand::Report(args) => report::run(args).map_err(CommandFailure::from),
        ExperimentCommand::Simulate(args) => simulate::run(args),
        ExperimentCommand::Run(args) => run::run(args),
        ExperimentCommand::List(args) => list::run(args).map_err(CommandFailure::from),
        ExperimentCommand::Child(args) => child::run(args).map_err(CommandFailure::from),
    }
}
