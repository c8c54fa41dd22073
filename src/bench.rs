//! `aldis bench`: emulated switches against any controller, or the null controller for them to run against.

mod args;
mod controller;
mod table;

use aldis_emulator::load::{self, Load, Moment};
use aldis_emulator::null::NullController;
use args::LoadArgs;
use clap::Subcommand;
use controller::Controller;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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

What is an answer: the first FLOW_MOD or PACKET_OUT that names the request's buffer id, or that names none and \
carries its xid or its frame; a second one for the same request does not count.
Ctrl-C ends it; the switches disconnect.";

/// Measure a controller: emulated switches offer it flow requests.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    null: Option<Null>,
    #[command(flatten)]
    load: Option<LoadArgs>,
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

/// Runs the one or the other.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    match (args.null, args.load) {
        (Some(Null::Null(args)), _) => serve(&args),
        (None, Some(args)) => measure(&args),
        (None, None) => Err("which controller? say aldis bench HOST:PORT".into()),
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

fn measure(args: &LoadArgs) -> Result<ExitCode, String> {
    let load = args.load();
    let mut cpu = match args.pid {
        Some(pid) => Some(Controller::with_pid(pid)?),
        None => Controller::listening_on(load.controller),
    };
    let mut progress = Progress::new(&load, args.json);
    let report = load::run_and_tell(&load, &mut |moment| {
        match (moment, &mut cpu) {
            (Moment::MeasureBegins, Some(cpu)) => cpu.begin(),
            (Moment::MeasureEnds, Some(cpu)) => cpu.end(),
            _ => {}
        }
        progress.tell(moment);
    });
    progress.clear();
    let report = report.map_err(|failure| failure.to_string())?;
    let usage = cpu.and_then(|cpu| cpu.usage());
    let rows = table::rows(&load, &report, usage.as_ref());
    match args.json {
        true => println!("{}", table::json(&rows)),
        false => print!("{}", table::text(&rows)),
    }
    Ok(ExitCode::SUCCESS)
}

/// What happens, on a terminal's stderr, once it has taken longer than a person likes to wait without a word.
struct Progress {
    switches: u32,
    length: Duration,
    begun: Instant,
    silent: bool,
    written: bool,
}

/// How long nothing is said.
const QUIET: Duration = Duration::from_secs(2);

impl Progress {
    fn new(load: &Load, json: bool) -> Progress {
        let length = load.measured_length();
        let silent = json || !std::io::stderr().is_terminal();
        Progress {
            switches: load.switches_in_all(),
            length,
            begun: Instant::now(),
            silent,
            written: false,
        }
    }

    fn tell(&mut self, moment: Moment) {
        if self.silent || self.begun.elapsed() < QUIET && moment != Moment::MeasureBegins {
            return;
        }
        let of = self.switches;
        let words = match moment {
            Moment::Connected(done) => format!("{done} of {of} switches connected"),
            Moment::Taught(done) => format!("{done} of {of} switches have told their addresses"),
            Moment::MeasureBegins if self.length > QUIET => {
                format!("measuring for {:.1} s", self.length.as_secs_f64())
            }
            Moment::MeasureBegins | Moment::MeasureEnds => return,
        };
        eprint!("\r\x1b[K{words}");
        let _ = std::io::stderr().flush();
        self.written = true;
    }

    fn clear(&self) {
        if self.written {
            eprint!("\r\x1b[K");
        }
    }
}
