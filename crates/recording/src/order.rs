//! The order of a replay: whole events, each behind those that it depends on.
//!
//! A recording has them by the time at which their worker looked for work. A batch ran later than
//! that, and perhaps behind one that another worker began later. So a replay takes a batch at the
//! time at which it ran, and what else applications do when they began to. And a worker that
//! entered a version of the World, or acted on one, waits until the publisher has made it: a
//! worker's time is that of its last look for work, and so may be earlier. Within a lane, that is a
//! worker or the publisher, the order stays as it is.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

use crate::event::{ConnKey, Endpoints, Mark, RecordedEvent};
use crate::limits::{LOOK_AHEAD, LOOK_AHEAD_BYTES, LOOK_AHEAD_EVENTS, WHOLE_BYTES_MAX};
use crate::reader::{BadRecording, Fault, RecordingReader};

/// An event, with its time, its worker and its place in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlayedEvent {
    /// Nanoseconds since the controller's start.
    pub at_ns: u64,
    /// The worker that saw it, from 0; the publisher comes behind the last one.
    pub worker: u16,
    /// The first byte of its last block in the file.
    pub offset: u64,
    /// What happened.
    pub event: WholeEvent,
}

/// What happened: as [`RecordedEvent`], but that its pieces are put together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WholeEvent {
    /// See [`RecordedEvent::Opened`].
    Opened {
        /// The connection.
        conn: ConnKey,
        /// Its ends.
        ends: Endpoints,
    },
    /// See [`RecordedEvent::Known`].
    Known {
        /// The connection.
        conn: ConnKey,
        /// Its datapath id; 0 where it had not said it.
        dpid: u64,
    },
    /// See [`RecordedEvent::Read`].
    Read {
        /// The connection.
        conn: ConnKey,
        /// All messages of the visit.
        bytes: Vec<u8>,
    },
    /// See [`RecordedEvent::Written`].
    Written {
        /// The connection.
        conn: ConnKey,
        /// All messages that were written together.
        bytes: Vec<u8>,
        /// Whether they are a command from outside.
        outside: bool,
    },
    /// See [`RecordedEvent::Closed`].
    Closed {
        /// The connection.
        conn: ConnKey,
    },
    /// See [`RecordedEvent::Gap`].
    Gap {
        /// Visits and writes that are missing.
        events: u64,
    },
    /// See [`RecordedEvent::Published`].
    Published {
        /// When the step began.
        began_ns: u64,
        /// The version of the World behind it.
        version: u64,
        /// Which reports it took.
        taken: Vec<u8>,
    },
    /// See [`RecordedEvent::Marked`].
    Marked(Mark),
}

impl WholeEvent {
    fn of(event: RecordedEvent<'_>) -> WholeEvent {
        match event {
            RecordedEvent::Opened { conn, ends } => WholeEvent::Opened { conn, ends },
            RecordedEvent::Known { conn, dpid, .. } => WholeEvent::Known { conn, dpid },
            RecordedEvent::Read { conn, bytes, .. } => {
                WholeEvent::Read { conn, bytes: bytes.to_vec() }
            }
            RecordedEvent::Written { conn, bytes, outside, .. } => {
                WholeEvent::Written { conn, bytes: bytes.to_vec(), outside }
            }
            RecordedEvent::Closed { conn } => WholeEvent::Closed { conn },
            RecordedEvent::Gap { events, .. } => WholeEvent::Gap { events },
            RecordedEvent::Published { began_ns, version, taken } => {
                WholeEvent::Published { began_ns, version, taken: taken.to_vec() }
            }
            RecordedEvent::Marked(mark) => WholeEvent::Marked(mark),
        }
    }

    /// The bytes of a visit or a write.
    fn bytes(&self) -> usize {
        match self {
            WholeEvent::Read { bytes, .. }
            | WholeEvent::Written { bytes, .. }
            | WholeEvent::Published { taken: bytes, .. } => bytes.len(),
            _ => 0,
        }
    }
}

/// The events of a recording, in the order of a replay.
#[derive(Debug)]
pub struct PlayOrder<R> {
    events: WholeEvents<R>,
    lanes: BTreeMap<u16, VecDeque<PlayedEvent>>,
    /// Events and bytes in the lanes.
    waiting: [usize; 2],
    /// The time of the last event that was read.
    read_ns: u64,
    /// Why nothing more can be read: said when all before it is handed out.
    end: Option<Option<BadRecording>>,
    /// The newest version of the World.
    published: u64,
}

impl<R: Read> PlayOrder<R> {
    /// The events that this reader has.
    pub fn new(reader: RecordingReader<R>) -> PlayOrder<R> {
        PlayOrder {
            events: WholeEvents::new(reader),
            lanes: BTreeMap::new(),
            waiting: [0; 2],
            read_ns: 0,
            end: None,
            published: 0,
        }
    }

