//! The flow index, from the hash of a flow to its path: one table ([`crate::hash_lines`]), so that
//! what will be looked for can be asked for before. At most half of its entries are in use.

use crate::hash_lines::{self, Glance, HashLine, LINE};

/// Lines to begin with.
const LINES_MIN: usize = 2;

/// Paths by hash, of which the upper half counts.
#[derive(Debug)]
pub(super) struct FlowIndex {
    // A power of two of them.
    lines: Vec<HashLine>,
    len: usize,
}

impl Default for FlowIndex {
    fn default() -> Self {
        FlowIndex { lines: vec![HashLine::default(); LINES_MIN], len: 0 }
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
        hash_lines::ask_for(&self.lines, upper(hash));
    }

    /// The path that has this hash, in nearly all cases.
    #[inline]
    pub(super) fn glance(&self, hash: u64) -> Glance {
        hash_lines::glance(&self.lines, upper(hash))
    }

    /// The path with this hash of which `is` holds.
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        hash_lines::find(&self.lines, upper(hash), is)
    }

    /// Adds a path, which is not there yet. Its number is below 2³² − 1.
    pub(super) fn insert(&mut self, hash: u64, path: u32) {
        if (self.len + 1) * 2 > self.lines.len() * LINE {
            self.grow();
        }
        hash_lines::put(&mut self.lines, (upper(hash), path));
        self.len += 1;
    }

    /// Takes away a path that was added with this hash.
    pub(super) fn remove(&mut self, hash: u64, path: u32) {
        self.len -= usize::from(hash_lines::take(&mut self.lines, (upper(hash), path)));
    }

    #[cold]
    fn grow(&mut self) {
        let lines = vec![HashLine::default(); self.lines.len() * 2];
        let old = core::mem::replace(&mut self.lines, lines);
        for there in hash_lines::entries(&old) {
            hash_lines::put(&mut self.lines, there);
        }
    }
}

#[inline]
fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
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
            }
        }
    }
}
