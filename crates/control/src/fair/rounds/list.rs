//! Lists whose links live beside the entries: every operation is O(1), and none allocates.

use super::Id;

/// No entry.
const NOBODY: u32 = u32::MAX;

/// What comes before and after an entry in the one list that it may be in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    before: u32,
    after: u32,
}

impl Link {
    /// In no list, or alone in one.
    pub(super) const NONE: Link = Link { before: NOBODY, after: NOBODY };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl List {
    pub(super) const EMPTY: List = List { first: NOBODY, last: NOBODY, len: 0 };

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Its first entry and its last one; nothing where it is empty.
    pub(super) fn ends(&self) -> impl Iterator<Item = Id> {
        [self.first, self.last].into_iter().filter(|&id| id != NOBODY).map(Id)
    }

    /// It has a first and a last entry, or none; nothing is linked beyond them.
    #[inline]
    pub(super) fn check(&self, links: &[Link]) {
        debug_assert_eq!(
            (self.len == 0, self.len == 0),
            (self.first == NOBODY, self.last == NOBODY)
        );
        debug_assert!(self.len == 0 || links[self.first as usize].before == NOBODY);
        debug_assert!(self.len == 0 || links[self.last as usize].after == NOBODY);
    }

    #[inline]
    pub(super) fn push_back(&mut self, links: &mut [Link], id: Id) {
        links[id.0 as usize] = Link { before: self.last, after: NOBODY };
        match self.last {
            NOBODY => self.first = id.0,
            last => links[last as usize].after = id.0,
        }
        self.last = id.0;
        self.len += 1;
    }

    pub(super) fn push_front(&mut self, links: &mut [Link], id: Id) {
        links[id.0 as usize] = Link { before: NOBODY, after: self.first };
        match self.first {
            NOBODY => self.last = id.0,
            first => links[first as usize].before = id.0,
        }
        self.first = id.0;
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop_front(&mut self, links: &mut [Link]) -> Option<Id> {
        let first = Id(self.first);
        (self.first != NOBODY).then(|| {
            self.unlink(links, first);
            first
        })
    }

    /// Takes out an entry that is in this list.
    #[inline]
    pub(super) fn unlink(&mut self, links: &mut [Link], id: Id) {
        let Link { before, after } = core::mem::replace(&mut links[id.0 as usize], Link::NONE);
        match before {
            NOBODY => self.first = after,
            before => links[before as usize].after = after,
        }
        match after {
            NOBODY => self.last = before,
            after => links[after as usize].before = before,
        }
        self.len -= 1;
    }

    /// Moves all of `other` behind what is here.
    pub(super) fn append(&mut self, links: &mut [Link], other: &mut List) {
        let other = core::mem::replace(other, List::EMPTY);
        if other.len == 0 {
            return;
        }
        match self.last {
            NOBODY => self.first = other.first,
            last => {
                links[last as usize].after = other.first;
                links[other.first as usize].before = last;
            }
        }
        self.last = other.last;
        self.len += other.len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// Two lists do what two vectors do.
        #[test]
        fn lists_are_like_vectors(steps in prop::collection::vec((0..7u8, 0..12u32), 0..200)) {
            let mut links = alloc::vec![Link::NONE; 12];
            let (mut lists, mut vectors) = ([List::EMPTY; 2], [Vec::new(), Vec::new()]);
            for (step, id) in steps {
                let to = usize::from(step % 2);
                let within = vectors.iter().position(|ids| ids.contains(&id));
                match (step, within) {
                    (0 | 1, None) => {
                        lists[to].push_back(&mut links, Id(id));
                        vectors[to].push(id);
                    }
                    (5 | 6, None) => {
                        lists[to].push_front(&mut links, Id(id));
                        vectors[to].insert(0, id);
                    }
                    (0 | 1 | 5 | 6, Some(within)) => {
                        lists[within].unlink(&mut links, Id(id));
                        vectors[within].retain(|other| *other != id);
                    }
                    (2 | 3, _) => {
                        let first = (!vectors[to].is_empty()).then(|| Id(vectors[to].remove(0)));
                        prop_assert_eq!(lists[to].pop_front(&mut links), first);
                    }
                    _ => {
                        let [list, other] = &mut lists;
                        list.append(&mut links, other);
                        let moved = core::mem::take(&mut vectors[1]);
                        vectors[0].extend(moved);
                    }
                }
                prop_assert_eq!(lists.map(|list| list.len()), [vectors[0].len(), vectors[1].len()]);
            }
            for (list, ids) in lists.iter_mut().zip(vectors) {
                let left: Vec<u32> = core::iter::from_fn(|| list.pop_front(&mut links)).map(|id| id.0).collect();
                prop_assert_eq!(left, ids);
            }
        }
    }
}
