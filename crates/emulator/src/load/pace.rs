//! When a thread's switches may offer their next requests.

use super::Load;
use super::cast::{Crew, Role};
use super::demand::Volume;
use super::dice::Dice;
use std::time::Duration;

/// How often requests that have become due are sent, where there are many: so often at most, and no more often than leaves
/// so much time for each switch, whose turn costs a write.
const TICK: Duration = Duration::from_millis(1);
const TICK_PER_SWITCH: Duration = Duration::from_micros(5);

/// For how long what could not be sent is made up for, in seconds: a hiccup of the generator's, and no backlog that would
/// reach into the next step.
const BURST_S: f64 = 0.1;

/// Beside the seed, so that the phases of probes and the parts of the load are apart.
const PROBE_SEED: u64 = 0x0070_726f_6265;

/// The rates of a thread's switches.
pub(super) struct Pace {
    volume: Volume,
    turns: Vec<Turn>,
    /// Whether each request is sent when it is due and not at the next tick.
    exact: bool,
}

/// When a switch's turn comes.
#[derive(Clone, Copy)]
struct Turn {
    /// Its part of the volume; 0 for one without a rate.
    part: f64,
    /// How much of a request it is ahead: 0 to 1.
    ahead: f64,
    /// The most it may make up for.
    burst: u64,
}

impl Pace {
    /// Of the switches that have the `numbers`, where any of them has a rate.
    pub(super) fn new(load: &Load, crew: Crew, numbers: &[u32]) -> Option<Pace> {
        match crew {
            Crew::Load => Pace::of_load(load, numbers),
            Crew::Probes => Some(Pace::of_probes(load, numbers)),
            Crew::Stragglers => None,
        }
    }

    /// The switches are due one after another.
    fn of_load(load: &Load, numbers: &[u32]) -> Option<Pace> {
        let volume = load.volume()?;
        let parts = load.spread.parts(load.switches, load.seed);
        let turn = |&number: &u32| {
            let part = match load.role(number) {
                Role::Normal => parts[number as usize - 1],
                _ => 0.0,
            };
            let ahead = f64::from(number - 1) / f64::from(load.switches_that_count());
            let burst = (volume.rate_max() * part * BURST_S).ceil() as u64;
            Turn { part, ahead, burst }
        };
        let turns = numbers.iter().map(turn).collect();
        Some(Pace { volume, turns, exact: false })
    }

    /// Each is due at a time of chance, so that none is in step with anything.
    fn of_probes(load: &Load, numbers: &[u32]) -> Pace {
        let mut dice = Dice::new(load.seed ^ PROBE_SEED);
        let turn = |_: &u32| Turn { part: 1.0, ahead: dice.unit(), burst: u64::MAX };
        let turns = numbers.iter().map(turn).collect();
        Pace { volume: Volume::steady(load.probe_rate), turns, exact: true }
    }

    /// For each switch, in their order: how many requests are due in all, so long after offering began; and how many of
    /// them it may have left over.
    pub(super) fn due(&self, elapsed: Duration) -> impl Iterator<Item = (u64, u64)> {
        let volume = self.volume.due_after(elapsed);
        self.turns.iter().map(move |turn| ((volume * turn.part + turn.ahead) as u64, turn.burst))
    }

    /// How long to wait until more is due.
    pub(super) fn wait(&self, elapsed: Duration) -> Duration {
        if !self.exact {
            return TICK.max(TICK_PER_SWITCH * self.turns.len() as u32);
        }
        let volume = self.volume.due_after(elapsed);
        let missing = |turn: &Turn| 1.0 - (volume * turn.part + turn.ahead).fract();
        let missing = self.turns.iter().map(missing).fold(1.0, f64::min);
        Duration::from_secs_f64(missing / self.volume.rate_max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Rate;

    fn load() -> Load {
        Load {
            switches: 4,
            storms: 1,
            probes: 100,
            rate: Rate::Total(1000.0),
            ..Load::new("127.0.0.1:1".parse().unwrap())
        }
    }

    #[test]
    fn a_storm_has_no_turn_and_the_others_come_one_after_another() {
        let pace = Pace::new(&load(), Crew::Load, &[1, 2, 3, 4, 5]).unwrap();
        let due = |ms| pace.due(Duration::from_millis(ms)).map(|(due, _)| due).collect::<Vec<_>>();
        assert_eq!(due(0), [0, 0, 0, 0, 0]);
        assert_eq!(due(2), [0, 0, 0, 1, 0]);
        assert_eq!(due(1000), [250, 250, 250, 250, 0]);
        assert!(pace.due(Duration::ZERO).take(4).all(|(_, burst)| burst == 25));
        assert_eq!(pace.wait(Duration::ZERO), TICK);
        let many = Pace::new(&load(), Crew::Load, &[1; 1347]).unwrap();
        assert_eq!(many.wait(Duration::ZERO), Duration::from_micros(6735));
    }

    #[test]
    fn probes_are_due_at_times_of_chance_and_never_missed() {
        let load = load();
        let numbers: Vec<u32> = (6..106).collect();
        let pace = Pace::new(&load, Crew::Probes, &numbers).unwrap();
        let sent = |at| pace.due(at).map(|(due, _)| due).sum::<u64>();
        let mut now = Duration::ZERO;
        let mut times = 0;
        while now < Duration::from_secs(2) {
            let before = sent(now);
            // A nanosecond more than it says: what is due exactly now may be so by rounding only.
            now += pace.wait(now) + Duration::from_nanos(1);
            assert!(sent(now) > before, "nothing was due after the wait");
            times += 1;
        }
        assert!((995..=1005).contains(&sent(now)), "100 × 5 a second, each up to one ahead");
        assert!(times > 500, "they are not in step: {times}");
        assert!(Pace::new(&load, Crew::Stragglers, &[106]).is_none());
    }
}
