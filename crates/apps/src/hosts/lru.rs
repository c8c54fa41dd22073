//! LRU lists of host numbers: all hosts, and the hosts of a port, those not seen for longest first.
//! Each number is in one list of its kind at most.

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A chain: its ends, and how many numbers it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct LruList {
    first: u32,
    last: u32,
    len: usize,
}

impl Default for LruList {
    fn default() -> Self {
        LruList { first: NONE, last: NONE, len: 0 }
    }
}

impl LruList {
    /// How many numbers it has.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number that was put there first.
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}

/// What comes before and after each number.
#[derive(Clone, Debug, Default)]
pub(super) struct LruLinks(Vec<[u32; 2]>);

impl LruLinks {
    /// Puts a number at the end of a chain; it is in none.
    pub(super) fn push(&mut self, list: &mut LruList, number: u32) {
        let at = number as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, [NONE; 2]);
        }
        self.0[at] = [list.last, NONE];
        match list.last {
            NONE => list.first = number,
            last => self.0[last as usize][1] = number,
        }
        list.last = number;
        list.len += 1;
    }

    /// The numbers of a chain, in the order in which they were put there.
    pub(super) fn of(&self, list: &LruList) -> impl Iterator<Item = u32> {
        let next = |&at: &u32| Some(self.0[at as usize][1]).filter(|&next| next != NONE);
        core::iter::successors(list.first(), next)
    }

    /// Takes a number out of the chain that it is in.
    pub(super) fn remove(&mut self, list: &mut LruList, number: u32) {
        let [before, after] = self.0[number as usize];
        match before {
            NONE => list.first = after,
            before => self.0[before as usize][1] = after,
        }
        match after {
            NONE => list.last = before,
            after => self.0[after as usize][0] = before,
        }
        list.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_keeps_the_order_in_which_numbers_came() {
        let (mut links, mut list) = (LruLinks::default(), LruList::default());
        let all = |links: &LruLinks, list: &LruList| links.of(list).collect::<Vec<_>>();
        [5, 1, 7, 2].into_iter().for_each(|number| links.push(&mut list, number));
        for (gone, left) in [(7, &[5, 1, 2][..]), (5, &[1, 2]), (2, &[1]), (1, &[])] {
            links.remove(&mut list, gone);
            assert_eq!((&all(&links, &list)[..], list.len()), (left, left.len()));
        }
        links.push(&mut list, 7);
        assert_eq!((all(&links, &list), list.first()), (vec![7], Some(7)));
    }
}
