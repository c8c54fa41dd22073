//! Shares of a worker: what several guests have to say to switches of one worker is taken in turn,
//! as much of each as its weight says (deficit round robin, Shreedhar and Varghese 1995).
//!
//! ```text
//!   poll:   guest of weight 1 ▒          guest of weight 3 ▒▒▒        POLL_SHARE together
//! ```
//!
//! A guest that is alone has the whole of it. What is read of a guest at once is passed on whole,
//! so that a share may be overdrawn; polls that follow make up for that.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::datapath::Datapath;
use crate::limits::POLL_SHARE;
use crate::relay::Relay;

/// For each worker, the weights of the guests for which something waits there, added up.
#[derive(Debug)]
pub(crate) struct WaitingWeights(Box<[AtomicU64]>);

impl WaitingWeights {
    /// Of so many workers, with nothing that waits.
    pub(crate) fn new(workers: usize) -> WaitingWeights {
        WaitingWeights((0..workers).map(|_| AtomicU64::new(0)).collect())
    }
}

/// What one guest has to say to switches of one worker.
#[derive(Default)]
pub(crate) struct GuestInbox {
    waiting: VecDeque<(Arc<Datapath>, Relay)>,
    /// The weight by which it is among the [`WaitingWeights`]; 0 where nothing waits.
    weight: u64,
    /// Bytes that may still be taken; below 0 where more than its share was taken.
    credit: i64,
}

impl GuestInbox {
    /// Adds what waits.
    pub(crate) fn push(
        &mut self,
        (datapath, relay): (Arc<Datapath>, Relay),
        weight: u16,
        (weights, worker): (&WaitingWeights, usize),
    ) {
        if self.weight == 0 {
            self.weight = u64::from(weight.max(1));
            weights.0[worker].fetch_add(self.weight, Ordering::Relaxed);
        }
        self.waiting.push_back((datapath, relay));
    }

    /// A poll of the worker begins: adds the share of it. Whether something waits.
    pub(crate) fn begin(&mut self, (weights, worker): (&WaitingWeights, usize)) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let all = weights.0[worker].load(Ordering::Relaxed).max(self.weight);
        // Of one that is alone nothing is to be made up for.
        let before = if all == self.weight { 0 } else { self.credit };
        self.credit = before + (POLL_SHARE * self.weight / all) as i64;
        true
    }

    /// The next of what waits, where the share is not used up.
    pub(crate) fn take(
        &mut self,
        (weights, worker): (&WaitingWeights, usize),
    ) -> Option<(Arc<Datapath>, Relay)> {
        if self.credit <= 0 {
            return None;
        }
        let (datapath, relay) = self.waiting.pop_front()?;
        self.credit -= relay.bytes.len() as i64;
        if self.waiting.is_empty() {
            self.leave(weights, worker);
        }
        Some((datapath, relay))
    }

    /// Whether something waits.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Drops what waits.
    pub(crate) fn clear(&mut self, (weights, worker): (&WaitingWeights, usize)) {
        self.waiting.clear();
        self.leave(weights, worker);
    }

    /// Nothing waits any more. A share that was not used is not saved up.
    fn leave(&mut self, weights: &WaitingWeights, worker: usize) {
        weights.0[worker].fetch_sub(self.weight, Ordering::Relaxed);
        (self.weight, self.credit) = (0, self.credit.min(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::tests::datapath;
    use aldis_wire::Version;

    /// Guests of these weights with so much waiting, in messages of so many bytes.
    struct Table {
        weights: WaitingWeights,
        inboxes: Vec<(u16, usize, GuestInbox)>,
        datapath: Arc<Datapath>,
    }

    impl Table {
        fn of(guests: &[(u16, usize)]) -> Table {
            let inboxes = guests.iter().map(|(weight, len)| (*weight, *len, GuestInbox::default()));
            Table {
                weights: WaitingWeights::new(1),
                inboxes: inboxes.collect(),
                datapath: datapath(Version::V13),
            }
        }

        fn push(&mut self, guest: usize) {
            let (weight, len, inbox) = &mut self.inboxes[guest];
            let relay = Relay { bytes: vec![0; *len], ..Relay::default() };
            inbox.push((Arc::clone(&self.datapath), relay), *weight, (&self.weights, 0));
        }

        /// Bytes that a poll takes of a guest.
        fn poll(&mut self, guest: usize) -> usize {
            let (inbox, at) = (&mut self.inboxes[guest].2, (&self.weights, 0));
            if !inbox.begin(at) {
                return 0;
            }
            std::iter::from_fn(|| inbox.take(at)).map(|(_, relay)| relay.bytes.len()).sum()
        }

        /// Bytes that so many polls take of each, where all of them have more to say than that.
        fn polls(&mut self, count: usize) -> Vec<usize> {
            let mut taken = vec![0; self.inboxes.len()];
            for _ in 0..count {
                for guest in 0..taken.len() {
                    while self.inboxes[guest].2.waiting.len() < 300 {
                        self.push(guest);
                    }
                    taken[guest] += self.poll(guest);
                }
            }
            taken
        }
    }

    #[test]
    fn shares_are_as_the_weights_whatever_is_read_at_once() {
        for lengths in [[1000, 1000], [60_000, 500], [700, 60_000]] {
            let taken = Table::of(&[(1, lengths[0]), (3, lengths[1])]).polls(200);
            let ratio = taken[1] as f64 / taken[0] as f64;
            assert!((2.9..3.1).contains(&ratio), "{lengths:?}: {taken:?}");
            let all = taken.iter().sum::<usize>() as u64;
            assert!(all.abs_diff(200 * POLL_SHARE) < POLL_SHARE, "{taken:?}");
        }
    }

    #[test]
    fn one_that_is_alone_has_all_and_a_light_one_is_not_forgotten() {
        let mut table = Table::of(&[(1, 1000), (1000, 1000)]);
        (0..300).for_each(|_| table.push(0));
        assert_eq!(table.poll(0) as u64 / 1000, POLL_SHARE / 1000 + 1);
        let taken = table.polls(2000);
        let due = 2000 * POLL_SHARE / 1001;
        assert!((taken[0] as u64).abs_diff(due) < 2 * 1000 + POLL_SHARE / 1000, "{taken:?} {due}");
    }

    #[test]
    fn a_share_that_is_not_used_is_not_saved_up() {
        let mut table = Table::of(&[(1, 1000), (1, 1000)]);
        (0..300).for_each(|_| table.push(1));
        for _ in 0..50 {
            table.push(0);
            assert_eq!(table.poll(0), 1000);
        }
        (0..300).for_each(|_| table.push(0));
        assert!(table.poll(0) as u64 <= POLL_SHARE / 2 + 1000);
        // Nor is a weight left behind.
        for (_, _, inbox) in &mut table.inboxes {
            inbox.clear((&table.weights, 0));
        }
        assert_eq!(table.weights.0[0].load(Ordering::Relaxed), 0);
    }
}