    /// The next event; nothing at the end.
    ///
    /// # Errors
    /// The file was cut or altered, or cannot be read. All events before that were handed out.
    pub fn next_event(&mut self) -> Result<Option<PlayedEvent>, BadRecording> {
        self.fill();
        let Some(worker) = self.next_lane() else {
            return self.end.take().flatten().map_or(Ok(None), Err);
        };
        let event = self.lanes.get_mut(&worker).and_then(VecDeque::pop_front);
        if let Some(PlayedEvent { event, .. }) = &event {
            self.waiting = [self.waiting[0] - 1, self.waiting[1] - event.bytes()];
            if let WholeEvent::Published { version, .. } = event {
                self.published = self.published.max(*version);
            }
        }
        Ok(event)
    }

    /// The lane whose next event comes next.
    fn next_lane(&self) -> Option<u16> {
        let heads = self.lanes.iter().filter_map(|(worker, lane)| Some((lane.front()?, *worker)));
        let next = heads.map(|(event, worker)| (self.waits(event), key(event), worker)).min();
        next.map(|(_, _, worker)| worker)
    }

    /// Whether it waits for a version of the World that comes next, or later. One that is older
    /// than the next was published before the recording began.
    fn waits(&self, event: &PlayedEvent) -> bool {
        let WholeEvent::Marked(Mark::Entered { version } | Mark::Acted { after: version, .. }) =
            event.event
        else {
            return false;
        };
        version > self.published && self.next_version().is_some_and(|next| next <= version)
    }

    /// The next version of the World that is published. The publisher's lane is the last.
    fn next_version(&self) -> Option<u64> {
        let version = |event: &PlayedEvent| match event.event {
            WholeEvent::Published { version, .. } => Some(version),
            _ => None,
        };
        self.lanes.values().next_back()?.iter().find_map(version)
    }

    /// Reads as far as it looks ahead.
    fn fill(&mut self) {
        let ahead = LOOK_AHEAD.as_nanos() as u64;
        while self.end.is_none() {
            let first = self.lanes.values().filter_map(VecDeque::front).map(key).min();
            let enough = first.is_some_and(|first| first.saturating_add(ahead) < self.read_ns);
            let [events, bytes] = self.waiting;
            if enough || events >= LOOK_AHEAD_EVENTS || bytes >= LOOK_AHEAD_BYTES {
                return;
            }
            match self.events.next_event() {
                Ok(Some(event)) => {
                    self.read_ns = self.read_ns.max(event.at_ns);
                    self.waiting = [events + 1, bytes + event.event.bytes()];
                    self.lanes.entry(event.worker).or_default().push_back(event);
                }
                Ok(None) => self.end = Some(None),
                Err(bad) => self.end = Some(Some(bad)),
            }
        }
    }
}

/// The events of a recording as they stand there, each with all of its pieces.
#[derive(Debug)]
pub struct WholeEvents<R> {
    reader: RecordingReader<R>,
    /// An event that was read already.
    next: Option<PlayedEvent>,
}

impl<R: Read> WholeEvents<R> {
    /// The events that this reader has.
    pub fn new(reader: RecordingReader<R>) -> WholeEvents<R> {
        WholeEvents { reader, next: None }
    }

    /// The next event; nothing at the end, nor for one whose rest would stand behind it. Where the
    /// rest of one was lost before that, a gap stands for it.
    ///
    /// # Errors
    /// The file was cut or altered, or cannot be read.
    pub fn next_event(&mut self) -> Result<Option<PlayedEvent>, BadRecording> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        let Some(first) = self.reader.next_event()? else { return Ok(None) };
        let (at_ns, worker, mut more) = (first.at_ns, first.worker, has_more(&first.event));
        let mut event = WholeEvent::of(first.event);
        while more {
            let offset = self.reader.offset();
            let bad = |what| BadRecording { offset, fault: Fault::Garbled(what) };
            let Some(next) = self.reader.next_event()? else { return Ok(None) };
            more = has_more(&next.event);
            match (&mut event, next.event) {
                (
                    WholeEvent::Read { conn, bytes },
                    RecordedEvent::Read { conn: to, bytes: piece, .. },
                )
                | (
                    WholeEvent::Written { conn, bytes, .. },
                    RecordedEvent::Written { conn: to, bytes: piece, .. },
                ) if *conn == to && next.worker == worker => {
                    if bytes.len() + piece.len() > WHOLE_BYTES_MAX {
                        return Err(bad("the length of this visit"));
                    }
                    bytes.extend_from_slice(piece);
                }
                // The recorder did not keep up within the event.
                (_, next_event) => {
                    let (at_ns, worker) = (next.at_ns, next.worker);
                    let (event, offset) = (WholeEvent::of(next_event), self.reader.offset());
                    self.next = Some(PlayedEvent { at_ns, worker, offset, event });
                    more = false;
                }
            }
        }
        if self.next.is_some() {
            event = WholeEvent::Gap { events: 1 };
        }
        Ok(Some(PlayedEvent { at_ns, worker, offset: self.reader.offset(), event }))
    }
}

