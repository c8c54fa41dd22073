//! Repetition: a step is measured in rounds, and their median or mean counts ([`Middle`]).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::clock::CalibratedClock;

/// Rounds, however little time there is: fewer have no quartiles.
const ROUNDS_MIN: usize = 5;

/// Rounds, however much time there is: more change nothing.
const ROUNDS_MAX: usize = 1001;

/// The least that is reported: what is shorter cannot be told from nothing.
const LEAST: f64 = 0.1;

/// Which number stands for all rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Middle {
    /// The median, for steps at rest: what is much longer was disturbed.
    Median,
    /// The mean, for steps under load: cores that are fast and slow by turns, from one second to
    /// the next, are both in a run too. The median is either the one or the other.
    Mean,
}

/// A cost, in the unit of its field, as the rounds had it: a quarter of them at or below `low`, a
/// quarter at or above `high`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CostQuartiles {
    /// What stands for the rounds.
    pub value: f64,
    /// Which of their numbers that is.
    pub middle: Middle,
    /// The lower quartile.
    pub low: f64,
    /// The upper quartile.
    pub high: f64,
    /// How many rounds there were.
    pub rounds: usize,
}

impl CostQuartiles {
    /// Of what no round has alone.
    pub(crate) fn alone(value: f64) -> CostQuartiles {
        CostQuartiles::of(vec![value], Middle::Mean)
    }

    /// Of rounds, one at least.
    pub(super) fn of(mut rounds: Vec<f64>, middle: Middle) -> CostQuartiles {
        let median = median(&mut rounds);
        let value = match middle {
            Middle::Median => median,
            Middle::Mean => rounds.iter().sum::<f64>() / rounds.len() as f64,
        };
        let quarter = rounds.len() / 4;
        let [value, low, high] =
            [value, rounds[quarter], rounds[rounds.len() - 1 - quarter]].map(tenths);
        CostQuartiles { value, middle, low, high, rounds: rounds.len() }
    }

    /// How much more it is than another cost; the least that is reported where it is less.
    pub(super) fn beyond(self, other: CostQuartiles) -> CostQuartiles {
        let [value, low, high] =
            [self.value, self.low, self.high].map(|cost| tenths(cost - other.value));
        CostQuartiles { value, low, high, ..self }
    }

    /// Of sittings, one at least, with their quartiles. The mean is that of all their rounds: a
    /// slow sitting has fewer.
    pub(super) fn over(sittings: &[CostQuartiles]) -> CostQuartiles {
        let CostQuartiles { middle, .. } = sittings[0];
        let together = CostQuartiles::of(sittings.iter().map(|it| it.value).collect(), middle);
        let rounds: usize = sittings.iter().map(|it| it.rounds).sum();
        let value = match middle {
            Middle::Median => together.value,
            Middle::Mean => {
                let sum: f64 = sittings.iter().map(|it| it.value * it.rounds as f64).sum();
                tenths(sum / rounds as f64)
            }
        };
        CostQuartiles { value, rounds, ..together }
    }
}

/// How long each step may take, and when to stop.
pub(super) struct StepPace<'a> {
    /// How long it is done before it counts; once, however short.
    pub(super) warm_up: Duration,
    /// How long it counts.
    pub(super) length: Duration,
    pub(super) middle: Middle,
    pub(super) stop: &'a AtomicBool,
    pub(super) clock: CalibratedClock,
}

impl StepPace<'_> {
    /// Repeats `round`, which measures `N` costs, as long as there is time.
    ///
    /// # Errors
    /// Those of `round`; [`io::ErrorKind::Interrupted`] when it has to stop.
    pub(super) fn rounds<const N: usize>(
        &self,
        mut round: impl FnMut() -> io::Result<[f64; N]>,
    ) -> io::Result<[CostQuartiles; N]> {
        let mut rounds = [const { Vec::new() }; N];
        let mut round = || match self.stop.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => round(),
        };
        let begun = Instant::now();
        round()?;
        while begun.elapsed() < self.warm_up {
            round()?;
        }
        let begun = Instant::now();
        for count in 0..ROUNDS_MAX {
            if count >= ROUNDS_MIN && begun.elapsed() >= self.length {
                break;
            }
            for (list, value) in rounds.iter_mut().zip(round()?) {
                list.push(value);
            }
        }
        Ok(rounds.map(|rounds| CostQuartiles::of(rounds, self.middle)))
    }
}

