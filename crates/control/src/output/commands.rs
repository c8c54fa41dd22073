//! Commands: what goes to switches other than the one in hand, to the World, and to the operator.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::ops::Range;

use aldis_wire::DatapathId;

use crate::controller_event::Found;
use crate::limits::{FOUND_MAX, NOTES_MAX};
use crate::world::{Part, Queues};

/// Room that is initialised at a time, in bytes: some twenty messages.
const ROOM_MORE: usize = 4096;

/// Set in the transaction ids that applications take.
const TAKEN: u32 = 1 << 23;

/// A stretch for one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The switch.
    pub to: DatapathId,
    /// The path that it is part of; pieces of no path have none.
    pub path: Option<u32>,
    /// Where it lies in what [`Commands::pieces`] gives.
    pub bytes: Range<usize>,
}

/// Where commands stood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandsMark {
    len: usize,
    pieces: usize,
    to: Option<DatapathId>,
    begun: usize,
}

impl CommandsMark {
    /// Bytes that waited then.
    #[inline]
    pub(crate) fn written(&self) -> usize {
        self.len
    }
}

/// Messages to any switches, and reports to the World.
///
/// Messages are sent after the answers of the batch, in the order in which they were written for
/// each switch. A switch that is not connected, or that has no room because it does not read, does
/// not get them, which is counted. What has to arrive everywhere or nowhere is written as one
/// [`Commands::path`].
#[derive(Debug)]
pub struct Commands {
    // All of `room` is initialised, so that stamping needs no zeroing; `len` of it is in use.
    room: Vec<u8>,
    len: usize,
    pieces: Vec<Piece>,
    to: Option<DatapathId>,
    path: Option<u32>,
    paths: u32,
    begun: usize,
    xid: u32,
    queues: Arc<Queues>,
    reported: bool,
    failures: Vec<String>,
    warnings: Vec<String>,
    infos: Vec<String>,
    found: Vec<(&'static str, Found)>,
    not_told: u64,
    rooms: Rooms,
}

/// How many bytes a switch has room for, where that is known.
#[derive(Default)]
struct Rooms(Option<Box<dyn Fn(DatapathId) -> usize + Send>>);

impl fmt::Debug for Rooms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rooms").field(&self.0.is_some()).finish()
    }
}

impl Commands {
    /// Of one worker, with the queues of the parts that there are.
    pub(crate) fn new(worker: u8, queues: Arc<Queues>) -> Commands {
        Commands {
            room: vec![],
            len: 0,
            pieces: vec![],
            to: None,
            path: None,
            paths: 0,
            begun: 0,
            xid: u32::from(worker) << 24 | TAKEN,
            queues,
            reported: false,
            failures: vec![],
            warnings: vec![],
            infos: vec![],
            found: vec![],
            not_told: 0,
            rooms: Rooms::default(),
        }
    }

    /// How many bytes a switch has room for is asked here from now on.
    pub(crate) fn ask_room(&mut self, room: impl Fn(DatapathId) -> usize + Send + 'static) {
        self.rooms = Rooms(Some(Box::new(room)));
    }

    /// Whether the switch has room for so many bytes behind all that is written here, whichever
    /// switch that goes to. Another worker may have taken the room when they are sent.
    pub fn has_room(&self, switch: DatapathId, bytes: usize) -> bool {
        self.rooms.0.as_ref().is_none_or(|room| self.len + bytes <= room(switch))
    }

    /// The number of the worker whose commands they are, from 0.
    pub fn worker(&self) -> usize {
        (self.xid >> 24) as usize
    }

    /// Everything that follows goes to this switch.
    #[inline]
    pub fn to(&mut self, switch: DatapathId) {
        if self.to != Some(switch) {
            self.seal();
            self.to = Some(switch);
        }
    }

    /// The next `N` bytes, to be overwritten whole.
    #[inline]
    pub fn stamp<const N: usize>(&mut self) -> &mut [u8; N] {
        let at = self.len;
        self.len = at + N;
        if self.len > self.room.len() {
            self.grow();
        }
        self.room[at..at + N].first_chunk_mut().expect("so long")
    }

