//! From the hash of a key to the number of its host: linear hashing over pages that versions share.
//!
//! ```text
//! hash   line in the page 6 | … | page 16
//! ```
//!
//! Each page is a table of its own ([`crate::hash_lines`]), whose probing goes round within it, so
//! that a change touches one page.
//!
//! The index grows by one page at a time: the page whose turn it is gives half of its entries to a
//! new one (W. Litwin, Linear Hashing, 1980). No growth costs more than two pages, and no key is
//! looked for in more than one.

use crate::hash_lines::{self, Glance, HashLine, LINE};

use super::paged::Paged;

/// Lines of a page: 4 KiB.
const LINES: usize = 64;

/// Entries of a page.
const SLOTS: usize = LINES * LINE;

type IndexLines = [HashLine; LINES];

/// Of 512 entries so many are in use on average, before a page is split: pages that wait for their
/// turn are up to twice as full as those that had it, and four entries of five is as full as
/// probing stays short.
const CROWDED: usize = SLOTS * 2 / 5;

/// Bits of the hash that may tell the page.
const PAGE_BITS: u32 = 16;

/// The highest number: with so many, as many pages as there may be are half full.
pub(super) const NUMBER_MAX: usize = (SLOTS << PAGE_BITS) / 2 - 2;

/// A hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hash(u32);

impl Hash {
    /// Of 64 mixed bits.
    #[inline]
    pub(super) fn new(mixed: u64) -> Hash {
        Hash((mixed >> 32) as u32)
    }
}

/// An index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    lines: Paged<HashLine, LINES>,
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
        let page = self.lines.page(self.page_of(hash));
        hash_lines::ask_for(page, hash.0);
        IndexPage(page)
    }

    /// The number with this hash of which `is` holds.
    #[inline]
    pub(super) fn find(&self, hash: Hash, is: impl Fn(u32) -> bool) -> Option<u32> {
        hash_lines::find(self.lines.page(self.page_of(hash)), hash.0, is)
    }

    /// Adds a number that is not there under this hash yet; false where there is no room for it.
    pub(super) fn insert(&mut self, hash: Hash, number: u32) -> bool {
        if self.len >= self.lines.pages() * CROWDED {
            self.split();
        }
        while !hash_lines::put(self.lines.page_mut(self.page_of(hash)), (hash.0, number)) {
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
        self.len -= usize::from(hash_lines::take(page, (hash.0, number)));
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
        let (mut stay, mut go) = ([HashLine::default(); LINES], [HashLine::default(); LINES]);
        for (hash, number) in hash_lines::entries(&lines) {
            let goes = self.page_of(Hash(hash)) == pages;
            hash_lines::put(if goes { &mut go } else { &mut stay }, (hash, number));
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
    /// What the line says that a search begins with.
    #[inline]
    pub(super) fn glance(self, hash: Hash) -> Glance {
        hash_lines::glance(self.0, hash.0)
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
