//! The reader: blocks to events.
//!
//! What it reads is hostile. A block has a bound, every length is checked before it is used, and
//! what is wrong is a [`BadRecording`] that says where. Nothing is believed but what the controller
//! wrote: the bytes of packets are not looked into here.

use std::cmp::Ordering;
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::block::{self, AROUND, kind};
use crate::event::{Endpoints, Mark, RecordedEvent, TimedEvent};
use crate::frame;
use crate::limits::{BLOCK_BYTES_MAX, FORMAT, HEAD_BYTES_MAX};
use crate::writer::{custom, packet};

/// Why a recording cannot be read on.
#[derive(Debug)]
pub struct BadRecording {
    /// The first byte of the block that is wrong, from the beginning of the file.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a block.
#[derive(Debug)]
pub enum Fault {
    /// The file does not begin as pcapng does.
    NotPcapng,
    /// It was written in another order of bytes.
    OtherOrder,
    /// No head of Aldis stands before the first packet.
    Foreign,
    /// A later version of the format.
    Newer(u16),
    /// An earlier version, whose marks had another meaning.
    Older(u16),
    /// The file ends within the block.
    Cut,
    /// Its length cannot be.
    Length(u32),
    /// A part of it cannot be.
    Garbled(&'static str),
    /// The file cannot be read.
    Io(io::Error),
}

impl fmt::Display for BadRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotPcapng => f.write_str("this is no pcapng file"),
            Fault::OtherOrder => {
                f.write_str("it was written on a machine with another order of bytes")
            }
            Fault::Foreign => f.write_str(
                "no head of Aldis stands here: another program captured this, and it cannot be \
                 played back",
            ),
            Fault::Newer(format) => write!(
                f,
                "a newer Aldis wrote this, in version {format} of the format; this one reads \
                 version {FORMAT}"
            ),
            Fault::Older(format) => write!(
                f,
                "an older Aldis wrote this, in version {format} of the format; this one reads \
                 version {FORMAT}"
            ),
            Fault::Cut => f.write_str("the file ends within this block: it was cut"),
            Fault::Length(length) => {
                write!(f, "a block cannot be {length} bytes long: the file was altered")
            }
            Fault::Garbled(what) => write!(f, "{what} cannot be so: the file was altered"),
            Fault::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for BadRecording {}

/// Reads a recording, an event at a time, in constant memory.
#[derive(Debug)]
pub struct RecordingReader<R> {
    input: R,
    /// The block in hand: its body, and the length behind it.
    block: Vec<u8>,
    /// Where the next block begins.
    at: u64,
    /// Where the block in hand begins.
    offset: u64,
    started_ns: u64,
    about: String,
}

impl<R: Read> RecordingReader<R> {
    /// Reads the beginning.
    ///
    /// # Errors
    /// This is no recording of Aldis, or one of another version.
    pub fn begin(input: R) -> Result<RecordingReader<R>, BadRecording> {
        let mut reader = RecordingReader {
            input,
            block: Vec::new(),
            at: 0,
            offset: 0,
            started_ns: 0,
            about: String::new(),
        };
        match reader.block() {
            Ok(Some(kind::SECTION)) => {}
            Ok(_) | Err(BadRecording { fault: Fault::Length(_) | Fault::Cut, .. }) => {
                return Err(BadRecording { offset: 0, fault: Fault::NotPcapng });
            }
            Err(bad) => return Err(bad),
        }
        while let Some(kind) = reader.block()? {
            match (kind, reader.custom()) {
                (kind::CUSTOM, Some((custom::HEAD, _))) => {
                    reader.head().map_err(|fault| reader.bad(fault))?;
                    return Ok(reader);
                }
                (kind::PACKET, _) => break,
                _ => {}
            }
        }
        Err(reader.bad(Fault::Foreign))
    }

    /// What the head says, as it was given to [`crate::RecordingWriter::begin`].
    pub fn about(&self) -> &str {
        &self.about
    }

