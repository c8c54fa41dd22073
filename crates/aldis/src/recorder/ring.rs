//! The ring: the newest chunks of the tap, within a bound of bytes.
//!
//! Chunks are kept as the workers filled them, and become pcapng only when a client asks. The
//! oldest go first: their memory is what workers fill next, so that a ring that is full asks the
//! kernel for nothing. What they say of connections is remembered, so that what is left has its
//! addresses.
//!
//! Workers write into memory that no cache holds, which takes time where switches ask as fast as
//! they are answered, and fills any ring in a moment. A *budget* bounds that: a worker gets an
//! empty chunk for a full one while there is some of it. A worker without a chunk counts what it
//! leaves out. The budget grows each second by as much as the ring holds, or by 128 MiB where that
//! is more, to half of that at most. For a client that records everything there is no budget.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use super::client::dpid_in;
use super::nanos;
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

/// Bytes that may be recorded a second, of a ring that holds less.
const BYTES_A_SECOND: usize = 128 * 1024 * 1024;

/// Connections that are remembered, beside twice as many as there were, before those are forgotten
/// that ended, whose end was left out, and of which nothing is kept.
const KNOWN_MIN: usize = 1024;

/// How often it is looked which connections there are, where what was left out makes that needed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) struct RecordingRing {
    /// Oldest first, of all lanes.
    chunks: VecDeque<Chunk>,
    /// Empty ones, resident already.
    spare: Vec<Chunk>,
    /// How many there may be of both, beside those that stand for a chunk of a lane.
    max: usize,
    /// Lanes that gave a chunk and have none for it yet.
    owed: VecDeque<usize>,
    budget: ChunkBudget,
    /// Connections that began before the oldest chunk.
    known: BTreeMap<u64, (Endpoints, u64)>,
    /// Whether one of them has not said yet which switch it is.
    has_unnamed: bool,
    /// How many of them are too many.
    known_max: usize,
    looked_at: u64,
    /// What was thrown away lately.
    thrown: VecDeque<ChunkTally>,
    /// Whether the budget was not enough at any time.
    left_out: bool,
}

impl RecordingRing {
    /// One that holds so many bytes.
    pub(super) fn new(bytes: usize) -> RecordingRing {
        let (chunks, spare, owed, known, thrown) = Default::default();
        RecordingRing {
            chunks,
            spare,
            max: (bytes / CHUNK).max(2),
            owed,
            budget: ChunkBudget::of(bytes.max(BYTES_A_SECOND)),
            known,
            has_unnamed: false,
            known_max: KNOWN_MIN,
            looked_at: 0,
            thrown,
            left_out: false,
        }
    }

    /// Whether it has all since the beginning, and can be played back.
    pub(super) fn is_whole(&self) -> bool {
        self.thrown.is_empty() && !self.left_out
    }

    /// Begins with these connections.
    pub(super) fn begin(&mut self, conns: Vec<TappedConn>) {
        self.spare.extend(self.chunks.drain(..));
        self.spare.truncate(self.max);
        self.owed.clear();
        let known = |TappedConn { conn, ends, dpid }| (conn, (ends, dpid.unwrap_or(0)));
        self.known = conns.into_iter().map(known).collect();
        self.look_for_unnamed();
    }

    /// Whether not all of its memory is resident yet.
    pub(super) fn grows(&self) -> bool {
        self.chunks.len() + self.spare.len() < self.max + self.owed.len()
    }

    /// Makes more of its memory resident, so that no worker waits for the kernel's pages.
    pub(super) fn grow(&mut self) {
        for _ in 0..RESIDENT_A_TURN {
            if self.grows() {
                self.spare.push(Chunk::resident(0, CHUNK));
            }
        }
    }

    /// Keeps a chunk. It is handed out where another one has room for what is in it; else its lane
    /// is owed one.
    pub(super) fn keep(&mut self, chunk: Chunk) -> Option<Chunk> {
        let lane = chunk.lane();
        let last = self.chunks.iter_mut().rev().take(4).find(|kept| kept.lane() == lane);
        if last.is_some_and(|last| last.append(&chunk)) {
            return Some(chunk);
        }
        if chunk.capacity() >= CHUNK && chunk.len() > CHUNK / 2 {
            self.chunks.push_back(chunk);
            self.owed.push_back(lane);
            return None;
        }
        let mut empty = self.empty(lane);
        empty.append(&chunk);
        self.chunks.push_back(empty);
        Some(chunk)
    }

