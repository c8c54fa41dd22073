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
mod catalogue;
mod decode;
mod designs;
mod emulate;
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

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static MEMORY: memory::Pages = memory::Pages;

/// The exit code of a command that could not do what it was asked: a busy port, a missing file, a bad value.
const EXIT_REFUSED: u8 = 2;

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
    /// List the applications, and print how those that run work together, here or in a running controller.
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
    let outcome = match Cli::parse().command {
        Command::Run(args) => run::run(args),
        Command::Apps(args) => apps::run(args),
        Command::Designs(args) => designs::run(args),
        Command::Bench(args) => bench::run(*args),
        Command::Emulate(args) => emulate::run(args),
        Command::Lab(args) => lab::run(args),
        Command::Store(args) => store::run(args),
        Command::Pki(args) => pki::run(args),
        Command::Http(args) => http::run(args),
        Command::Decode(args) => decode::run(args),
        Command::Health(args) => ask::health::run(args),
        Command::Switches(args) => ask::switches::run(args),
        Command::Ports(args) => ask::ports::run(args),
        Command::Hosts(args) => ask::hosts::run(args),
        Command::Links(args) => ask::links::run(args),
        Command::Paths(args) => ask::paths::run(args),
        Command::Flows(args) => ask::flows::run(args),
        Command::Groups(args) => ask::groups::run(args),
        Command::Meters(args) => ask::meters::run(args),
        Command::Queues(args) => ask::queues::run(args),
        Command::Acl(args) => ask::acl::run(args),
        Command::StaticFlows(args) => ask::static_flows::run(args),
        Command::Stats(args) => ask::stats::run(args),
        Command::Top(args) => ask::top::run(args),
        Command::Metrics(args) => ask::metrics::run(args),
        Command::Events(args) => ask::events::run(args),
        Command::Weights(args) => ask::weights::run(args),
        Command::Trace(args) => ask::trace::run(args),
        Command::Reload(args) => ask::reload::run(args),
        Command::Completions(args) => shell::completions(args, Cli::command()),
        Command::Man(args) => shell::man(args, Cli::command()),
        Command::Version(args) => version::run(args),
    };
    let code = outcome.unwrap_or_else(|sentence| {
        eprintln!("aldis: {sentence}");
        ExitCode::from(EXIT_REFUSED)
    });
    out::lost().map_or(code, |sentence| {
        eprintln!("aldis: {sentence}");
        ExitCode::from(EXIT_REFUSED)
    })
}