    /// When the controller started, in nanoseconds since 1970.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// Where the block of the last event begins, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next event; nothing at the end.
    ///
    /// # Errors
    /// The file was cut or altered, or cannot be read.
    pub fn next_event(&mut self) -> Result<Option<TimedEvent<'_>>, BadRecording> {
        loop {
            let Some(kind) = self.block()? else { return Ok(None) };
            let has_one = match kind {
                kind::PACKET => self.packet().map(|event| event.is_some()),
                kind::CUSTOM => self.stamped().map(|event| event.is_some()),
                _ => Ok(false),
            };
            if has_one.map_err(|fault| self.bad(fault))? {
                let event = if kind == kind::PACKET { self.packet() } else { self.stamped() };
                return Ok(event.ok().flatten());
            }
        }
    }

    fn bad(&self, fault: Fault) -> BadRecording {
        BadRecording { offset: self.offset, fault }
    }

    /// Reads the next block; its kind, or nothing at the end.
    fn block(&mut self) -> Result<Option<u32>, BadRecording> {
        self.offset = self.at;
        let mut head = [0; 8];
        match fill(&mut self.input, &mut head) {
            Ok(0) => return Ok(None),
            Ok(8) => {}
            Ok(_) => return Err(self.bad(Fault::Cut)),
            Err(error) => return Err(self.bad(Fault::Io(error))),
        }
        let [kind, len] = [0, 4].map(|at| u32_at(&head, at).unwrap_or_default());
        let body = (len as usize)
            .checked_sub(AROUND)
            .filter(|body| *body <= BLOCK_BYTES_MAX && body.is_multiple_of(4));
        let Some(body) = body else {
            let other = kind == kind::SECTION && self.at == 0;
            let other = other && len.swap_bytes() as usize <= BLOCK_BYTES_MAX;
            return Err(self.bad(if other { Fault::OtherOrder } else { Fault::Length(len) }));
        };
        self.block.resize(body + 4, 0);
        match fill(&mut self.input, &mut self.block) {
            Ok(count) if count == body + 4 => {}
            Ok(_) => return Err(self.bad(Fault::Cut)),
            Err(error) => return Err(self.bad(Fault::Io(error))),
        }
        if u32_at(&self.block, body) != Some(len) {
            return Err(self.bad(Fault::Garbled("the length behind this block")));
        }
        self.block.truncate(body);
        if kind == kind::SECTION && u32_at(&self.block, 0) != Some(block::BYTE_ORDER) {
            return Err(self.bad(Fault::OtherOrder));
        }
        self.at += u64::from(len);
        Ok(Some(kind))
    }

    /// The kind and the body of the block in hand, where it is one of ours.
    fn custom(&self) -> Option<(u8, &[u8])> {
        let (&[of, ..], body) = block::ours_of(&self.block)?.split_first_chunk::<4>()?;
        Some((of, body))
    }

    fn head(&mut self) -> Result<(), Fault> {
        let (_, body) = self.custom().ok_or(Fault::Foreign)?;
        let garbled = Fault::Garbled("the head");
        let Some((&[low, high, ..], rest)) = body.split_first_chunk::<4>() else {
            return Err(garbled);
        };
        let format = u16::from_le_bytes([low, high]);
        match format.cmp(&FORMAT) {
            Ordering::Greater => return Err(Fault::Newer(format)),
            Ordering::Less => return Err(Fault::Older(format)),
            Ordering::Equal => {}
        }
        let (Some(started), Some(len)) = (u64_at(rest, 0), u32_at(rest, 8)) else {
            return Err(garbled);
        };
        let text = rest[12..].get(..len as usize).filter(|text| text.len() <= HEAD_BYTES_MAX);
        let text = text.and_then(|text| std::str::from_utf8(text).ok());
        let about = text.ok_or(garbled)?.to_owned();
        (self.started_ns, self.about) = (started, about);
        Ok(())
    }

