//! Numbers in order: who was seen longest ago, and who is behind a port. Each number is in one
//! chain of its kind at most.

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A chain: its ends, and how many numbers it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    len: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { first: NONE, last: NONE, len: 0 }
    }
}

impl Chain {
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
pub(super) struct Links(Vec<[u32; 2]>);

impl Links {
    /// Puts a number at the end of a chain; it is in none.
    pub(super) fn push(&mut self, chain: &mut Chain, number: u32) {
        let at = number as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, [NONE; 2]);
        }
        self.0[at] = [chain.last, NONE];
        match chain.last {
            NONE => chain.first = number,
            last => self.0[last as usize][1] = number,
        }
        chain.last = number;
        chain.len += 1;
    }

    /// The numbers of a chain, in the order in which they were put there.
    pub(super) fn of(&self, chain: &Chain) -> impl Iterator<Item = u32> {
        let next = |&at: &u32| Some(self.0[at as usize][1]).filter(|&next| next != NONE);
        core::iter::successors(chain.first(), next)
    }

    /// Takes a number out of the chain that it is in.
    pub(super) fn remove(&mut self, chain: &mut Chain, number: u32) {
        let [before, after] = self.0[number as usize];
        match before {
            NONE => chain.first = after,
            before => self.0[before as usize][1] = after,
        }
        match after {
            NONE => chain.last = before,
            after => self.0[after as usize][0] = before,
        }
        chain.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_keeps_the_order_in_which_numbers_came() {
        let (mut links, mut chain) = (Links::default(), Chain::default());
        let all = |links: &Links, chain: &Chain| links.of(chain).collect::<Vec<_>>();
        [5, 1, 7, 2].into_iter().for_each(|number| links.push(&mut chain, number));
        for (gone, left) in [(7, &[5, 1, 2][..]), (5, &[1, 2]), (2, &[1]), (1, &[])] {
            links.remove(&mut chain, gone);
            assert_eq!((&all(&links, &chain)[..], chain.len()), (left, left.len()));
        }
        links.push(&mut chain, 7);
        assert_eq!((all(&links, &chain), chain.first()), (vec![7], Some(7)));
    }
}
