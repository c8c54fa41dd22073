//! The `aldis` command: one subcommand a module, each with its arguments (`Args`) and `run`.

/// As the standard library's, but for a reader that is gone and a disk that is full: see
/// [`stdout`].
macro_rules! print {
    ($($text:tt)*) => { $crate::stdout::print(format_args!($($text)*), "") };
}

/// Likewise, and ends the line.
macro_rules! println {
    () => { $crate::stdout::print(format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::stdout::print(format_args!($($text)*), "\n") };
}

mod allocator;
mod app;
mod apps;
mod bench;
mod client;
mod decode;
mod designs;
mod doctor;
mod emulate;
mod failure;
mod help;
mod http;
mod interrupt;
mod lab;
mod pki;
mod replay;
mod report;
mod run;
mod ryu;
mod shell;
mod stdout;
mod store;
mod tls;
mod version;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::{CommandFailure, EXIT_FAILED, EXIT_USAGE};
use std::process::ExitCode;

#[global_allocator]
static MEMORY: allocator::Pages = allocator::Pages;

/// A fair and fast OpenFlow controller.
#[derive(Parser)]
#[command(name = "aldis", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: AldisCommand,
}

#[derive(Subcommand)]
enum AldisCommand {
    /// Run the controller: listen for switches and program them.
    Run(run::Args),
    /// Run applications of Ryu, unchanged, as a guest of a controller in this process.
    Ryu(Box<ryu::Args>),
    /// List the applications, and print how those that run work together, here or in a running
    /// controller.
    Apps(apps::Args),
    /// Build applications, and install, start, stop and order those of a running controller.
    App(app::Args),
    /// Present the switches to other controllers, each within what it is granted.
    Guest(client::guest::Args),
    /// List the workload distributions that `run --design` knows.
    Designs(designs::Args),
    /// Measure a controller: emulated switches offer it flow requests.
    Bench(Box<bench::Args>),
    /// Emulate a network: switches that forward, links, hosts that answer, faults.
    Emulate(emulate::Args),
    /// Experiments, and what they have to know of this machine.
    Lab(lab::Args),
    /// Export and import what a controller keeps over restarts.
    Store(store::Args),
    /// Make an authority, and certificates for the controller, its HTTP and switches.
    Pki(pki::Args),
    /// Make tokens and passwords for HTTP.
    Http(http::Args),
    /// Print OpenFlow messages in words, as JSON, or as bytes again.
    Decode(decode::Args),
    /// Find out why a network does not work, and say what to do.
    Doctor(doctor::Args),
    /// Put what a report of a mistake needs into one file, without secrets.
    Report(report::Args),
    /// Say whether a running controller is there.
    Health(client::health::Args),
    /// List the switches of a running controller.
    Switches(client::switches::Args),
    /// List the ports of its switches.
    Ports(client::ports::Args),
    /// List the hosts that it has seen.
    Hosts(client::hosts::Args),
    /// List the links between its switches.
    Links(client::links::Args),
    /// List the ways between two hosts or switches.
    Paths(client::paths::Args),
    /// List the flows that its switches have.
    Flows(client::flows::Args),
    /// List the groups that its switches have.
    Groups(client::groups::Args),
    /// List the meters that its switches have.
    Meters(client::meters::Args),
    /// List the queues that its switches have.
    Queues(client::queues::Args),
    /// List its rules about which packets pass.
    Acl(client::acl::Args),
    /// List the flows that it keeps on its switches.
    StaticFlows(client::static_flows::Args),
    /// Print what it counts.
    Stats(client::stats::Args),
    /// Watch what it counts: a screen that is renewed each second.
    Top(client::top::Args),
    /// Print what it counts, as Prometheus reads it.
    Metrics(client::metrics::Args),
    /// Follow what happens there.
    Events(client::events::Args),
    /// Record what switches and controller say to each other, for Wireshark.
    Record(client::record::Args),
    /// Play a recording back into the same applications, and compare what they send.
    Replay(replay::Args),
    /// Print what is due to which of its switches, or change it.
    Weights(client::weights::Args),
    /// Say which way a packet would take, hop by hop, with the flows that decide.
    Trace(client::trace::Args),
    /// Have it read its configuration again.
    Reload(client::reload::Args),
    /// Print what completes this command in a shell.
    Completions(shell::Completions),
    /// Write the manual pages of this command.
    Man(shell::Man),
    /// Say which Aldis this is and what it speaks.
    Version(version::Args),
}

