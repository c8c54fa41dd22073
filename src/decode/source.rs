//! Where messages come from: a file of raw bytes, or hex on stdin. Either is read piece by piece in
//! constant memory, so that an input of any length, or one that is still growing, can be decoded.

use aldis_wire::{Chop, Malformed, Raw, header::HEADER_LEN, header::MESSAGE_LEN_MAX};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

/// Twice the longest message: a read always has room, whatever was left over.
const BUFFER_LEN: usize = 2 * (MESSAGE_LEN_MAX + 1);

/// The longest line of hex, in bytes: the longest message as `00:11:…`, and as much again for
/// spaces and a comment.
const LINE_LEN_MAX: usize = 6 * (MESSAGE_LEN_MAX + 1);

/// Where in an input a message begins. Messages are counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InputPlace<'a> {
    /// The name of the input.
    pub(super) source: &'a str,
    /// The line of hex, from 1; raw bytes have none.
    pub(super) line: Option<u64>,
    /// Which message of the input, or of the line.
    pub(super) message: u64,
    /// Its first byte, from the start of the input, or of the line's bytes.
    pub(super) byte: u64,
}

impl fmt::Display for InputPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        write!(f, ", message {} at byte {}", self.message, self.byte)
    }
}

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoundMessage<'a> {
    /// A whole message, uninterpreted.
    Message(Raw<'a>),
    /// Something that is none; the input goes on behind it only where it is a line.
    Lost(Lost),
}

/// Why no further message can be cut out of an input, or out of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lost {
    /// The length in a header is below that of a header.
    Framing(Malformed),
    /// It ends in the middle of a message.
    CutOff { bytes: usize, length: Option<u16> },
    /// A character of the line is no hexadecimal digit; the column counts from 1.
    NotHex { column: usize, byte: u8 },
    /// The line holds half a byte.
    OddDigits,
    /// The line is longer than any message in hex.
    LongLine,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Lost::Framing(malformed) => {
                write!(f, "{malformed}; where the next message begins cannot be known")
            }
            Lost::CutOff { bytes, length: Some(length) } => {
                write!(f, "only {bytes} of the message's {length} bytes are there")
            }
            Lost::CutOff { bytes, length: None } => {
                write!(f, "only {bytes} of the header's {HEADER_LEN} bytes are there")
            }
            Lost::NotHex { column, byte } => {
                write!(f, "'{}' in column {column} is no hexadecimal digit", byte.escape_ascii())
            }
            Lost::OddDigits => f.write_str("an odd number of hexadecimal digits"),
            Lost::LongLine => write!(f, "the line is longer than {LINE_LEN_MAX} bytes"),
        }
    }
}

/// Why reading stopped early.
#[derive(Debug)]
pub(super) enum ReadStop {
    /// The input could not be read.
    Input(io::Error),
    /// What was found could not be passed on.
    Output(io::Error),
}

/// Gets what is found.
pub(super) trait MessageSink {
    /// One message, or what is wrong.
    fn found(&mut self, place: InputPlace<'_>, found: FoundMessage<'_>) -> io::Result<()>;

    /// The next read may take a while: what was found so far should be shown.
    fn idle(&mut self) -> io::Result<()>;
}

/// Reads an input of raw bytes to its end, or to where its framing is lost.
pub(super) fn raw(
    source: &str,
    mut input: impl Read,
    sink: &mut impl MessageSink,
) -> Result<(), ReadStop> {
    let mut buffer = vec![0; BUFFER_LEN];
    let mut filled = 0;
    let mut place = InputPlace { source, line: None, message: 1, byte: 0 };
    loop {
        sink.idle().map_err(ReadStop::Output)?;
        let read = read(&mut input, &mut buffer[filled..]).map_err(ReadStop::Input)?;
        filled += read;
        let left = chop(&mut place, &buffer[..filled], sink).map_err(ReadStop::Output)?;
        let Some(left) = left else { return Ok(()) };
        if read == 0 {
            return cut_off(place, &buffer[filled - left..filled], sink).map_err(ReadStop::Output);
        }
        buffer.copy_within(filled - left..filled, 0);
        filled = left;
    }
}

