//! What a worker may spend on commands from outside: an eighth of its time, so that switches never
//! wait for people.

use std::time::Duration;

use aldis_control::Time;

use crate::limits::{COMMANDS_SHARE, COMMANDS_SPARED};

/// Time that may be spent, in nanoseconds. The last command may overdraw it, and then the next one
/// waits the longer.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: i64,
    since: Time,
}

impl Allowance {
    pub(crate) fn new() -> Self {
        Allowance { left: 0, since: Time::START }
    }

    /// Time passed, until `now`.
    pub(crate) fn earn(&mut self, now: Time) {
        let earned = now.since(self.since) / COMMANDS_SHARE;
        let spared = nanos(COMMANDS_SPARED);
        self.left = self.left.saturating_add(nanos(earned)).min(spared);
        self.since = now;
    }

    /// Whether another command may be taken in hand.
    pub(crate) fn is_left(&self) -> bool {
        self.left > 0
    }

    /// A command took so long.
    pub(crate) fn spend(&mut self, took: Duration) {
        self.left = self.left.saturating_sub(nanos(took));
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However long a command takes, in the long run all of them take an eighth, and one more.
    #[test]
    fn an_eighth_of_the_time_is_spent_and_no_more() {
        for took_us in [1, 7, 40, 900] {
            let took = Duration::from_micros(took_us);
            let mut allowance = Allowance::new();
            let (mut now, mut spent) = (Time::START, Duration::ZERO);
            while now.since(Time::START) < Duration::from_secs(1) {
                now = now + Duration::from_micros(40);
                allowance.earn(now);
                while allowance.is_left() {
                    allowance.spend(took);
                    now = now + took;
                    spent += took;
                }
            }
            let share = spent.as_secs_f64() / now.since(Time::START).as_secs_f64();
            assert!((0.11..0.126).contains(&share), "{took_us} us: {share}");
        }
    }

    #[test]
    fn an_idle_hour_does_not_save_up_a_busy_one() {
        let mut allowance = Allowance::new();
        allowance.earn(Time::START + Duration::from_secs(3600));
        let mut taken = 0;
        while allowance.is_left() {
            allowance.spend(Duration::from_micros(10));
            taken += 1;
        }
        assert_eq!(taken, COMMANDS_SPARED.as_micros() / 10);
    }
}
