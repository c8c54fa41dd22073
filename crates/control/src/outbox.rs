//! What waits for one switch because its socket would not take it: bounded, with a deadline.
//!
//! As long as anything waits here, nothing more is read from the switch; a switch that takes too
//! little until [`Outbox::deadline`] is dropped. So a switch that does not read costs its bound in
//! bytes for a while, and makes no other wait.
//!
//! The switch's kernel takes some of what waits though the switch does not read: seconds later,
//! when what was lost on the way is sent again or what it holds is packed closer. So a little that
//! is taken is no sign of life, unless more follows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use crate::limits::{CALM, READ_FOR_CERTAIN};
use crate::time::Time;

mod lanes;

pub use lanes::PriorityClass;
use lanes::{Lanes, rest_of_message};

/// The bound is reached: the switch gets none of what was to be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Bytes on their way to one switch.
#[derive(Clone, Debug)]
pub struct Outbox {
    max: usize,
    bytes: Vec<u8>,
    // Bytes before it were taken by the socket.
    head: usize,
    // Since when it has been in doubt whether the switch reads: the first byte came to wait then,
    // or enough was taken.
    doubted: Time,
    // Bytes that the socket took since, also those that never waited.
    taken: usize,
    // When the socket last took some of what waited, or the first byte came to wait.
    progress: Time,
    // Whether the socket took the beginning of a message whose end found no room.
    cut_off: bool,
    // What the write design puts off; absent in those that put nothing off.
    put_off: Option<Box<PutOff>>,
    // Where what waits is put in the order of its classes: where each begins.
    lanes: Option<Box<Lanes>>,
}

/// What a write design puts off until the next I/O loop of a worker (Beacon's algorithm 2).
#[derive(Clone, Default, Debug)]
pub struct PutOff {
    /// Messages that are written in the next loop, whole.
    pub bytes: Vec<u8>,
    /// Whether something was written in this loop.
    pub written: bool,
    /// Whether a worker looks after it in its next loop.
    pub listed: bool,
}

impl Outbox {
    /// Nothing waits, and never more than `max` bytes will.
    pub fn new(max: usize) -> Self {
        let (doubted, taken) = (Time::START, READ_FOR_CERTAIN);
        let (progress, cut_off) = (Time::START, false);
        let (put_off, lanes) = (None, None);
        Outbox {
            max,
            bytes: Vec::new(),
            head: 0,
            doubted,
            taken,
            progress,
            cut_off,
            put_off,
            lanes,
        }
    }

