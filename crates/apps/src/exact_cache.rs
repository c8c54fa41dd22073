//! An exact-match cache: what a worker found out about a key a moment ago, so that the same
//! question costs it one line of memory.
//!
//! For example, `hosts` asks for each frame whether its sender is news. While what is known of that
//! host stays as it is, the answer to the same sender at the same port stays as it is, too.
//!
//! ```text
//! hash   tag 32 | check 16 | 16              line: the lowest bits, 18 at the most
//! line   tag × N | check × N | value × N     64 bytes; tag 0 where there is no entry
//! ```
//!
//! A key is known by its hash alone, which holds all that the answer depends on: the version of
//! what all keys depend on (links, for example), and the generation of what this one does (its
//! host). So nothing is ever invalid here: what has changed is asked for under another hash, and
//! what is asked for no more is pushed out by what is new. The seed is secret, so that two keys
//! whose line is the same are taken for one another once in 2⁴⁶ pairs.
//!
//! A line keeps of a hash what its place does not say, so that six entries with a value of four
//! bytes fit into it. Of 160,000 keys in 65,536 lines one of 26 is in a line without room for all
//! of its keys; with four entries it would be one of four. There a new key takes any place, and not
//! the oldest one's: where keys are asked for by turns, that belongs to the key which is asked for
//! next, and none of the line would ever be answered.
//!
//! Where keys hardly ever come again (more flows than the cache has room for), asking costs and
//! gains nothing: then the cache rests for a while.

use crate::learning_switch::Seed;
use crate::learning_switch::simd::prefetch;

/// Lines of a cache at most: sixteen megabytes, where 400,000 hosts are known.
const LINES_MAX: usize = 1 << 18;

/// Questions for each of its entries after which a cache looks at how many of them it could answer:
/// keys that come again had the time to.
const TRIAL: usize = 4;

/// One of so many questions has to be answered for a small cache to go on.
const WORTH: usize = 8;

/// Lines of a small cache at most: four megabytes. A larger one goes on where it answers three of
/// four: memory is slower there, and the questions that it leaves are looked up faster all together
/// than one here and there.
const SMALL_MAX: usize = 1 << 16;

/// Trials for which a cache rests where it does not go on.
const REST: usize = 16;

/// One worker's cache of values `V`, with lines of `N` entries. A key has one of them at most.
#[derive(Debug)]
pub(crate) struct ExactCache<V, const N: usize> {
    seed: Seed,
    /// Odd, and as secret as the seed: spreads generations over a word.
    spread: u64,
    lines: Vec<Line<V, N>>,
    /// Its upper half says which place a full line gives away next: any.
    turn: u64,
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
    /// The first place with this tag; `N` or more where there is none. Without a branch for each
    /// entry: where a key is cannot be foreseen.
    #[inline]
    fn find(&self, tag: u32) -> usize {
        let mut found = 0;
        for (at, &there) in self.tags.iter().enumerate() {
            found |= u32::from(there == tag) << at;
        }
        found.trailing_zeros() as usize
    }
}

impl<V: Copy + Default, const N: usize> ExactCache<V, N> {
    /// An empty cache.
    pub(crate) fn new(seed: Seed) -> Self {
        const { assert!(size_of::<Line<V, N>>() == 64 && LINES_MAX <= 1 << 18) };
        let (spread, lines) = (seed.mix(0, u64::MAX) | 1, vec![Line::default()]);
        ExactCache { seed, spread, lines, turn: 0, asked: 0, answered: 0, rests: 0 }
    }

