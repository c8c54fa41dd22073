//! Sparse switches (FQ-CoDel): what an entry's visits bring, and so whether a visit in the round
//! that runs is worth its cost.

/// How many times an entry that came back early for little waits for the next round, before that is
/// tried again.
const REST: u8 = 15;

/// What is remembered of one entry's visits.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SparseState {
    /// What its last visit used.
    last: u32,
    /// Whether its next visit is in the round in which it came.
    early: bool,
    /// How many times it waits for the next round.
    rest: u8,
}

impl SparseState {
    /// Whether its last visit used no more than so much. One that had none used nothing.
    #[inline]
    pub(super) fn is_light(&self, most: u32) -> bool {
        self.last <= most
    }

    /// It comes while others wait. Whether it is to have a turn in this round.
    #[inline]
    pub(super) fn may_come_early(&mut self) -> bool {
        self.early = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        self.early
    }

    /// A visit is over, which used so much.
    #[inline]
    pub(super) fn visited(&mut self, used: u32) {
        if core::mem::take(&mut self.early) && used < self.last / 2 {
            self.rest = REST;
        }
        self.last = used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_early_for_little_waits_before_it_does_so_again() {
        let mut it = SparseState::default();
        it.visited(300);
        for _ in 0..2 {
            assert!(it.may_come_early());
            it.visited(149);
            it.visited(300);
            for _ in 0..REST {
                assert!(!it.may_come_early());
                it.visited(300);
            }
        }
    }

    #[test]
    fn who_comes_early_for_as_much_does_so_whenever_it_likes() {
        let mut it = SparseState::default();
        it.visited(300);
        for used in [150, 75, 400, 399, 200] {
            assert!(it.may_come_early());
            it.visited(used);
        }
    }

    #[test]
    fn only_an_early_turn_is_held_against_the_one_before() {
        let mut it = SparseState::default();
        for used in [300, 1, 300, 1] {
            it.visited(used);
        }
        assert!(it.may_come_early());
    }
}
