//! `aldis record`: the control channel of a running controller, as a file for Wireshark.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aldis_recording::{BadRecording, Fault, RecordedEvent, RecordingReader};
use aldis_wire::DatapathId;
use crossbeam_channel::RecvTimeoutError;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Base, query};
use crate::failure::{CommandFailure, EXIT_FAILED};
use crate::interrupt;

/// How often it is looked whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// Pieces that wait for the disk.
const PIECES: usize = 64;

/// Arguments of `aldis record`.
#[derive(clap::Args)]
#[command(after_help = "\
The file is pcapng: \"wireshark FILE\" and \"tshark -r FILE -O openflow_v4\" show it as OpenFlow, also
what came over TLS. Where switches connect to another port than 6653 or 6633, Wireshark is to be told:
-d tcp.port==PORT,openflow. It holds every packet that switches hand over, so the controller gives it
to administrators alone. What is missing, since someone did not keep up, is counted in the file.

Examples:
  aldis record --out net.pcapng                     all switches, until Ctrl-C
  aldis record --out s1.pcapng --switch 1 --for 30s one switch, for half a minute
  aldis record --out past.pcapng --last 60s         the last minute, of a controller that was started
                                                    with --recording-mib 64
  aldis record --out - | wireshark -k -i -          as it happens

Exit codes:
  0                                                 the recording is whole, or says what is missing
  1                                                 it ended before its time: the controller ended, or
                                                    the disk is full; what was written can be read")]
pub(crate) struct Args {
    /// The file to write; "-" for standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Record this switch, by its datapath id, and connections that have not said yet which switch
    /// they are; may be given several times [default: all]
    #[arg(long, value_name = "DPID")]
    switch: Vec<DatapathId>,
    /// Save what the controller kept of so long before now: 60s, 10m, 1h
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    last: Option<u64>,
    /// End after so long
    #[arg(long = "for", value_name = "TIME", value_parser = seconds, conflicts_with = "last")]
    length: Option<u64>,
    #[command(flatten)]
    http: Base,
}

/// Whole seconds, with their unit.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        _ => 0,
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match seconds {
        Some(seconds @ 1..=86_400) => Ok(seconds),
        _ => Err("a time is a number and s, m or h, as 60s; accepted are 1s to 24h".into()),
    }
}

/// Records until it is told to stop.
///
/// # Errors
/// One sentence: no answer, a file that cannot be written, a controller that ended.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let stop = interrupt::watched()?;
    let switches = args.switch.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let last = args.last.map(|last| last.to_string());
    let wanted =
        [("switches", Some(&*switches).filter(|all| !all.is_empty())), ("last", last.as_deref())];
    let answer = args.http.stream(&format!("/api/v1/recording{}", query(&wanted)))?;
    let is_file = args.out != Path::new("-");
    let mut out: Box<dyn Write> = match is_file {
        true => Box::new(File::create(&args.out).map_err(|error| cannot_write(&args.out, &error))?),
        false => Box::new(io::stdout().lock()),
    };
    let until = args.length.map(|length| Instant::now() + Duration::from_secs(length));
    let ended = copy(answer, &mut *out, &stop, until);
    drop(out);
    if let CopyEnd::Output(error) = &ended
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        eprintln!("aldis: {}", cannot_write(&args.out, error));
    }
    if is_file {
        eprintln!("aldis: {}", conclude(&args.out)?);
    }
    match ended {
        CopyEnd::Told => Ok(ExitCode::SUCCESS),
        CopyEnd::Input(_) if args.last.is_some() => Ok(ExitCode::SUCCESS),
        CopyEnd::Input(why) => Err(format!("{} ended the recording: {why}", args.http).into()),
        CopyEnd::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::SUCCESS)
        }
        CopyEnd::Output(_) => Ok(ExitCode::from(EXIT_FAILED)),
    }
}

fn cannot_write(file: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}; the controller goes on", file.display())
}

