//! `aldis decode`: OpenFlow messages in words, as JSON, or as bytes again.
//!
//! What is decoded goes to stdout, one message after the other; what is wrong with a message goes
//! to stderr, and the next one is read. Memory does not grow with the input.

mod json;
mod source;
mod text;

use aldis_wire::{Header, Malformed, Raw, Version, v10, v13};
use source::{Found, Place, Sink, Stop};
use std::fs::File;
use std::io::{self, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code when a message could not be decoded.
const EXIT_MALFORMED: u8 = 1;

/// What to decode, and how to print it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis decode capture.bin          raw bytes in a file
  aldis decode /dev/stdin < fifo    raw bytes on stdin
  echo 04:02:00:08 00000005 | aldis decode
                                    hex on stdin; spaces, colons and # comments are passed over

Exit status: 0 when everything was decoded, 1 when something was malformed, 2 when an input could not be read.")]
pub(crate) struct Args {
    /// Files of raw bytes, one message behind the other; without any, hex is read from stdin, one
    /// message a line
    files: Vec<PathBuf>,
    /// Print each message as a JSON object on a line of its own
    #[arg(long, conflicts_with = "reencode")]
    json: bool,
    /// Print the bytes of each message again, in hex, as Aldis would write it
    #[arg(long)]
    reencode: bool,
}

/// Decodes every input in turn.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let form = match (args.json, args.reencode) {
        (true, _) => Form::Json,
        (_, true) => Form::Bytes,
        _ => Form::Words,
    };
    let mut printer = Printer::new(form);
    let outcome = if args.files.is_empty() {
        source::hex("stdin", io::stdin().lock(), &mut printer)
            .map_err(|stop| ("stdin".into(), stop))
    } else {
        args.files.iter().try_for_each(|path| file(path, &mut printer))
    };
    match outcome
        .and_then(|()| printer.idle().map_err(|error| ("stdout".into(), Stop::Output(error))))
    {
        // The reader of the output has seen enough: `aldis decode … | head`.
        Err((_, Stop::Output(error))) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err((_, Stop::Output(error))) => return Err(format!("cannot write to stdout: {error}")),
        Err((name, Stop::Input(error))) => return Err(format!("cannot read {name}: {error}")),
        Ok(()) => {}
    }
    Ok(if printer.any_malformed { ExitCode::from(EXIT_MALFORMED) } else { ExitCode::SUCCESS })
}

/// Decodes one file; where that fails, its name and why.
fn file(path: &Path, printer: &mut Printer) -> Result<(), (String, Stop)> {
    let name = path.display().to_string();
    File::open(path)
        .map_err(Stop::Input)
        .and_then(|file| source::raw(&name, file, printer))
        .map_err(|stop| (name, stop))
}

/// How a message is printed.
#[derive(Clone, Copy)]
enum Form {
    Words,
    Json,
    Bytes,
}

/// A message of either version.
enum Message {
    V10(v10::Message),
    V13(v13::Message),
}

impl Message {
    /// Decodes one whole message of a version that Aldis speaks.
    fn decode(version: Version, bytes: &[u8]) -> Result<Message, Malformed> {
        Ok(match version {
            Version::V10 => Message::V10(v10::Message::decode(bytes)?.1),
            Version::V13 => Message::V13(v13::Message::decode(bytes)?.1),
        })
    }
}

/// Prints what is found: messages on stdout, trouble on stderr.
struct Printer {
    form: Form,
    out: io::BufWriter<StdoutLock<'static>>,
    any_malformed: bool,
}

impl Printer {
    fn new(form: Form) -> Self {
        Printer { form, out: io::BufWriter::new(io::stdout().lock()), any_malformed: false }
    }

    /// Says on stderr what is wrong with the message at a place, behind all that was printed
    /// before.
    fn complain(&mut self, place: Place<'_>, what: &str) -> io::Result<()> {
        self.out.flush()?;
        // With stderr closed it cannot be said; the exit code still says it.
        let _ = writeln!(io::stderr(), "aldis: {place}: {what}");
        Ok(())
    }

    fn malformed(&mut self, place: Place<'_>, what: &str) -> io::Result<()> {
        self.any_malformed = true;
        self.complain(place, what)
    }

    fn message(&mut self, place: Place<'_>, raw: Raw<'_>) -> io::Result<()> {
        let Some(version) = Version::from_wire(raw.header.version) else {
            return self.complain(place, &unspoken(raw.header));
        };
        match Message::decode(version, raw.bytes) {
            Ok(message) => self.print(place, raw.header.xid, &message),
            Err(malformed) => {
                let title = text::title(version, raw.header.kind, raw.header.xid);
                self.malformed(place, &format!("{title} malformed: {malformed}"))
            }
        }
    }

    fn print(&mut self, place: Place<'_>, xid: u32, message: &Message) -> io::Result<()> {
        match self.form {
            Form::Words => writeln!(self.out, "{}", text::MessageText { xid, message }),
            Form::Json => json::write(&mut self.out, xid, message),
            Form::Bytes => match reencoded(xid, message) {
                Ok(hex) => writeln!(self.out, "{hex}"),
                Err(error) => self.malformed(place, &format!("cannot be written again: {error}")),
            },
        }
    }
}

impl Sink for Printer {
    fn found(&mut self, place: Place<'_>, found: Found<'_>) -> io::Result<()> {
        match found {
            Found::Message(raw) => self.message(place, raw),
            Found::Lost(lost) => self.malformed(place, &lost.to_string()),
        }
    }

    fn idle(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A message of another version is no fault of its sender.
fn unspoken(header: Header) -> String {
    let Header { version, kind, length, xid } = header;
    let spoken = Version::ALL.map(|version| version.to_string()).join(" and ");
    format!(
        "version {version:#04x}, type {kind}, {length} bytes, xid={xid:#x}: skipped, for Aldis reads {spoken} only"
    )
}

/// The bytes that Aldis writes for a message, in hex.
fn reencoded(xid: u32, message: &Message) -> Result<String, aldis_wire::writer::TooLong> {
    let mut bytes = Vec::new();
    match message {
        Message::V10(message) => message.encode(xid, &mut bytes)?,
        Message::V13(message) => message.encode(xid, &mut bytes)?,
    }
    Ok(text::hex(&bytes))
}
