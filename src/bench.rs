//! `aldis bench`: emulated switches against any controller, or the null controller for them to run against.

mod controller;
mod table;

use aldis_emulator::load::{self, Destinations, Load, Mode, Moment, Rate};
use aldis_emulator::null::NullController;
use aldis_wire::Version;
use clap::{Subcommand, ValueEnum};
use controller::Controller;
use std::io::{IsTerminal, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  Throughput of the controller on port 6653 under 64 switches of 100,000 hosts, ten seconds:
    aldis bench 127.0.0.1:6653 -t -s 64 -M 100000
  The same with 400 requests outstanding a switch, against the least a controller can do:
    aldis bench null --listen 127.0.0.1:6699 &
    aldis bench 127.0.0.1:6699 --outstanding 400 -s 64 -M 100000

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

#[derive(Clone, Copy, ValueEnum)]
enum DestinationsArg {
    /// Every address of the switch in turn.
    All,
    /// One address that never speaks itself, as cbench has it.
    One,
}

#[derive(Clone, Copy, ValueEnum)]
enum VersionArg {
    #[value(name = "1.0")]
    V10,
    #[value(name = "1.3")]
    V13,
}

#[derive(clap::Args)]
struct LoadArgs {
    /// The controller.
    #[arg(value_name = "HOST:PORT", value_parser = resolve)]
    controller: SocketAddr,
    /// Switches: 1 to 10,000.
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=i64::from(load::SWITCHES_MAX)))]
    switches: u32,
    /// Addresses a switch: 1 to 1,000,000.
    #[arg(short = 'M', long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(load::MACS_MAX)))]
    macs: u32,
    /// Ports a switch: 2 to 1,000.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=i64::from(load::PORTS_MAX)))]
    ports: u32,
    /// The OpenFlow version of the switches.
    #[arg(long, value_name = "VERSION", default_value = "1.0")]
    openflow: VersionArg,
    /// Keep no packets: requests carry NO_BUFFER, as those of Open vSwitch do.
    #[arg(long)]
    no_buffer: bool,
    /// Who is spoken to.
    #[arg(long, value_name = "WHO", default_value = "all")]
    destinations: DestinationsArg,
    /// Do not tell the controller beforehand where the addresses live.
    #[arg(long)]
    no_teach: bool,
    /// Throughput: offer as many requests as the sockets take. Without this and --outstanding: latency, one request
    /// outstanding a switch.
    #[arg(short, long, conflicts_with = "outstanding")]
    throughput: bool,
    /// Throughput with so many requests outstanding a switch: 1 to 262,144.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(load::WINDOW_MAX)))]
    outstanding: Option<u32>,
    /// Offer so many requests a second, all switches together, instead of as many as the mode allows.
    #[arg(long, value_name = "RPS", value_parser = rate)]
    rate: Option<f64>,
    /// Offer so many requests a second and switch.
    #[arg(long, value_name = "RPS", value_parser = rate, conflicts_with = "rate")]
    switch_rate: Option<f64>,
    /// Measured loops.
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    loops: u32,
    /// Length of a loop in milliseconds; at least 100 for the CPU time to mean anything.
    #[arg(short, long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    ms: u64,
    /// Loops before the measured ones.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warmup: u32,
    /// Wait so many milliseconds behind the last handshake.
    #[arg(short = 'D', long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3_600_000))]
    delay: u64,
    /// Connect so many switches at once.
    #[arg(short = 'i', long, value_name = "N", default_value_t = load::SWITCHES_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(load::SWITCHES_MAX)))]
    connect_group: u32,
    /// Pause so many milliseconds between groups of connecting switches.
    #[arg(short = 'I', long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=600_000))]
    connect_pause: u64,
    /// Threads of the load generator: 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// The controller's process, for its CPU time; by default whichever listens on the port.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
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

impl LoadArgs {
    fn load(&self) -> Load {
        Load {
            version: match self.openflow {
                VersionArg::V10 => Version::V10,
                VersionArg::V13 => Version::V13,
            },
            switches: self.switches,
            macs: self.macs,
            ports: self.ports,
            buffered: !self.no_buffer,
            destinations: match self.destinations {
                DestinationsArg::All => Destinations::All,
                DestinationsArg::One => Destinations::One,
            },
            teach: !self.no_teach,
            mode: match (self.throughput, self.outstanding) {
                (true, _) => Mode::Full,
                (false, Some(outstanding)) => Mode::Window(outstanding),
                (false, None) => Mode::Latency,
            },
            rate: match (self.rate, self.switch_rate) {
                (Some(rate), _) => Rate::Total(rate),
                (None, Some(rate)) => Rate::PerSwitch(rate),
                (None, None) => Rate::Unlimited,
            },
            threads: usize::from(self.threads),
            warm_up: self.warmup,
            loops: self.loops,
            loop_length: Duration::from_millis(self.ms),
            settle: Duration::from_millis(self.delay),
            connect_group: self.connect_group,
            connect_pause: Duration::from_millis(self.connect_pause),
            ..Load::new(self.controller)
        }
    }
}

fn resolve(text: &str) -> Result<SocketAddr, String> {
    let mut addresses = text.to_socket_addrs().map_err(|error| {
        format!("{error}; write it as HOST:PORT, for example 127.0.0.1:6653 or [::1]:6653")
    })?;
    addresses.next().ok_or_else(|| "the name has no address".into())
}

fn rate(text: &str) -> Result<f64, String> {
    match text.replace('_', "").parse() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("a number of requests a second is wanted, above 0 and at most 1e9".into()),
    }
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
        let length = load.loop_length * load.loops;
        let silent = json || !std::io::stderr().is_terminal();
        Progress { switches: load.switches, length, begun: Instant::now(), silent, written: false }
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