/// Why a recording ended.
enum CopyEnd {
    /// It was to.
    Told,
    /// The controller has no more.
    Input(String),
    /// It cannot be written.
    Output(io::Error),
}

/// Copies the answer until something ends that. A thread reads, so that the end does not wait for
/// the next piece.
fn copy(
    mut answer: impl Read + Send + 'static,
    out: &mut dyn Write,
    stop: &AtomicBool,
    until: Option<Instant>,
) -> CopyEnd {
    let (send, pieces) = crossbeam_channel::bounded(PIECES);
    thread::spawn(move || {
        loop {
            let mut piece = vec![0; PIECE];
            let read = match answer.read(&mut piece) {
                Ok(0) => Err("it has no more".to_owned()),
                Ok(count) => {
                    piece.truncate(count);
                    Ok(piece)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error.to_string()),
            };
            let is_over = read.is_err();
            if send.send(read).is_err() || is_over {
                return;
            }
        }
    });
    let bar = progress();
    let end = loop {
        if stop.load(Ordering::Relaxed) || until.is_some_and(|until| until <= Instant::now()) {
            break CopyEnd::Told;
        }
        match pieces.recv_timeout(LOOK_EVERY) {
            Ok(Ok(piece)) => match out.write_all(&piece).and_then(|()| out.flush()) {
                Ok(()) => bar.inc(piece.len() as u64),
                Err(error) => break CopyEnd::Output(error),
            },
            Ok(Err(why)) => break CopyEnd::Input(why),
            Err(RecvTimeoutError::Timeout) => bar.tick(),
            Err(RecvTimeoutError::Disconnected) => break CopyEnd::Input("it broke off".into()),
        }
    };
    bar.finish_and_clear();
    end
}

/// How much was recorded, where a person watches.
fn progress() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "recording: {bytes}, {binary_bytes_per_sec}, {elapsed}; Ctrl-C ends it",
    );
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Cuts off a block that was begun and not ended; what the file holds, in a sentence.
///
/// # Errors
/// One sentence: the file cannot be read again.
fn conclude(file: &Path) -> Result<String, String> {
    let shown = file.display();
    let read = File::open(file).map_err(|error| format!("cannot read {shown} again: {error}"))?;
    let mut counts = RecordingCounts::default();
    match counts.read(io::BufReader::with_capacity(PIECE, read)) {
        Ok(()) => {}
        Err(BadRecording { offset, fault: Fault::Cut }) => {
            let whole = File::options().write(true).open(file);
            let whole = whole.and_then(|file| file.set_len(offset));
            whole.map_err(|error| format!("cannot cut {shown} to its whole blocks: {error}"))?;
        }
        Err(bad) => return Err(format!("{shown}: {bad}")),
    }
    let RecordingCounts { conns, read, written, lost } = counts;
    let missing = match lost {
        0 => "nothing is missing".to_owned(),
        lost => format!("{lost} reads and writes are missing, where the file says so"),
    };
    Ok(format!("{shown}: {conns} connections, {read} reads, {written} writes; {missing}"))
}

/// What a recording holds.
#[derive(Clone, Copy, Default, Debug)]
struct RecordingCounts {
    conns: u64,
    read: u64,
    written: u64,
    lost: u64,
}

impl RecordingCounts {
    fn read(&mut self, input: impl Read) -> Result<(), BadRecording> {
        let mut reader = RecordingReader::begin(input)?;
        while let Some(timed) = reader.next_event()? {
            match timed.event {
                RecordedEvent::Opened { .. } | RecordedEvent::Known { .. } => self.conns += 1,
                RecordedEvent::Read { more: false, .. } => self.read += 1,
                RecordedEvent::Written { more: false, .. } => self.written += 1,
                RecordedEvent::Gap { events, .. } => self.lost = self.lost.saturating_add(events),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        let read = ["60s", "60", "10m", "24h"].map(seconds);
        assert_eq!(read, [Ok(60), Ok(60), Ok(600), Ok(86_400)]);
        for text in ["", "s", "0s", "25h", "1d", "-1s", "99999999999999999999h"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
