//! What the peer did wrong, counted, so that a flood of it has an end.

use crate::limits::FAULTS_MAX;
use crate::time::Time;

/// Bad messages not yet forgiven. One is forgiven each second.
///
/// Each bad message is answered by one error, so this also bounds the errors that we send: about
/// one a second, however the peer answers them.
#[derive(Debug)]
pub(super) struct Faults {
    level: u32,
    forgiven: Time,
}

impl Faults {
    pub(super) fn new(now: Time) -> Self {
        Faults { level: 0, forgiven: now }
    }

    /// One more. Whether that is too many.
    pub(super) fn add(&mut self, now: Time) -> bool {
        let seconds = now.since(self.forgiven).as_secs();
        self.level = self.level.saturating_sub(u32::try_from(seconds).unwrap_or(u32::MAX)) + 1;
        self.forgiven = self.forgiven + core::time::Duration::from_secs(seconds);
        self.level > FAULTS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn a_burst_is_too_many_and_a_trickle_never() {
        let mut faults = Faults::new(Time::START);
        assert_eq!((0..=FAULTS_MAX).position(|_| faults.add(Time::START)), Some(100));
        let mut faults = Faults::new(Time::START);
        let mut now = Time::START;
        for _ in 0..10 * FAULTS_MAX {
            now = now + Duration::from_millis(1001);
            assert!(!faults.add(now));
        }
    }
}