/// Reads an input of hex, a line at a time, to its end.
pub(super) fn hex(
    source: &str,
    input: impl Read,
    sink: &mut impl MessageSink,
) -> Result<(), ReadStop> {
    let mut input = BufReader::new(input);
    let (mut line, mut bytes) = (Vec::new(), Vec::new());
    for number in 1.. {
        if input.buffer().is_empty() {
            sink.idle().map_err(ReadStop::Output)?;
        }
        let Some(whole) = read_line(&mut input, &mut line).map_err(ReadStop::Input)? else { break };
        let place = InputPlace { source, line: Some(number), message: 1, byte: 0 };
        let outcome = match whole.then(|| digits(&line, &mut bytes)) {
            None => sink.found(place, FoundMessage::Lost(Lost::LongLine)),
            Some(Err(lost)) => sink.found(place, FoundMessage::Lost(lost)),
            Some(Ok(())) => one_line(place, &bytes, sink),
        };
        outcome.map_err(ReadStop::Output)?;
    }
    Ok(())
}

/// Hands out the messages of one line.
fn one_line(
    mut place: InputPlace<'_>,
    bytes: &[u8],
    sink: &mut impl MessageSink,
) -> io::Result<()> {
    match chop(&mut place, bytes, sink)? {
        Some(left) => cut_off(place, &bytes[bytes.len() - left..], sink),
        None => Ok(()),
    }
}

/// Hands out the whole messages at the front of `bytes`. How many bytes are left over behind them,
/// or `None` where the framing is lost.
fn chop(
    place: &mut InputPlace<'_>,
    bytes: &[u8],
    sink: &mut impl MessageSink,
) -> io::Result<Option<usize>> {
    let mut chop = Chop::new(bytes);
    for next in chop.by_ref() {
        match next {
            Ok(raw) => {
                sink.found(*place, FoundMessage::Message(raw))?;
                place.message += 1;
                place.byte += raw.bytes.len() as u64;
            }
            Err(malformed) => {
                sink.found(*place, FoundMessage::Lost(Lost::Framing(malformed)))?;
                return Ok(None);
            }
        }
    }
    Ok(Some(chop.rest().len()))
}

/// What is left at the end of an input is the beginning of a message, unless it is nothing.
fn cut_off(place: InputPlace<'_>, left: &[u8], sink: &mut impl MessageSink) -> io::Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    let length =
        left.first_chunk::<HEADER_LEN>().map(|head| u16::from_be_bytes([head[2], head[3]]));
    sink.found(place, FoundMessage::Lost(Lost::CutOff { bytes: left.len(), length }))
}

/// Reads once, whatever signals come meanwhile.
fn read(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            outcome => return outcome,
        }
    }
}

/// Reads one line into `line`: whether it fits (the rest of a longer one is passed over), or `None`
/// at the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    input.by_ref().take(LINE_LEN_MAX as u64 + 1).read_until(b'\n', line)?;
    if line.is_empty() {
        return Ok(None);
    }
    let whole = line.ends_with(b"\n") || line.len() <= LINE_LEN_MAX;
    if !whole {
        input.skip_until(b'\n')?;
    }
    Ok(Some(whole))
}