    /// Hands out empty chunks to lanes that are owed one, while the budget has some; without a
    /// budget, to all.
    pub(super) fn settle(&mut self, now: u64, bounded: bool, mut to: impl FnMut(Chunk)) {
        self.budget.grow(now);
        while (!bounded || self.budget.has_some())
            && let Some(lane) = self.owed.front().copied()
        {
            to(self.empty(lane));
            self.owed.pop_front();
            self.budget.take();
        }
        self.left_out |= !self.owed.is_empty();
    }

    /// Hands out an empty chunk to each lane that is owed one: what the lane left out comes to be
    /// counted in it.
    pub(super) fn settle_once(&mut self, mut to: impl FnMut(Chunk)) {
        let lanes: HashSet<usize> = self.owed.iter().copied().collect();
        for lane in lanes {
            to(self.empty(lane));
            let first = self.owed.iter().position(|owed| *owed == lane);
            first.and_then(|first| self.owed.remove(first));
        }
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

    /// Learns from the connections that there are what was left out: which switches they are, and
    /// which of them ended.
    pub(super) fn look(&mut self, now: u64, there: impl FnOnce() -> Vec<TappedConn>) {
        let is_needed = self.has_unnamed || self.known.len() > self.known_max;
        if !is_needed || now < self.looked_at.saturating_add(nanos(LOOK_EVERY)) {
            return;
        }
        self.looked_at = now;
        let named = |TappedConn { conn, dpid, .. }| (conn, dpid.unwrap_or(0));
        let there: HashMap<u64, u64> = there().into_iter().map(named).collect();
        if self.known.len() > self.known_max {
            let kept: HashSet<u64> =
                self.chunks.iter().flat_map(Chunk::events).filter_map(conn_of).collect();
            self.known.retain(|conn, _| there.contains_key(conn) || kept.contains(conn));
            self.known_max = 2 * self.known.len() + KNOWN_MIN;
        }
        for (conn, (_, dpid)) in self.known.iter_mut().filter(|(_, (_, dpid))| *dpid == 0) {
            *dpid = there.get(conn).copied().unwrap_or(0);
        }
        self.look_for_unnamed();
    }

    fn look_for_unnamed(&mut self) {
        self.has_unnamed = self.known.values().any(|(_, dpid)| *dpid == 0);
    }

    /// Hands out what is kept since this time, in order: first the connections that were there
    /// already, then a gap where the ring does not reach so far back. `there` are the connections
    /// of now: the beginning of one may have been left out.
    pub(super) fn replay(
        &self,
        since: u64,
        there: Vec<TappedConn>,
        mut to: impl FnMut(&TimedEvent<'_>),
    ) {
        let mut known = self.known.clone();
        let mut opened = HashSet::new();
        let mut events: Vec<TimedEvent<'_>> = vec![];
        for timed in self.chunks.iter().flat_map(Chunk::events) {
            match timed.at_ns >= since {
                true => events.push(timed),
                false => remember(&mut known, &timed),
            }
            if let RecordedEvent::Opened { conn, .. } = timed.event {
                opened.insert(conn);
            }
        }
        for TappedConn { conn, ends, dpid } in there {
            if !opened.contains(&conn) {
                known.entry(conn).or_insert((ends, dpid.unwrap_or(0)));
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

/// How many full chunks may still be taken for empty ones.
struct ChunkBudget {
    /// By how many it grows in a second; it is half of that at most.
    a_second: f64,
    chunks: f64,
    grown_at: u64,
}

impl ChunkBudget {
    fn of(bytes_a_second: usize) -> ChunkBudget {
        let a_second = (bytes_a_second / CHUNK) as f64;
        ChunkBudget { a_second, chunks: a_second / 2.0, grown_at: 0 }
    }

    fn grow(&mut self, now: u64) {
        let seconds = Duration::from_nanos(now.saturating_sub(self.grown_at)).as_secs_f64();
        self.chunks = (self.chunks + seconds * self.a_second).min(self.a_second / 2.0);
        self.grown_at = now;
    }

    fn has_some(&self) -> bool {
        self.chunks >= 1.0
    }

    fn take(&mut self) {
        self.chunks = (self.chunks - 1.0).max(0.0);
    }
}

/// The connection that something was read from or written to.
fn conn_of(timed: TimedEvent<'_>) -> Option<u64> {
    match timed.event {
        RecordedEvent::Read { conn, .. } | RecordedEvent::Written { conn, .. } => Some(conn),
        _ => None,
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

#[cfg(test)]
mod tests {
    use aldis_control::Time;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn full(lane: usize, at_ns: u64, conn: u64) -> Chunk {
        Chunk::with_read(lane, Time(at_ns), conn, &[0; CHUNK - 32])
    }

    fn there(conn: u64, dpid: u64) -> TappedConn {
        let end = std::net::SocketAddr::from(([127, 0, 0, 1], 6653));
        TappedConn { conn, ends: Endpoints { peer: end, local: end }, dpid: Some(dpid) }
    }

    /// A ring of 1 MiB, two lanes that fill all that they have at once, and a turn in each
    /// millisecond of half a second. How many chunks each lane was given, and how many it filled.
    fn flooded(bounded: bool) -> (RecordingRing, [usize; 2], [usize; 2]) {
        let (mut ring, mut given, mut filled) = (RecordingRing::new(1 << 20), [0; 2], [0; 2]);
        let mut free = [64; 2];
        for now in (SECOND..SECOND * 3 / 2).step_by(1_000_000) {
            for lane in 0..2 {
                (0..free[lane]).for_each(|_| assert!(ring.keep(full(lane, now, 7)).is_none()));
                filled[lane] += free[lane];
            }
            free = [0; 2];
            ring.settle(now, bounded, |chunk| {
                assert!(chunk.is_empty() && chunk.capacity() >= CHUNK);
                given[chunk.lane()] += 1;
                free[chunk.lane()] += 1;
            });
            assert_eq!(ring.chunks.len() + free[0] + free[1], 16 + 128, "memory is what it was");
        }
        (ring, given, filled)
    }

    #[test]
    fn lanes_that_flood_share_the_budget() {
        // 64 MiB at first, and 128 MiB a second.
        let (_, [first, second], _) = flooded(true);
        assert!((2040..=2048).contains(&(first + second)), "{first} and {second}");
        assert!(first.abs_diff(second) <= 64, "{first} and {second}");
        let (_, all, _) = flooded(false);
        assert_eq!(all, [500 * 64; 2], "without a budget each full chunk is worth an empty one");
    }

    #[test]
    fn a_lane_without_a_chunk_is_given_one_for_a_client_that_asks() {
        let (mut ring, _, _) = flooded(true);
        let mut lanes = vec![];
        ring.settle_once(|chunk| lanes.push(chunk.lane()));
        lanes.sort_unstable();
        assert_eq!(lanes, [0, 1]);
    }

    #[test]
    fn what_a_ring_threw_away_is_counted_and_connections_have_their_ends() {
        let (ring, _, filled) = flooded(true);
        let (mut kept, mut lost, mut known) = (0, 0, vec![]);
        ring.replay(0, vec![there(7, 3)], |timed| match timed.event {
            RecordedEvent::Read { conn: 7, .. } if known == [(7, 3)] => kept += 1,
            RecordedEvent::Gap { events, .. } => lost += events,
            RecordedEvent::Known { conn, dpid, .. } => known.push((conn, dpid)),
            ref other => panic!("{other:?}"),
        });
        assert!(kept > 16);
        assert_eq!(kept + lost, (filled[0] + filled[1]) as u64);
    }

    #[test]
    fn connections_whose_end_was_left_out_are_forgotten() {
        let mut ring = RecordingRing::new(1 << 20);
        let unnamed = TappedConn { dpid: None, ..there(5, 0) };
        let ended = (10_000..10_000 + KNOWN_MIN as u64).map(|conn| there(conn, 1));
        ring.begin(ended.chain([unnamed]).collect());
        // What was read from this one is in the ring still.
        ring.keep(full(0, 1, 10_001));
        ring.look(SECOND, || vec![there(5, 9)]);
        let known: Vec<_> = ring.known.iter().map(|(conn, (_, dpid))| (*conn, *dpid)).collect();
        assert_eq!((known, ring.has_unnamed), (vec![(5, 9), (10_001, 1)], false));
    }
}
