//! How much is offered, by which switch and when: a total rate over time, and each switch's part of
//! it.

use super::Load;
use super::rng::SplitMix64;
use std::time::Duration;

/// Most steps of a run.
pub const STEPS_MAX: usize = 100;

/// The highest rate, in requests a second.
pub const RATE_MAX: f64 = 1e9;

/// The emulators of [`DemandSpread::NearUniform`], and how far from the mean one of them may be.
const EMULATORS: usize = 4;
const EMULATOR_BIAS: f64 = 0.1;

/// How fast requests are offered, in requests a second; at most what the mode allows.
#[derive(Clone, PartialEq, Debug)]
pub enum DemandRate {
    /// As fast as the mode allows.
    Unlimited,
    /// All switches together.
    Total(f64),
    /// Each switch, on average where they differ ([`DemandSpread`]).
    PerSwitch(f64),
    /// All switches together, one rate after another, 1 to [`STEPS_MAX`] of them: instead of loops,
    /// with the first rate for the warm-up.
    Steps(Vec<RateStep>),
}

/// One of the rates that follow each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateStep {
    /// Requests a second, all switches together.
    pub rate: f64,
    /// How long, a millisecond at least.
    pub length: Duration,
}

/// How a total rate is divided among the switches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DemandSpread {
    /// Each the same.
    Even,
    /// Four emulators side by side that are not quite equally fast (scenario 1 of Maestro's figure
    /// 6): within 10 % of the mean, each with every fourth switch.
    NearUniform,
    /// The switch of rank r in proportion to 1 ÷ r^s; which switch has which rank is left to
    /// chance. The exponent s is 0 to 10; 1 stands for the skewed scenarios of Maestro's figure 6,
    /// whose exact rates are only drawn.
    Zipf(f64),
}

/// The longest time that a switch that offers now and then may be on, or off.
pub const ON_OFF_MAX: Duration = Duration::from_secs(3600);

/// Offering now and then: every switch is on for a time and off for a time, round and round. Its
/// times are drawn once, evenly out of these, and so is where in its round it begins; over many
/// rounds it offers its part of the rate, all of it while it is on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnOff {
    /// How long it is on: from the least to the most; a millisecond to [`ON_OFF_MAX`].
    pub on: (Duration, Duration),
    /// How long it is off: from the least to the most; at most [`ON_OFF_MAX`].
    pub off: (Duration, Duration),
}

impl OnOff {
    /// The rounds of so many switches.
    pub(crate) fn cycles(&self, switches: u32, seed: u64) -> Vec<Cycle> {
        let mut rng = SplitMix64::new(seed ^ ON_OFF_SEED);
        let mut drawn = |(least, most): (Duration, Duration)| {
            least.as_secs_f64() + rng.unit() * (most.as_secs_f64() - least.as_secs_f64())
        };
        let mut cycle = |_| {
            let (on, off) = (drawn(self.on), drawn(self.off));
            let phase = drawn((Duration::ZERO, Duration::from_secs_f64(on + off)));
            Cycle { on, period: on + off, phase }
        };
        (0..switches).map(&mut cycle).collect()
    }
}

/// Beside the seed, so that which switch is on and which has what part of the rate are apart.
const ON_OFF_SEED: u64 = 0x6f6e_206f_6666;

/// The rounds of one switch, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cycle {
    on: f64,
    period: f64,
    /// Where in its round it begins.
    phase: f64,
}

impl Cycle {
    /// How many times its part of the rate it offers while it is on.
    pub(super) fn factor(&self) -> f64 {
        self.period / self.on
    }

    /// How long it has been on by then, and has then offered its part of the rate for, in seconds.
    fn served(&self, elapsed: f64) -> f64 {
        let on_until = |at: f64| {
            let rounds = (at / self.period).floor();
            rounds * self.on + (at - rounds * self.period).min(self.on)
        };
        (on_until(elapsed + self.phase) - on_until(self.phase)) * self.factor()
    }
}

