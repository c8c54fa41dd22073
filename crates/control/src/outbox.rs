//! What waits for one switch because its socket would not take it: bounded, with a deadline.
//!
//! As long as anything waits here, nothing more is read from the switch; a switch that takes nothing until
//! [`Outbox::deadline`] is dropped. So a switch that does not read costs its bound for a while, and nobody a wait.

use alloc::vec::Vec;
use core::time::Duration;

use crate::time::Time;

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
    // When the socket last took something, or the first byte came to wait.
    progress: Time,
}

impl Outbox {
    /// Nothing waits, and never more than `max` bytes will.
    pub fn new(max: usize) -> Self {
        Outbox { max, bytes: Vec::new(), head: 0, progress: Time::START }
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
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
        if self.waiting().len() + bytes.len() > self.max {
            return Err(Full);
        }
        if self.is_empty() {
            self.progress = now;
        }
        self.bytes.drain(..self.head);
        self.head = 0;
        // No more room than is needed: thousands of switches may stop reading at once.
        self.bytes.reserve_exact(bytes.len());
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The socket took the first `count` bytes of what waits.
    pub fn taken(&mut self, now: Time, count: usize) {
        self.head += count;
        if count > 0 {
            self.progress = now;
        }
        if self.head == self.bytes.len() {
            // The room goes too: a switch that once was slow is as small as any other afterwards.
            *self = Outbox::new(self.max);
        }
    }

    /// When the switch has to be dropped if it takes nothing until then; never while nothing waits.
    pub fn deadline(&self, within: Duration) -> Time {
        if self.is_empty() { Time::NEVER } else { self.progress + within }
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
    fn the_deadline_moves_with_progress_alone() {
        let mut outbox = Outbox::new(MAX);
        assert_eq!(outbox.deadline(WITHIN), Time::NEVER);
        outbox.push(Time(5), &[1, 2]).unwrap();
        outbox.push(Time(9), &[3]).unwrap();
        outbox.taken(Time(9), 0);
        assert_eq!(outbox.deadline(WITHIN), Time(5) + WITHIN);
        outbox.taken(Time(11), 1);
        assert_eq!(outbox.deadline(WITHIN), Time(11) + WITHIN);
        outbox.taken(Time(12), 2);
        assert_eq!(outbox.deadline(WITHIN), Time::NEVER);
    }
}
