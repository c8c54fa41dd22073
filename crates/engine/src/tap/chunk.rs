//! A chunk: records one behind the other, each with a head of a fixed length.

use aldis_control::Time;
use aldis_recording::{Mark, RecordedEvent, TimedEvent};

use super::ends_of;
use super::past_caches::{append_past_caches, fetch_room};

/// Bytes of a record's head: kind, flags, two that say nothing, length 4, time 8, connection 8,
/// value 8.
pub(super) const HEAD: usize = 32;

/// Kinds of records.
pub(super) mod kind {
    pub(in crate::tap) const OPENED: u8 = 1;
    pub(in crate::tap) const READ: u8 = 2;
    pub(in crate::tap) const WRITTEN: u8 = 3;
    pub(in crate::tap) const CLOSED: u8 = 4;
    pub(in crate::tap) const GAP: u8 = 5;
    pub(in crate::tap) const BATCH: u8 = 6;
    pub(in crate::tap) const TOLD: u8 = 7;
    pub(in crate::tap) const PUBLISHED: u8 = 8;
    pub(in crate::tap) const SHED: u8 = 9;
    pub(in crate::tap) const ENTERED: u8 = 10;
    pub(in crate::tap) const TICKED: u8 = 11;
    pub(in crate::tap) const ROUSED: u8 = 12;
    pub(in crate::tap) const ACTED: u8 = 13;
    pub(in crate::tap) const LINE_UP: u8 = 14;
    pub(in crate::tap) const APPS: u8 = 15;

    /// The next record belongs to this one.
    pub(in crate::tap) const MORE: u8 = 1;
    /// A command from outside.
    pub(in crate::tap) const OUTSIDE: u8 = 2;
    /// Told that a second passed.
    pub(in crate::tap) const SECOND: u8 = 4;
    /// No other worker runs applications.
    pub(in crate::tap) const ALONE: u8 = 8;
}

/// What a lane filled.
#[derive(Debug, Default)]
pub struct Chunk {
    worker: u16,
    bytes: Vec<u8>,
    tally: ChunkTally,
}

/// What a chunk holds in all, counted while it is filled: so that one that is thrown away need not
/// be read again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChunkTally {
    /// When the last record was made, in nanoseconds since the controller's start.
    pub last_ns: u64,
    /// Visits and writes, those that a gap in it counts included.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether a connection began or ended in it.
    pub has_ends: bool,
}

/// The head of a record.
#[derive(Clone, Copy)]
pub(super) struct RecordHead {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) at: Time,
    pub(super) conn: u64,
    pub(super) value: u64,
}

impl Chunk {
    /// An empty one of a lane, which holds so many bytes.
    pub fn empty(lane: usize, bytes: usize) -> Chunk {
        let (bytes, tally) = (Vec::with_capacity(bytes), ChunkTally::default());
        Chunk { worker: lane as u16, bytes, tally }
    }

    /// An empty one, whose memory was written to already: a worker that fills it later waits for no
    /// page of the kernel.
    pub fn resident(lane: usize, bytes: usize) -> Chunk {
        let mut chunk = Chunk::empty(lane, bytes);
        chunk.bytes.resize(bytes, u8::MAX);
        chunk.bytes.clear();
        chunk
    }

    /// One of a lane in which a visit took these bytes from a connection: what a recorder is tested
    /// with.
    pub fn with_read(lane: usize, at: Time, conn: u64, bytes: &[u8]) -> Chunk {
        let mut chunk = Chunk::empty(lane, HEAD + bytes.len());
        chunk.put(RecordHead { kind: kind::READ, flags: 0, at, conn, value: 0 }, bytes);
        chunk
    }

    /// The same memory, empty, for a lane.
    pub fn emptied(mut self, lane: usize) -> Chunk {
        self.bytes.clear();
        self.worker = lane as u16;
        self.tally = ChunkTally::default();
        self
    }

    /// What it holds in all.
    pub fn tally(&self) -> &ChunkTally {
        &self.tally
    }

