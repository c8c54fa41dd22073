//! Trial: a guest that closed soon after it was connected is tried at one switch, after a pause,
//! before the others are presented to it again.
//!
//! Each connection costs the other applications something: requests are copied to it, or wait for
//! it, until it turns out to be over. With a thousand switches that would be a thousand times.

use std::time::{Duration, Instant};

use aldis_wire::DatapathId;

use crate::limits::{RETRY_FIRST, RETRY_MAX, SERVED_WELL, TRIED_FOR};

/// Whether the switches of a guest may be presented to it, and which.
#[derive(Debug)]
pub(crate) struct Trial {
    /// It closed soon after it was connected, and was not tried well since.
    is_on: bool,
    /// The switch that it is tried at.
    at: Option<DatapathId>,
    /// No switch is presented before.
    until: Instant,
    /// The next pause.
    pause: Duration,
}

impl Trial {
    /// None: all switches may be presented.
    pub(crate) fn none(now: Instant) -> Trial {
        Trial { is_on: false, at: None, until: now, pause: RETRY_FIRST }
    }

    /// A connection of the guest ended that was open for so long, if it was.
    pub(crate) fn ended(&mut self, dpid: DatapathId, open_for: Option<Duration>, now: Instant) {
        if self.at == Some(dpid) {
            self.at = None;
        }
        // Others end with the first: one pause for all.
        if open_for.is_some_and(|time| time < SERVED_WELL) && now >= self.until {
            self.is_on = true;
            self.until = now + self.pause;
            self.pause = (self.pause * 2).min(RETRY_MAX);
        }
    }

    /// Whether this switch may be presented now. Where the guest is on trial, it is the one.
    pub(crate) fn allows(&mut self, dpid: DatapathId, now: Instant) -> bool {
        if !self.is_on {
            return true;
        }
        let allows = now >= self.until && self.at.is_none_or(|at| at == dpid);
        if allows {
            self.at = Some(dpid);
        }
        allows
    }

    /// Looks how long the guest has served the switch that it is tried at, as `open_for` says; the
    /// trial is over when that is long enough.
    pub(crate) fn look(&mut self, open_for: impl Fn(DatapathId) -> Option<Duration>, now: Instant) {
        let Some(at) = self.at.filter(|_| self.is_on) else { return };
        if open_for(at).is_some_and(|time| time >= TRIED_FOR) {
            *self = Trial::none(now);
        }
    }

    /// The switch that it is tried at is not there any more.
    pub(crate) fn left(&mut self, dpid: DatapathId) {
        if self.at == Some(dpid) {
            self.at = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: DatapathId = DatapathId(1);
    const TWO: DatapathId = DatapathId(2);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_guest_that_closes_again_and_again_is_tried_at_one_switch_ever_later() {
        let mut now = Instant::now();
        let mut trial = Trial::none(now);
        assert!(trial.allows(ONE, now) && trial.allows(TWO, now));
        let mut pause = RETRY_FIRST;
        for _ in 0..9 {
            trial.ended(ONE, Some(ms(1)), now);
            trial.ended(TWO, Some(ms(2)), now);
            assert!(!trial.allows(TWO, now + pause - ms(1)));
            now += pause;
            assert!(trial.allows(TWO, now) && !trial.allows(ONE, now));
            trial.ended(TWO, None, now);
            assert!(trial.allows(ONE, now) && !trial.allows(TWO, now));
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    #[test]
    fn it_is_over_when_the_guest_serves() {
        let now = Instant::now();
        let mut trial = Trial::none(now);
        trial.ended(ONE, Some(ms(1)), now);
        let later = now + RETRY_FIRST;
        assert!(trial.allows(ONE, later) && !trial.allows(TWO, later));
        trial.look(|_| Some(TRIED_FOR - ms(1)), later);
        assert!(!trial.allows(TWO, later));
        trial.look(|_| Some(TRIED_FOR), later);
        assert!(trial.allows(TWO, later));
    }

    #[test]
    fn one_that_served_well_is_connected_at_every_switch_again() {
        let now = Instant::now();
        let mut trial = Trial::none(now);
        trial.ended(ONE, Some(SERVED_WELL), now);
        trial.ended(TWO, None, now);
        assert!(trial.allows(ONE, now) && trial.allows(TWO, now));
    }

    #[test]
    fn the_switch_that_it_is_tried_at_may_leave() {
        let now = Instant::now();
        let mut trial = Trial::none(now);
        trial.ended(ONE, Some(ms(1)), now);
        let later = now + RETRY_FIRST;
        assert!(trial.allows(ONE, later));
        trial.left(ONE);
        assert!(trial.allows(TWO, later));
    }
}
