//! The ring: the newest chunks of the tap, within a bound of bytes.
//!
//! Chunks are kept as the workers filled them, and become pcapng only when a client asks. The
//! oldest go first. What they say of connections is remembered, so that what is left has its
//! addresses.

use std::collections::{BTreeMap, VecDeque};

use super::client::dpid_in;
use aldis_engine::tap::{Chunk, TappedConn};
use aldis_recording::{Endpoints, RecordedEvent, TimedEvent};

/// Chunks that were thrown away and are still counted: beyond that a recording says less than is
/// missing before it began.
const THROWN_MAX: usize = 16_384;

/// Bytes of a chunk in which short ones are put together.
const JOINED: usize = 64 * 1024;

pub(super) struct RecordingRing {
    /// Oldest first, of all lanes.
    chunks: VecDeque<Chunk>,
    bytes: usize,
    max: usize,
    /// Connections that began before the oldest chunk.
    known: BTreeMap<u64, (Endpoints, u64)>,
    /// What was thrown away lately: the time of the last event, events and bytes.
    thrown: VecDeque<(u64, u64, u64)>,
}

impl RecordingRing {
    pub(super) fn new(max: usize) -> RecordingRing {
        let (chunks, known, thrown) = Default::default();
        RecordingRing { chunks, bytes: 0, max, known, thrown }
    }

    /// Begins with these connections.
    pub(super) fn begin(&mut self, conns: Vec<TappedConn>) {
        self.chunks.clear();
        self.bytes = 0;
        let known = |TappedConn { conn, ends, dpid }| (conn, (ends, dpid.unwrap_or(0)));
        self.known = conns.into_iter().map(known).collect();
    }

    /// Keeps a chunk, and gives one back in its place.
    pub(super) fn keep(&mut self, chunk: Chunk, give_back: impl FnOnce(Chunk)) {
        let lane = chunk.lane();
        let last = self.chunks.iter_mut().rev().take(4).find(|kept| kept.lane() == lane);
        if last.is_some_and(|last| last.append(&chunk)) {
            return give_back(chunk);
        }
        let kept = match chunk.len() * 2 > chunk.capacity() {
            true => {
                give_back(Chunk::empty(lane, 0));
                chunk
            }
            false => {
                let mut joined = Chunk::empty(lane, JOINED.max(chunk.len()));
                joined.append(&chunk);
                give_back(chunk);
                joined
            }
        };
        self.bytes += kept.capacity();
        self.chunks.push_back(kept);
        while self.bytes > self.max && self.chunks.len() > 1 {
            self.throw_away();
        }
    }

    fn throw_away(&mut self) {
        let Some(chunk) = self.chunks.pop_front() else { return };
        self.bytes -= chunk.capacity();
        let mut thrown = (0, 0, 0);
        for timed in chunk.events() {
            remember(&mut self.known, &timed);
            let (events, bytes) = counted(&timed);
            thrown = (timed.at_ns, thrown.1 + events, thrown.2 + bytes);
        }
        if self.thrown.len() == THROWN_MAX {
            self.thrown.pop_front();
        }
        self.thrown.push_back(thrown);
    }

    /// Hands out what is kept since this time, in order: first the connections that were there
    /// already, then a gap where the ring does not reach so far back.
    pub(super) fn replay(&self, since: u64, mut to: impl FnMut(&TimedEvent<'_>)) {
        let mut known = self.known.clone();
        let mut events: Vec<TimedEvent<'_>> = vec![];
        for timed in self.chunks.iter().flat_map(Chunk::events) {
            match timed.at_ns >= since {
                true => events.push(timed),
                false => remember(&mut known, &timed),
            }
        }
        // Within a lane it is in order already, and the sort keeps that.
        events.sort_by_key(|timed| (timed.at_ns, timed.worker));
        let at_ns = since;
        for (conn, (ends, dpid)) in known {
            let event = RecordedEvent::Known { conn, ends, dpid };
            to(&TimedEvent { at_ns, worker: 0, event });
        }
        let thrown = self.thrown.iter().filter(|(at, ..)| *at >= since);
        let (lost, bytes) = thrown.fold((0, 0), |sum, it| (sum.0 + it.1, sum.1 + it.2));
        if lost > 0 {
            let event = RecordedEvent::Gap { events: lost, bytes };
            to(&TimedEvent { at_ns, worker: 0, event });
        }
        events.iter().for_each(to);
    }
}

/// Reads and writes of an event, and their bytes.
fn counted(timed: &TimedEvent<'_>) -> (u64, u64) {
    match timed.event {
        RecordedEvent::Read { bytes, more, .. } | RecordedEvent::Written { bytes, more, .. } => {
            (u64::from(!more), bytes.len() as u64)
        }
        RecordedEvent::Gap { events, bytes } => (events, bytes),
        _ => (0, 0),
    }
}

/// What an event that is thrown away says of a connection.
fn remember(known: &mut BTreeMap<u64, (Endpoints, u64)>, timed: &TimedEvent<'_>) {
    match timed.event {
        RecordedEvent::Opened { conn, ends, .. } => {
            known.insert(conn, (ends, 0));
        }
        RecordedEvent::Closed { conn } => {
            known.remove(&conn);
        }
        RecordedEvent::Read { conn, bytes, .. } => {
            if let Some((_, dpid @ 0)) = known.get_mut(&conn) {
                *dpid = dpid_in(bytes).map_or(0, |dpid| dpid.0);
            }
        }
        _ => {}
    }
}
