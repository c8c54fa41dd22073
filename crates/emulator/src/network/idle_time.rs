//! How much of the time in which something is asked the network's own thread is idle: where that is
//! little, what was measured is this process, and not the controller.

use crate::load::{CpuTime, Spent};
use std::time::Duration;

/// Less time than this tells nothing.
const SPENT_MIN: Duration = Duration::from_millis(100);

/// The time in which something was asked.
#[derive(Default)]
pub(super) struct IdleTime {
    /// Since when something is.
    since: Option<CpuTime>,
    spent: Spent,
}

impl IdleTime {
    /// Whether something is asked from now on.
    pub(super) fn note(&mut self, is_asked: bool) {
        match self.since {
            None if is_asked => self.since = Some(CpuTime::now()),
            Some(since) if !is_asked => {
                self.spent += since.spent();
                self.since = None;
            }
            None | Some(_) => {}
        }
    }

    /// The share of that time, 0 to 1, in which this thread had nothing to do; `None` where it was
    /// too short to tell.
    pub(super) fn idle(&mut self) -> Option<f64> {
        self.note(false);
        (self.spent.elapsed >= SPENT_MIN).then(|| self.spent.idle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn only_the_time_in_which_something_is_asked_counts() {
        let mut idle_time = IdleTime::default();
        assert_eq!(idle_time.idle(), None);
        let begun = Instant::now();
        while begun.elapsed() < SPENT_MIN {}
        assert_eq!(idle_time.idle(), None, "nothing was asked meanwhile");
        idle_time.note(true);
        let begun = Instant::now();
        while begun.elapsed() < 2 * SPENT_MIN {}
        // What another process had of the processor it waited for, unless a virtual machine's host
        // had it.
        assert!(idle_time.idle().is_some_and(|idle| idle < 0.9));
    }
}