    /// Makes room for so many keys; what is there is lost where there was too little.
    pub(crate) fn fit(&mut self, keys: usize) {
        // Half full on average: few lines have more keys than entries then.
        let lines = (2 * keys).div_ceil(N).next_power_of_two().min(LINES_MAX);
        if lines > self.lines.len() {
            self.lines = vec![Line::default(); lines];
            (self.asked, self.answered, self.rests) = (0, 0, 0);
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
        let at = line.find(tag(hash));
        let is_it = |there: &u16| *there == check(hash);
        line.checks.get(at).is_some_and(is_it).then(|| line.values[at])
    }

    /// Keeps a value of a key, in place of the one that it had; else in a free place of its line,
    /// and where there is none in any.
    #[inline]
    pub(crate) fn put(&mut self, hash: u64, value: V) {
        let at = hash as usize & (self.lines.len() - 1);
        let line = &mut self.lines[at];
        // One with the same tag and another check goes: no tag is there twice.
        let mut place = line.find(tag(hash));
        if place >= N {
            place = line.find(0);
        }
        if place >= N {
            // Knuth's linear congruential generator (MMIX).
            self.turn = self.turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            place = (self.turn >> 32) as usize % N;
        }
        let Line { tags, checks, values } = line;
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
            let least = match self.lines.len() {
                ..=SMALL_MAX => self.asked / WORTH,
                _ => self.asked / 4 * 3,
            };
            self.rests = if self.answered < least { REST * self.asked } else { 0 };
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
    fn entries_of_a_line_are_found_under_their_own_version_and_generation_alone() {
        let mut cache: ExactCache<(u16, u16), 6> = ExactCache::new(seed());
        let hashes: Vec<u64> =
            (0..8).map(|key| cache.ask_for(cache.salt(1, 7), 0, (key, 9))).collect();
        for (at, &hash) in hashes.iter().enumerate() {
            assert_eq!(cache.get(hash), None);
            cache.put(hash, (at as u16, 5));
            assert_eq!(cache.get(hash), Some((at as u16, 5)));
        }
        let found = |cache: &ExactCache<_, 6>| -> Vec<(u16, u16)> {
            hashes.iter().filter_map(|&hash| cache.get(hash)).collect()
        };
        let all = found(&cache);
        assert!(all.len() == 6 && all.iter().all(|&(at, since)| at < 8 && since == 5), "{all:?}");
        cache.put(hashes[7], (7, 6));
        assert_eq!((found(&cache).len(), cache.get(hashes[7])), (6, Some((7, 6))), "in its place");
        let others =
            [(1, 8, 0, 5, 9), (2, 7, 0, 5, 9), (1, 7, 1, 5, 9), (1, 7, 0, 8, 9), (1, 7, 0, 5, 8)];
        for (dpid, version, generation, low, high) in others {
            let hash = cache.ask_for(cache.salt(dpid, version), generation, (low, high));
            assert_eq!(cache.get(hash), None);
        }
    }

    /// In a line with room for six none would be, if the oldest had to go.
    #[test]
    fn keys_that_come_by_turns_are_answered_though_there_is_one_too_many() {
        let mut cache: ExactCache<(u16, u16), 6> = ExactCache::new(seed());
        let hashes: Vec<u64> = (0..7).map(|key| cache.ask_for(0, 0, (key, 9))).collect();
        let mut answered = 0;
        for &hash in hashes.iter().cycle().take(7000) {
            let is_known = cache.get(hash).is_some();
            answered += usize::from(is_known);
            if !is_known {
                cache.put(hash, (1, 1));
            }
        }
        assert!(answered > 3500, "{answered}");
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

    #[test]
    fn a_large_one_goes_on_only_where_most_keys_come_again() {
        let mut cache: ExactCache<u16, 8> = ExactCache::new(seed());
        cache.fit(1_000_000);
        let all = cache.trial();
        cache.count(all, all / 4 * 3);
        assert!(!cache.rests());
        cache.count(all, all / 4 * 3 - 1);
        assert!(cache.rests());
    }

    #[test]
    fn one_that_grows_begins_a_new_trial() {
        let mut cache: ExactCache<u16, 8> = ExactCache::new(seed());
        cache.fit(1000);
        cache.count(cache.trial(), 0);
        assert!(cache.rests());
        cache.fit(1_000_000);
        assert!(!cache.rests());
    }
}
