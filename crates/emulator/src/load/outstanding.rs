//! Which requests of a switch still wait for their answer.
//!
//! Requests are numbered in the order they are sent; the number is the request's xid and, where the
//! switch buffers, its buffer id. Answers that come in order cost a comparison and an increment;
//! those that come early are remembered as bits in a ring. A second answer finds nothing
//! outstanding, so that it never counts. One that comes late, to a request that was given up, is
//! told apart from that.

use std::collections::VecDeque;

/// Numbers have 31 bits, so that none of them is `NO_BUFFER`.
const NUMBER_MASK: u32 = u32::MAX >> 1;

/// The first number: far from the small xids that a controller counts for itself, which must not
/// match by accident.
const NUMBER_FIRST: u32 = 1 << 30;

/// Requests that were given up and may still be answered late; older ones are forgotten.
const GIVEN_UP_MAX: usize = 256;

/// The outstanding requests of one switch.
#[derive(Debug)]
pub(crate) struct Outstanding {
    /// The oldest request that was neither answered nor given up.
    oldest: u32,
    /// The next request's number; no more than `capacity` behind the oldest.
    next: u32,
    /// One bit a number, modulo the capacity: answered although `oldest` is not.
    early: Vec<u64>,
    /// How many of those bits are set.
    early_count: u32,
    capacity: u32,
    /// The newest of those that were overtaken and given up.
    given_up: VecDeque<u32>,
}

impl Outstanding {
    /// Room for the answers to `capacity` requests behind the oldest unanswered one; rounded up to
    /// a power of two, 64 at least.
    pub(crate) fn new(capacity: u32) -> Outstanding {
        let capacity = capacity.next_power_of_two().max(64);
        let early = vec![0; capacity as usize / 64];
        let (oldest, next, given_up) = (NUMBER_FIRST, NUMBER_FIRST, VecDeque::new());
        Outstanding { oldest, next, early, early_count: 0, capacity, given_up }
    }

    /// The oldest request that was neither answered nor given up; the next one's number where there
    /// is none.
    pub(crate) fn oldest(&self) -> u32 {
        self.oldest
    }

    /// The number of the next request to be sent.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// The number `ahead` places behind `number`.
    #[inline]
    pub(crate) fn later(number: u32, ahead: u32) -> u32 {
        number.wrapping_add(ahead) & NUMBER_MASK
    }

    /// How many places `later` is behind `number`.
    #[inline]
    pub(crate) fn between(number: u32, later: u32) -> u32 {
        later.wrapping_sub(number) & NUMBER_MASK
    }

