//! The ring: the newest chunks of the tap, within a bound of bytes.
//!
//! Chunks are kept as the workers filled them, and become pcapng only when a client asks. The
//! oldest go first: their memory is what workers fill next, so that a ring that is full asks the
//! kernel for nothing. What they say of connections is remembered, so that what is left has its
//! addresses.

use std::collections::{BTreeMap, VecDeque};

use super::client::dpid_in;
use aldis_engine::limits::TAP_CHUNK;
use aldis_engine::tap::{Chunk, ChunkTally, TappedConn};
use aldis_recording::{Endpoints, RecordedEvent, TimedEvent};

/// Chunks that were thrown away and are still counted: beyond that a recording says less than is
/// missing before it began.
const THROWN_MAX: usize = 16_384;

/// Bytes of each chunk: the short ones of a lane are put together.
const CHUNK: usize = TAP_CHUNK;

/// Chunks that are made resident in one turn: a millisecond.
const RESIDENT_A_TURN: usize = 16;

pub(super) struct RecordingRing {
    /// Oldest first, of all lanes.
    chunks: VecDeque<Chunk>,
    /// Empty ones, resident already.
    spare: Vec<Chunk>,
    /// How many there may be of both.
    max: usize,
    /// Connections that began before the oldest chunk.
    known: BTreeMap<u64, (Endpoints, u64)>,
    /// Whether one of them has not said yet which switch it is.
    has_unnamed: bool,
    /// What was thrown away lately.
    thrown: VecDeque<ChunkTally>,
}

impl RecordingRing {
    /// One that holds so many bytes.
    pub(super) fn new(bytes: usize) -> RecordingRing {
        let (chunks, spare, known, thrown) = Default::default();
        RecordingRing {
            chunks,
            spare,
            max: (bytes / CHUNK).max(2),
            known,
            has_unnamed: false,
            thrown,
        }
    }

    /// Begins with these connections.
    pub(super) fn begin(&mut self, conns: Vec<TappedConn>) {
        self.spare.extend(self.chunks.drain(..));
        let known = |TappedConn { conn, ends, dpid }| (conn, (ends, dpid.unwrap_or(0)));
        self.known = conns.into_iter().map(known).collect();
        self.look_for_unnamed();
    }

    /// Whether not all of its memory is resident yet.
    pub(super) fn grows(&self) -> bool {
        self.chunks.len() + self.spare.len() < self.max
    }

    /// Makes more of its memory resident, so that no worker waits for the kernel's pages.
    pub(super) fn grow(&mut self) {
        for _ in 0..RESIDENT_A_TURN {
            if self.grows() {
                self.spare.push(Chunk::resident(0, CHUNK));
            }
        }
    }

    /// Keeps a chunk, and hands out one in its place.
    pub(super) fn keep(&mut self, chunk: Chunk) -> Chunk {
        let lane = chunk.lane();
        let last = self.chunks.iter_mut().rev().take(4).find(|kept| kept.lane() == lane);
        if last.is_some_and(|last| last.append(&chunk)) {
            return chunk;
        }
        let mut empty = self.empty(lane);
        if chunk.capacity() >= CHUNK && chunk.len() > CHUNK / 2 {
            self.chunks.push_back(chunk);
            return empty;
        }
        empty.append(&chunk);
        self.chunks.push_back(empty);
        chunk
    }

    /// An empty chunk: the memory of the oldest one, where there is no other.
    fn empty(&mut self, lane: usize) -> Chunk {
        if let Some(spare) = self.spare.pop() {
            return spare.emptied(lane);
        }
        if self.grows() {
            return Chunk::empty(lane, CHUNK);
        }
        self.throw_away().map_or_else(|| Chunk::empty(lane, CHUNK), |chunk| chunk.emptied(lane))
    }

    fn throw_away(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.pop_front()?;
        // Most chunks say nothing of connections, and are in no cache any more.
        if chunk.tally().has_ends || self.has_unnamed {
            chunk.events().for_each(|timed| remember(&mut self.known, &timed));
            self.look_for_unnamed();
        }
        if self.thrown.len() == THROWN_MAX {
            self.thrown.pop_front();
        }
        self.thrown.push_back(*chunk.tally());
        Some(chunk)
    }

    fn look_for_unnamed(&mut self) {
        self.has_unnamed = self.known.values().any(|(_, dpid)| *dpid == 0);
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
        let thrown = self.thrown.iter().filter(|thrown| thrown.last_ns >= since);
        let add = |(events, bytes): (u64, u64), thrown: &ChunkTally| {
            (events.saturating_add(thrown.events), bytes.saturating_add(thrown.bytes))
        };
        let (lost, bytes) = thrown.fold((0, 0), add);
        if lost > 0 {
            let event = RecordedEvent::Gap { events: lost, bytes };
            to(&TimedEvent { at_ns, worker: 0, event });
        }
        events.iter().for_each(to);
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
