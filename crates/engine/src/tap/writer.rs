//! The worker's end of the tap.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::stats::WorkerStats;
use aldis_control::world::TakenReports;
use aldis_recording::Endpoints;

use super::chunk::{Chunk, HEAD, RecordHead, kind};
use super::{TapShared, end_bytes};
use crate::conn::ConnId;
use crate::limits::{TAP_CHUNKS, TAP_FLUSH_EVERY, TAP_PIECE_MIN};

/// What a worker, or the publisher, copies into.
#[derive(Debug)]
pub(crate) struct TapWriter {
    shared: Arc<TapShared>,
    lane: usize,
    /// The chunk in hand; without room where there is none.
    chunk: Chunk,
    /// When the chunk in hand is given away though it has room.
    flush_at: Time,
    /// What was lost since the last record, in records and bytes.
    lost: [u64; 2],
    /// Whether the recorder was woken, and the lane has been short of chunks since.
    has_woken: bool,
    /// Whether the visit in hand received signals.
    signalled: bool,
    /// Whether the worker runs applications under the application lock.
    app_run: AppRun,
    /// Scratch of the publisher.
    taken: Vec<u8>,
}

/// How a worker runs applications just now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AppRun {
    /// It does not, or the application lock is not wanted.
    Unlocked,
    /// It has the application lock.
    Alone,
    /// It waited for the application lock, and went on without.
    Beside,
}

impl TapWriter {
    pub(crate) fn new(shared: Arc<TapShared>, lane: usize) -> TapWriter {
        TapWriter {
            shared,
            lane,
            chunk: Chunk::default(),
            flush_at: Time::NEVER,
            lost: [0; 2],
            has_woken: false,
            signalled: false,
            app_run: AppRun::Unlocked,
            taken: Vec::new(),
        }
    }