/// The median of `count` samples. A sample may be void, when the kernel was late with something;
/// one in four has to be good.
///
/// # Errors
/// Those of `sample`; too many void ones.
pub(super) fn median_of(
    count: usize,
    mut sample: impl FnMut() -> io::Result<Option<f64>>,
) -> io::Result<f64> {
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count * 4 {
        samples.extend(sample()?);
        if samples.len() == count {
            return Ok(median(&mut samples));
        }
    }
    Err(busy())
}

/// Too much came late.
pub(super) fn busy() -> io::Error {
    io::Error::other("the machine is too busy with other things")
}

/// The median, the higher one of two; leaves `values`, which are not empty, in order.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn tenths(value: f64) -> f64 {
    ((value * 10.0).round() / 10.0).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(stop: &AtomicBool) -> StepPace<'_> {
        let [warm_up, length] = [Duration::ZERO; 2];
        StepPace { warm_up, length, middle: Middle::Median, stop, clock: CalibratedClock::new() }
    }

    #[test]
    fn half_of_the_rounds_are_between_the_quartiles() {
        let middle = Middle::Median;
        let spread = CostQuartiles::of((0..=100).rev().map(f64::from).collect(), middle);
        let expected = CostQuartiles { value: 50.0, middle, low: 25.0, high: 75.0, rounds: 101 };
        assert_eq!(spread, expected);
        let one_odd = CostQuartiles::of(vec![7.0, 7.0, 9000.0, 7.04, 0.0], middle);
        assert_eq!(one_odd, CostQuartiles { value: 7.0, middle, low: 7.0, high: 7.0, rounds: 5 });
        assert_eq!(CostQuartiles::of(vec![0.0], middle).value, LEAST);
    }

    /// Two thirds of the time fast and one third slow: as much of both as a run of that time has.
    #[test]
    fn the_mean_is_that_of_all_rounds_of_all_sittings() {
        let fast = CostQuartiles::of(vec![10.0; 200], Middle::Mean);
        let slow = CostQuartiles::of([10.0, 30.0].repeat(25), Middle::Mean);
        assert_eq!((slow.value, slow.low, slow.high), (20.0, 10.0, 30.0));
        let together = CostQuartiles::over(&[fast, slow, fast]);
        assert_eq!((together.value, together.rounds), (11.1, 450));
        let median = CostQuartiles { middle: Middle::Median, ..slow };
        assert_eq!(CostQuartiles::over(&[median]).value, 20.0);
    }

    #[test]
    fn what_is_beyond_another_cost_is_never_less_than_nothing() {
        let cost =
            |value, low, high| CostQuartiles { value, middle: Middle::Mean, low, high, rounds: 9 };
        assert_eq!(cost(9.0, 6.0, 11.0).beyond(cost(7.0, 5.0, 8.0)), cost(2.0, LEAST, 4.0));
    }

    #[test]
    fn the_first_round_does_not_count() {
        let mut values = [1e9, 1.0, 2.0, 3.0, 4.0, 5.0].into_iter();
        let go_on = AtomicBool::new(false);
        let [spread] = pace(&go_on).rounds(|| Ok([values.next().unwrap()])).unwrap();
        assert_eq!((spread.value, spread.low, spread.high), (3.0, 2.0, 4.0));
    }

    #[test]
    fn what_warms_up_does_not_count() {
        let go_on = AtomicBool::new(false);
        let pace = StepPace { warm_up: Duration::from_millis(20), ..pace(&go_on) };
        let begun = Instant::now();
        let [spread] = pace.rounds(|| Ok([begun.elapsed().as_secs_f64() * 1e3])).unwrap();
        assert!(spread.low >= 20.0, "{spread:?}");
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let stop = AtomicBool::new(false);
        let stopped = pace(&stop).rounds(|| {
            stop.store(true, Ordering::Relaxed);
            Ok([1.0])
        });
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn void_samples_are_repeated_within_bounds() {
        let mut at = 0;
        let every_other = median_of(3, || {
            at += 1;
            Ok((at % 2 == 0).then_some(f64::from(at)))
        });
        assert_eq!(every_other.unwrap(), 4.0);
        assert!(median_of(3, || Ok(None)).is_err());
    }
}
