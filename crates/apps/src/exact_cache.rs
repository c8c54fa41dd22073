//! An exact-match cache: what a worker found out about a key a moment ago, so that the same
//! question costs it one line of memory.
//!
//! For example, `hosts` asks for each frame whether its sender is news. While what is known of that
//! host stays as it is, the answer to the same sender at the same port stays as it is, too.
//!
//! ```text
//! hash   tag 32 | check 16 | line 16
//! line   tag × N | check × N | value × N     64 bytes; the newest entry first, tag 0 where there
//!                                            is none
//! ```
//!
//! A key is known by its hash alone, which holds all that the answer depends on: the version of
//! what all keys depend on (links, for example), and the generation of what this one does (its
//! host). So nothing is ever invalid here: what has changed is asked for under another hash, and
//! what is asked for no more is pushed out by what is new. The seed is secret, so that two keys
//! whose line is the same are taken for one another once in 2⁴⁸ pairs.
//!
//! A line keeps of a hash what its place does not say, so that six entries with a value of four
//! bytes fit into it. Keys that are asked for by turns are all answered by a line with room for
//! them, and none by another: each of them pushes out the one that is asked for next. For example,
//! of 160,000 keys in the 65,536 lines there are at most, one of 26 is in a line without room for
//! all of its keys; with four entries it would be one of four.
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

/// One worker's cache of values `V`, with lines of `N` entries. A key has one of them at most.
#[derive(Debug)]
pub(crate) struct ExactCache<V, const N: usize> {
    seed: Seed,
    /// Odd, and as secret as the seed: spreads generations over a word.
    spread: u64,
    lines: Vec<Line<V, N>>,
    asked: usize,
    answered: usize,
    /// Questions for which it still rests.
    rests: usize,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line<V, const N: usize> {
    tags: [u32; N],
    checks: [u16; N],
    values: [V; N],
}

impl<V: Copy + Default, const N: usize> Default for Line<V, N> {
    fn default() -> Self {
        Line { tags: [0; N], checks: [0; N], values: [V::default(); N] }
    }
}

/// What a line knows a hash by first: never 0, by which an entry is free.
#[inline]
fn tag(hash: u64) -> u32 {
    ((hash >> 32) as u32).max(1)
}

/// The rest of it.
#[inline]
fn check(hash: u64) -> u16 {
    (hash >> 16) as u16
}

impl<V, const N: usize> Line<V, N> {
    /// The place of the entry with the tag of a hash; `N` or more where there is none. Without a
    /// branch for each entry: where a key is cannot be foreseen.
    #[inline]
    fn find(&self, hash: u64) -> usize {
        let (tag, mut found) = (tag(hash), 0);
        for (at, &there) in self.tags.iter().enumerate() {
            found |= u32::from(there == tag) << at;
        }
        found.trailing_zeros() as usize
    }
}

impl<V: Copy + Default, const N: usize> ExactCache<V, N> {
    /// An empty cache.
    pub(crate) fn new(seed: Seed) -> Self {
        const { assert!(size_of::<Line<V, N>>() == 64 && LINES_MAX <= 1 << 16) };
        let (spread, lines) = (seed.mix(0, u64::MAX) | 1, vec![Line::default()]);
        ExactCache { seed, spread, lines, asked: 0, answered: 0, rests: 0 }
    }

    /// Makes room for so many keys; what is there is lost where there was too little.
    pub(crate) fn fit(&mut self, keys: usize) {
        // Half full on average: few lines have more keys than entries then.
        let lines = (2 * keys).div_ceil(N).next_power_of_two().min(LINES_MAX);
        if lines > self.lines.len() {
            self.lines = vec![Line::default(); lines];
        }
    }

    /// What the keys of a switch have in common, in this version of what they all depend on.
    #[inline]
    pub(crate) fn salt(&self, dpid: u64, version: u64) -> u64 {
        self.seed.mix(dpid, version)
    }

    /// The hash of a key of two words, in this generation of what it alone depends on. Starts to
    /// bring what is known of it.
    #[inline]
    pub(crate) fn ask_for(&self, salt: u64, generation: u32, (low, high): (u64, u64)) -> u64 {
        let generation = u64::from(generation).wrapping_mul(self.spread);
        // Never 0, which callers may take for a key that was not asked for.
        let hash = self.seed.mix(low ^ salt ^ generation, high).max(1);
        prefetch(self.line(hash));
        hash
    }