    /// Whether a recorder listens.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.shared.is_on()
    }

    /// Applications are about to run: takes the application lock, where that is wanted and was not
    /// done. Returns whether the worker has it, where it was done now.
    #[inline(always)]
    pub(crate) fn lock_apps(&mut self, stats: &WorkerStats) -> Option<bool> {
        let takes = self.shared.app_lock.is_wanted() && self.app_run == AppRun::Unlocked;
        takes.then(|| self.take_app_lock(stats))
    }

    #[cold]
    fn take_app_lock(&mut self, stats: &WorkerStats) -> bool {
        let alone = self.shared.app_lock.take(stats);
        self.app_run = if alone { AppRun::Alone } else { AppRun::Beside };
        alone
    }

    /// No more applications run: releases the application lock.
    #[inline(always)]
    pub(crate) fn unlock_apps(&mut self) {
        if self.app_run != AppRun::Unlocked {
            self.release_app_lock();
        }
    }

    #[cold]
    fn release_app_lock(&mut self) {
        if std::mem::replace(&mut self.app_run, AppRun::Unlocked) == AppRun::Alone {
            self.shared.app_lock.release();
        }
    }

    /// Applications run from `began` on.
    #[cold]
    pub(crate) fn apps_began(&mut self, at: Time, began: Time, alone: bool) {
        let flags = if alone { kind::ALONE } else { 0 };
        self.put(head(kind::APPS, at, ConnId(0)).with(flags).valued(began.0), &[]);
    }

    /// A connection was adopted.
    #[cold]
    pub(crate) fn opened(&mut self, at: Time, conn: ConnId, ends: &Endpoints) {
        self.put(head(kind::OPENED, at, conn), &end_bytes(ends));
    }

    /// A visit of a connection took these messages, which may be none.
    pub(crate) fn read(&mut self, at: Time, conn: ConnId, messages: &[u8]) {
        self.put(head(kind::READ, at, conn), messages);
    }

    /// These messages are written to a connection.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, at: Time, conn: ConnId, messages: &[u8]) {
        if self.is_on() {
            self.put(head(kind::WRITTEN, at, conn), messages);
        }
    }

    /// These messages are a command from outside.
    #[cold]
    pub(crate) fn commanded(&mut self, at: Time, conn: ConnId, messages: &[u8]) {
        self.put(head(kind::WRITTEN, at, conn).with(kind::OUTSIDE), messages);
    }

    /// A connection ended.
    #[cold]
    pub(crate) fn closed(&mut self, at: Time, conn: ConnId) {
        self.put(head(kind::CLOSED, at, conn), &[]);
    }

    /// The applications ran over the batch, and began to at `began`.
    pub(crate) fn ran(&mut self, at: Time, began: Time) {
        self.put(head(kind::BATCH, at, ConnId(0)).valued(began.0), &[]);
    }

    /// The worker entered as a reader of another World than before.
    #[cold]
    pub(crate) fn entered(&mut self, at: Time, version: u64) {
        if self.is_on() {
            self.put(head(kind::ENTERED, at, ConnId(0)).valued(version), &[]);
        }
    }

    /// The applications are told of a second, or of a reply that another worker read.
    pub(crate) fn told(&mut self, at: Time, conn: ConnId, second: bool) {
        let flags = if second { kind::SECOND } else { 0 };
        self.put(head(kind::TOLD, at, conn).with(flags), &[]);
    }

    /// Timers of the applications fire.
    pub(crate) fn ticked(&mut self, at: Time) {
        self.put(head(kind::TICKED, at, ConnId(0)), &[]);
    }

    /// The applications are roused.
    #[cold]
    pub(crate) fn roused(&mut self, at: Time) {
        self.put(head(kind::ROUSED, at, ConnId(0)), &[]);
    }

    /// The applications act on a change of the World, between these versions.
    pub(crate) fn acted(&mut self, at: Time, before: u64, after: u64) {
        self.put(head(kind::ACTED, at, ConnId(before)).valued(after), &[]);
    }

    /// The worker took another line-up.
    #[cold]
    pub(crate) fn lined_up(&mut self, at: Time, version: u64) {
        if self.is_on() {
            self.put(head(kind::LINE_UP, at, ConnId(0)).valued(version), &[]);
        }
    }

    /// Requests of the visit before were shed.
    #[cold]
    pub(crate) fn shed(&mut self, at: Time, requests: usize) {
        self.put(head(kind::SHED, at, ConnId(0)).valued(requests as u64), &[]);
    }

    /// The publisher made a step that `began` then, and took these reports. Behind it the World has
    /// this version. What is longer than a chunk is lost.
    pub(crate) fn published(&mut self, at: Time, began: Time, version: u64, taken: &TakenReports) {
        let mut bytes = std::mem::take(&mut self.taken);
        bytes.clear();
        taken.write(&mut bytes);
        // It is in one piece.
        let fits = self.chunk.room() >= HEAD + bytes.len() || self.next_chunk(at);
        if fits && self.chunk.room() >= HEAD + bytes.len() {
            self.chunk.put(head(kind::PUBLISHED, at, ConnId(version)).valued(began.0), &bytes);
        } else {
            self.lose(1, bytes.len());
        }
        self.taken = bytes;
    }

    /// The visit in hand receives signals.
    #[inline]
    pub(crate) fn note_signals(&mut self) {
        self.signalled = true;
    }

    /// Whether the visit in hand received signals; asked once.
    #[inline]
    pub(crate) fn take_signalled(&mut self) -> bool {
        std::mem::take(&mut self.signalled)
    }

    /// Gives the chunk in hand away where it is old enough; when that will be, which the lane does
    /// not sleep through.
    #[inline]
    pub(crate) fn flush(&mut self, now: Time) -> Time {
        if self.chunk.is_empty() {
            self.set_since(Time::NEVER);
            return Time::NEVER;
        }
        if self.flush_at > now {
            return self.flush_at;
        }
        self.give_away();
        self.set_since(Time::NEVER);
        Time::NEVER
    }

    /// The lane slept, and looks at the clock next.
    #[inline]
    pub(crate) fn wake(&self) {
        if self.is_on() && self.chunk.is_empty() {
            self.set_since(Time::START);
        }
    }

    /// It is this time, or later.
    #[inline]
    pub(crate) fn woke(&self, now: Time) {
        if self.is_on() && self.chunk.is_empty() {
            self.set_since(now);
        }
    }

    /// What it gives away from here on is not older.
    #[inline]
    fn set_since(&self, since: Time) {
        self.shared.lanes[self.lane].since.store(since.0, Ordering::Release);
    }

    #[cold]
    fn give_away(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        if let Err(chunk) = self.shared.lanes[self.lane].full.push(chunk) {
            self.lose(1, chunk.len());
        }
    }

    fn lose(&mut self, records: usize, bytes: usize) {
        self.lost[0] += records as u64;
        self.lost[1] += bytes as u64;
    }

    /// Copies a record, in as many pieces as its chunks have room for.
    #[inline(never)]
    fn put(&mut self, head: RecordHead, mut bytes: &[u8]) {
        loop {
            let needed = HEAD + bytes.len().min(TAP_PIECE_MIN);
            if self.chunk.room() < needed && !self.next_chunk(head.at) {
                return self.lose(1, bytes.len());
            }
            let (piece, rest) = bytes.split_at(bytes.len().min(self.chunk.room() - HEAD));
            let more = if rest.is_empty() { 0 } else { kind::MORE };
            self.chunk.put(head.with(more), piece);
            if rest.is_empty() {
                return;
            }
            bytes = rest;
        }
    }

    /// Takes the next free chunk in hand; whether there was one. What was lost before stands first.
    #[cold]
    fn next_chunk(&mut self, now: Time) -> bool {
        if !self.chunk.is_empty() {
            self.give_away();
        }
        let lane = &self.shared.lanes[self.lane];
        let is_short = lane.free.len() <= TAP_CHUNKS / 4;
        if is_short && !self.has_woken {
            self.shared.wake_recorder();
        }
        self.has_woken = is_short;
        let Some(chunk) = lane.free.pop() else {
            self.chunk = Chunk::default();
            return false;
        };
        self.chunk = chunk;
        self.flush_at = now + TAP_FLUSH_EVERY;
        self.set_since(now);
        let [records, bytes] = std::mem::take(&mut self.lost);
        if records > 0 {
            self.chunk.put(head(kind::GAP, now, ConnId(records)).valued(bytes), &[]);
        }
        true
    }
}

fn head(kind: u8, at: Time, ConnId(conn): ConnId) -> RecordHead {
    RecordHead { kind, flags: 0, at, conn, value: 0 }
}

impl RecordHead {
    fn with(self, flags: u8) -> RecordHead {
        RecordHead { flags: self.flags | flags, ..self }
    }

    fn valued(self, value: u64) -> RecordHead {
        RecordHead { value, ..self }
    }
}

// A chunk has room for a record, whatever came before it.
const _: () = assert!(crate::limits::TAP_CHUNK_SMALL > 3 * HEAD + TAP_PIECE_MIN);
const _: () = assert!(TAP_FLUSH_EVERY.as_nanos() < Duration::from_secs(1).as_nanos());
