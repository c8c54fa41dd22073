//! `aldis report`: all that a report of a mistake needs, in one file, and no secrets.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aldis_doctor::gather::output;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::client::Base;
use crate::doctor;
use crate::failure::CommandFailure;

mod redact;

/// The folder in the archive.
const FOLDER: &str = "aldis-report";

/// How long the controller may take for an answer.
const WITHIN: Duration = Duration::from_secs(5);

/// How long a program of this machine may take to say its version: Mininet is written in Python.
const PROGRAM_WITHIN: Duration = Duration::from_secs(5);

/// Bytes of a recording that go into a report.
const RECORDING_MAX: u64 = 256 << 20;

/// What the controller is asked for, and the file that holds it. Hosts are left out: they are
/// people's.
const ASKED: [(&str, &str); 9] = [
    ("/api/v1/version", "version.json"),
    ("/api/v1/health", "health.json"),
    ("/api/v1/design", "design.json"),
    ("/api/v1/apps", "apps.json"),
    ("/api/v1/guests", "guests.json"),
    ("/api/v1/switches", "switches.json"),
    ("/api/v1/links", "links.json"),
    ("/api/v1/log", "log.json"),
    ("/metrics", "metrics.txt"),
];

/// Arguments of `aldis report`.
#[derive(clap::Args)]
#[command(after_help = "\
The file holds the versions of what takes part, what the doctor finds, the controller's log, metrics,
switches and links, the configuration with every secret replaced by \"(left out)\", and what was kept of
the control channel (aldis run --recording-mib). That recording has packets of the network in it: look
at it before you hand the file on, or leave it out. It works without a controller, too.

Examples:
  aldis report --config aldis.toml                 into aldis-report.tar.gz
  aldis report --last 5m --out mistake.tar.gz      with the last five minutes of the control channel
  aldis report --without-recording                 nothing that hosts sent")]
pub(crate) struct Args {
    /// The file to write, which must not be there yet
    #[arg(long, value_name = "FILE", default_value = "aldis-report.tar.gz")]
    out: PathBuf,
    /// The configuration that the controller was started with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Take what the controller kept of so long before now: 60s, 10m, 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::client::record::seconds)]
    last: u64,
    /// Leave out what switches and controller said to each other
    #[arg(long, conflicts_with = "last")]
    without_recording: bool,
    #[command(flatten)]
    http: Base,
}

/// A report: files, and why others are not among them.
#[derive(Default)]
struct Report {
    files: Vec<(String, Vec<u8>)>,
    left_out: Vec<String>,
}

impl Report {
    fn put(&mut self, name: &str, found: Result<Vec<u8>, String>) {
        match found {
            Ok(bytes) => self.files.push((name.to_owned(), bytes)),
            Err(why) => self.left_out.push(format!("{name}: {why}")),
        }
    }
}

/// Collects the report, and writes it.
///
/// # Errors
/// One sentence: the file is there already, or cannot be written.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} is there already; name another file with --out", args.out.display())
        }
        _ => format!("cannot write {}: {error}", args.out.display()),
    };
    // Others on this machine have no business with it.
    let file = File::options().write(true).create_new(true).mode(0o600).open(&args.out);
    let file = file.map_err(cannot)?;
    let report = collect(&args);
    write(file, &report).map_err(|error| {
        let _ = std::fs::remove_file(&args.out);
        cannot(error)
    })?;
    println!("{}:", args.out.display());
    report.files.iter().for_each(|(name, bytes)| println!("  {name:<20} {} bytes", bytes.len()));
    report.left_out.iter().for_each(|why| println!("  not in it: {why}"));
    if report.files.iter().any(|(name, _)| name == "recording.pcapng") {
        println!(
            "recording.pcapng has packets of the network in it; --without-recording leaves it out"
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn collect(args: &Args) -> Report {
    let mut report = Report::default();
    report.put("programs.txt", Ok(programs().into_bytes()));
    let found = format!("{:#}\n", doctor::look(&args.http));
    report.put("doctor.json", Ok(found.into_bytes()));
    let base = args.http.clone().hurried(WITHIN);
    for (path, name) in ASKED {
        report.put(name, base.get(path).map(String::into_bytes));
    }
    if let Some(path) = &args.config {
        report.put("configuration.toml", configuration(path).map(String::into_bytes));
    }
    if !args.without_recording {
        report.put("recording.pcapng", recording(&base, args.last));
    }
    report
}

/// What takes part on this machine.
fn programs() -> String {
    let kernel = rustix::system::uname();
    let kernel =
        format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy());
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = system.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let said = |program: &str| match output(program, &["--version"], PROGRAM_WITHIN) {
        Ok(text) => format!("{program}: {}", text.lines().next().unwrap_or("says nothing")),
        Err(why) => format!("{program}: {why}"),
    };
    let [switches, mininet] = ["ovs-vsctl", "mn"].map(said);
    format!(
        "aldis {}\n{kernel}\n{}\n{switches}\n{mininet}\n",
        env!("CARGO_PKG_VERSION"),
        system.unwrap_or("a system without /etc/os-release").trim_matches('"'),
    )
}

fn configuration(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    redact::configuration(&text).map_err(|why| format!("{}: {why}", path.display()))
}

/// What the controller kept of so many seconds.
fn recording(base: &Base, last: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let answer = base.stream(&format!("/api/v1/recording?last={last}"))?;
    answer
        .take(RECORDING_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it broke off: {error}"))?;
    match bytes.len() as u64 {
        RECORDING_MAX => {
            Err(format!("it is longer than {} MiB: ask for less", RECORDING_MAX >> 20))
        }
        _ => Ok(bytes),
    }
}

fn write(file: File, report: &Report) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let left_out = report.left_out.join("\n") + "\n";
    let files = report.files.iter().map(|(name, bytes)| (&**name, &**bytes));
    for (name, bytes) in files.chain([("left-out.txt", left_out.as_bytes())]) {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(now);
        archive.append_data(&mut header, format!("{FOLDER}/{name}"), bytes)?;
    }
    archive.into_inner()?.finish()?.flush()
}