    /// What was found out about the key with this hash.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<V> {
        let line = self.line(hash);
        let at = line.find(hash);
        let is_it = |there: &u16| *there == check(hash);
        line.checks.get(at).is_some_and(is_it).then(|| line.values[at])
    }

    /// Keeps a value of a key, in place of the one that it had; else the oldest entry of its line
    /// makes room.
    #[inline]
    pub(crate) fn put(&mut self, hash: u64, value: V) {
        let at = hash as usize & (self.lines.len() - 1);
        let there = self.lines[at].find(hash);
        let Line { tags, checks, values } = &mut self.lines[at];
        // One with the same tag and another check goes: no tag is there twice.
        let place = if there < N { there } else { 0 };
        if there >= N {
            tags.copy_within(..N - 1, 1);
            checks.copy_within(..N - 1, 1);
            values.copy_within(..N - 1, 1);
        }
        (tags[place], checks[place], values[place]) = (tag(hash), check(hash), value);
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
    fn the_newest_entries_of_a_line_are_found_under_their_own_version_and_generation_alone() {
        let mut cache: ExactCache<(u16, u16), 6> = ExactCache::new(seed());
        let hashes: Vec<u64> =
            (0..8).map(|key| cache.ask_for(cache.salt(1, 7), 0, (key, 9))).collect();
        for (at, &hash) in hashes.iter().enumerate() {
            assert_eq!(cache.get(hash), None);
            cache.put(hash, (at as u16, 5));
        }
        let found = |cache: &ExactCache<_, 6>| -> Vec<Option<(u16, u16)>> {
            hashes.iter().map(|&hash| cache.get(hash)).collect()
        };
        let mut expected: Vec<_> = (0..8).map(|at| (at > 1).then_some((at, 5))).collect();
        assert_eq!(found(&cache), expected);
        cache.put(hashes[2], (2, 6));
        expected[2] = Some((2, 6));
        assert_eq!(found(&cache), expected);
        let others =
            [(1, 8, 0, 5, 9), (2, 7, 0, 5, 9), (1, 7, 1, 5, 9), (1, 7, 0, 8, 9), (1, 7, 0, 5, 8)];
        for (dpid, version, generation, low, high) in others {
            let hash = cache.ask_for(cache.salt(dpid, version), generation, (low, high));
            assert_eq!(cache.get(hash), None);
        }
    }

    /// The line is the same, and so is what it looks at first.
    #[test]
    fn a_key_is_known_by_all_of_its_hash() {
        let mut cache: ExactCache<u16, 8> = ExactCache::new(seed());
        let (hash, other) = (7 << 32 | 5 << 16, 7 << 32 | 6 << 16);
        cache.put(hash, 1);
        assert_eq!((cache.get(hash), cache.get(other)), (Some(1), None));
        cache.put(other, 2);
        assert_eq!((cache.get(hash), cache.get(other)), (None, Some(2)));
        assert!((1..9u64).all(|key| cache.get(key << 32).is_none()));
    }

    #[test]
    fn it_holds_as_many_keys_as_it_was_fitted_for() {
        let mut cache: ExactCache<u16, 8> = ExactCache::new(seed());
        cache.fit(10_000);
        let all: Vec<u64> =
            (0..10_000).map(|key| cache.ask_for(cache.salt(key % 16, 1), 0, (key, 3))).collect();
        all.iter().for_each(|&hash| cache.put(hash, 1));
        let kept = all.iter().filter(|&&hash| cache.get(hash).is_some()).count();
        assert!(kept > 9_700, "{kept}");
        cache.fit(100);
        assert!(cache.get(all[9_999]).is_some(), "it does not shrink");
        cache.fit(1 << 30);
        assert_eq!(cache.lines.len(), LINES_MAX);
    }

    #[test]
    fn it_rests_where_keys_do_not_come_again_and_tries_again_later() {
        let mut cache: ExactCache<u16, 8> = ExactCache::new(seed());
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
