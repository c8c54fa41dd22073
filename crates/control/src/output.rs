//! What a worker has to send at the end of a batch: one buffer, in segments that each belong to one
//! switch.
//!
//! The buffer belongs to the worker and not to the switch, so that it stays in the cache. Messages
//! made from a template are stamped into it in place ([`Output::stamp`]); the others are encoded at
//! its end ([`Output::append_with`]). What goes to other switches than those of the batch, and what
//! is reported to the World, goes by the [`Commands`].

mod commands;
mod holds;

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use crate::world::Part;
use commands::CommandsMark;
pub use commands::{Commands, Piece, Xids, taker};
pub use holds::Holds;

/// Room that an [`Output`] begins with, in bytes: the replies to 64 KB of requests, twice over.
const ROOM_START: usize = 256 * 1024;

/// A stretch of output for one run of the batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The run of the batch whose switch it goes to.
    pub run: usize,
    /// Where it ends in the buffer; it begins where the one before it ends.
    pub end: usize,
}

/// Where an output stood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputMark {
    len: usize,
    segments: usize,
    run: usize,
    commands: CommandsMark,
}

impl OutputMark {
    /// Bytes that were written until then.
    #[inline]
    pub(crate) fn written(&self) -> usize {
        self.len + self.commands.written()
    }
}

/// The worker's send buffer.
#[derive(Debug)]
pub struct Output {
    // All of `room` is initialised, so that stamping needs neither `unsafe` nor zeroing; `len` of
    // it is in use.
    room: Vec<u8>,
    len: usize,
    segments: Vec<Segment>,
    run: usize,
    // Up to here the segments were taken.
    taken: usize,
    // Where messages are encoded that no template makes: encoders append to vectors.
    scratch: Vec<u8>,
    commands: Commands,
    holds: Holds,
}

/// Of a worker without a World.
impl Default for Output {
    fn default() -> Self {
        Output::new(Commands::new(0, alloc::sync::Arc::default()))
    }
}

impl Output {
    /// With the way to other switches.
    pub(crate) fn new(commands: Commands) -> Self {
        Output {
            commands,
            room: vec![0; ROOM_START],
            len: 0,
            segments: Vec::with_capacity(64),
            run: 0,
            taken: 0,
            scratch: vec![],
            holds: Holds::default(),
        }
    }

    /// How many bytes a switch has room for, by its datapath id, is asked here: see
    /// [`Commands::has_room`], which says that there is room unless this was called.
    pub fn ask_room(&mut self, room: impl Fn(aldis_wire::DatapathId) -> usize + Send + 'static) {
        self.commands.ask_room(room);
    }

    /// The way to other switches.
    #[inline]
    pub fn commands(&mut self) -> &mut Commands {
        &mut self.commands
    }

    /// Whether there is something for other switches.
    #[inline]
    pub fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Tells the publisher of a part of the World what is new: [`Commands::report`].
    ///
    /// # Errors
    /// As there.
    pub fn report<P: Part>(&mut self, report: P::Report) -> Result<(), P::Report> {
        self.commands.report::<P>(report)
    }

    /// A transaction id whose reply comes back here: [`Commands::xid`].
    pub fn xid(&mut self) -> u32 {
        self.commands.xid()
    }

    /// Holds the switch back that joins ([`crate::Event::Joining`]): the applications are not told
    /// that it is up, it has no PACKET_INs for them and cannot be found by its datapath id, until
    /// each that holds it has released it ([`Output::release_switch`]), or
    /// [`crate::session::Config::joining_within`] has passed. Replies to transaction ids of
    /// [`Output::xid`], and errors about them, come meanwhile. At any other event this does
    /// nothing, and so it does where the application was started after the switch joined.
    pub fn hold_switch(&mut self) {
        self.holds.hold();
    }

    /// The application does not hold the switch of this event back any more: to be called at a
    /// reply or an error of that switch.
    pub fn release_switch(&mut self) {
        self.holds.release();
    }

    /// Which applications hold a switch back, and which do not any more.
    pub fn holds(&mut self) -> &mut Holds {
        &mut self.holds
    }

    /// Everything that follows goes to the switch of `run`.
    #[inline]
    pub fn select(&mut self, run: usize) {
        if run != self.run {
            self.seal();
            self.run = run;
        }
    }

    /// The next `N` bytes of output, to be overwritten whole.
    #[inline]
    pub fn stamp<const N: usize>(&mut self) -> &mut [u8; N] {
        let at = self.len;
        self.len = at + N;
        // Where it fits it is not looked at again.
        if self.len > self.room.len() {
            self.grow(N);
            return self.room[at..].first_chunk_mut().expect("grown to fit");
        }
        self.room[at..at + N].first_chunk_mut().expect("so long")
    }