impl DemandSpread {
    /// Each switch's part of the total; they add up to 1.
    pub fn parts(self, switches: u32, seed: u64) -> Vec<f64> {
        let (switches, mut rng) = (switches as usize, SplitMix64::new(seed));
        let mut parts = match self {
            DemandSpread::Even => vec![1.0; switches],
            DemandSpread::NearUniform => {
                let bias = |_| 1.0 + EMULATOR_BIAS * (2.0 * rng.unit() - 1.0);
                let speeds: [f64; EMULATORS] = std::array::from_fn(bias);
                (0..switches).map(|index| speeds[index % EMULATORS]).collect()
            }
            DemandSpread::Zipf(exponent) => {
                let part = |rank| f64::from(rank as u32).powf(-exponent);
                let mut parts: Vec<f64> = (1..=switches).map(part).collect();
                rng.shuffle(&mut parts);
                parts
            }
        };
        let sum: f64 = parts.iter().sum();
        parts.iter_mut().for_each(|part| *part /= sum);
        parts
    }
}

/// A piece of a run that is measured by itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct DemandLap {
    /// When it ends, behind the beginning of all offering.
    pub(super) end: Duration,
    /// The phase it belongs to; none in the warm-up.
    pub(super) phase: Option<usize>,
}

impl Load {
    /// The total rate of each phase that is measured, where there is one, and how long it lasts.
    pub(super) fn phases(&self) -> Vec<(Option<f64>, Duration)> {
        let rate = match &self.rate {
            DemandRate::Unlimited => None,
            DemandRate::Total(rate) => Some(*rate),
            DemandRate::PerSwitch(rate) => Some(rate * f64::from(self.switches)),
            DemandRate::Steps(steps) => {
                return steps.iter().map(|step| (Some(step.rate), step.length)).collect();
            }
        };
        // The loops as evenly among the slices as they go.
        let loops_until =
            |slice: u32| (u64::from(self.loops) * u64::from(slice) / u64::from(self.slices)) as u32;
        let loops = (0..self.slices).map(|slice| loops_until(slice + 1) - loops_until(slice));
        loops.map(|loops| (rate, self.loop_length * loops)).collect()
    }

    /// The loops of a run, in order: those of the warm-up, then each phase cut into loops, of which
    /// the last may be shorter, then those that are not counted any more.
    pub(super) fn laps(&self) -> Vec<DemandLap> {
        let warm_up = (1..=self.warm_up).map(|index| (self.loop_length * index, None));
        let mut laps: Vec<_> = warm_up.collect();
        let mut begin = self.warm_up_length();
        for (phase, (_, length)) in self.phases().into_iter().enumerate() {
            let whole = (1..).map(|index| self.loop_length * index);
            let ends = whole.take_while(|&end| end < length).chain([length]);
            laps.extend(ends.map(|end| (begin + end, Some(phase))));
            begin += length;
        }
        laps.extend((1..=self.cool_down).map(|index| (begin + self.loop_length * index, None)));
        laps.into_iter().map(|(end, phase)| DemandLap { end, phase }).collect()
    }

    /// How long the warm-up lasts.
    pub(super) fn warm_up_length(&self) -> Duration {
        self.loop_length * self.warm_up
    }

    /// How long is measured.
    pub fn measured_length(&self) -> Duration {
        self.phases().into_iter().map(|(_, length)| length).sum()
    }

    /// How many requests are due when, if there is a rate.
    pub(super) fn volume(&self) -> Option<Volume> {
        let mut steps = Vec::new();
        for (index, (rate, length)) in self.phases().into_iter().enumerate() {
            let length = if index == 0 { self.warm_up_length() + length } else { length };
            steps.push(RateStep { rate: rate?, length });
        }
        Some(Volume::of(&steps))
    }
}

/// The requests that are due at a time, all switches together: the area under the rate.
#[derive(Clone, Debug)]
pub(crate) struct Volume(Vec<VolumePiece>);

