//! The `aldis` command: one subcommand a module, each with its arguments (`Args`) and `run`.

/// As the standard library's, but for a reader that is gone and a disk that is full: see [`out`].
macro_rules! print {
    ($($text:tt)*) => { $crate::out::print(format_args!($($text)*), "") };
}

/// Likewise, and ends the line.
macro_rules! println {
    () => { $crate::out::print(format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::out::print(format_args!($($text)*), "\n") };
}

mod apps;
mod ask;
mod bench;
mod decode;
mod designs;
mod emulate;
mod failure;
mod help;
mod http;
mod lab;
mod memory;
mod out;
mod pki;
mod run;
mod shell;
mod store;
mod tls;
mod version;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::{EXIT_FAILED, EXIT_USAGE, Failure};
use std::process::ExitCode;

#[global_allocator]
static MEMORY: memory::Pages = memory::Pages;

/// A fair and fast OpenFlow controller.
#[derive(Parser)]
#[command(name = "aldis", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the controller: listen for switches and program them.
    Run(run::Args),
    /// List the applications, and print how those that run work together, here or in a running
    /// controller.
    Apps(apps::Args),
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
    /// Say whether a running controller is there.
    Health(ask::health::Args),
    /// List the switches of a running controller.
    Switches(ask::switches::Args),
    /// List the ports of its switches.
    Ports(ask::ports::Args),
    /// List the hosts that it has seen.
    Hosts(ask::hosts::Args),
    /// List the links between its switches.
    Links(ask::links::Args),
    /// List the ways between two hosts or switches.
    Paths(ask::paths::Args),
    /// List the flows that its switches have.
    Flows(ask::flows::Args),
    /// List the groups that its switches have.
    Groups(ask::groups::Args),
    /// List the meters that its switches have.
    Meters(ask::meters::Args),
    /// List the queues that its switches have.
    Queues(ask::queues::Args),
    /// List its rules about which packets pass.
    Acl(ask::acl::Args),
    /// List the flows that it keeps on its switches.
    StaticFlows(ask::static_flows::Args),
    /// Print what it counts.
    Stats(ask::stats::Args),
    /// Watch what it counts: a screen that is renewed each second.
    Top(ask::top::Args),
    /// Print what it counts, as Prometheus reads it.
    Metrics(ask::metrics::Args),
    /// Follow what happens there.
    Events(ask::events::Args),
    /// Print what is due to which of its switches, or change it.
    Weights(ask::weights::Args),
    /// Say which way a packet would take, hop by hop, with the flows that decide.
    Trace(ask::trace::Args),
    /// Have it read its configuration again.
    Reload(ask::reload::Args),
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
    out::lost().map_or(code, |sentence| {
        eprintln!("aldis: {sentence}");
        ExitCode::from(EXIT_FAILED)
    })
}

/// The command line; or, where it asks for help or cannot be understood, what is to be said, said,
/// and the exit code.
fn read() -> Result<Command, ExitCode> {
    let width = help::terminal_width().unwrap_or(help::WIDTH_MAX);
    let command = help::laid_out(Cli::command(), width);
    let read =
        command.clone().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    read.map(|cli| cli.command).map_err(|error| {
        if let Some(sentence) = help::no_such_command(&error, &command) {
            eprintln!("aldis: {sentence}");
            return ExitCode::from(EXIT_USAGE);
        }
        // Where it cannot be printed there is nobody to tell.
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(EXIT_USAGE) } else { ExitCode::SUCCESS }
    })
}

/// Does it; the exit code.
fn done(command: Command) -> ExitCode {
    let outcome = match command {
        Command::Run(args) => run::run(args),
        Command::Apps(args) => apps::run(args),
        Command::Designs(args) => designs::run(args).map_err(Failure::from),
        Command::Bench(args) => bench::run(*args),
        Command::Emulate(args) => emulate::run(args),
        Command::Lab(args) => lab::run(args),
        Command::Store(args) => store::run(args).map_err(Failure::from),
        Command::Pki(args) => pki::run(args).map_err(Failure::from),
        Command::Http(args) => http::run(args),
        Command::Decode(args) => decode::run(args).map_err(Failure::from),
        Command::Health(args) => ask::health::run(args).map_err(Failure::from),
        Command::Switches(args) => ask::switches::run(args).map_err(Failure::from),
        Command::Ports(args) => ask::ports::run(args).map_err(Failure::from),
        Command::Hosts(args) => ask::hosts::run(args).map_err(Failure::from),
        Command::Links(args) => ask::links::run(args).map_err(Failure::from),
        Command::Paths(args) => ask::paths::run(args).map_err(Failure::from),
        Command::Flows(args) => ask::flows::run(args).map_err(Failure::from),
        Command::Groups(args) => ask::groups::run(args).map_err(Failure::from),
        Command::Meters(args) => ask::meters::run(args).map_err(Failure::from),
        Command::Queues(args) => ask::queues::run(args).map_err(Failure::from),
        Command::Acl(args) => ask::acl::run(args).map_err(Failure::from),
        Command::StaticFlows(args) => ask::static_flows::run(args).map_err(Failure::from),
        Command::Stats(args) => ask::stats::run(args).map_err(Failure::from),
        Command::Top(args) => ask::top::run(args).map_err(Failure::from),
        Command::Metrics(args) => ask::metrics::run(args).map_err(Failure::from),
        Command::Events(args) => ask::events::run(args).map_err(Failure::from),
        Command::Weights(args) => ask::weights::run(args).map_err(Failure::from),
        Command::Trace(args) => ask::trace::run(args).map_err(Failure::from),
        Command::Reload(args) => ask::reload::run(args).map_err(Failure::from),
        Command::Completions(args) => {
            shell::completions(args, Cli::command()).map_err(Failure::from)
        }
        Command::Man(args) => shell::man(args, Cli::command()).map_err(Failure::from),
        Command::Version(args) => version::run(args).map_err(Failure::from),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("aldis: {}", failure.sentence());
        failure.code()
    })
}
