//! From the hash of a key to the number of its host: linear hashing over pages that versions share.
//!
//! ```text
//! word   hash 40 | number + 1, 24          0 where there is none
//! hash   line in the page 6 | … | page 16
//! ```
//!
//! Each page is a table of its own, with linear probing that goes round within it, so that a change
//! touches one page. A search begins with the first word of a line of memory, which is read as a
//! whole: where 40 % of the words are in use, one in sixty for a key that is not there goes on to
//! the next line. From any word on it would be one in ten.
//!
//! The index grows by one page at a time: the page whose turn it is gives half of its words to a
//! new one (W. Litwin, Linear Hashing, 1980). No growth costs more than two pages, and no key is
//! looked for in more than one.

use crate::learning_switch::simd::prefetch;

use super::paged::Paged;

/// Words of a line of memory.
const LINE: usize = 8;

/// Lines of a page: 4 KiB.
const LINES: usize = 64;

/// Words of a page.
const SLOTS: usize = LINES * LINE;

/// Words: those in use come first, the others are 0.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct IndexLine([u64; LINE]);

type IndexLines = [IndexLine; LINES];

/// Of 512 words so many are in use on average, before a page is split: pages that wait for their
/// turn are up to twice as full as those that had it, and four words of five is as full as probing
/// stays short.
const CROWDED: usize = SLOTS * 2 / 5;

/// Bits of a word that are the number.
const NUMBER_BITS: u32 = 24;

/// Bits of the hash that may tell the page.
const PAGE_BITS: u32 = 16;

/// The highest number that an index can hold.
pub(super) const NUMBER_MAX: usize = (1 << NUMBER_BITS) - 2;

/// A hash: the lower 40 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hash(u64);

impl Hash {
    /// Of 64 mixed bits.
    #[inline]
    pub(super) fn new(mixed: u64) -> Hash {
        Hash(mixed >> NUMBER_BITS)
    }

    /// The line of its page that a search begins with.
    #[inline]
    fn line(self) -> usize {
        (self.0 >> 34) as usize % LINES
    }

    /// The first word of that.
    fn slot(self) -> usize {
        self.line() * LINE
    }

    #[inline]
    fn word(self, number: u32) -> u64 {
        self.0 << NUMBER_BITS | u64::from(number + 1)
    }
}

#[inline]
fn hash_of(word: u64) -> Hash {
    Hash::new(word)
}

#[inline]
fn number_of(word: u64) -> u32 {
    (word & (NUMBER_MAX as u64 + 1)) as u32 - 1
}

/// An index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    lines: Paged<IndexLine, LINES>,
    /// Pages at the end of this round of splits, a power of two, less one.
    mask: usize,
    len: usize,
    pages_max: usize,
}

impl Index {
    /// An empty index that grows for so many keys.
    pub(super) fn new(keys_max: usize) -> Index {
        // A quarter more than is needed at the average filling: pages are not equally full.
        let pages_max = (keys_max + keys_max / 4) / CROWDED + 2;
        let mut lines = Paged::default();
        lines.push_page();
        Index { lines, mask: 0, len: 0, pages_max: pages_max.min(1 << PAGE_BITS) }
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The page that a hash belongs to.
    #[inline]
    fn page_of(&self, hash: Hash) -> usize {
        let page = hash.0 as usize & self.mask;
        if page < self.lines.pages() { page } else { page & (self.mask >> 1) }
    }

    /// Where a hash is looked for. Starts to bring what is known of it.
    #[inline]
    pub(super) fn ask_for(&self, hash: Hash) -> IndexPage<'_> {
        let page = IndexPage(self.lines.page(self.page_of(hash)));
        prefetch(&page.0[hash.line()]);
        page
    }

    /// The number with this hash of which `is` holds.
    #[inline]
    pub(super) fn find(&self, hash: Hash, is: impl Fn(u32) -> bool) -> Option<u32> {
        IndexPage(self.lines.page(self.page_of(hash))).find(hash, is)
    }

    /// Adds a number that is not there under this hash yet; false where there is no room for it.
    pub(super) fn insert(&mut self, hash: Hash, number: u32) -> bool {
        if self.len >= self.lines.pages() * CROWDED {
            self.split();
        }
        while !put(self.lines.page_mut(self.page_of(hash)), hash.word(number)) {
            if !self.split() {
                return false;
            }
        }
        self.len += 1;
        true
    }

    /// Takes a number away from a hash under which it was added.
    pub(super) fn remove(&mut self, hash: Hash, number: u32) {
        let page = self.lines.page_mut(self.page_of(hash));
        let slots = (0..SLOTS).map(|step| (hash.slot() + step) % SLOTS);
        let mut until_free = slots.take_while(|&slot| *word(page, slot) != 0);
        let is_it = |&slot: &usize| *word(page, slot) == hash.word(number);
        let Some(slot) = until_free.find(is_it) else { return };
        close(page, slot);
        self.len -= 1;
    }

