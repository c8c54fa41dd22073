//! An exact-match cache: what a worker found out about a key a moment ago, so that the same
//! question costs it one line of memory.
//!
//! For example, `hosts` asks for each frame whether its sender is news. While the World stays as it
//! is, the answer to the same sender at the same port stays as it is, too.
//!
//! ```text
//! line   hash 64 × N | value × N     64 bytes; the newest entry first, hash 0 where there is none
//! ```
//!
//! A key is known by its hash alone, which holds all that the answer depends on: the version of the
//! World, above all. So nothing is ever invalid here: what has changed is asked for under another
//! hash, and what is asked for no more is pushed out by what is new. The seed is secret and the
//! hash has 64 bits, so that two keys of one World are taken for one another once in 2⁶⁴ pairs.
//!
//! Where keys hardly ever come again (more flows than the cache has room for), asking costs and
//! gains nothing: then the cache rests for a while.

use crate::learning_switch::Seed;
use crate::learning_switch::simd::prefetch;

/// Lines of a cache at most: four megabytes.
const LINES_MAX: usize = 1 << 16;

/// Questions for each of its entries after which a cache looks at how many of them it could answer:
/// keys that come again had the time to.
const TRIAL: usize = 4;

/// One of so many has to be answered for the cache to go on.
const WORTH: usize = 8;

/// Trials for which it rests otherwise.
const REST: usize = 16;

/// One worker's cache of values `V`, with lines of `N` entries.
#[derive(Debug)]
pub(crate) struct ExactCache<V, const N: usize> {
    seed: Seed,
    lines: Vec<Line<V, N>>,
    asked: usize,
    answered: usize,
    /// Questions for which it still rests.
    rests: usize,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line<V, const N: usize> {
    hashes: [u64; N],
    values: [V; N],
}

impl<V: Copy + Default, const N: usize> Default for Line<V, N> {
    fn default() -> Self {
        Line { hashes: [0; N], values: [V::default(); N] }
    }
}

impl<V, const N: usize> Line<V, N> {
    /// The place of a key's entry; `N` or more where it has none. Without a branch for each entry:
    /// where a key is cannot be foreseen.
    #[inline]
    fn find(&self, hash: u64) -> usize {
        let mut found = 0;
        for (at, &there) in self.hashes.iter().enumerate() {
            found |= u32::from(there == hash) << at;
        }
        found.trailing_zeros() as usize
    }
}

impl<V: Copy + Default, const N: usize> ExactCache<V, N> {
    /// An empty cache.
    pub(crate) fn new(seed: Seed) -> Self {
        const { assert!(size_of::<Line<V, N>>() == 64) };
        ExactCache { seed, lines: vec![Line::default()], asked: 0, answered: 0, rests: 0 }
    }

    /// Makes room for so many keys; what is there is lost where there was too little.
    pub(crate) fn fit(&mut self, keys: usize) {
        // Half full on average: few lines have more keys than entries then.
        let lines = (2 * keys).div_ceil(N).next_power_of_two().min(LINES_MAX);
        if lines > self.lines.len() {
            self.lines = vec![Line::default(); lines];
        }
    }

    /// What the keys of a switch have in common, in this version of the World.
    #[inline]
    pub(crate) fn salt(&self, dpid: u64, version: u64) -> u64 {
        self.seed.mix(dpid, version)
    }

    /// The hash of a key of two words. Starts to bring what is known of it.
    #[inline]
    pub(crate) fn ask_for(&self, salt: u64, low: u64, high: u64) -> u64 {
        // Never 0, by which an entry is free.
        let hash = self.seed.mix(low ^ salt, high).max(1);
        prefetch(self.line(hash));
        hash
    }

    /// What was found out about the key with this hash.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<V> {
        let line = self.line(hash);
        line.values.get(line.find(hash)).copied()
    }

