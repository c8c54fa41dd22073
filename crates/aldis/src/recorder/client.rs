//! A client of the recorder: what it is sent, and what it misses.

use std::collections::{HashMap, VecDeque};

use aldis_engine::tap::TappedConn;
use aldis_http::recording::{RecordingRequest, RecordingSender, SentPiece};
use aldis_recording::{RecordedEvent, RecordingWriter, TimedEvent};
use aldis_wire::{Chop, DatapathId};

use super::{ALIVE_EVERY, nanos};

/// The kind of a FEATURES_REPLY, in every version (OpenFlow 1.3.5 §7.1.1).
const FEATURES_REPLY: u8 = 6;

/// Bytes of a piece.
const PIECE: usize = 256 * 1024;

/// Bytes that a piece keeps free: the longest event, with its headers, fits.
const PIECE_SPARE: usize = 70_000;

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
    /// Whether it ever missed something.
    lacks: bool,
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

/// The datapath id that a switch says among these messages.
pub(super) fn dpid_in(messages: &[u8]) -> Option<DatapathId> {
    let mut all = Chop::new(messages).map_while(Result::ok);
    let reply = all.find(|message| message.header.kind == FEATURES_REPLY)?;
    let dpid = reply.bytes.get(8..)?.first_chunk()?;
    Some(DatapathId(u64::from_be_bytes(*dpid)))
}

