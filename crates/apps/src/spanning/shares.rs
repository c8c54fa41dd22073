//! How many floods each switch may have of what all of them share: the memory of frames that were
//! flooded a moment ago, and, while a large network is being found out, the time of those that look
//! for links.
//!
//! A switch has its part whatever the others do. What it floods above that comes of what is kept
//! for all, as far as there is any left, and is dropped otherwise, before anything is looked up for
//! it. So neither a switch with hundreds of thousands of broadcasts a second nor hundreds of such
//! switches keep another one's few from being flooded.
//!
//! It is counted in periods and not for a sliding time: at the turn of two of them a switch may
//! have twice its part.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use aldis_control::Time;

/// Floods of one period that are divided among the switches. Twice as many, and as much again of
/// those for all, are an eighth of what is remembered: one row of it in a hundred thousand is full
/// then.
pub(super) const DIVIDED: u64 = 1 << 15;

/// Floods of one period above the parts of their switches.
pub(super) const FOR_ALL: u64 = 1 << 15;

/// The least that a switch may have, however many there are: what a hundred hosts ask at once.
pub(super) const LEAST: u64 = 128;

/// A period is 2³⁰ ns (1.07 s), no shorter than what was flooded is remembered.
const PERIOD: u32 = 30;

/// Bits of a count; those above are its period.
const COUNT_BITS: u32 = 24;

/// What was flooded in one period: of one switch, or of all together above their parts.
#[derive(Debug, Default)]
pub(super) struct FloodSpent(AtomicU64);

/// Of what a flood is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    /// Of its switch's part.
    Part,
    /// Of what is kept for all.
    All,
}

impl FloodSpent {
    /// One more, if there are fewer than `most` in the period of `now`.
    fn spend(&self, now: Time, most: u64) -> bool {
        let period = now.0 >> PERIOD;
        let next = |word: u64| {
            // Clocks of workers are a little apart: the later period counts.
            let count =
                if word >> COUNT_BITS < period { 0 } else { word & ((1 << COUNT_BITS) - 1) };
            let period = period.max(word >> COUNT_BITS);
            (count < most).then_some(period << COUNT_BITS | (count + 1))
        };
        self.0.fetch_update(Relaxed, Relaxed, next).is_ok()
    }

    /// One less: what was spent of it in the period of `now` was not flooded.
    fn give_back(&self, now: Time) {
        let is_of_now = |word: &u64| {
            word >> COUNT_BITS == now.0 >> PERIOD && word & ((1 << COUNT_BITS) - 1) > 0
        };
        let _ = self.0.fetch_update(Relaxed, Relaxed, |word| is_of_now(&word).then(|| word - 1));
    }
}

/// What is divided among so many switches, with this least part for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divided {
    pub(super) floods: u64,
    pub(super) switches: usize,
    pub(super) least: u64,
}

impl Divided {
    fn part(self) -> u64 {
        (self.floods / self.switches.max(1) as u64).max(self.least)
    }
}

/// What is kept for all.
#[derive(Debug, Default)]
pub(super) struct FloodShares(FloodSpent);

impl FloodShares {
    /// A switch that has flooded this much is about to flood something more: of what that is, if it
    /// may.
    pub(super) fn take(&self, now: Time, switch: &FloodSpent, divided: Divided) -> Option<Of> {
        if switch.spend(now, divided.part()) {
            return Some(Of::Part);
        }
        self.0.spend(now, FOR_ALL).then_some(Of::All)
    }

    /// It was not flooded: it is a repeat.
    pub(super) fn give_back(&self, now: Time, switch: &FloodSpent, of: Of) {
        match of {
            Of::Part => switch.give_back(now),
            Of::All => self.0.give_back(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    const NOW: Time = Time(5 << PERIOD);

    fn divided(switches: usize) -> Divided {
        Divided { floods: DIVIDED, switches, least: LEAST }
    }

    #[test]
    fn a_switch_has_its_part_whatever_the_others_flood() {
        let (shares, honest) = (FloodShares::default(), FloodSpent::default());
        let floods = |switch: &FloodSpent, most: u64| {
            (0..most).filter(|_| shares.take(NOW, switch, divided(301)).is_some()).count() as u64
        };
        let others: Vec<FloodSpent> = (0..300).map(|_| FloodSpent::default()).collect();
        let all: u64 = others.iter().map(|switch| floods(switch, 10_000)).sum();
        assert_eq!(all, 300 * LEAST + FOR_ALL);
        assert_eq!(floods(&honest, LEAST), LEAST);
        assert_eq!(floods(&honest, 1), 0);
        let later = NOW + Duration::from_nanos(1 << PERIOD);
        assert_eq!(shares.take(later, &honest, divided(301)), Some(Of::Part));
    }

    #[test]
    fn a_lone_switch_has_it_all() {
        let (shares, lone) = (FloodShares::default(), FloodSpent::default());
        let of = |_| shares.take(NOW, &lone, divided(1));
        let taken: Vec<_> = (0..DIVIDED + FOR_ALL + 5).map(of).collect();
        let count = |of| taken.iter().filter(|taken| **taken == of).count() as u64;
        assert_eq!([Some(Of::Part), Some(Of::All), None].map(count), [DIVIDED, FOR_ALL, 5]);
    }

    #[test]
    fn what_was_not_flooded_is_given_back_once() {
        let (shares, switch) = (FloodShares::default(), FloodSpent::default());
        let one = Divided { floods: 1, switches: 1, least: 1 };
        for _ in 0..10 {
            assert_eq!(shares.take(NOW, &switch, one), Some(Of::Part));
            shares.give_back(NOW, &switch, Of::Part);
        }
        shares.give_back(NOW, &switch, Of::Part);
        assert_eq!(shares.take(NOW, &switch, one), Some(Of::Part));
        assert_eq!(shares.take(NOW, &switch, one), Some(Of::All));
        // By the clock of another worker.
        let before = Time(NOW.0 - 1);
        assert_eq!(shares.take(before, &switch, one), Some(Of::All));
    }
}