    /// The bytes as they are.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        let at = self.len;
        self.len = at + bytes.len();
        if self.len > self.room.len() {
            self.grow();
        }
        self.room[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// What `encode` appends to the vector it is given; it has to leave alone what is there
    /// already.
    pub fn append_with<R>(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        self.room.truncate(self.len);
        let result = encode(&mut self.room);
        self.len = self.room.len();
        result
    }

    /// What `write` writes arrives at all of its switches, or at none: where one of them is not
    /// there or has no room, all of it is dropped and counted. It is sent in the order in which the
    /// switches are named: last hop first.
    pub fn path(&mut self, write: impl FnOnce(&mut Commands)) {
        self.seal();
        self.paths += 1;
        self.path = Some(self.paths);
        write(self);
        self.seal();
        self.path = None;
    }

    /// A transaction id that no other message had for a long time. A reply to it, or an error about
    /// it, comes back to the worker that took it ([`crate::Event::Reply`]).
    pub fn xid(&mut self) -> u32 {
        let count = self.xid.wrapping_add(1) & (TAKEN - 1);
        self.xid = self.xid & !(TAKEN - 1) | count;
        self.xid
    }

    /// So many of them, one behind the other.
    pub fn xids(&mut self, count: u32) -> Xids {
        let first = self.xid();
        self.xid = self.xid & !(TAKEN - 1) | self.xid.wrapping_add(count - 1) & (TAKEN - 1);
        Xids { first, count }
    }

    /// Tells the publisher of a part what is new.
    ///
    /// # Errors
    /// The report: the part has no publisher, or [`crate::Part::REPORTS_MAX`] reports wait
    /// already. The application reports it again later, if it has to.
    pub fn report<P: Part>(&mut self, report: P::Report) -> Result<(), P::Report> {
        self.reported = true;
        self.queues.push_from::<P>(self.worker() as u16, report)
    }

    /// Tells the operator that an application failed, in a sentence that begins with its name: a
    /// line of the log, which the lines of applications never keep out. Further ones than
    /// [`NOTES_MAX`] of one batch are dropped.
    pub fn failed(&mut self, words: String) {
        if self.failures.len() < NOTES_MAX {
            self.failures.push(words);
        }
    }

    /// Warns the operator, in a sentence that begins with the application's name: a line of the
    /// log. More than [`NOTES_MAX`] of one batch are dropped.
    pub fn warn(&mut self, words: String) {
        if self.warnings.len() < NOTES_MAX {
            self.warnings.push(words);
        }
    }

    /// Tells the operator something that is no warning, in the same way.
    pub fn info(&mut self, words: String) {
        if self.infos.len() < NOTES_MAX {
            self.infos.push(words);
        }
    }

    /// Tells what an application of this name found out about the network: a line of the log, and
    /// an event over HTTP. More than [`FOUND_MAX`] of one batch are dropped and counted.
    pub fn found(&mut self, by: &'static str, found: Found) {
        if self.found.len() < FOUND_MAX {
            self.found.push((by, found));
        } else {
            self.not_told(1);
        }
    }

    /// So many findings were dropped before they could be told.
    pub fn not_told(&mut self, count: u64) {
        self.not_told += count;
    }

    /// What was found out.
    #[inline]
    pub fn take_found(&mut self) -> impl Iterator<Item = (&'static str, Found)> {
        self.found.drain(..)
    }

    /// How much was found out besides, since this was last asked.
    #[inline]
    pub fn take_not_told(&mut self) -> u64 {
        mem::take(&mut self.not_told)
    }

    /// Which applications failed.
    #[inline]
    pub fn take_failures(&mut self) -> impl Iterator<Item = String> {
        self.failures.drain(..)
    }

    /// The warnings for the operator.
    #[inline]
    pub fn take_warnings(&mut self) -> impl Iterator<Item = String> {
        self.warnings.drain(..)
    }

    /// The other lines for the operator.
    #[inline]
    pub fn take_infos(&mut self) -> impl Iterator<Item = String> {
        self.infos.drain(..)
    }

    /// Whether anything was reported since this was last asked.
    #[inline]
    pub fn take_reported(&mut self) -> bool {
        mem::take(&mut self.reported)
    }

    /// Where they stand now, to come back to; not inside of a path.
    #[inline]
    pub(crate) fn mark(&self) -> CommandsMark {
        let Commands { len, ref pieces, to, begun, .. } = *self;
        CommandsMark { len, pieces: pieces.len(), to, begun }
    }

    /// Forgets the messages that were written since the mark.
    #[cold]
    pub(crate) fn rewind(&mut self, mark: CommandsMark) {
        (self.len, self.to, self.begun, self.path) = (mark.len, mark.to, mark.begun, None);
        self.pieces.truncate(mark.pieces);
    }

    /// Bytes that wait to be sent.
    #[inline]
    pub(crate) fn written(&self) -> usize {
        self.len
    }

    /// Whether there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What was written, in pieces, in order.
    pub fn pieces(&mut self) -> (&[u8], &[Piece]) {
        self.seal();
        (&self.room[..self.len], &self.pieces)
    }

    /// Forgets what was written; the room stays.
    pub fn clear(&mut self) {
        self.len = 0;
        self.pieces.clear();
        (self.to, self.path, self.paths, self.begun) = (None, None, 0, 0);
    }

    /// Makes room for what `len` says, and for what comes next: after an encoder had the room there
    /// is none.
    #[cold]
    fn grow(&mut self) {
        self.room.resize(self.len + ROOM_MORE, 0);
    }

    #[inline]
    fn seal(&mut self) {
        let bytes = self.begun..self.len;
        self.begun = bytes.end;
        match self.to {
            Some(to) if !bytes.is_empty() => self.pieces.push(Piece { to, path: self.path, bytes }),
            // Bytes that were written before any switch was named go to none.
            _ => {}
        }
    }
}

/// Transaction ids that were taken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Xids {
    first: u32,
    count: u32,
}