    /// Bytes for which there is room.
    pub(super) fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Appends a record, for which there is room.
    pub(super) fn put(&mut self, head: RecordHead, bytes: &[u8]) {
        let RecordHead { kind, flags, at, conn, value } = head;
        let mut record = [0; HEAD];
        record[0] = kind;
        record[1] = flags;
        record[4..8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        record[8..16].copy_from_slice(&at.0.to_le_bytes());
        record[16..24].copy_from_slice(&conn.to_le_bytes());
        record[24..].copy_from_slice(&value.to_le_bytes());
        self.bytes.extend_from_slice(&record);
        append_past_caches(&mut self.bytes, bytes);
        fetch_room(&mut self.bytes);
        self.tally.last_ns = at.0;
        self.tally.count(head, bytes.len());
    }

    /// Its lane.
    pub fn lane(&self) -> usize {
        self.worker.into()
    }

    /// Bytes in it.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes that it may hold.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Appends what another chunk of the lane holds, if there is room. Returns whether there was.
    pub fn append(&mut self, other: &Chunk) -> bool {
        let fits = other.bytes.len() <= self.room();
        if fits {
            self.bytes.extend_from_slice(&other.bytes);
            self.tally.add(&other.tally);
        }
        fits
    }

    /// The event that begins at this byte, and where the next one does.
    pub fn event_at(&self, at: usize) -> Option<(TimedEvent<'_>, usize)> {
        let rest = self.bytes.get(at..)?;
        let head: &[u8; HEAD] = rest.first_chunk()?;
        let number = |at: usize| head[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let len = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let bytes = rest.get(HEAD..HEAD + len)?;
        let (at_ns, conn, value) = (number(8), number(16), number(24));
        let has = |flag| head[1] & flag != 0;
        let event = match head[0] {
            kind::OPENED => RecordedEvent::Opened { conn, ends: ends_of(bytes)? },
            kind::READ => RecordedEvent::Read { conn, bytes, more: has(kind::MORE) },
            kind::WRITTEN => {
                let (more, outside) = (has(kind::MORE), has(kind::OUTSIDE));
                RecordedEvent::Written { conn, bytes, more, outside }
            }
            kind::CLOSED => RecordedEvent::Closed { conn },
            kind::GAP => RecordedEvent::Gap { events: conn, bytes: value },
            kind::PUBLISHED => {
                RecordedEvent::Published { began_ns: value, version: conn, taken: bytes }
            }
            kind::APPS => {
                RecordedEvent::Marked(Mark::Apps { ran_ns: value, alone: has(kind::ALONE) })
            }
            kind => RecordedEvent::Marked(mark(kind, conn, value, has(kind::SECOND))),
        };
        Some((TimedEvent { at_ns, worker: self.worker, event }, at + HEAD + len))
    }

    /// All events, oldest first.
    pub fn events(&self) -> impl Iterator<Item = TimedEvent<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (event, next) = self.event_at(at)?;
            at = next;
            Some(event)
        })
    }
}

impl ChunkTally {
    #[inline]
    fn count(&mut self, head: RecordHead, bytes: usize) {
        match head.kind {
            kind::READ | kind::WRITTEN => {
                self.events += u64::from(head.flags & kind::MORE == 0);
                self.bytes += bytes as u64;
            }
            kind::GAP => {
                self.events = self.events.saturating_add(head.conn);
                self.bytes = self.bytes.saturating_add(head.value);
            }
            kind::OPENED | kind::CLOSED => self.has_ends = true,
            _ => {}
        }
    }

    fn add(&mut self, later: &ChunkTally) {
        self.last_ns = later.last_ns;
        self.events = self.events.saturating_add(later.events);
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.has_ends |= later.has_ends;
    }
}

/// What a worker did, by the kind of its record.
fn mark(of: u8, conn: u64, value: u64, second: bool) -> Mark {
    match of {
        kind::BATCH => Mark::Batch { ran_ns: value },
        kind::TOLD => Mark::Told { conn, second },
        kind::ENTERED => Mark::Entered { version: value },
        kind::TICKED => Mark::Ticked,
        kind::ROUSED => Mark::Roused,
        kind::ACTED => Mark::Acted { before: conn, after: value },
        kind::LINE_UP => Mark::LineUp { version: value },
        _ => Mark::Shed { requests: value },
    }
}
