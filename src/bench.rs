//! `aldis bench`: emulated switches against any controller, or the null controller for them to run
//! against.

pub(crate) mod args;
mod controller;
mod distributed;
mod handshakes;
mod measure;
pub(crate) mod probe;
mod save;
pub(crate) mod secure;
mod table;

use aldis_emulator::null::NullController;
use args::BenchLoadArgs;
use clap::Subcommand;
use std::net::SocketAddr;
use std::process::ExitCode;

use crate::failure::{CommandFailure, EXIT_PARTIAL};

const EXAMPLES: &str = "\
Examples:
  Throughput of the controller on port 6653 under 64 switches of 100,000 hosts, ten seconds:
    aldis bench 127.0.0.1:6653 -t -s 64 -M 100000
  The same with 400 requests outstanding a switch, against the least a controller can do:
    aldis bench null --listen 127.0.0.1:6699 &
    aldis bench 127.0.0.1:6699 --outstanding 400 -s 64 -M 100000
  Fairness and delay under unequal load (Maestro's scenario 2 at a quarter of its rate), one probing switch:
    aldis bench 127.0.0.1:6653 -t -s 79 --scenario 2 --scale 0.25 --probes 1
  One switch that floods, 63 that send 1,000 requests a second each:
    aldis bench 127.0.0.1:6653 -t -s 63 --switch-rate 1000 --storm 1
  Over TLS, with the certificates that aldis pki pki --switch 1 --switch 2 makes:
    aldis bench 127.0.0.1:6654 -t -s 2 --tls-authority pki/ca.pem --tls-certificate 'pki/switch-{dpid}.pem' --tls-key 'pki/switch-{dpid}.key'
  How each of 79 switches was served under skewed load, into files:
    aldis bench 127.0.0.1:6653 --mode fairness -s 79 --scenario 2 --save results/

What is an answer: the first FLOW_MOD or PACKET_OUT that names a request by its buffer id, the frame it carries, the source \
address that its rule matches on, or its xid; a second one for the same request does not count. See docs/bench.md, which has \
cbench's options side by side with these too.
Exit code: 0; 2 where nothing could be measured; 3 where the run ended before its time or no request was answered: what was \
measured until then is printed and saved, and marked partial. Ctrl-C ends a run so.";

/// Measure a controller: emulated switches offer it flow requests.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    null: Option<Null>,
    #[command(flatten)]
    load: BenchLoadArgs,
}

#[derive(Subcommand)]
enum Null {
    /// Run the null controller: a canned answer for every request, this machine's limit.
    Null(NullArgs),
}

#[derive(clap::Args)]
struct NullArgs {
    /// Where to listen.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6653")]
    listen: SocketAddr,
    /// Threads, each with switches of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
}

/// Says why there is only a part of a result; the exit code.
pub(crate) fn partial(why: &str) -> ExitCode {
    eprintln!("aldis: the result is partial: {why}");
    ExitCode::from(EXIT_PARTIAL)
}

/// Runs the one or the other.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    match args.null {
        Some(Null::Null(args)) => serve(&args).map_err(CommandFailure::from),
        None => measure::run(&args.load),
    }
}

fn serve(args: &NullArgs) -> Result<ExitCode, String> {
    let listen = args.listen;
    let running = NullController::start(listen, usize::from(args.threads))
        .map_err(|error| format!("the null controller cannot listen on {listen}: {error}"))?;
    eprintln!("the null controller listens on {}; Ctrl-C ends it", running.address());
    running.wait().map_err(|error| format!("the null controller stopped: {error}"))?;
    Ok(ExitCode::SUCCESS)
}