#[derive(Clone, Copy, Debug)]
struct VolumePiece {
    /// Seconds since offering began, and the requests due by then.
    begin: f64,
    due: f64,
    rate: f64,
}

impl Volume {
    /// One rate after another, the last of them for ever.
    pub(crate) fn of(steps: &[RateStep]) -> Volume {
        let mut pieces = Vec::new();
        let (mut begin, mut due) = (0.0, 0.0);
        for &RateStep { rate, length } in steps {
            pieces.push(VolumePiece { begin, due, rate });
            begin += length.as_secs_f64();
            due += rate * length.as_secs_f64();
        }
        Volume(pieces)
    }

    /// One rate for ever.
    pub(super) fn steady(rate: f64) -> Volume {
        Volume(vec![VolumePiece { begin: 0.0, due: 0.0, rate }])
    }

    /// How many have become due in the time since offering began.
    pub(super) fn due_after(&self, elapsed: Duration) -> f64 {
        let elapsed = elapsed.as_secs_f64();
        let current = self.0.iter().rev().find(|piece| piece.begin <= elapsed);
        current.map_or(0.0, |piece| piece.due + (elapsed - piece.begin) * piece.rate)
    }

    /// The same for one that is on only now and then.
    pub(super) fn due_in(&self, cycle: &Cycle, elapsed: Duration) -> f64 {
        let elapsed = elapsed.as_secs_f64();
        let ends = self.0.iter().skip(1).map(|piece| piece.begin).chain([f64::INFINITY]);
        let served = |(piece, end): (&VolumePiece, f64)| {
            let (begin, end) = (piece.begin.min(elapsed), end.min(elapsed));
            piece.rate * (cycle.served(end) - cycle.served(begin))
        };
        self.0.iter().zip(ends).map(served).sum()
    }

    /// The highest rate there is.
    pub(super) fn rate_max(&self) -> f64 {
        self.0.iter().map(|piece| piece.rate).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn load() -> Load {
        Load::new("127.0.0.1:1".parse().unwrap())
    }

    #[test]
    fn zipf_is_one_over_the_rank_in_an_order_of_chance() {
        let parts = DemandSpread::Zipf(1.0).parts(79, 1);
        assert_ne!(parts, DemandSpread::Zipf(1.0).parts(79, 2), "another seed, another order");
        let mut sorted = parts;
        sorted.sort_by(|a, b| b.total_cmp(a));
        for (rank, part) in (1..).zip(&sorted) {
            assert!((part * f64::from(rank) - sorted[0]).abs() < 1e-12, "{rank}");
        }
    }

    #[test]
    fn nearly_uniform_is_four_emulators_and_within_a_fifth() {
        let parts = DemandSpread::NearUniform.parts(79, 3);
        assert_eq!(parts[0], parts[4]);
        assert_ne!(parts[0], parts[1]);
        assert!(parts.iter().all(|part| (0.8..1.25).contains(&(part * 79.0))), "{parts:?}");
    }

    proptest! {
        /// The parts are all of it, whatever the spread.
        #[test]
        fn parts_add_up(switches in 1u32..2000, exponent in 0.0..10.0, seed: u64) {
            for spread in [DemandSpread::Even, DemandSpread::NearUniform, DemandSpread::Zipf(exponent)] {
                let parts = spread.parts(switches, seed);
                prop_assert_eq!(parts.len(), switches as usize);
                prop_assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                prop_assert!(parts.iter().all(|&part| part > 0.0));
            }
        }
    }

    proptest! {
        /// Over whole rounds a switch that is on now and then offers what another does; nothing
        /// while it is off, at no time less than before.
        #[test]
        fn on_and_off_is_the_rate_on_average(on in 1u64..2000, off in 0u64..2000, rounds in 1u32..20, seed: u64) {
            let ms = Duration::from_millis;
            let on_off = OnOff { on: (ms(on), ms(on)), off: (ms(off), ms(off)) };
            let cycle = on_off.cycles(1, seed)[0];
            let volume = Volume::steady(100.0);
            let whole = ms(on + off) * rounds;
            prop_assert!((volume.due_in(&cycle, whole) - volume.due_after(whole)).abs() < 1e-6);
            let due: Vec<f64> = (0..100).map(|step| volume.due_in(&cycle, whole * step / 100)).collect();
            prop_assert!(due.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9));
            let most = 100.0 * cycle.factor() * whole.as_secs_f64() / 100.0;
            prop_assert!(due.windows(2).all(|pair| pair[1] - pair[0] <= most + 1e-6));
        }

        /// Always on is no cycle at all, also where the rate changes.
        #[test]
        fn always_on_is_the_rate(at in 0u64..9000, seed: u64) {
            let ms = Duration::from_millis;
            let step = |rate, length| RateStep { rate, length: ms(length) };
            let steps = vec![step(1000.0, 2500), step(10.0, 500), step(70.0, 4000)];
            let volume = Load { rate: DemandRate::Steps(steps), ..load() }.volume().unwrap();
            let always = OnOff { on: (ms(10), ms(900)), off: (ms(0), ms(0)) }.cycles(1, seed)[0];
            prop_assert!((volume.due_in(&always, ms(at)) - volume.due_after(ms(at))).abs() < 1e-6);
        }
    }