    /// What waits is put in the order of its [classes](PriorityClass), as far as OpenFlow allows.
    pub fn by_priority(self) -> Self {
        Outbox { lanes: Some(Box::default()), ..self }
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The socket took a part of something, and there is no room for the rest: whatever followed
    /// now would be taken for it. The switch is sent nothing more until its connection ends.
    pub fn cut_off(&mut self) {
        self.cut_off = true;
    }

    /// Whether that happened.
    #[inline]
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// What the write design puts off. It is no part of what waits.
    pub fn put_off(&mut self) -> &mut PutOff {
        self.put_off.get_or_insert_default()
    }

    /// Whether the write design puts anything off now.
    #[inline]
    pub fn has_put_off(&self) -> bool {
        self.put_off.as_ref().is_some_and(|put_off| !put_off.bytes.is_empty())
    }

    /// What waits, in the order in which it must be sent.
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.head..]
    }

    /// Adds `bytes` behind what waits.
    ///
    /// # Errors
    /// [`Full`]: nothing was added.
    pub fn push(&mut self, now: Time, bytes: &[u8]) -> Result<(), Full> {
        self.push_rest(now, bytes, 0)
    }

    /// Adds whole messages without their first `written` bytes, which the socket took: behind what
    /// waits, or each behind what waits of its class.
    ///
    /// # Errors
    /// [`Full`]: nothing was added.
    pub fn push_rest(&mut self, now: Time, messages: &[u8], written: usize) -> Result<(), Full> {
        let bytes = &messages[written..];
        if self.waiting().len() + bytes.len() > self.max {
            return Err(Full);
        }
        if self.is_empty() {
            if self.taken >= READ_FOR_CERTAIN || self.progress + CALM < now {
                self.doubt(now);
            }
            self.progress = self.progress.max(self.doubted);
        }
        if self.lanes.is_some() {
            self.insert(messages, written);
        } else {
            self.forget_taken();
            // No more room than is needed: thousands of switches may stop reading at once.
            self.bytes.reserve_exact(bytes.len());
            self.bytes.extend_from_slice(bytes);
        }
        self.check();
        Ok(())
    }

    /// The same where there are lanes.
    fn insert(&mut self, messages: &[u8], written: usize) {
        let mut lanes = self.lanes.take().unwrap_or_default();
        let mut fresh = &messages[written..];
        if self.is_empty() {
            let (cut, whole) = fresh.split_at(rest_of_message(messages, written));
            self.bytes.extend_from_slice(cut);
            (*lanes, fresh) = (Lanes::begin(cut.len()), whole);
        } else {
            debug_assert_eq!(written, 0, "nothing is written beside what waits");
            lanes.forget(&self.bytes, self.head);
            self.forget_taken();
        }
        lanes.insert(&mut self.bytes, fresh);
        self.lanes = Some(lanes);
    }

    fn forget_taken(&mut self) {
        self.bytes.drain(..self.head);
        self.head = 0;
    }

    /// The socket took so many bytes that did not wait, since nothing did.
    #[inline]
    pub fn passed(&mut self, count: usize) {
        self.taken += count;
    }

    /// The socket took the first `count` bytes of what waits.
    pub fn taken(&mut self, now: Time, count: usize) {
        self.head += count;
        self.taken += count;
        if count > 0 {
            self.progress = now;
        }
        if self.taken >= READ_FOR_CERTAIN {
            self.doubt(now);
        }
        if self.head == self.bytes.len() {
            // The room goes too: a switch that once was slow is as small as any other afterwards.
            (self.bytes, self.head) = (Vec::new(), 0);
        }
        self.check();
    }

    /// What waits is within its bound; and where nothing waits, nothing is kept.
    #[inline]
    fn check(&self) {
        debug_assert!(self.head <= self.bytes.len());
        debug_assert!(self.waiting().len() <= self.max);
        debug_assert!(self.bytes.is_empty() == self.waiting().is_empty());
    }

    fn doubt(&mut self, now: Time) {
        (self.doubted, self.taken) = (now, 0);
    }

    /// When the switch has to be dropped if it takes nothing until then; never while nothing waits.
    /// It has `within` for [`READ_FOR_CERTAIN`] bytes, and then a quarter of that for each time
    /// that it takes less.
    pub fn deadline(&self, within: Duration) -> Time {
        match self.is_empty() {
            true => Time::NEVER,
            false => (self.doubted + within).max(self.progress + within / 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 8;
    const WITHIN: Duration = Duration::from_secs(10);

    #[test]
    fn bytes_leave_in_the_order_in_which_they_came() {
        let mut outbox = Outbox::new(MAX);
        outbox.push(Time(0), &[1, 2, 3]).unwrap();
        outbox.taken(Time(0), 2);
        outbox.push(Time(0), &[4, 5]).unwrap();
        assert_eq!(outbox.waiting(), [3, 4, 5]);
        outbox.taken(Time(0), 3);
        assert!(outbox.is_empty());
    }

    #[test]
    fn the_bound_counts_what_still_waits() {
        let mut outbox = Outbox::new(MAX);
        outbox.push(Time(0), &[0; MAX]).unwrap();
        assert_eq!(outbox.push(Time(0), &[1]), Err(Full));
        outbox.taken(Time(0), 3);
        outbox.push(Time(0), &[1; 3]).unwrap();
        assert_eq!(outbox.waiting().len(), MAX);
    }

    #[test]
    fn the_deadline_moves_when_enough_is_taken() {
        let mut outbox = Outbox::new(2 * READ_FOR_CERTAIN);
        assert_eq!(outbox.deadline(WITHIN), Time::NEVER);
        outbox.push(at(5), &[0; READ_FOR_CERTAIN]).unwrap();
        outbox.push(at(6), &[0; READ_FOR_CERTAIN]).unwrap();
        outbox.taken(at(7), 0);
        outbox.taken(at(8), READ_FOR_CERTAIN - 1);
        assert_eq!(outbox.deadline(WITHIN), at(5) + WITHIN);
        outbox.taken(at(9), 1);
        assert_eq!(outbox.deadline(WITHIN), at(9) + WITHIN);
        outbox.taken(at(11), READ_FOR_CERTAIN);
        assert_eq!(outbox.deadline(WITHIN), Time::NEVER);
    }

    /// It reads, if it goes on.
    #[test]
    fn who_takes_a_little_after_the_deadline_has_a_little_more_time() {
        let mut outbox = Outbox::new(MAX);
        outbox.push(at(0), &[1, 2, 3]).unwrap();
        outbox.taken(at(9), 1);
        assert_eq!(outbox.deadline(WITHIN), at(9) + WITHIN / 4);
        outbox.taken(at(11), 1);
        assert_eq!(outbox.deadline(WITHIN), at(11) + WITHIN / 4);
    }

    /// As the kernel of a switch that never reads does it: all that waits, so that the switch is
    /// read from again.
    #[test]
    fn a_moment_in_which_nothing_waits_gives_no_more_time() {
        let mut outbox = Outbox::new(MAX);
        outbox.push(at(0), &[1, 2, 3]).unwrap();
        outbox.taken(at(10), 3);
        outbox.passed(READ_FOR_CERTAIN / 2);
        outbox.push(at(10), &[4]).unwrap();
        assert_eq!(outbox.deadline(WITHIN), at(10) + WITHIN / 4);
    }

    #[test]
    fn who_took_enough_meanwhile_or_had_nothing_waiting_for_long_is_not_in_doubt() {
        let stuck = || {
            let mut outbox = Outbox::new(MAX);
            outbox.push(at(0), &[1]).unwrap();
            outbox.taken(at(5), 1);
            outbox
        };
        let mut fast = stuck();
        fast.passed(READ_FOR_CERTAIN);
        fast.push(at(5), &[2]).unwrap();
        assert_eq!(fast.deadline(WITHIN), at(5) + WITHIN);
        let mut calm = stuck();
        calm.push(at(5) + 2 * CALM, &[2]).unwrap();
        assert_eq!(calm.deadline(WITHIN), at(5) + 2 * CALM + WITHIN);
    }

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }
}
