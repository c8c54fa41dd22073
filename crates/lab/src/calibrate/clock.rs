//! Short times, without what taking them costs.

use std::hint::black_box;
use std::time::Instant;

/// How often the clock is read to learn what a reading costs.
const READINGS: usize = 1001;

/// A clock that knows what it costs to look at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CalibratedClock {
    own_ns: f64,
}

impl CalibratedClock {
    /// Learns what a look costs here.
    pub(super) fn new() -> CalibratedClock {
        let reading = |_| Instant::now().elapsed().as_nanos() as f64;
        let mut readings: Vec<f64> = (0..READINGS).map(reading).collect();
        CalibratedClock { own_ns: super::rounds::median(&mut readings) }
    }

    /// How long `act` took, in nanoseconds, and what came of it.
    #[inline]
    pub(super) fn time<R>(self, act: impl FnOnce() -> R) -> (f64, R) {
        let begun = Instant::now();
        let result = black_box(act());
        let spent = begun.elapsed().as_nanos() as f64;
        ((spent - self.own_ns).max(0.0), result)
    }
}