    #[test]
    fn phases_of_on_and_off_follow_from_the_seed() {
        let second = Duration::from_secs(1);
        let on_off = OnOff { on: (second, 2 * second), off: (second, 3 * second) };
        let cycles = on_off.cycles(50, 7);
        assert_eq!(cycles, on_off.cycles(50, 7));
        assert_ne!(cycles, on_off.cycles(50, 8));
        assert!(cycles.iter().all(|cycle| (1.0..=2.0).contains(&cycle.on)));
        assert!(cycles.iter().all(|cycle| (0.0..cycle.period).contains(&cycle.phase)));
        assert!(cycles.iter().any(|cycle| cycle.phase > cycle.on), "somebody begins off");
    }

    #[test]
    fn slices_are_phases_and_what_cools_down_is_none() {
        let load = Load { warm_up: 1, loops: 7, slices: 3, cool_down: 2, ..load() };
        let phases: Vec<_> = load.laps().iter().map(|lap| lap.phase).collect();
        let slice = |index| Some(index);
        let expected = [None, slice(0), slice(0), slice(1), slice(1), slice(2), slice(2), slice(2)];
        assert_eq!(phases, [&expected[..], &[None, None]].concat());
        assert_eq!(load.measured_length(), Duration::from_secs(7));
    }

    #[test]
    fn what_is_due_follows_the_steps_and_the_warm_up_the_first() {
        let step = |rate, ms| RateStep { rate, length: Duration::from_millis(ms) };
        let load = Load {
            rate: DemandRate::Steps(vec![step(1000.0, 2500), step(10.0, 500)]),
            warm_up: 2,
            ..load()
        };
        let ms = Duration::from_millis;
        let volume = load.volume().unwrap();
        let due = [0, 2000, 4500, 5000, 7000].map(|at| volume.due_after(ms(at)));
        assert_eq!(due, [0.0, 2000.0, 4500.0, 4505.0, 4525.0]);
        assert_eq!(volume.rate_max(), 1000.0);
        let laps: Vec<_> = load.laps().into_iter().map(|lap| (lap.end, lap.phase)).collect();
        let phase = [None, None, Some(0), Some(0), Some(0), Some(1)];
        assert_eq!(
            laps,
            [1000, 2000, 3000, 4000, 4500, 5000].map(ms).into_iter().zip(phase).collect::<Vec<_>>()
        );
        assert_eq!(load.measured_length(), ms(3000));
    }

    #[test]
    fn without_steps_there_are_the_loops() {
        let load = Load { warm_up: 1, loops: 3, ..load() };
        assert!(load.volume().is_none());
        let phases: Vec<_> = load.laps().iter().map(|lap| lap.phase).collect();
        assert_eq!(phases, [None, Some(0), Some(0), Some(0)]);
    }
}