    /// The event of a packet, where it has one.
    fn packet(&self) -> Result<Option<TimedEvent<'_>>, Fault> {
        let block = &self.block[..];
        let short = Fault::Garbled("the head of a packet");
        let [Some(high), Some(low), Some(len)] = [4, 8, 12].map(|at| u32_at(block, at)) else {
            return Err(short);
        };
        let behind = block.get(20..).ok_or(short)?;
        let frame = behind.get(..len as usize).ok_or(Fault::Garbled("the length of a packet"))?;
        let options = behind.get(frame.len().next_multiple_of(4)..).unwrap_or_default();
        let Some(ours) = block::ours(options) else { return Ok(None) };
        let (Some((&[of, flags, low_worker, high_worker], _)), Some(conn)) =
            (ours.split_first_chunk::<4>(), u64_at(ours, 4))
        else {
            return Err(Fault::Garbled("the connection of a packet"));
        };
        let bytes = frame::bytes_of(frame).ok_or(Fault::Garbled("the headers of a packet"))?;
        let has = |flag| flags & flag != 0;
        let event = match of {
            packet::OPENED => {
                let ends = frame::ends_of(frame).ok_or(Fault::Garbled("the ends of a packet"))?;
                RecordedEvent::Opened { conn, ends }
            }
            packet::READ => RecordedEvent::Read { conn, bytes, more: has(packet::MORE) },
            packet::WRITTEN => {
                let (more, outside) = (has(packet::MORE), has(packet::OUTSIDE));
                RecordedEvent::Written { conn, bytes, more, outside }
            }
            packet::CLOSED => RecordedEvent::Closed { conn },
            _ => return Ok(None),
        };
        let at = u64::from(high) << 32 | u64::from(low);
        let at_ns =
            at.checked_sub(self.started_ns).ok_or(Fault::Garbled("the time of a packet"))?;
        let worker = u16::from_le_bytes([low_worker, high_worker]);
        Ok(Some(TimedEvent { at_ns, worker, event }))
    }

    /// The event of a custom block, where it has one.
    fn stamped(&self) -> Result<Option<TimedEvent<'_>>, Fault> {
        let Some((of, body)) = self.custom() else { return Ok(None) };
        if !(custom::KNOWN..=custom::APPS).contains(&of) || of == custom::ALIVE {
            return Ok(None);
        }
        let short = || Fault::Garbled("a mark");
        let (at_ns, worker) = (u64_at(body, 0).ok_or_else(short)?, u32_at(body, 8));
        let worker = worker.and_then(|it| u16::try_from(it).ok()).ok_or_else(short)?;
        let value = u64_at(body, 12).ok_or_else(short)?;
        let second = || u64_at(body, 20).ok_or_else(short);
        let event = match of {
            custom::KNOWN => {
                let end = |at| address(body.get(at..)?);
                let (Some(dpid), Some(peer), Some(local)) = (u64_at(body, 20), end(28), end(48))
                else {
                    return Err(short());
                };
                RecordedEvent::Known { conn: value, ends: Endpoints { peer, local }, dpid }
            }
            custom::GAP => RecordedEvent::Gap { events: value, bytes: second()? },
            custom::VISITED => RecordedEvent::Read { conn: value, bytes: &[], more: false },
            custom::PUBLISHED => {
                let len = u32_at(body, 28).ok_or_else(short)? as usize;
                let taken = body.get(32..).and_then(|rest| rest.get(..len)).ok_or_else(short)?;
                RecordedEvent::Published { began_ns: value, version: second()?, taken }
            }
            _ => RecordedEvent::Marked(mark(of, value, second).ok_or_else(short)?),
        };
        Ok(Some(TimedEvent { at_ns, worker, event }))
    }
}

/// The mark of a custom block, with its first value and what reads the second.
fn mark(of: u8, value: u64, second: impl FnOnce() -> Result<u64, Fault>) -> Option<Mark> {
    Some(match of {
        custom::BATCH => Mark::Batch { ran_ns: value },
        custom::APPS => Mark::Apps { ran_ns: value, alone: second().ok()? != 0 },
        custom::ENTERED => Mark::Entered { version: value },
        custom::SECOND => Mark::Told { conn: value, second: true },
        custom::HEARD => Mark::Told { conn: value, second: false },
        custom::TICKED => Mark::Ticked,
        custom::ROUSED => Mark::Roused,
        custom::ACTED => Mark::Acted { before: value, after: second().ok()? },
        custom::LINE_UP => Mark::LineUp { version: value },
        custom::SHED => Mark::Shed { requests: value },
        _ => return None,
    })
}

/// Fills `into` as far as there is something; how many bytes that are.
fn fill(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match input.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn address(bytes: &[u8]) -> Option<SocketAddr> {
    let (ip, rest) = bytes.split_first_chunk::<16>()?;
    let port = u16::from_le_bytes(*rest.first_chunk()?);
    let ip = IpAddr::V6(Ipv6Addr::from(*ip)).to_canonical();
    Some(SocketAddr::new(ip, port))
}