fn main() -> ExitCode {
    let code = match read() {
        Ok(command) => done(command),
        Err(code) => code,
    };
    stdout::lost().map_or(code, |sentence| {
        eprintln!("aldis: {sentence}");
        ExitCode::from(EXIT_FAILED)
    })
}

/// The command line; or, where it asks for help or cannot be understood, what is to be said, said,
/// and the exit code.
fn read() -> Result<AldisCommand, ExitCode> {
    let width = help::terminal_width().unwrap_or(help::WIDTH_MAX);
    let command = help::laid_out(Cli::command(), width);
    let read =
        command.clone().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    read.map(|cli| cli.command).map_err(|error| {
        if let Some(sentence) = help::no_such_command(&error, &command) {
            eprintln!("aldis: {sentence}");
            return ExitCode::from(EXIT_USAGE);
        }
        // Where it cannot be printed, standard error is closed.
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(EXIT_USAGE) } else { ExitCode::SUCCESS }
    })
}

/// Does it; the exit code.
fn done(command: AldisCommand) -> ExitCode {
    let outcome = match command {
        AldisCommand::Run(args) => run::run(args),
        AldisCommand::Ryu(args) => ryu::run(*args),
        AldisCommand::Apps(args) => apps::run(args),
        AldisCommand::App(args) => app::run(args),
        AldisCommand::Guest(args) => client::guest::run(args).map_err(CommandFailure::from),
        AldisCommand::Designs(args) => designs::run(args).map_err(CommandFailure::from),
        AldisCommand::Bench(args) => bench::run(*args),
        AldisCommand::Emulate(args) => emulate::run(args),
        AldisCommand::Lab(args) => lab::run(args),
        AldisCommand::Store(args) => store::run(args).map_err(CommandFailure::from),
        AldisCommand::Pki(args) => pki::run(args).map_err(CommandFailure::from),
        AldisCommand::Http(args) => http::run(args),
        AldisCommand::Decode(args) => decode::run(args).map_err(CommandFailure::from),
        AldisCommand::Doctor(args) => doctor::run(args).map_err(CommandFailure::Usage),
        AldisCommand::Report(args) => report::run(args),
        AldisCommand::Health(args) => client::health::run(args).map_err(CommandFailure::from),
        AldisCommand::Switches(args) => client::switches::run(args).map_err(CommandFailure::from),
        AldisCommand::Ports(args) => client::ports::run(args).map_err(CommandFailure::from),
        AldisCommand::Hosts(args) => client::hosts::run(args).map_err(CommandFailure::from),
        AldisCommand::Links(args) => client::links::run(args).map_err(CommandFailure::from),
        AldisCommand::Paths(args) => client::paths::run(args).map_err(CommandFailure::from),
        AldisCommand::Flows(args) => client::flows::run(args).map_err(CommandFailure::from),
        AldisCommand::Groups(args) => client::groups::run(args).map_err(CommandFailure::from),
        AldisCommand::Meters(args) => client::meters::run(args).map_err(CommandFailure::from),
        AldisCommand::Queues(args) => client::queues::run(args).map_err(CommandFailure::from),
        AldisCommand::Acl(args) => client::acl::run(args).map_err(CommandFailure::from),
        AldisCommand::StaticFlows(args) => {
            client::static_flows::run(args).map_err(CommandFailure::from)
        }
        AldisCommand::Stats(args) => client::stats::run(args).map_err(CommandFailure::from),
        AldisCommand::Top(args) => client::top::run(args).map_err(CommandFailure::from),
        AldisCommand::Metrics(args) => client::metrics::run(args).map_err(CommandFailure::from),
        AldisCommand::Events(args) => client::events::run(args).map_err(CommandFailure::from),
        AldisCommand::Record(args) => client::record::run(args),
        AldisCommand::Replay(args) => replay::run(args),
        AldisCommand::Weights(args) => client::weights::run(args).map_err(CommandFailure::from),
        AldisCommand::Trace(args) => client::trace::run(args).map_err(CommandFailure::from),
        AldisCommand::Reload(args) => client::reload::run(args).map_err(CommandFailure::from),
        AldisCommand::Completions(args) => {
            shell::completions(args, Cli::command()).map_err(CommandFailure::from)
        }
        AldisCommand::Man(args) => shell::man(args, Cli::command()).map_err(CommandFailure::from),
        AldisCommand::Version(args) => version::run(args).map_err(CommandFailure::from),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("aldis: {}", failure.sentence());
        failure.code()
    })
}
