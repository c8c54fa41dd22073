//! A log of recent changes: a part of the World carries it, so that a reader of a publication need
//! not compare the whole of two versions.
//!
//! Entries come in rounds, one for each version at most. Versions share the rounds, and a version
//! costs a pointer for each.

use std::collections::VecDeque;
use std::sync::Arc;

/// Entries that are kept, but for the newest round: what a million hosts that move within a second
/// leave in sixteen milliseconds.
const ENTRIES_MAX: usize = 16_384;

/// Rounds that are kept: as many milliseconds at the least, for so long a reader of publications
/// may be late.
const ROUNDS_MAX: usize = 256;

/// The last entries of a list that only grows.
#[derive(Debug)]
pub struct Log<T> {
    rounds: VecDeque<Arc<[T]>>,
    /// Entries in `rounds`.
    len: usize,
    /// Entries that there ever were.
    ended: u64,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Log { rounds: VecDeque::new(), len: 0, ended: 0 }
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log { rounds: self.rounds.clone(), ..*self }
    }
}

impl<T> Log<T> {
    /// Adds a round; what is too old goes.
    pub fn push(&mut self, round: Vec<T>) {
        if round.is_empty() {
            return;
        }
        self.len += round.len();
        self.ended += round.len() as u64;
        self.rounds.push_back(round.into());
        while self.rounds.len() > ROUNDS_MAX || self.len > ENTRIES_MAX && self.rounds.len() > 1 {
            self.len -= self.rounds.pop_front().map_or(0, |round| round.len());
        }
    }

    /// Entries that there ever were.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Of the entries that came behind those of `before`, an earlier version, how many are not here
    /// any more.
    pub fn missed(&self, before: &Log<T>) -> u64 {
        (self.ended - self.len as u64).saturating_sub(before.ended)
    }

    /// The entries that came behind those of `before`, an earlier version, in order, as far as they
    /// are still here ([`Log::missed`]).
    pub fn since(&self, before: &Log<T>) -> impl Iterator<Item = &T> {
        let wanted = self.ended.saturating_sub(before.ended).min(self.len as u64) as usize;
        // Rounds that are wanted in part or not at all, from behind, so that older ones cost
        // nothing.
        let mut left = wanted;
        let begun = self.rounds.iter().rev().take_while(|round| {
            let wants = left > 0;
            left = left.saturating_sub(round.len());
            wants
        });
        let first = self.rounds.len() - begun.count();
        let there: usize = self.rounds.range(first..).map(|round| round.len()).sum();
        self.rounds.range(first..).flat_map(|round| round.iter()).skip(there - wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A reader that comes back sees what came behind, in order, or how much of it is gone.
        #[test]
        fn who_comes_back_sees_what_came_behind(rounds in prop::collection::vec(0usize..6000, 1..400), came in any::<prop::sample::Index>()) {
            let (mut log, mut number) = (Log::default(), 0u64);
            let came = came.index(rounds.len());
            let mut before = Log::default();
            for (at, len) in rounds.into_iter().enumerate() {
                if at == came {
                    before = log.clone();
                }
                let end = number + len as u64;
                log.push((number..end).collect());
                number = end;
            }
            prop_assert_eq!(log.ended(), number);
            let first = before.ended() + log.missed(&before);
            prop_assert!(log.since(&before).copied().eq(first..number));
            prop_assert!(log.rounds.len() <= ROUNDS_MAX && log.len <= ENTRIES_MAX.max(6000));
        }
    }

    #[test]
    fn little_is_missed_by_who_comes_soon() {
        let mut log = Log::default();
        log.push(vec![1, 2]);
        let before = log.clone();
        (0..ROUNDS_MAX as u64).for_each(|round| log.push(vec![round]));
        assert_eq!((log.missed(&before), log.since(&before).count()), (0, ROUNDS_MAX));
        log.push(vec![0]);
        assert_eq!((log.missed(&before), log.since(&before).count()), (1, ROUNDS_MAX));
        assert_eq!(before.since(&before).count(), 0);
    }
}
