//! Repetition: a step is measured in rounds, and the median of the rounds counts.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::clock::Clock;

/// Rounds, however little time there is: fewer have no quartiles.
const ROUNDS_MIN: usize = 5;

/// Rounds, however much time there is: more change nothing.
const ROUNDS_MAX: usize = 1001;

/// The least that is reported: what is shorter cannot be told from nothing.
const LEAST: f64 = 0.1;

/// A cost, in the unit of its field, as the rounds had it: a quarter of them at or below `low`, a quarter at or above
/// `high`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The lower quartile.
    pub low: f64,
    /// The upper quartile.
    pub high: f64,
}

impl Spread {
    /// Of what no round has alone.
    pub(super) fn alone(value: f64) -> Spread {
        let median = tenths(value);
        Spread { median, low: median, high: median }
    }

    /// Of rounds, one at least.
    pub(super) fn of(mut rounds: Vec<f64>) -> Spread {
        let median = median(&mut rounds);
        let quarter = rounds.len() / 4;
        let [median, low, high] =
            [median, rounds[quarter], rounds[rounds.len() - 1 - quarter]].map(tenths);
        Spread { median, low, high }
    }
}

/// How long each step may take, and when to stop.
pub(super) struct Pace<'a> {
    /// How long it is done before it counts; once, however short.
    pub(super) warm_up: Duration,
    /// How long it counts.
    pub(super) length: Duration,
    pub(super) stop: &'a AtomicBool,
    pub(super) clock: Clock,
}

impl Pace<'_> {
    /// Repeats `round`, which measures `N` costs, as long as there is time.
    ///
    /// # Errors
    /// Those of `round`; [`io::ErrorKind::Interrupted`] when it has to stop.
    pub(super) fn rounds<const N: usize>(
        &self,
        mut round: impl FnMut() -> io::Result<[f64; N]>,
    ) -> io::Result<[Spread; N]> {
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
        Ok(rounds.map(Spread::of))
    }
}

/// The median of `count` samples. A sample may be void, when the kernel was late with something; one in four has to be
/// good.
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
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn tenths(value: f64) -> f64 {
    ((value * 10.0).round() / 10.0).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(stop: &AtomicBool) -> Pace<'_> {
        Pace { warm_up: Duration::ZERO, length: Duration::ZERO, stop, clock: Clock::new() }
    }

    #[test]
    fn half_of_the_rounds_are_between_the_quartiles() {
        let spread = Spread::of((0..=100).rev().map(f64::from).collect());
        assert_eq!(spread, Spread { median: 50.0, low: 25.0, high: 75.0 });
        let one_odd = Spread::of(vec![7.0, 7.0, 9000.0, 7.04, 0.0]);
        assert_eq!(one_odd, Spread { median: 7.0, low: 7.0, high: 7.0 });
        assert_eq!(Spread::of(vec![0.0]).median, LEAST);
    }

    #[test]
    fn the_first_round_does_not_count() {
        let mut values = [1e9, 1.0, 2.0, 3.0, 4.0, 5.0].into_iter();
        let go_on = AtomicBool::new(false);
        let [spread] = pace(&go_on).rounds(|| Ok([values.next().unwrap()])).unwrap();
        assert_eq!(spread, Spread { median: 3.0, low: 2.0, high: 4.0 });
    }

    #[test]
    fn what_warms_up_does_not_count() {
        let go_on = AtomicBool::new(false);
        let pace = Pace { warm_up: Duration::from_millis(20), ..pace(&go_on) };
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
