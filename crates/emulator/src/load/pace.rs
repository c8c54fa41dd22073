//! When a thread's switches may offer their next requests, or the hosts of a network their next
//! packets.

use super::Load;
use super::demand::{Cycle, DemandSpread, OnOff, Volume};
use super::rng::SplitMix64;
use super::roles::{Crew, SwitchRole};
use std::time::Duration;

/// How often requests that have become due are sent, where there are many.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// How many switches have a turn in a tick, or a tick's part of all where that is more. A turn
/// costs a write, and its answers a read, however few they are: all of a thousand switches in each
/// tick would leave no time for anything else.
const TURNS_IN_TICK: usize = 50;
const TICKS_IN_ROUND: usize = 50;

/// For how long what could not be sent is made up for, in seconds: a hiccup of the generator's, and
/// no backlog that would reach into the next step.
const BURST_S: f64 = 0.1;

/// Beside the seed, so that the phases of probes and the parts of the load are apart.
const PROBE_SEED: u64 = 0x0070_726f_6265;

/// The rates of a thread's switches.
pub(crate) struct Pace {
    volume: Volume,
    turns: Vec<Turn>,
    /// The place of the switch whose turn is next.
    next: usize,
    /// Whether each request is sent when it is due and not at the next tick.
    exact: bool,
}

/// When a switch's turn comes.
#[derive(Clone, Copy)]
struct Turn {
    /// Its part of the volume; 0 for one without a rate.
    part: f64,
    /// Its rounds, where it offers now and then.
    cycle: Option<Cycle>,
    /// How much of a request it is ahead: 0 to 1.
    ahead: f64,
    /// The most it may make up for.
    burst: u64,
}

/// How many of so many switches have a turn in a tick.
fn turns_in_tick(switches: usize) -> usize {
    TURNS_IN_TICK.max(switches.div_ceil(TICKS_IN_ROUND)).min(switches)
}

/// When the switch at a place, from 0 on, of so many that one thread plays has its turns, if they
/// have rates: how long after the beginning its first, and how far apart they are, about. What has
/// become due is sent then.
pub fn turns_of(place: u32, switches: u32) -> [Duration; 2] {
    let in_tick = turns_in_tick(switches as usize).max(1) as u32;
    [place / in_tick, switches.div_ceil(in_tick).max(1)].map(|ticks| TICK * ticks)
}

impl Turn {
    fn new(volume: &Volume, part: f64, cycle: Option<Cycle>, ahead: f64) -> Turn {
        let rate_max = volume.rate_max() * part * cycle.as_ref().map_or(1.0, Cycle::factor);
        Turn { part, cycle, ahead, burst: (rate_max * BURST_S).ceil() as u64 }
    }
}

impl Pace {
    /// Of the switches that have the `numbers`, where any of them has a rate.
    pub(super) fn new(load: &Load, crew: Crew, numbers: &[u32]) -> Option<Pace> {
        match crew {
            Crew::Load => Pace::of_load(load, numbers),
            Crew::Probes => Some(Pace::of_probes(load, numbers)),
            Crew::SlowReaders => None,
        }
    }

    /// The switches are due one after another.
    fn of_load(load: &Load, numbers: &[u32]) -> Option<Pace> {
        let volume = load.volume()?;
        let parts = load.spread.parts(load.switches, load.seed);
        let cycles = load.on_off.map(|on_off| on_off.cycles(load.switches, load.seed));
        let turn = |&number: &u32| {
            let cycle = cycles.as_ref().and_then(|cycles| cycles.get(number as usize - 1));
            let part = match load.role(number) {
                SwitchRole::Normal => parts[number as usize - 1],
                _ => 0.0,
            };
            let ahead = f64::from(number - 1) / f64::from(load.switches_that_count());
            Turn::new(&volume, part, cycle.copied(), ahead)
        };
        let turns = numbers.iter().map(turn).collect();
        Some(Pace { volume, turns, next: 0, exact: false })
    }

    /// Of so many senders, of which each has its part of the volume.
    pub(crate) fn shared(
        volume: Volume,
        (spread, on_off): (DemandSpread, Option<OnOff>),
        senders: u32,
        seed: u64,
    ) -> Pace {
        let cycles = on_off.map(|on_off| on_off.cycles(senders, seed));
        let turn = |(index, part): (usize, f64)| {
            let cycle = cycles.as_ref().map(|cycles| cycles[index]);
            Turn::new(&volume, part, cycle, index as f64 / f64::from(senders))
        };
        let turns = spread.parts(senders, seed).into_iter().enumerate().map(turn).collect();
        Pace { volume, turns, next: 0, exact: false }
    }