    /// Gives half of the page whose turn it is to a new one; false where no page may be added.
    fn split(&mut self) -> bool {
        let pages = self.lines.pages();
        if pages >= self.pages_max {
            return false;
        }
        let from = pages - (pages + 1).next_power_of_two() / 2;
        let lines = *self.lines.page(from);
        self.lines.push_page();
        self.mask = (pages + 1).next_power_of_two() - 1;
        let (mut stay, mut go) = ([IndexLine::default(); LINES], [IndexLine::default(); LINES]);
        for word in lines.into_iter().flat_map(|line| line.0).filter(|&word| word != 0) {
            let goes = self.page_of(hash_of(word)) == pages;
            put(if goes { &mut go } else { &mut stay }, word);
        }
        *self.lines.page_mut(from) = stay;
        *self.lines.page_mut(pages) = go;
        true
    }

    /// Pages that this version does not share with `other`.
    #[cfg(test)]
    pub(super) fn own_pages(&self, other: &Index) -> usize {
        self.lines.own_pages(&other.lines)
    }
}

/// A page of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexPage<'i>(&'i IndexLines);

impl IndexPage<'_> {
    /// The first number that has this hash, which is the one looked for but in one of a thousand
    /// cases.
    #[inline]
    pub(super) fn first(self, hash: Hash) -> Option<u32> {
        self.find(hash, |_| true)
    }

    #[inline]
    fn find(self, hash: Hash, is: impl Fn(u32) -> bool) -> Option<u32> {
        for step in 0..LINES {
            let IndexLine(words) = &self.0[(hash.line() + step) % LINES];
            // Without a branch for each word: where a number is cannot be foreseen.
            let mut same = 0u32;
            for (at, &word) in words.iter().enumerate() {
                same |= u32::from(hash_of(word) == hash) << at;
            }
            while same != 0 {
                let word = words[same.trailing_zeros() as usize % LINE];
                // The hash 0 is that of a word that is not in use, too.
                if word != 0 && is(number_of(word)) {
                    return Some(number_of(word));
                }
                same &= same - 1;
            }
            if words[LINE - 1] == 0 {
                return None;
            }
        }
        None
    }
}

fn word(page: &IndexLines, slot: usize) -> &u64 {
    &page[slot / LINE].0[slot % LINE]
}

fn word_mut(page: &mut IndexLines, slot: usize) -> &mut u64 {
    &mut page[slot / LINE].0[slot % LINE]
}

/// Writes a word into the first free slot from its own on; false where there is none.
fn put(page: &mut IndexLines, new: u64) -> bool {
    let home = hash_of(new).slot();
    let free = (0..SLOTS).map(|step| (home + step) % SLOTS).find(|&slot| *word(page, slot) == 0);
    if let Some(slot) = free {
        *word_mut(page, slot) = new;
    }
    free.is_some()
}

/// Empties a slot, and moves words behind it forward that would not be found any more.
fn close(page: &mut IndexLines, gap: usize) {
    *word_mut(page, gap) = 0;
    for step in 1..SLOTS {
        let slot = (gap + step) % SLOTS;
        let moved = *word(page, slot);
        if moved == 0 {
            return;
        }
        let home = hash_of(moved).slot();
        let (past_home, past_gap) = ((slot + SLOTS - home) % SLOTS, (slot + SLOTS - gap) % SLOTS);
        if past_home >= past_gap {
            *word_mut(page, gap) = moved;
            return close(page, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Hashes that share pages and slots more often than chance would let them.
    fn hash(key: u16) -> Hash {
        let mixed = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Hash::new(if key.is_multiple_of(3) { mixed & 0x07ff_ffff_ffff_ffff } else { mixed })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever comes and goes, the index holds what a map holds, and an older version what it
        /// held.
        #[test]
        fn it_holds_what_a_map_holds(changes in prop::collection::vec((any::<u16>(), any::<bool>()), 1..3000)) {
            let (mut index, mut map) = (Index::new(100_000), BTreeMap::new());
            let mut old = None;
            for (at, &(key, add)) in changes.iter().enumerate() {
                let key = key % 2048;
                if add && !map.contains_key(&key) {
                    prop_assert!(index.insert(hash(key), u32::from(key)));
                    map.insert(key, ());
                } else if !add {
                    index.remove(hash(key), u32::from(key));
                    map.remove(&key);
                }
                if at == changes.len() / 2 {
                    old = Some((index.clone(), map.clone()));
                }
            }
            for (index, map) in old.into_iter().chain([(index, map)]) {
                prop_assert_eq!(index.len(), map.len());
                for key in 0..2048 {
                    let found = index.find(hash(key), |number| number == u32::from(key));
                    prop_assert_eq!(found.is_some(), map.contains_key(&key), "{}", key);
                }
            }
        }
    }

    #[test]
    fn it_grows_a_page_at_a_time_and_ends_where_it_must() {
        let mut index = Index::new(10_000);
        for number in 0..10_000u32 {
            let before = index.clone();
            let mixed = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            assert!(index.insert(Hash::new(mixed ^ mixed >> 29), number));
            assert!(index.own_pages(&before) <= 3, "{number}");
        }
        let same = Hash::new(u64::MAX);
        let taken = (0..SLOTS as u32 + 1).filter(|&number| index.insert(same, number)).count();
        assert!(taken <= SLOTS && index.lines.pages() == index.pages_max);
    }
}