/// Says which switch a connection that is there is.
pub(super) type DpidOf<'a> = &'a dyn Fn(u64) -> Option<DatapathId>;

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
            lacks: false,
            heard: 0,
            ended: false,
        }
    }

    /// Whether it wants what happens now.
    pub(super) fn is_live(&self) -> bool {
        !self.ended
    }

    /// Whether it has all so far of what it wants, and can be played back.
    pub(super) fn is_whole(&self) -> bool {
        self.is_live() && !self.lacks
    }

    /// Whether it has taken less than there was.
    pub(super) fn is_behind(&self) -> bool {
        !self.pieces.is_empty()
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
    pub(super) fn put(&mut self, event: &TimedEvent<'_>, dpid_of: DpidOf<'_>) {
        if self.ended || !self.wants(event, dpid_of) {
            return;
        }
        if self.waiting > WAITING_MAX {
            let bytes = match event.event {
                RecordedEvent::Read { bytes, .. } | RecordedEvent::Written { bytes, .. } => {
                    bytes.len()
                }
                _ => 0,
            };
            self.missed = [self.missed[0] + 1, self.missed[1] + bytes as u64];
            self.lacks = true;
            return;
        }
        if let [events, bytes] = std::mem::take(&mut self.missed)
            && events > 0
        {
            let gap = RecordedEvent::Gap { events, bytes };
            self.writer.put(&TimedEvent { event: gap, ..*event }, &mut self.piece);
        }
        self.lacks |= matches!(event.event, RecordedEvent::Gap { .. });
        self.write(event);
    }

    /// The same for what is in memory already, and is as long as it is.
    pub(super) fn put_whole(&mut self, event: &TimedEvent<'_>, dpid_of: DpidOf<'_>) {
        if self.wants(event, dpid_of) {
            self.write(event);
        }
    }

    fn write(&mut self, event: &TimedEvent<'_>) {
        self.writer.put(event, &mut self.piece);
        if self.piece.len() >= PIECE - PIECE_SPARE {
            self.close_piece();
        }
    }

    fn close_piece(&mut self) {
        let empty = self.sender.spare().unwrap_or_else(|| Vec::with_capacity(PIECE));
        let piece = std::mem::replace(&mut self.piece, empty);
        self.waiting += piece.len();
        self.pieces.push_back(piece);
    }

    /// Whether it wants this. A connection that has not said yet which switch it is may be one.
    fn wants(&mut self, event: &TimedEvent<'_>, dpid_of: DpidOf<'_>) -> bool {
        let (conn, said) = match event.event {
            _ if self.switches.is_empty() => return true,
            RecordedEvent::Known { conn, dpid, .. } => {
                (conn, Some(DatapathId(dpid)).filter(|dpid| dpid.0 != 0))
            }
            RecordedEvent::Read { conn, .. } if self.wanted.contains_key(&conn) => (conn, None),
            RecordedEvent::Read { conn, bytes, .. } => (conn, dpid_in(bytes)),
            RecordedEvent::Opened { conn, .. }
            | RecordedEvent::Written { conn, .. }
            | RecordedEvent::Closed { conn } => (conn, None),
            RecordedEvent::Gap { .. }
            | RecordedEvent::Published { .. }
            | RecordedEvent::Marked(_) => return true,
        };
        // Of a connection that ended nothing more comes.
        let known = match event.event {
            RecordedEvent::Closed { .. } => self.wanted.remove(&conn),
            _ => self.wanted.get(&conn).copied(),
        };
        if let Some(wanted) = known {
            return wanted;
        }
        let Some(dpid) = said.or_else(|| dpid_of(conn)) else { return true };
        let wanted = self.switches.contains(&dpid);
        if !matches!(event.event, RecordedEvent::Closed { .. }) {
            self.wanted.insert(conn, wanted);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_http::recording::channel;
    use aldis_recording::RecordingReader;

    fn opened(conn: u64) -> RecordedEvent<'static> {
        let at = std::net::SocketAddr::from(([127, 0, 0, 1], 6653));
        let ends = aldis_recording::Endpoints { peer: at, local: at };
        RecordedEvent::Opened { conn, ends }
    }

    fn at(at_ns: u64, event: RecordedEvent<'_>) -> TimedEvent<'_> {
        TimedEvent { at_ns, worker: 0, event }
    }

    /// Everything that the client gets: the bytes read from each connection, and what is missing.
    fn received(pieces: Vec<u8>) -> (HashMap<u64, usize>, u64, u64) {
        let mut reader = RecordingReader::begin(&*pieces).unwrap();
        let (mut read, mut lost, mut lost_bytes) = (HashMap::new(), 0, 0);
        while let Some(timed) = reader.next_event().unwrap() {
            match timed.event {
                RecordedEvent::Read { conn, bytes, .. } => {
                    *read.entry(conn).or_default() += bytes.len();
                }
                RecordedEvent::Gap { events, bytes } => {
                    lost += events;
                    lost_bytes += bytes;
                }
                _ => {}
            }
        }
        (read, lost, lost_bytes)
    }

    #[test]
    fn what_a_client_does_not_take_is_counted_in_its_file() {
        let (sender, mut receiver) = channel();
        let mut client = RecordingClient::begin(sender, &RecordingRequest::default(), 0, "{}");
        client.put(&at(1, opened(7)), &|_| None);
        assert!(client.is_whole());
        let bytes = vec![0; 60_000];
        let read = |bytes| RecordedEvent::Read { conn: 7, bytes, more: false };
        for _ in 0..1000 {
            client.put(&at(2, read(&bytes)), &|_| None);
            assert!(client.send(2));
        }
        let mut pieces = vec![];
        for _ in 0..100 {
            pieces.extend(receiver.pieces().flatten());
            assert!(client.send(3));
        }
        assert!(client.is_live() && !client.is_whole());
        client.put(&at(4, read(&bytes[..10])), &|_| None);
        client.send(5);
        pieces.extend(receiver.pieces().flatten());
        let (read, lost, lost_bytes) = received(pieces);
        assert!(lost > 100, "{lost}");
        assert_eq!(lost_bytes, lost * 60_000);
        assert_eq!(read[&7] as u64 + lost_bytes, 1000 * 60_000 + 10);
        drop(receiver);
        client.put(&at(6, read_one()), &|_| None);
        assert!(!client.send(7));
    }

    fn read_one() -> RecordedEvent<'static> {
        RecordedEvent::Read { conn: 7, bytes: &[0], more: false }
    }

    #[test]
    fn a_client_gets_the_switches_that_it_named() {
        let (sender, mut receiver) = channel();
        let request = RecordingRequest { switches: vec![DatapathId(2)], last: None };
        let mut client = RecordingClient::begin(sender, &request, 0, "{}");
        let mut features = [0; 32];
        features[..4].copy_from_slice(&[4, FEATURES_REPLY, 0, 32]);
        for dpid in 1..4 {
            client.put(&at(dpid, opened(dpid)), &|_| None);
            features[15] = dpid as u8;
            let says = RecordedEvent::Read { conn: dpid, bytes: &features, more: false };
            client.put(&at(dpid, says), &|_| None);
        }
        client.send(9);
        let (read, _, _) = received(receiver.pieces().flatten().collect());
        assert_eq!(read.into_iter().collect::<Vec<_>>(), [(2, 32)]);
    }
}