    /// Each is due at a time of chance, so that none is in step with anything.
    fn of_probes(load: &Load, numbers: &[u32]) -> Pace {
        let mut rng = SplitMix64::new(load.seed ^ PROBE_SEED);
        let turn = |_: &u32| Turn { part: 1.0, cycle: None, ahead: rng.unit(), burst: u64::MAX };
        let turns = numbers.iter().map(turn).collect();
        Pace { volume: Volume::steady(load.probe_rate), turns, next: 0, exact: true }
    }

    /// The switches that have a turn now, so long after offering began; those of all turns go
    /// round. For each, its place in their order, how many requests are due in all, and how many of
    /// them it may have left over.
    pub(crate) fn turns(&mut self, elapsed: Duration) -> impl Iterator<Item = (usize, u64, u64)> {
        let len = self.turns.len();
        let count = match self.exact {
            true => len,
            false => turns_in_tick(len),
        };
        let (due_after, first, turns) = (self.volume.due_after(elapsed), self.next, &self.turns);
        let volume = &self.volume;
        self.next = (first + count) % len.max(1);
        (first..first + count).map(move |place| {
            let turn = turns[place % len];
            let due = turn.cycle.map_or(due_after, |cycle| volume.due_in(&cycle, elapsed));
            (place % len, (due * turn.part + turn.ahead) as u64, turn.burst)
        })
    }

    /// How many requests each may make up for, those of all turns in order.
    pub(super) fn bursts(&self) -> impl Iterator<Item = u64> {
        self.turns.iter().map(|turn| turn.burst)
    }

    /// How long to wait until more is due.
    pub(super) fn wait(&self, elapsed: Duration) -> Duration {
        if !self.exact {
            return TICK;
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
    use crate::load::DemandRate;

    fn load() -> Load {
        Load {
            switches: 4,
            storms: 1,
            probes: 100,
            rate: DemandRate::Total(1000.0),
            ..Load::new("127.0.0.1:1".parse().unwrap())
        }
    }

    #[test]
    fn a_storm_has_no_turn_and_the_others_come_one_after_another() {
        let mut pace = Pace::new(&load(), Crew::Load, &[1, 2, 3, 4, 5]).unwrap();
        assert!(pace.turns(Duration::ZERO).take(4).all(|(.., burst)| burst == 25));
        let mut due =
            |ms| pace.turns(Duration::from_millis(ms)).map(|(_, due, _)| due).collect::<Vec<_>>();
        assert_eq!(due(0), [0, 0, 0, 0, 0]);
        assert_eq!(due(2), [0, 0, 0, 1, 0]);
        assert_eq!(due(1000), [250, 250, 250, 250, 0]);
    }

    #[test]
    fn every_switch_of_many_has_its_turn_in_fifty_ticks() {
        for len in [1, 50, 51, 1347, 10_000] {
            let mut pace = Pace::new(&load(), Crew::Load, &vec![1; len]).unwrap();
            let mut served = vec![false; len];
            for _ in 0..TICKS_IN_ROUND {
                pace.turns(Duration::ZERO).for_each(|(place, ..)| served[place] = true);
            }
            assert!(served.into_iter().all(|served| served), "{len}");
        }
    }

    #[test]
    fn who_has_a_turn_in_which_tick_is_known_beforehand() {
        for switches in [1, 50, 79, 1347, 10_000] {
            let [_, every] = turns_of(0, switches);
            let mut pace = Pace::new(&load(), Crew::Load, &vec![1; switches as usize]).unwrap();
            for tick in 0..(every.as_nanos() / TICK.as_nanos()) as u32 {
                let (place, ..) = pace.turns(Duration::ZERO).next().unwrap();
                assert_eq!(turns_of(place as u32, switches), [TICK * tick, every], "{switches}");
            }
        }
    }

    #[test]
    fn probes_are_due_at_times_of_chance_and_never_missed() {
        let load = load();
        let numbers: Vec<u32> = (6..106).collect();
        let mut pace = Pace::new(&load, Crew::Probes, &numbers).unwrap();
        let sent = |pace: &mut Pace, at| pace.turns(at).map(|(_, due, _)| due).sum::<u64>();
        let mut now = Duration::ZERO;
        let mut times = 0;
        while now < Duration::from_secs(2) {
            let before = sent(&mut pace, now);
            // A nanosecond more than it says: what is due exactly now may be so by rounding only.
            now += pace.wait(now) + Duration::from_nanos(1);
            assert!(sent(&mut pace, now) > before, "nothing was due after the wait");
            times += 1;
        }
        assert!(
            (995..=1005).contains(&sent(&mut pace, now)),
            "100 × 5 a second, each up to one ahead"
        );
        assert!(times > 500, "they are not in step: {times}");
        assert!(Pace::new(&load, Crew::SlowReaders, &[106]).is_none());
    }
}