    /// Keeps a value of a key, in place of the one that it had; else the oldest entry of its line
    /// makes room.
    #[inline]
    pub(crate) fn put(&mut self, hash: u64, value: V) {
        let at = hash as usize & (self.lines.len() - 1);
        let there = self.lines[at].find(hash);
        let Line { hashes, values } = &mut self.lines[at];
        if let Some(place) = values.get_mut(there) {
            *place = value;
            return;
        }
        hashes.copy_within(..N - 1, 1);
        values.copy_within(..N - 1, 1);
        (hashes[0], values[0]) = (hash, value);
    }

    /// Whether it is of no use at present, because keys hardly ever come again.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.rests > 0
    }

    /// So many keys were asked for, and so many of them answered, or would have been asked for if
    /// it did not rest.
    pub(crate) fn count(&mut self, asked: usize, answered: usize) {
        if self.rests > 0 {
            self.rests = self.rests.saturating_sub(asked);
            return;
        }
        (self.asked, self.answered) = (self.asked + asked, self.answered + answered);
        if self.asked >= self.trial() {
            self.rests = if self.answered < self.asked / WORTH { REST * self.asked } else { 0 };
            (self.asked, self.answered) = (0, 0);
        }
    }

    fn trial(&self) -> usize {
        TRIAL * N * self.lines.len()
    }

    #[inline]
    fn line(&self, hash: u64) -> &Line<V, N> {
        &self.lines[hash as usize & (self.lines.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed() -> Seed {
        Seed::new(*b"0123456789abcdef")
    }

    #[test]
    fn the_newest_entries_of_a_line_are_found_under_their_own_version_alone() {
        let mut cache: ExactCache<(u32, u32), 4> = ExactCache::new(seed());
        let hashes: Vec<u64> = (0..6).map(|key| cache.ask_for(cache.salt(1, 7), key, 9)).collect();
        for (at, &hash) in hashes.iter().enumerate() {
            assert_eq!(cache.get(hash), None);
            cache.put(hash, (at as u32, 5));
        }
        let found: Vec<_> = hashes.iter().map(|&hash| cache.get(hash)).collect();
        assert_eq!(found, [None, None, Some((2, 5)), Some((3, 5)), Some((4, 5)), Some((5, 5))]);
        cache.put(hashes[2], (2, 6));
        let found: Vec<_> = hashes[2..].iter().map(|&hash| cache.get(hash)).collect();
        assert_eq!(found, [Some((2, 6)), Some((3, 5)), Some((4, 5)), Some((5, 5))]);
        for (dpid, version, low, high) in [(1, 8, 5, 9), (2, 7, 5, 9), (1, 7, 6, 9), (1, 7, 5, 8)] {
            assert_eq!(cache.get(cache.ask_for(cache.salt(dpid, version), low, high)), None);
        }
    }

    #[test]
    fn it_holds_as_many_keys_as_it_was_fitted_for() {
        let mut cache: ExactCache<(), 8> = ExactCache::new(seed());
        cache.fit(10_000);
        let all: Vec<u64> =
            (0..10_000).map(|key| cache.ask_for(cache.salt(key % 16, 1), key, 3)).collect();
        all.iter().for_each(|&hash| cache.put(hash, ()));
        let kept = all.iter().filter(|&&hash| cache.get(hash).is_some()).count();
        assert!(kept > 9_700, "{kept}");
        cache.fit(100);
        assert!(cache.get(all[9_999]).is_some(), "it does not shrink");
        cache.fit(1 << 30);
        assert_eq!(cache.lines.len(), LINES_MAX);
    }

    #[test]
    fn it_rests_where_keys_do_not_come_again_and_tries_again_later() {
        let mut cache: ExactCache<(), 8> = ExactCache::new(seed());
        cache.fit(1000);
        let blocks = cache.trial() / 64;
        for _ in 0..blocks {
            assert!(!cache.rests());
            cache.count(64, 7);
        }
        for _ in 0..REST * blocks {
            assert!(cache.rests());
            cache.count(64, 0);
        }
        for _ in 0..blocks {
            assert!(!cache.rests());
            cache.count(64, 8);
        }
        assert!(!cache.rests());
    }
}