/// Turns the digits of a line into bytes. Spaces and colons may stand between them, a comment
/// behind a `#`.
fn digits(line: &[u8], bytes: &mut Vec<u8>) -> Result<(), Lost> {
    bytes.clear();
    let mut half = None;
    for (at, &byte) in line.iter().enumerate().take_while(|&(_, &byte)| byte != b'#') {
        if byte.is_ascii_whitespace() || byte == b':' {
            continue;
        }
        let digit =
            char::from(byte).to_digit(16).ok_or(Lost::NotHex { column: at + 1, byte })? as u8;
        match half.take() {
            None => half = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    if half.is_some() { Err(Lost::OddDigits) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down what it is told.
    #[derive(Default)]
    struct Notes(Vec<String>);

    impl MessageSink for Notes {
        fn found(&mut self, place: InputPlace<'_>, found: FoundMessage<'_>) -> io::Result<()> {
            self.0.push(match found {
                FoundMessage::Message(raw) => format!("{place}: xid {}", raw.header.xid),
                FoundMessage::Lost(lost) => format!("{place}: {lost}"),
            });
            Ok(())
        }

        fn idle(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An input that gives few bytes at a time, as a pipe may.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(buffer.len()).min(self.0.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    fn raw_notes(bytes: &[u8], step: usize) -> Vec<String> {
        let mut notes = Notes::default();
        raw("x", Trickle(bytes, step), &mut notes).unwrap();
        notes.0
    }

    fn hex_notes(text: &[u8]) -> Vec<String> {
        let mut notes = Notes::default();
        hex("stdin", text, &mut notes).unwrap();
        notes.0
    }

    fn message(length: u16, xid: u8) -> Vec<u8> {
        let [high, low] = length.to_be_bytes();
        let mut bytes = vec![4, 2, high, low, 0, 0, 0, xid];
        bytes.resize(usize::from(length).max(8), 0xaa);
        bytes
    }

    #[test]
    fn raw_bytes_are_chopped_however_they_arrive() {
        let bytes = [message(8, 1), message(65535, 2), message(20, 3)].concat();
        let expected = [
            "x, message 1 at byte 0: xid 1",
            "x, message 2 at byte 8: xid 2",
            "x, message 3 at byte 65543: xid 3",
        ];
        for step in [1, 7, 8, 4096, 1 << 20] {
            assert_eq!(raw_notes(&bytes, step), expected, "{step} bytes a read");
        }
    }

    #[test]
    fn an_end_in_the_middle_of_a_message_is_said() {
        let bytes = [message(8, 1), message(20, 2)].concat();
        let last = |len: usize| raw_notes(&bytes[..len], 100).pop().unwrap();
        assert_eq!(last(27), "x, message 2 at byte 8: only 19 of the message's 20 bytes are there");
        assert_eq!(last(15), "x, message 2 at byte 8: only 7 of the header's 8 bytes are there");
        assert_eq!(last(8), "x, message 1 at byte 0: xid 1");
    }

    #[test]
    fn a_length_below_a_header_ends_a_file_but_only_one_line() {
        let notes = raw_notes(&[message(8, 1), message(7, 2), message(8, 3)].concat(), 100);
        assert_eq!(notes.len(), 2);
        assert!(notes[1].ends_with("where the next message begins cannot be known"), "{notes:?}");
        let notes = hex_notes(b"0402000700000002\n0402000800000003\n");
        assert_eq!(notes[1], "stdin line 2, message 1 at byte 0: xid 3");
    }

    #[test]
    fn hex_may_be_written_in_many_ways() {
        let text = b"# a comment\n\n0402000800000001\n 04 02:00 08 00:00:00:02 # ok\r\n04020008000000030402000800000004";
        let expected = [
            "stdin line 3, message 1 at byte 0: xid 1",
            "stdin line 4, message 1 at byte 0: xid 2",
            "stdin line 5, message 1 at byte 0: xid 3",
            "stdin line 5, message 2 at byte 8: xid 4",
        ];
        assert_eq!(hex_notes(text), expected);
    }

    #[test]
    fn what_is_no_hex_costs_its_line_and_no_other() {
        let expected = [
            "stdin line 1, message 1 at byte 0: 'x' in column 2 is no hexadecimal digit",
            "stdin line 2, message 1 at byte 0: an odd number of hexadecimal digits",
            "stdin line 3, message 1 at byte 0: '\\xff' in column 1 is no hexadecimal digit",
            "stdin line 4, message 1 at byte 0: xid 1",
        ];
        assert_eq!(hex_notes(b"0x04\n040\n\xff\n0402000800000001\n"), expected);
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let mut text = vec![b'0'; 3 * LINE_LEN_MAX];
        text.extend(b"\n0402000800000001\n");
        let notes = hex_notes(&text);
        assert_eq!(
            notes[0],
            format!(
                "stdin line 1, message 1 at byte 0: the line is longer than {LINE_LEN_MAX} bytes"
            )
        );
        assert_eq!(notes[1], "stdin line 2, message 1 at byte 0: xid 1");
        assert_eq!(hex_notes(&vec![b' '; LINE_LEN_MAX]).len(), 0);
    }
}