impl Xids {
    /// The id with this place among them, from 0.
    pub fn at(self, place: u32) -> u32 {
        self.first & !(TAKEN - 1) | self.first.wrapping_add(place) & (TAKEN - 1)
    }

    /// The place of an id, if it is one of them.
    pub fn place(self, xid: u32) -> Option<u32> {
        let place = xid.wrapping_sub(self.first) & (TAKEN - 1);
        (place < self.count && self.at(place) == xid).then_some(place)
    }
}

/// The worker that took a transaction id, where an application did.
pub fn taker(xid: u32) -> Option<usize> {
    (xid & TAKEN != 0).then_some((xid >> 24) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller_event::HostNow;
    use crate::switch_port::SwitchPort;
    use aldis_wire::MacAddr;

    fn commands() -> Commands {
        Commands::new(3, Arc::default())
    }

    #[test]
    fn room_is_counted_behind_all_that_is_written() {
        let mut commands = commands();
        assert!(commands.has_room(DatapathId(1), usize::MAX));
        commands.ask_room(|switch| if switch == DatapathId(1) { 10 } else { 3 });
        commands.to(DatapathId(1));
        commands.append(&[1, 2]);
        assert!(commands.has_room(DatapathId(1), 8) && !commands.has_room(DatapathId(1), 9));
        assert!(commands.has_room(DatapathId(2), 1) && !commands.has_room(DatapathId(2), 2));
    }

    #[test]
    fn pieces_follow_the_switches_and_the_paths() {
        let mut commands = commands();
        commands.to(DatapathId(1));
        commands.append(&[1, 2]);
        commands.path(|commands| {
            commands.append(&[3]);
            commands.to(DatapathId(2));
            commands.append_with(|vec| vec.push(4));
            *commands.stamp() = [5, 6];
        });
        commands.append(&[7]);
        let (bytes, pieces) = commands.pieces();
        let piece = |to, path, bytes| Piece { to: DatapathId(to), path, bytes };
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7]);
        let one = Some(1);
        let expected =
            [piece(1, None, 0..2), piece(1, one, 2..3), piece(2, one, 3..6), piece(2, None, 6..7)];
        assert_eq!(pieces, expected);
        commands.clear();
        assert!(commands.is_empty() && commands.pieces().1.is_empty());
    }

    #[test]
    fn people_are_told_so_much_and_no_more() {
        let mut commands = commands();
        (0..NOTES_MAX + 1).for_each(|note| commands.warn(alloc::format!("app: {note}")));
        assert_eq!(commands.take_warnings().last(), Some(alloc::format!("app: {}", NOTES_MAX - 1)));
        commands.warn("app: again".into());
        (0..NOTES_MAX + 1).for_each(|news| commands.info(alloc::format!("app: {news}")));
        assert_eq!(commands.take_infos().count(), NOTES_MAX);
        let at = SwitchPort::new(1, 2);
        let now = HostNow::Seen;
        let seen = Found::Host { mac: MacAddr::from_u64(3), vlan: 0, at, now };
        (0..FOUND_MAX + 2).for_each(|_| commands.found("app", seen));
        commands.not_told(3);
        assert!(commands.take_found().all(|found| found == ("app", seen)));
        assert_eq!(
            (commands.take_found().count(), commands.take_not_told(), commands.take_not_told()),
            (0, 5, 0)
        );
        assert_eq!(commands.take_warnings().count(), 1);
    }

    #[test]
    fn a_failure_is_told_behind_any_number_of_warnings() {
        let mut commands = commands();
        (0..NOTES_MAX).for_each(|_| commands.warn("app: odd".into()));
        commands.failed("app: failed".into());
        assert!(commands.take_failures().eq(["app: failed"]));
        assert_eq!(commands.take_failures().count(), 0);
    }

    #[test]
    fn transaction_ids_carry_the_worker_and_say_that_they_were_taken() {
        let mut commands = commands();
        let (first, second) = (commands.xid(), commands.xid());
        assert!(first != second && taker(first) == Some(3) && taker(second) == Some(3));
        commands.xid = 0x03ff_fffe;
        assert_eq!(
            [commands.xid(), commands.xid(), commands.xid()],
            [0x03ff_ffff, 0x0380_0000, 0x0380_0001]
        );
        assert_eq!(taker(0x0300_0001), None);
    }

    #[test]
    fn ids_taken_together_know_their_places_also_where_the_counter_begins_anew() {
        let mut commands = commands();
        commands.xid = 0x03ff_fffd;
        let xids = commands.xids(4);
        let all = [0x03ff_fffe, 0x03ff_ffff, 0x0380_0000, 0x0380_0001];
        assert_eq!([0, 1, 2, 3].map(|place| xids.at(place)), all);
        assert_eq!(all.map(|xid| xids.place(xid)), [0, 1, 2, 3].map(Some));
        for other in [0x03ff_fffd, 0x0380_0002, 0x0280_0000, 0x0300_0000, 0] {
            assert_eq!(xids.place(other), None, "{other:#x}");
        }
        assert_eq!(commands.xid(), 0x0380_0002);
    }
}
