//! A client of the recorder: what it is sent, and what it misses.

use std::collections::{HashMap, VecDeque};

use aldis_engine::Handle;
use aldis_engine::tap::TappedConn;
use aldis_http::recording::{RecordingRequest, RecordingSender, SentPiece};
use aldis_recording::{RecordedEvent, RecordingWriter, TimedEvent};
use aldis_wire::DatapathId;

use super::{ALIVE_EVERY, nanos};

/// Bytes of a piece.
const PIECE: usize = 256 * 1024;

/// Bytes that wait for a client that records from now on. What comes then is counted as missing.
const WAITING_MAX: usize = 16 * 1024 * 1024;

/// One of them.
pub(super) struct RecordingClient {
    sender: RecordingSender,
    writer: RecordingWriter,
    /// The switches that it wants; all where there is none.
    switches: Vec<DatapathId>,
    /// Whether it wants a connection, once that is known for good.
    wanted: HashMap<u64, bool>,
    /// The piece in hand, and those that wait for room.
    piece: Vec<u8>,
    pieces: VecDeque<Vec<u8>>,
    waiting: usize,
    /// What it misses: events and bytes.
    missed: [u64; 2],
    /// When it last got something.
    heard: u64,
    /// Whether nothing more is to come.
    ended: bool,
}

/// Whether the next piece belongs to this event.
pub(super) fn has_more(event: &TimedEvent<'_>) -> bool {
    match event.event {
        RecordedEvent::Read { more, .. } | RecordedEvent::Written { more, .. } => more,
        _ => false,
    }
}

impl RecordingClient {
    pub(super) fn begin(
        sender: RecordingSender,
        request: &RecordingRequest,
        started_ns: u64,
        head: &str,
    ) -> RecordingClient {
        let mut piece = Vec::with_capacity(PIECE);
        let writer = RecordingWriter::begin(started_ns, head, &mut piece);
        RecordingClient {
            sender,
            writer,
            switches: request.switches.clone(),
            wanted: HashMap::new(),
            piece,
            pieces: VecDeque::new(),
            waiting: 0,
            missed: [0; 2],
            heard: 0,
            ended: false,
        }
    }

    /// Whether it wants what happens now.
    pub(super) fn is_live(&self) -> bool {
        !self.ended
    }

    /// Nothing more is to come.
    pub(super) fn end(&mut self) {
        self.close_piece();
        self.ended = true;
    }

    /// These connections are there as it begins.
    pub(super) fn know(&mut self, at_ns: u64, conns: &[TappedConn]) {
        for TappedConn { conn, ends, dpid } in conns {
            let dpid = dpid.unwrap_or(0);
            if self.switches.is_empty() || self.switches.contains(&DatapathId(dpid)) {
                let event = RecordedEvent::Known { conn: *conn, ends: *ends, dpid };
                self.writer.put(&TimedEvent { at_ns, worker: 0, event }, &mut self.piece);
            }
        }
    }

    /// An event, where it wants it.
    pub(super) fn put(&mut self, event: &TimedEvent<'_>, engine: &Handle) {
        if self.ended || !self.wants(event, engine) {
            return;
        }
        if self.waiting > WAITING_MAX && !self.sender.is_gone() {
            let bytes = match event.event {
                RecordedEvent::Read { bytes, .. } | RecordedEvent::Written { bytes, .. } => {
                    bytes.len()
                }
                _ => 0,
            };
            self.missed = [self.missed[0] + 1, self.missed[1] + bytes as u64];
            return;
        }
        if let [events, bytes] = std::mem::take(&mut self.missed)
            && events > 0
        {
            let gap = RecordedEvent::Gap { events, bytes };
            self.writer.put(&TimedEvent { event: gap, ..*event }, &mut self.piece);
        }
        self.writer.put(event, &mut self.piece);
        if self.piece.len() >= PIECE - 70_000 {
            self.close_piece();
        }
    }

    fn close_piece(&mut self) {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.waiting += piece.len();
        self.pieces.push_back(piece);
    }

    fn wants(&mut self, event: &TimedEvent<'_>, engine: &Handle) -> bool {
        let conn = match event.event {
            _ if self.switches.is_empty() => return true,
            RecordedEvent::Known { dpid, .. } => {
                return self.switches.contains(&DatapathId(dpid));
            }
            RecordedEvent::Opened { conn, .. }
            | RecordedEvent::Read { conn, .. }
            | RecordedEvent::Written { conn, .. }
            | RecordedEvent::Closed { conn } => conn,
            RecordedEvent::Gap { .. } | RecordedEvent::Marked(_) => return true,
        };
        if let Some(wanted) = self.wanted.get(&conn) {
            return *wanted;
        }
        let Some(dpid) = engine.dpid_of(conn) else { return true };
        let wanted = self.switches.contains(&dpid);
        self.wanted.insert(conn, wanted);
        wanted
    }

    /// Sends what there is. Whether the client stays.
    pub(super) fn send(&mut self, now: u64) -> bool {
        if self.pieces.is_empty() && !self.ended {
            if self.piece.is_empty() && now.saturating_sub(self.heard) > nanos(ALIVE_EVERY) {
                RecordingWriter::alive(now, &mut self.piece);
            }
            if !self.piece.is_empty() {
                self.close_piece();
            }
        }
        while let Some(piece) = self.pieces.pop_front() {
            let len = piece.len();
            match self.sender.send(piece) {
                SentPiece::Sent => {
                    self.waiting -= len;
                    self.heard = now;
                }
                SentPiece::Full(piece) => {
                    self.pieces.push_front(piece);
                    return true;
                }
                SentPiece::Gone => return false,
            }
        }
        !self.ended && !self.sender.is_gone()
    }
}
