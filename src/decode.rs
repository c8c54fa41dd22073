//! `aldis decode`: OpenFlow messages in words, as JSON, or as bytes again.
//!
//! What is decoded goes to stdout, one message after the other; what is wrong with a message goes
//! to stderr, and the next one is read. Memory does not grow with the input.

mod json;
mod source;
mod text;

use aldis_wire::{Header, Malformed, Raw, Version, v10, v13};
use source::{FoundMessage, InputPlace, MessageSink, ReadStop};
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
        (true, _) => PrintForm::Json,
        (_, true) => PrintForm::Bytes,
        _ => PrintForm::Words,
    };
    let mut printer = Printer::new(form);
    let outcome = if args.files.is_empty() {
        source::hex("stdin", io::stdin().lock(), &mut printer)
            .map_err(|stop| ("stdin".into(), stop))
    } else {
        args.files.iter().try_for_each(|path| file(path, &mut printer))
    };
    match outcome
        .and_then(|()| printer.idle().map_err(|error| ("stdout".into(), ReadStop::Output(error))))
    {
        // The reader of the output has seen enough: `aldis decode … | head`.
        Err((_, ReadStop::Output(error))) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err((_, ReadStop::Output(error))) => {
            return Err(format!("cannot write to stdout: {error}"));
        }
        Err((name, ReadStop::Input(error))) => return Err(format!("cannot read {name}: {error}")),
        Ok(()) => {}
    }
    Ok(if printer.any_malformed { ExitCode::from(EXIT_MALFORMED) } else { ExitCode::SUCCESS })
}

/// Decodes one file; where that fails, its name and why.
fn file(path: &Path, printer: &mut Printer) -> Result<(), (String, ReadStop)> {
    let name = path.display().to_string();
    File::open(path)
        .map_err(ReadStop::Input)
        .and_then(|file| source::raw(&name, file, printer))
        .map_err(|stop| (name, stop))
}

/// A message in words, whatever it is.
pub(crate) fn words(raw: Raw<'_>) -> String {
    let Header { kind, xid, .. } = raw.header;
    let Some(version) = Version::from_wire(raw.header.version) else { return unspoken(raw.header) };
    match DecodedMessage::decode(version, raw.bytes) {
        Ok(message) => text::MessageText { xid, message: &message }.to_string(),
        Err(malformed) => format!("{} malformed: {malformed}", text::title(version, kind, xid)),
    }
}

/// How a message is printed.
#[derive(Clone, Copy)]
enum PrintForm {
    Words,
    Json,
    Bytes,
}

/// A message of either version.
enum DecodedMessage {
    V10(v10::Message),
    V13(v13::Message),
}

impl DecodedMessage {
    /// Decodes one whole message of a version that Aldis speaks.
    fn decode(version: Version, bytes: &[u8]) -> Result<DecodedMessage, Malformed> {
        Ok(match version {
            Version::V10 => DecodedMessage::V10(v10::Message::decode(bytes)?.1),
            Version::V13 => DecodedMessage::V13(v13::Message::decode(bytes)?.1),
        })
    }
}

/// Prints what is found: messages on stdout, trouble on stderr.
struct Printer {
    form: PrintForm,
    out: io::BufWriter<StdoutLock<'static>>,
    any_malformed: bool,
}

impl Printer {
    fn new(form: PrintForm) -> Self {
        Printer { form, out: io::BufWriter::new(io::stdout().lock()), any_malformed: false }
    }

    /// Says on stderr what is wrong with the message at a place, behind all that was printed
    /// before.
    fn complain(&mut self, place: InputPlace<'_>, what: &str) -> io::Result<()> {
        self.out.flush()?;
        // With stderr closed it cannot be said; the exit code still says it.
        let _ = writeln!(io::stderr(), "aldis: {place}: {what}");
        Ok(())
    }

    fn malformed(&mut self, place: InputPlace<'_>, what: &str) -> io::Result<()> {
        self.any_malformed = true;
        self.complain(place, what)
    }

    fn message(&mut self, place: InputPlace<'_>, raw: Raw<'_>) -> io::Result<()> {
        let Some(version) = Version::from_wire(raw.header.version) else {
            return self.complain(place, &unspoken(raw.header));
        };
        match DecodedMessage::decode(version, raw.bytes) {
            Ok(message) => self.print(place, raw.header.xid, &message),
            Err(malformed) => {
                let title = text::title(version, raw.header.kind, raw.header.xid);
                self.malformed(place, &format!("{title} malformed: {malformed}"))
            }
        }
    }

    fn print(
        &mut self,
        place: InputPlace<'_>,
        xid: u32,
        message: &DecodedMessage,
    ) -> io::Result<()> {
        match self.form {
            PrintForm::Words => writeln!(self.out, "{}", text::MessageText { xid, message }),
            PrintForm::Json => json::write(&mut self.out, xid, message),
            PrintForm::Bytes => match reencoded(xid, message) {
                Ok(hex) => writeln!(self.out, "{hex}"),
                Err(error) => self.malformed(place, &format!("cannot be written again: {error}")),
            },
        }
    }
}

impl MessageSink for Printer {
    fn found(&mut self, place: InputPlace<'_>, found: FoundMessage<'_>) -> io::Result<()> {
        match found {
            FoundMessage::Message(raw) => self.message(place, raw),
            FoundMessage::Lost(lost) => self.malformed(place, &lost.to_string()),
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
fn reencoded(xid: u32, message: &DecodedMessage) -> Result<String, aldis_wire::writer::TooLong> {
    let mut bytes = Vec::new();
    match message {
        DecodedMessage::V10(message) => message.encode(xid, &mut bytes)?,
        DecodedMessage::V13(message) => message.encode(xid, &mut bytes)?,
    }
    Ok(text::hex(&bytes))
}
