//! Shares of a worker: what several guests have to say to switches of one worker is taken in turn,
//! as much of each as its weight says (deficit round robin, Shreedhar and Varghese 1995).
//!
//! ```text
//!   poll:   guest of weight 1 ▒          guest of weight 3 ▒▒▒        POLL_SHARE together
//! ```
//!
//! A guest that is alone has the whole of it. Messages are taken some at a time, so that a share
//! may be overdrawn; polls that follow make up for that. No poll takes more than a switch has room
//! for ([`COMMAND_BYTES_MAX`](aldis_control::limits::COMMAND_BYTES_MAX)): what goes to a switch
//! beyond that would be lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::datapath::Datapath;
use crate::limits::POLL_SHARE;
use crate::relay::Relay;

/// For each worker, what its guests have to do with each other.
#[derive(Debug)]
pub(crate) struct WaitingWeights(Box<[WorkerShares]>);

#[derive(Debug, Default)]
struct WorkerShares {
    /// The weights of the guests for which something waits there, added up.
    weights: AtomicU64,
    /// The guest whose turn it is before the others, by the place of its inbox: what it has to say
    /// found no room at a poll. 0: none.
    first: AtomicUsize,
}

impl WaitingWeights {
    /// Of so many workers, with nothing that waits.
    pub(crate) fn new(workers: usize) -> WaitingWeights {
        WaitingWeights((0..workers).map(|_| WorkerShares::default()).collect())
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
            weights.0[worker].weights.fetch_add(self.weight, Ordering::Relaxed);
        }
        self.waiting.push_back((datapath, relay));
    }

    /// A poll of the worker begins: adds the share of it. Whether something may be taken.
    pub(crate) fn begin(&mut self, (weights, worker): (&WaitingWeights, usize)) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let WorkerShares { weights, first } = &weights.0[worker];
        let all = weights.load(Ordering::Relaxed).max(self.weight);
        // Of one that is alone nothing is to be made up for.
        let before = if all == self.weight { 0 } else { self.credit };
        let most = 2 * POLL_SHARE as i64;
        self.credit = (before + (POLL_SHARE * self.weight / all) as i64).min(most);
        [0, self.place()].contains(&first.load(Ordering::Relaxed))
    }

    /// The next of what waits, where the share is not used up, and where it finds room.
    pub(crate) fn take(
        &mut self,
        room: usize,
        (weights, worker): (&WaitingWeights, usize),
    ) -> Option<(Arc<Datapath>, Relay)> {
        let (datapath, relay) = self.waiting.front()?;
        let len = relay.bytes.len();
        // One without messages has those tried that are held.
        let needed = if len > 0 { len } else { datapath.held_len() };
        let first = &weights.0[worker].first;
        if self.credit <= 0 {
            self.give_way(first);
            return None;
        }
        if needed > room {
            first.store(self.place(), Ordering::Relaxed);
            return None;
        }
        self.credit -= len as i64;
        let taken = self.waiting.pop_front();
        if self.waiting.is_empty() {
            self.leave(weights, worker);
        }
        taken
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
        let WorkerShares { weights, first } = &weights.0[worker];
        weights.fetch_sub(self.weight, Ordering::Relaxed);
        (self.weight, self.credit) = (0, self.credit.min(0));
        self.give_way(first);
    }

    /// Its turn before the others is over, where it was.
    fn give_way(&self, first: &AtomicUsize) {
        let _ = first.compare_exchange(self.place(), 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Where it is in memory, which no other inbox is.
    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::tests::datapath;
    use aldis_control::limits::COMMAND_BYTES_MAX;
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
            std::iter::from_fn(|| inbox.take(usize::MAX, at))
                .map(|(_, relay)| relay.bytes.len())
                .sum()
        }

        /// Bytes that so many polls take of each, where all of them have more to say than that.
        fn polls(&mut self, count: usize) -> Vec<usize> {
            let mut taken = vec![0; self.inboxes.len()];
            for _ in 0..count {
                for guest in 0..taken.len() {
                    while self.inboxes[guest].2.waiting.len() < 300 {
                        self.push(guest);
                    }
                }
                for (guest, taken) in taken.iter_mut().enumerate() {
                    *taken += self.poll(guest);
                }
            }
            taken
        }
    }

    #[test]
    fn shares_are_as_the_weights_whatever_is_read_at_once() {
        for lengths in [[1000, 1000], [8000, 500], [700, 8000]] {
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

    /// The largest message of one finds no room behind what another says at each poll.
    #[test]
    fn a_large_message_has_its_turn() {
        let mut table = Table::of(&[(1, 1000), (1, 60_000)]);
        let mut large = 0;
        for _ in 0..100 {
            while table.inboxes[0].2.waiting.len() < 300 {
                table.push(0);
            }
            if !table.inboxes[1].2.is_waiting() {
                table.push(1);
            }
            let mut room = COMMAND_BYTES_MAX;
            for guest in 0..2 {
                let (inbox, at) = (&mut table.inboxes[guest].2, (&table.weights, 0));
                let mut next = inbox.begin(at).then_some(()).and_then(|()| inbox.take(room, at));
                while let Some((_, relay)) = next {
                    room -= relay.bytes.len();
                    large += usize::from(guest == 1);
                    next = inbox.take(room, at);
                }
            }
        }
        // Half of what 100 polls take, at most.
        assert!((30..=45).contains(&large), "{large}");
    }

    #[test]
    fn what_is_held_has_its_turn_when_there_is_room_for_it() {
        let mut table = Table::of(&[(1, 0)]);
        let held = Relay { bytes: vec![0; 8000], ..Relay::default() };
        table.datapath.held().push_back(held);
        table.push(0);
        let (inbox, at) = (&mut table.inboxes[0].2, (&table.weights, 0));
        assert!(inbox.begin(at) && inbox.take(7999, at).is_none() && inbox.is_waiting());
        assert_eq!(table.weights.0[0].first.load(Ordering::Relaxed), inbox.place());
        assert!(inbox.begin(at) && inbox.take(8000, at).is_some() && !inbox.is_waiting());
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
        assert_eq!(table.weights.0[0].weights.load(Ordering::Relaxed), 0);
    }
}