/// Whether the next piece belongs to this event.
fn has_more(event: &RecordedEvent<'_>) -> bool {
    match event {
        RecordedEvent::Read { more, .. } | RecordedEvent::Written { more, .. } => *more,
        _ => false,
    }
}

/// By which time it is ordered.
fn key(event: &PlayedEvent) -> u64 {
    match event.event {
        WholeEvent::Marked(Mark::Batch { ran_ns } | Mark::Apps { ran_ns, .. }) => {
            ran_ns.clamp(event.at_ns, event.at_ns.saturating_add(LOOK_AHEAD.as_nanos() as u64))
        }
        _ => event.at_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TimedEvent;
    use crate::writer::RecordingWriter;

    fn played(events: &[(u64, u16, RecordedEvent<'_>)]) -> Vec<(u16, WholeEvent)> {
        let mut file = vec![];
        let mut writer = RecordingWriter::begin(0, "{}", &mut file);
        let at = std::net::SocketAddr::from(([192, 0, 2, 1], 6653));
        let ends = Endpoints { peer: at, local: at };
        let opened = RecordedEvent::Opened { conn: 1, ends };
        writer.put(&TimedEvent { at_ns: 0, worker: 0, event: opened }, &mut file);
        for (at_ns, worker, event) in events {
            let (at_ns, worker, event) = (*at_ns, *worker, *event);
            writer.put(&TimedEvent { at_ns, worker, event }, &mut file);
        }
        let mut order = PlayOrder::new(RecordingReader::begin(&*file).unwrap());
        let next = || order.next_event().unwrap().map(|event| (event.worker, event.event));
        std::iter::from_fn(next).skip(1).collect()
    }

    const fn mark(mark: Mark) -> RecordedEvent<'static> {
        RecordedEvent::Marked(mark)
    }

    #[test]
    fn a_batch_comes_when_it_ran_and_its_lane_waits_for_it() {
        let batch = mark(Mark::Batch { ran_ns: 50 });
        let events = [(10, 0, batch), (11, 0, mark(Mark::Ticked)), (40, 1, mark(Mark::Roused))];
        let workers: Vec<u16> = played(&events).into_iter().map(|(worker, _)| worker).collect();
        assert_eq!(workers, [1, 0, 0]);
    }

    #[test]
    fn what_a_worker_waited_to_do_comes_when_it_did() {
        let apps = mark(Mark::Apps { ran_ns: 50, alone: true });
        let events = [
            (10, 0, apps),
            (10, 0, mark(Mark::Ticked)),
            (20, 1, mark(Mark::Batch { ran_ns: 30 })),
            (49, 1, mark(Mark::Roused)),
            (60, 1, mark(Mark::Ticked)),
        ];
        let workers: Vec<u16> = played(&events).into_iter().map(|(worker, _)| worker).collect();
        assert_eq!(workers, [1, 1, 0, 0, 1]);
    }

    #[test]
    fn a_worker_enters_a_world_and_acts_on_it_behind_its_publication() {
        let published = RecordedEvent::Published { began_ns: 9, version: 2, taken: &[1, 2] };
        for new in [Mark::Entered { version: 2 }, Mark::Acted { before: 1, after: 2 }] {
            let events = [(10, 0, mark(new)), (12, 1, mark(Mark::Ticked)), (15, 2, published)];
            let workers: Vec<u16> = played(&events).into_iter().map(|(worker, _)| worker).collect();
            assert_eq!(workers, [1, 2, 0]);
            // One that is never published is not waited for.
            assert_eq!(played(&events[..2]).len(), 2);
        }
        // Nor is one that was published before the recording began.
        let old = mark(Mark::Entered { version: 1 });
        let workers = played(&[(10, 0, old), (15, 2, published)]);
        assert_eq!(workers[0], (0, WholeEvent::Marked(Mark::Entered { version: 1 })));
    }

    #[test]
    fn pieces_are_put_together_and_one_whose_rest_is_lost_is_a_gap() {
        let read = |bytes, more| RecordedEvent::Read { conn: 1, bytes, more };
        let whole = played(&[(1, 0, read(&[1; 8], true)), (1, 0, read(&[2; 8], false))]);
        let bytes = [[1; 8], [2; 8]].concat();
        assert_eq!(whole, [(0, WholeEvent::Read { conn: 1, bytes })]);
        let torn = played(&[(1, 0, read(&[1; 8], true)), (2, 0, mark(Mark::Ticked))]);
        let ticked = WholeEvent::Marked(Mark::Ticked);
        assert_eq!(torn, [(0, WholeEvent::Gap { events: 1 }), (0, ticked)]);
    }
}
