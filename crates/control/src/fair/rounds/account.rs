//! What an entry may still use of a round, or owes to later ones.

use super::super::Weight;
use crate::limits::ROUNDS_OWED_MAX;

/// One entry's account. Income is weight times quantum, a round, and is booked when the account is
/// read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    /// What it may use, above zero; what it owes, below.
    credit: i64,
    /// The round up to which income is booked.
    round: u64,
    weight: Weight,
}

impl Account {
    pub(super) fn new(weight: Weight, round: u64) -> Account {
        Account { credit: 0, round, weight }
    }

    pub(super) fn set_weight(&mut self, weight: Weight) {
        self.weight = weight;
    }

    /// The round up to which its income is booked.
    #[inline]
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// Books the rounds of an entry that wanted nothing: they pay its debts, but save nothing up.
    #[inline]
    pub(super) fn idled_until(&mut self, round: u64, quantum: u32) {
        self.book(round, quantum, 1);
    }

    /// Books the rounds of an entry that waited or was being served: what it had keeps its value.
    #[inline]
    pub(super) fn waited_until(&mut self, round: u64, quantum: u32) {
        self.book(round, quantum, ROUNDS_OWED_MAX);
    }

    #[inline]
    fn book(&mut self, round: u64, quantum: u32, rounds_kept: i64) {
        let passed = i64::try_from(round.saturating_sub(self.round)).unwrap_or(i64::MAX);
        if passed > 0 {
            let income = self.income(quantum);
            let credit = self.credit.saturating_add(income.saturating_mul(passed));
            self.credit = credit.min(rounds_kept * income);
            self.round = round;
        }
    }

    #[inline]
    pub(super) fn may_spend(&self) -> bool {
        self.credit > 0
    }

    /// Whether it has all that a round brings, or more, but for one part in so many: it owes
    /// nothing, and used little.
    #[inline]
    pub(super) fn used_little(&self, quantum: u32, part: u32) -> bool {
        let income = self.income(quantum);
        self.credit >= income - income / i64::from(part)
    }

    #[inline]
    pub(super) fn allowance(&self) -> u32 {
        u32::try_from(self.credit.max(0)).unwrap_or(u32::MAX)
    }

    #[inline]
    pub(super) fn spend(&mut self, used: u32) {
        self.credit = self.credit.saturating_sub(used.into());
    }

    /// In how many rounds, at least one, it may spend again.
    #[inline]
    pub(super) fn rounds_in_debt(&self, quantum: u32) -> u64 {
        let debt = self.credit.min(0).unsigned_abs();
        debt / self.income(quantum).unsigned_abs() + 1
    }

    /// At most 2³² · [`crate::limits::WEIGHT_MAX`], at least 1.
    #[inline]
    fn income(&self, quantum: u32) -> i64 {
        i64::from(self.weight.number()) * i64::from(quantum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn account(weight: u32) -> Account {
        Account::new(Weight::new(weight).unwrap(), 0)
    }

    #[test]
    fn idleness_saves_nothing_up() {
        let mut it = account(2);
        it.idled_until(5, 10);
        assert_eq!(it.allowance(), 20);
        it.spend(5);
        it.idled_until(5, 10);
        assert_eq!(it.allowance(), 15);
        it.idled_until(6, 10);
        assert_eq!(it.allowance(), 20);
    }

    #[test]
    fn who_waits_is_owed_what_was_left_but_no_burst() {
        let mut it = account(1);
        it.waited_until(1, 10);
        it.spend(3);
        it.waited_until(2, 10);
        assert_eq!(it.allowance(), 17);
        it.waited_until(100, 10);
        assert_eq!(it.allowance(), 20);
    }

    proptest! {
        /// The number of rounds is neither too small nor too large, for any debt.
        #[test]
        fn debts_end_when_they_are_said_to(weight in 1..=1000u32, quantum in 1..=u32::MAX, used: u32) {
            let mut it = account(weight);
            it.spend(used);
            let rounds = it.rounds_in_debt(quantum);
            it.waited_until(rounds - 1, quantum);
            prop_assert!(!it.may_spend());
            it.waited_until(rounds, quantum);
            prop_assert!(it.may_spend());
        }
    }
}
