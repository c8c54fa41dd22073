//! When a host was last seen, in four bits.
//!
//! Time is cut into epochs, an eighth of the ageing time each, numbered modulo 16. A host counts
//! for as long as its epoch is one of the last eight; the other half of the numbers is the margin
//! in which the sweep has to find its word before they come round again. One epoch ahead counts as
//! now: two workers need not read the clock in the same instant.

use core::time::Duration;

use aldis_control::Time;

/// Epochs that a host counts for.
const LIFE: u16 = 8;

/// How many numbers there are.
const NUMBERS: u16 = 2 * LIFE;

/// Ages of a host that counts, as [`Epoch::age_from_next`] tells them.
pub(super) const AGES: usize = LIFE as usize + 1;

/// The shortest ageing time. A shorter one could come round between two seconds.
const AGEING_MIN: Duration = Duration::from_secs(16);

/// What turns a moment into its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ageing {
    epoch_ns: u64,
}

impl Ageing {
    /// Hosts that were silent for `time` are forgotten; a little under an eighth of it sooner, at
    /// times.
    pub(super) fn after(time: Duration) -> Ageing {
        let time = time.max(AGEING_MIN) / u32::from(LIFE);
        Ageing { epoch_ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// The epoch that `now` falls into.
    #[inline]
    pub(super) fn epoch(self, now: Time) -> Epoch {
        Epoch((now.0 / self.epoch_ns) as u16 % NUMBERS)
    }

    /// Seconds that one pass of the sweep over a table may take: three epochs of the seven that
    /// there are.
    pub(super) fn pass_s(self) -> usize {
        (3 * self.epoch_ns / 1_000_000_000) as usize
    }

    /// How long the sweep may fail to come before nothing that is remembered can be trusted any
    /// more: what is left of the margin after a pass.
    pub(super) fn silence_max(self) -> Duration {
        Duration::from_nanos(self.epoch_ns.saturating_mul(3))
    }
}

/// The number of an epoch: four bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Epoch(u16);

impl Epoch {
    /// The number in the lower four bits of `bits`.
    #[inline]
    pub(super) fn from_bits(bits: u16) -> Epoch {
        Epoch(bits % NUMBERS)
    }

    /// The number in the lower four bits.
    #[inline]
    pub(super) fn bits(self) -> u16 {
        self.0
    }

    /// Whether a host last seen in `seen` still counts now.
    #[inline]
    pub(super) fn counts(self, seen: Epoch) -> bool {
        self.age_from_next(seen) <= LIFE
    }

    /// Epochs from `seen` to the one after this: 0 for one that a faster clock has already begun, 1
    /// for now.
    #[inline]
    pub(super) fn age_from_next(self, seen: Epoch) -> u16 {
        (self.0 + 1).wrapping_sub(seen.0) % NUMBERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGEING: Duration = Duration::from_secs(80);

    fn counts(seen_s: u64, now_s: u64) -> bool {
        let ageing = Ageing::after(AGEING);
        let epoch = |s: u64| ageing.epoch(Time(s * 1_000_000_000));
        epoch(now_s).counts(epoch(seen_s))
    }

    #[test]
    fn a_host_counts_for_the_ageing_time_and_no_longer() {
        for seen in 0..400 {
            assert!((seen..seen + 70).all(|now| counts(seen, now)), "{seen}");
            assert!((seen + 80..seen + 140).all(|now| !counts(seen, now)), "{seen}");
        }
    }

    #[test]
    fn a_clock_that_is_one_epoch_ahead_is_no_age() {
        assert!(counts(20, 19));
        let ageing = Ageing::after(AGEING);
        let (now, next) = (ageing.epoch(Time(0)), ageing.epoch(Time(10_000_000_000)));
        assert_eq!([next, now].map(|seen| now.age_from_next(seen)), [0, 1]);
    }

    #[test]
    fn a_pass_and_the_silence_before_it_fit_into_the_margin() {
        for time in [0, 16, 60, 300, 86_400] {
            let ageing = Ageing::after(Duration::from_secs(time));
            let epochs = 2.0 * ageing.pass_s().max(1) as f64 + 2.0;
            assert!(ageing.pass_s() >= 1 && epochs > 0.0);
            let pass = Duration::from_secs(ageing.pass_s() as u64) + ageing.silence_max();
            assert!(pass <= Duration::from_nanos(7 * ageing.epoch_ns), "{time}");
        }
    }
}
