//! Lines of memory with numbers under the hashes of their keys: what the hosts' index and the flow
//! index are made of.
//!
//! ```text
//! line   hash 32 × 8 | number + 1, 32 × 8       number 0 where there is none
//! ```
//!
//! Linear probing over the entries of all lines, from the last on to the first. A search begins
//! with the first entry of a line, which the highest bits of the hash tell, and reads lines as a
//! whole: where 40 % of the entries are in use, one in sixty for a key that is not there goes on to
//! the next line. From any entry on it would be one in ten. The hashes of a line stand side by
//! side, so that eight are compared by a few instructions.
//!
//! What leaves is filled from behind, so that nothing has to be remembered of it.

use crate::learning_switch::simd::{at_place, places, prefetch};

/// Entries of a line.
pub(crate) const LINE: usize = 8;

/// Entries: those in use come first, the others are 0.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct HashLine {
    hashes: [u32; LINE],
    /// One more than the number of each.
    numbers: [u32; LINE],
}

const _: () = assert!(size_of::<HashLine>() == 64);

/// A hash and its number.
pub(crate) type Entry = (u32, u32);

/// The number that the first line of a search has under a hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    /// Whether there is one.
    pub(crate) is_there: bool,
    /// It; 0 where there is none, and any where there are several.
    pub(crate) number: u32,
    /// Whether, where that is not the one looked for, that may be elsewhere.
    pub(crate) may_be_elsewhere: bool,
}

/// The line that a search begins with. There is a power of two of them.
#[inline]
fn home(lines: &[HashLine], hash: u32) -> usize {
    ((u64::from(hash) * lines.len() as u64) >> 32) as usize
}

/// Starts to bring that.
#[inline]
pub(crate) fn ask_for(lines: &[HashLine], hash: u32) {
    prefetch(&lines[home(lines, hash)]);
}

/// What it says. Without a branch on whether there is a number: that cannot be foreseen.
#[inline]
pub(crate) fn glance(lines: &[HashLine], hash: u32) -> Glance {
    let line = &lines[home(lines, hash)];
    // The hash of an entry that is not in use is 0, too, and its number.
    let number = at_place(&line.hashes, hash, &line.numbers);
    let may_be_elsewhere = number | line.numbers[LINE - 1] != 0;
    Glance { is_there: number != 0, number: number.saturating_sub(1), may_be_elsewhere }
}

/// The number with this hash of which `is` holds.
#[inline]
pub(crate) fn find(lines: &[HashLine], hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
    let home = home(lines, hash);
    for step in 0..lines.len() {
        let line = &lines[(home + step) & (lines.len() - 1)];
        let mut same = places(&line.hashes, hash);
        while same != 0 {
            let number = line.numbers[same.trailing_zeros() as usize % LINE];
            if number != 0 && is(number - 1) {
                return Some(number - 1);
            }
            same &= same - 1;
        }
        if line.numbers[LINE - 1] == 0 {
            return None;
        }
    }
    None
}

/// Adds a number that is not there under this hash yet; false where all entries are in use.
pub(crate) fn put(lines: &mut [HashLine], (hash, number): Entry) -> bool {
    let from = home(lines, hash) * LINE;
    let free = slots(lines, from).find(|&slot| !is_used(entry(lines, slot)));
    if let Some(slot) = free {
        set(lines, slot, (hash, number + 1));
    }
    free.is_some()
}

/// Takes away a number that was added under this hash; whether it was there.
pub(crate) fn take(lines: &mut [HashLine], (hash, number): Entry) -> bool {
    let from = home(lines, hash) * LINE;
    let mut until_free = slots(lines, from).take_while(|&slot| is_used(entry(lines, slot)));
    let Some(gap) = until_free.find(|&slot| entry(lines, slot) == (hash, number + 1)) else {
        return false;
    };
    close(lines, gap);
    true
}

/// All entries, in the order of their lines.
pub(crate) fn entries(lines: &[HashLine]) -> impl Iterator<Item = Entry> {
    let all = (0..lines.len() * LINE).map(|slot| entry(lines, slot));
    all.filter(|&there| is_used(there)).map(|(hash, number)| (hash, number - 1))
}

/// Empties a slot, and moves entries behind it forward that would not be found any more.
fn close(lines: &mut [HashLine], mut gap: usize) {
    let count = lines.len() * LINE;
    set(lines, gap, (0, 0));
    for slot in slots(lines, gap).skip(1) {
        let moved = entry(lines, slot);
        if !is_used(moved) {
            return;
        }
        let from = home(lines, moved.0) * LINE;
        if (slot + count - from) % count >= (slot + count - gap) % count {
            set(lines, gap, moved);
            set(lines, slot, (0, 0));
            gap = slot;
        }
    }
}

/// All slots, from one on.
fn slots(lines: &[HashLine], from: usize) -> impl Iterator<Item = usize> + use<> {
    let count = lines.len() * LINE;
    (0..count).map(move |step| (from + step) & (count - 1))
}

/// As it stands in memory: with one more than the number.
fn entry(lines: &[HashLine], slot: usize) -> Entry {
    let line = &lines[slot / LINE];
    (line.hashes[slot % LINE], line.numbers[slot % LINE])
}

fn is_used((_, number): Entry) -> bool {
    number != 0
}

fn set(lines: &mut [HashLine], slot: usize, (hash, number): Entry) {
    let line = &mut lines[slot / LINE];
    (line.hashes[slot % LINE], line.numbers[slot % LINE]) = (hash, number);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Hashes of which several are the same, some 0, and many begin with the last line.
    fn hash(key: u32) -> u32 {
        let mixed = (key / 2).wrapping_mul(0x9e37_79b1);
        if key.is_multiple_of(3) { mixed | 0xe000_0000 } else { mixed }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Whatever comes and goes, and however full the lines are, they hold what a map holds.
        #[test]
        fn they_hold_what_a_map_holds(
            changes in prop::collection::vec((0..64u32, any::<bool>()), 1..400),
            lines in prop_oneof![Just(1usize), Just(2), Just(4), Just(16)],
        ) {
            let (mut lines, mut map) = (vec![HashLine::default(); lines], BTreeMap::new());
            for (key, add) in changes {
                if add && !map.contains_key(&key) {
                    let has_room = map.len() < lines.len() * LINE;
                    prop_assert_eq!(put(&mut lines, (hash(key), key)), has_room);
                    if has_room {
                        map.insert(key, ());
                    }
                } else if !add {
                    let is_there = map.remove(&key).is_some();
                    prop_assert_eq!(take(&mut lines, (hash(key), key)), is_there);
                }
                let mut all: Vec<_> = entries(&lines).map(|(_, number)| number).collect();
                all.sort_unstable();
                prop_assert!(all.iter().eq(map.keys()));
            }
            for key in 0..64 {
                let found = find(&lines, hash(key), |number| number == key);
                prop_assert_eq!(found.is_some(), map.contains_key(&key), "{}", key);
                let glance = glance(&lines, hash(key));
                let is_it = |it| glance.is_there && glance.number == it;
                prop_assert!(found.is_none_or(|it| is_it(it) || glance.may_be_elsewhere));
            }
        }
    }
}