    /// The bytes as they are.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        let at = self.len;
        if self.room.len() - at < bytes.len() {
            self.grow(bytes.len());
        }
        self.len = at + bytes.len();
        self.room[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The bytes as `change` makes them; where that says false, nothing.
    #[inline]
    pub(crate) fn append_changed(
        &mut self,
        bytes: &[u8],
        change: impl FnOnce(&mut [u8]) -> bool,
    ) -> bool {
        let at = self.len;
        self.append(bytes);
        let good = change(&mut self.room[at..self.len]);
        if !good {
            self.len = at;
        }
        good
    }

    /// What `encode` appends to the vector it is given.
    pub fn append_with<R>(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let mut scratch = mem::take(&mut self.scratch);
        let result = encode(&mut scratch);
        self.append(&scratch);
        scratch.clear();
        self.scratch = scratch;
        result
    }

    /// All bytes so far.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.len]
    }

    /// Where the output stands now, to come back to.
    #[inline]
    pub(crate) fn mark(&self) -> OutputMark {
        let segments = self.segments.len();
        OutputMark { len: self.len, segments, run: self.run, commands: self.commands.mark() }
    }

    /// Forgets what was written since the mark, half a message among it. What was reported and told
    /// stays so.
    #[cold]
    pub(crate) fn rewind(&mut self, mark: OutputMark) {
        (self.len, self.run) = (mark.len, mark.run);
        self.segments.truncate(mark.segments);
        self.commands.rewind(mark.commands);
    }

    /// Bytes that were written since the last [`Output::clear`], to whichever switch.
    #[inline]
    pub(crate) fn written(&self) -> usize {
        self.len + self.commands.written()
    }

    /// Whether there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the segments written since they were last taken, in order; what follows goes to run 0
    /// until the next turn. A run that two applications answered has two.
    #[inline]
    pub fn take_segments(&mut self) -> impl Iterator<Item = Segment> {
        self.seal();
        self.run = 0;
        self.taken = self.len;
        self.segments.drain(..)
    }

    /// Forgets everything; the room stays.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.run = 0;
        self.taken = 0;
        self.segments.clear();
    }

    #[inline]
    fn seal(&mut self) {
        let begun = self.segments.last().map_or(self.taken, |segment| segment.end);
        if self.len > begun {
            self.segments.push(Segment { run: self.run, end: self.len });
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let room = (self.room.len() * 2).max(self.len + more);
        self.room.resize(room, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamped_and_encoded_messages_follow_each_other() {
        let mut output = Output::default();
        *output.stamp() = [1, 2];
        output.append_with(|vec| vec.extend_from_slice(&[3, 4, 5]));
        output.append(&[6]);
        assert_eq!(output.bytes(), [1, 2, 3, 4, 5, 6]);
        output.clear();
        assert!(output.is_empty() && output.take_segments().next().is_none());
    }

    #[test]
    fn segments_follow_the_runs() {
        let mut output = Output::default();
        output.append(&[0; 3]);
        output.select(2);
        output.select(1);
        output.append(&[0; 2]);
        output.select(0);
        output.append(&[0; 1]);
        let expected = [(0, 3), (1, 5), (0, 6)].map(|(run, end)| Segment { run, end });
        assert!(output.take_segments().eq(expected));
        assert!(output.take_segments().next().is_none());
        output.append(&[0; 4]);
        assert!(output.take_segments().eq([Segment { run: 0, end: 10 }]));
    }

    #[test]
    fn what_was_written_since_a_mark_can_be_forgotten() {
        let mut output = Output::default();
        output.append(&[1; 3]);
        output.select(2);
        output.append(&[2; 2]);
        let mark = output.mark();
        output.append(&[3; 4]);
        output.select(1);
        output.append(&[4; 1]);
        output.commands().to(aldis_wire::DatapathId(7));
        output.commands().append(&[5; 6]);
        assert_eq!((mark.written(), output.written()), (5, 16));
        output.rewind(mark);
        assert_eq!(output.bytes(), [1, 1, 1, 2, 2]);
        assert!(!output.has_commands() && output.commands().pieces().1.is_empty());
        output.append(&[6]);
        let expected = [(0, 3), (2, 6)].map(|(run, end)| Segment { run, end });
        assert!(output.take_segments().eq(expected));
    }

    #[test]
    fn it_grows_past_the_room_it_began_with() {
        let mut output = Output::default();
        for _ in 0..=ROOM_START / 80 {
            *output.stamp() = [7u8; 80];
        }
        assert_eq!(output.bytes().len(), (ROOM_START / 80 + 1) * 80);
        assert!(output.bytes().iter().all(|&byte| byte == 7));
    }
}
