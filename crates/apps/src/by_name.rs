//! What is known of each switch, found by its name: open addressing in one array that is made anew where anything changes.
//!
//! A path asks for each switch on it, and names are random numbers to whoever does not choose them: a product with a number that
//! nobody else knows is all the mixing that they need.

use core::hash::BuildHasher;

use foldhash::fast::RandomState;

use aldis_wire::DatapathId;

/// Places to begin with.
const PLACES_MIN: usize = 16;

/// At least so many places for each switch: what is looked for is nearly always in the first one.
const PLACES_EACH: usize = 3;

/// Something of each switch.
#[derive(Clone, Debug)]
pub(crate) struct ByName<T> {
    /// A power of two of them; one in three is taken at most.
    places: Box<[Option<(DatapathId, T)>]>,
    factor: u64,
    /// Bits of a product that are left out.
    shift: u32,
}

impl<T: Copy> Default for ByName<T> {
    fn default() -> Self {
        ByName::of([].into_iter())
    }
}

impl<T: Copy> ByName<T> {
    /// Of these switches, each of which is named once.
    pub(crate) fn of(switches: impl ExactSizeIterator<Item = (DatapathId, T)>) -> ByName<T> {
        let count = (switches.len() * PLACES_EACH).max(PLACES_MIN).next_power_of_two();
        let factor = RandomState::default().hash_one(count) | 1;
        let shift = u64::BITS - count.trailing_zeros();
        let mut all = ByName { places: vec![None; count].into(), factor, shift };
        for (dpid, it) in switches {
            let mut at = all.first(dpid);
            while all.places[at].is_some() {
                at = all.after(at);
            }
            all.places[at] = Some((dpid, it));
        }
        all
    }

    /// What is known of a switch, if anything is.
    #[inline]
    pub(crate) fn get(&self, dpid: DatapathId) -> Option<T> {
        let mut at = self.first(dpid);
        // There are places that nobody has.
        while let Some((name, it)) = self.places[at] {
            if name == dpid {
                return Some(it);
            }
            at = self.after(at);
        }
        None
    }

    #[inline]
    fn first(&self, dpid: DatapathId) -> usize {
        (dpid.0.wrapping_mul(self.factor) >> self.shift) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_knows_what_a_map_knows(names in prop::collection::vec(prop_oneof![0..200u64, any::<u64>(), (0..200u64).prop_map(|n| n << 48)], 0..300)) {
            let map: BTreeMap<u64, usize> = names.into_iter().zip(0..).collect();
            let all = ByName::of(map.iter().map(|(&name, &it)| (DatapathId(name), it)));
            for name in map.keys().copied().chain(0..300).chain((0..300).map(|n| n << 48)) {
                prop_assert_eq!(all.get(DatapathId(name)), map.get(&name).copied());
            }
        }
    }

    #[test]
    fn of_no_switches_nothing_is_known() {
        assert_eq!(ByName::<u32>::default().get(DatapathId(0)), None);
    }
}
