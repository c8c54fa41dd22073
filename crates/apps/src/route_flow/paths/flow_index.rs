//! The flow index, from the hash of a flow to its path: open addressing in one array, so that what
//! will be looked for can be asked for before.
//!
//! ```text
//! word   upper half of the hash | path + 1          0 where there is none
//! ```
//!
//! At most half of the words are in use. What leaves is filled from behind, so that nothing has to
//! be remembered of it.

use crate::learning_switch::simd::prefetch;

/// Words to begin with.
const WORDS_MIN: usize = 16;

/// Paths by hash.
#[derive(Debug)]
pub(super) struct FlowIndex {
    // A power of two of them.
    words: Vec<u64>,
    len: usize,
}

impl Default for FlowIndex {
    fn default() -> Self {
        FlowIndex { words: vec![0; WORDS_MIN], len: 0 }
    }
}

impl FlowIndex {
    /// How many paths there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Starts to bring what is known of a hash.
    #[inline]
    pub(super) fn ask_for(&self, hash: u64) {
        prefetch(&self.words[self.home(hash)]);
    }

    /// The first path that may have this hash: half of it is compared.
    #[inline]
    pub(super) fn first(&self, hash: u64) -> Option<u32> {
        self.find(hash, |_| true)
    }

    /// The path with this hash of which `is` holds.
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        // There is a free word at the end of every stretch.
        while self.words[at] != 0 {
            let word = self.words[at];
            if word >> 32 == hash >> 32 && is(path_of(word)) {
                return Some(path_of(word));
            }
            at = self.after(at);
        }
        None
    }

    /// Adds a path, which is not there yet. Its number is below 2³² − 1.
    pub(super) fn insert(&mut self, hash: u64, path: u32) {
        if (self.len + 1) * 2 > self.words.len() {
            self.grow();
        }
        self.put(hash >> 32 << 32 | u64::from(path + 1));
        self.len += 1;
    }

    /// Takes away a path that was added with this hash.
    pub(super) fn remove(&mut self, hash: u64, path: u32) {
        let word = hash >> 32 << 32 | u64::from(path + 1);
        let mut gap = self.home(hash);
        while self.words[gap] != word {
            if self.words[gap] == 0 {
                return;
            }
            gap = self.after(gap);
        }
        self.words[gap] = 0;
        self.len -= 1;
        let mut at = self.after(gap);
        while self.words[at] != 0 {
            let home = self.home(self.words[at]);
            let mask = self.words.len() - 1;
            // Whether it is found from its home only by way of the gap.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.words[gap] = core::mem::take(&mut self.words[at]);
                gap = at;
            }
            at = self.after(at);
        }
    }

    /// Where the search for a hash begins, of which only the upper half counts.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.words.len() - 1)
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.words.len() - 1)
    }

    fn put(&mut self, word: u64) {
        let mut at = self.home(word);
        while self.words[at] != 0 {
            at = self.after(at);
        }
        self.words[at] = word;
    }

    #[cold]
    fn grow(&mut self) {
        let words = vec![0; self.words.len() * 2];
        let old = core::mem::replace(&mut self.words, words);
        old.into_iter().filter(|&word| word != 0).for_each(|word| self.put(word));
    }
}

#[inline]
fn path_of(word: u64) -> u32 {
    word as u32 - 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Hashes of which some share their upper half, and many where their search begins.
    fn hash(path: u32) -> u64 {
        let mixed = u64::from(path / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if path.is_multiple_of(3) { mixed & 0x0003_ffff_ffff } else { mixed }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn it_holds_what_a_map_holds(changes in prop::collection::vec((0..512u32, any::<bool>()), 1..2000)) {
            let (mut named, mut map) = (FlowIndex::default(), BTreeMap::new());
            for (path, add) in changes {
                if add && map.insert(path, ()).is_none() {
                    named.insert(hash(path), path);
                } else if !add {
                    named.remove(hash(path), path);
                    map.remove(&path);
                }
            }
            prop_assert_eq!(named.len(), map.len());
            for path in 0..512 {
                let found = named.find(hash(path), |found| found == path);
                prop_assert_eq!(found.is_some(), map.contains_key(&path), "{}", path);
                prop_assert!(found.is_none() || named.first(hash(path)).is_some());
            }
        }
    }
}
