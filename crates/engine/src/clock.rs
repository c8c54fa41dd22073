//! The one clock: monotonic, counted from the start of the engine.

use std::time::Instant;

use aldis_control::Time;

/// Tells the time since it was made. Copies agree with each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that begins at [`Time::START`] now.
    pub(crate) fn start() -> Self {
        Clock { start: Instant::now() }
    }

    /// The time now.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time(self.start.elapsed().as_nanos() as u64)
    }
}