    /// Requests that wait for an answer.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.span() - self.early_count
    }

    /// Requests that may be sent before the ring is full.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.capacity - self.span()
    }

    /// Whether the request waits for an answer.
    pub(crate) fn contains(&self, number: u32) -> bool {
        let ahead = self.ahead(number);
        number <= NUMBER_MASK && ahead < self.span() && (ahead == 0 || !self.is_early(number))
    }

    /// `count` more requests are on their way; no more than [`Outstanding::room`].
    #[inline]
    pub(crate) fn sent(&mut self, count: u32) {
        debug_assert!(count <= self.room());
        self.next = Self::later(self.next, count);
    }

    /// Takes the answer to request `number`; whether that request was waiting for it.
    #[inline]
    pub(crate) fn answer(&mut self, number: u32) -> bool {
        if number != self.oldest || self.oldest == self.next {
            return self.answer_early(number);
        }
        self.oldest = Self::later(self.oldest, 1);
        if self.early_count > 0 {
            self.pass_early();
        }
        true
    }

    fn answer_early(&mut self, number: u32) -> bool {
        if !self.contains(number) {
            return false;
        }
        let (word, bit) = self.place(number);
        self.early[word] |= bit;
        self.early_count += 1;
        true
    }

    /// Gives up the oldest requests until there is room for `wanted` more, as long as later ones
    /// were answered: without those they are not overtaken but queued. Returns how many were given
    /// up.
    pub(crate) fn give_up_overtaken(&mut self, wanted: u32) -> u32 {
        let mut lost = 0;
        while self.room() < wanted && self.early_count > 0 {
            if self.given_up.len() == GIVEN_UP_MAX {
                self.given_up.pop_front();
            }
            self.given_up.push_back(self.oldest);
            self.oldest = Self::later(self.oldest, 1);
            self.pass_early();
            lost += 1;
        }
        lost
    }

    /// Takes the answer to a request that was overtaken and given up; whether it was one of those.
    #[cold]
    pub(crate) fn answer_late(&mut self, number: u32) -> bool {
        let place = self.given_up.iter().position(|&given_up| given_up == number);
        place.and_then(|place| self.given_up.remove(place)).is_some()
    }

    /// No late answer is waited for any more.
    pub(crate) fn forget_given_up(&mut self) {
        self.given_up.clear();
    }

    /// Gives up every request that waits; how many those were.
    pub(crate) fn give_up_all(&mut self) -> u32 {
        let lost = self.waiting();
        self.oldest = self.next;
        self.early.fill(0);
        self.early_count = 0;
        lost
    }

    fn pass_early(&mut self) {
        while self.early_count > 0 && self.is_early(self.oldest) {
            let (word, bit) = self.place(self.oldest);
            self.early[word] &= !bit;
            self.early_count -= 1;
            self.oldest = Self::later(self.oldest, 1);
        }
    }

    #[inline]
    fn span(&self) -> u32 {
        self.ahead(self.next)
    }

    #[inline]
    fn ahead(&self, number: u32) -> u32 {
        Self::between(self.oldest, number)
    }

    fn is_early(&self, number: u32) -> bool {
        let (word, bit) = self.place(number);
        self.early[word] & bit != 0
    }

    fn place(&self, number: u32) -> (usize, u64) {
        let index = number & (self.capacity - 1);
        (index as usize / 64, 1 << (index % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_second_answer_is_none() {
        let mut outstanding = Outstanding::new(64);
        let first = outstanding.next();
        outstanding.sent(3);
        assert!(outstanding.answer(first + 1));
        assert!(!outstanding.answer(first + 1));
        assert!(outstanding.answer(first));
        assert!(!outstanding.answer(first));
        assert!(!outstanding.answer(first + 3), "not sent yet");
        assert!(!outstanding.answer(u32::MAX), "NO_BUFFER is no number");
        assert_eq!(outstanding.waiting(), 1);
    }

    #[test]
    fn only_overtaken_requests_are_given_up_for_room() {
        let mut outstanding = Outstanding::new(64);
        let first = outstanding.next();
        outstanding.sent(64);
        assert_eq!(outstanding.give_up_overtaken(1), 0, "none was answered: they are queued");
        assert!(outstanding.answer(first + 2));
        assert_eq!(outstanding.give_up_overtaken(1), 1);
        assert_eq!(outstanding.give_up_overtaken(2), 1);
        assert_eq!(outstanding.room(), 3, "the answered one went with the two before it");
    }

    #[test]
    fn a_late_answer_counts_once() {
        let mut outstanding = Outstanding::new(64);
        let first = outstanding.next();
        for round in 0..=GIVEN_UP_MAX as u32 {
            outstanding.sent(outstanding.room());
            assert!(outstanding.answer(first + 2 * round + 1));
            assert_eq!(outstanding.give_up_overtaken(1), 1);
        }
        assert!(!outstanding.answer(first + 2));
        assert!(outstanding.answer_late(first + 2));
        assert!(!outstanding.answer_late(first + 2), "a second answer");
        assert!(!outstanding.answer_late(first), "too long ago");
        assert!(!outstanding.answer_late(outstanding.oldest()), "not given up");
        outstanding.forget_given_up();
        assert!(!outstanding.answer_late(first + 4));
    }

    proptest! {
        /// It agrees with a plain set of numbers, whatever the order of answers, also where the
        /// numbers wrap.
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((0u32..20, prop::collection::vec(0u32..90, 0..30)), 0..40), wrap: bool) {
            let mut outstanding = Outstanding::new(64);
            if wrap {
                (outstanding.oldest, outstanding.next) = (NUMBER_MASK - 40, NUMBER_MASK - 40);
            }
            let mut model = BTreeSet::new();
            let start = outstanding.next;
            let mut next = 0;
            for (send, answers) in steps {
                let send = send.min(outstanding.room());
                outstanding.sent(send);
                model.extend(next..next + send);
                next += send;
                let oldest = model.first().copied().unwrap_or(next);
                for answer in answers {
                    let expected = model.remove(&(oldest + answer));
                    prop_assert_eq!(outstanding.answer(Outstanding::later(start, oldest + answer)), expected);
                }
                prop_assert_eq!(outstanding.waiting() as usize, model.len());
            }
            prop_assert_eq!(outstanding.give_up_all() as usize, model.len());
            prop_assert_eq!(outstanding.room(), 64);
        }
    }
}
