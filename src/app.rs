//! `aldis app`: applications are built into packages, and those of a running controller are
//! installed, started, stopped and put in order.

mod build;
mod dev;
mod new;
mod private_folder;
mod test;

use std::process::ExitCode;

use crate::client;
use crate::failure::CommandFailure;

/// Arguments of `aldis app`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis app list                                  what there is, and what it does
  aldis app stop route-flow                       no worker calls it any more
  aldis app start route-flow                      it begins anew
  aldis app order flow-request acl,hosts,spanning another order for an event
  aldis app order flow-request --reset            the usual one again
  aldis app new knock                             knock.py, its manifest and a scenario
  aldis app test knock.py                         it is tried in an emulated network
  aldis app dev knock.py                          it runs, and each time it is saved again
  aldis app build knock.py                        the package knock.app
  aldis app install knock.app                     an application from its package, in a sandbox
  aldis app replace knock.app                     another version of it, without a pause
  aldis app shadow knock.app --after 1000         beside the one that runs, until it agrees
  aldis app promote knock                         in its place
  aldis app logs knock                            what it wrote to the log
  aldis app remove knock                          it is gone")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: AppCommand,
}

#[derive(clap::Subcommand)]
enum AppCommand {
    /// Write the files of an application, to begin with.
    New(new::Args),
    /// Build an application into its package: one file, to be installed.
    Build(build::Args),
    /// Try an application in an emulated network, in this process: what it does, and whether that
    /// is what its scenarios say.
    Test(test::Args),
    /// Build an application, install it in a running controller, and replace it each time its
    /// source is saved; its log is printed as it comes.
    Dev(dev::Args),
    #[command(flatten)]
    Running(client::app::RunningAppCommand),
}

/// Does it.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    match args.command {
        AppCommand::New(args) => new::run(&args),
        AppCommand::Build(args) => build::run(&args),
        AppCommand::Test(args) => test::run(&args),
        AppCommand::Dev(args) => dev::run(&args),
        AppCommand::Running(command) => client::app::run(command).map_err(CommandFailure::from),
    }
}
