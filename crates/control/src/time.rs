//! Time, as an argument: nanoseconds since the controller started.

use core::ops::{Add, Sub};
use core::time::Duration;

/// A moment, in nanoseconds since the controller started. The clock that made it is monotonic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u64);

impl Time {
    /// The start of the controller.
    pub const START: Time = Time(0);
    /// A moment that never comes.
    pub const NEVER: Time = Time(u64::MAX);

    /// How long after `earlier` this is; zero when it is not after it.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The first multiple of `step` that is no sooner than this; what is done at such moments is
    /// done together. The moment itself where there is none, as for a step of 0.
    pub fn rounded_up(self, step: Duration) -> Time {
        let step = u64::try_from(step.as_nanos()).unwrap_or(0);
        Time(self.0.checked_next_multiple_of(step).unwrap_or(self.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    #[inline]
    fn add(self, later: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    #[inline]
    fn sub(self, earlier: Duration) -> Time {
        Time(self.0.saturating_sub(u64::try_from(earlier.as_nanos()).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_multiples_and_never_sooner() {
        let step = Duration::from_nanos(250);
        let moments = [0, 1, 250, 251].map(|at| Time(at).rounded_up(step).0);
        assert_eq!(moments, [0, 250, 250, 500]);
        assert_eq!(Time::NEVER.rounded_up(step), Time::NEVER);
        assert_eq!(Time(7).rounded_up(Duration::ZERO), Time(7));
    }
}
