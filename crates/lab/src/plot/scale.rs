//! From values to places on an axis, and where its marks stand.

use super::unit::NumberStyle;

/// How many decades of a logarithmic axis are drawn: those below the greatest value.
const DECADES_MAX: f64 = 12.0;

/// What lies further from 0 is no value that an axis could have, in whatever unit.
pub(super) const VALUE_MAX: f64 = 1e30;
/// What lies nearer to 0 is drawn as 0.
const VALUE_MIN: f64 = 1e-30;

/// An axis: what stands at its ends, and whether equal distances are equal factors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
}

/// A mark of an axis.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AxisTick {
    pub at: f64,
    /// Nothing for a mark between two that have labels.
    pub label: Option<String>,
}

impl Scale {
    /// Around `values`, ending at marks; from 0 if `zero` and all lie above. Nothing where no value
    /// can be drawn.
    pub(super) fn around(
        values: impl Iterator<Item = f64>,
        log: bool,
        zero: bool,
    ) -> Option<Scale> {
        let drawn = values.filter(|value| value.abs() <= VALUE_MAX);
        let drawn = drawn.map(|value| if value.abs() < VALUE_MIN { 0.0 } else { value });
        let drawn = drawn.filter(|value| !log || *value > 0.0);
        let ends = drawn.fold(None, |ends: Option<(f64, f64)>, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (low, high) = ends?;
        if log {
            return Some(Scale::decades(low, high));
        }
        let (low, high) = match zero && low >= 0.0 {
            true => (0.0, if high == 0.0 { 1.0 } else { high * 1.04 }),
            false if low == high => {
                (low - low.abs().max(1.0) * 0.5, high + high.abs().max(1.0) * 0.5)
            }
            false => (low, high),
        };
        let step = step(high - low, 6);
        let low = (low / step + 1e-9).floor() * step;
        let high = (high / step - 1e-9).ceil() * step;
        Some(Scale { low, high, log })
    }

    /// A logarithmic one that ends at 1, 2 or 5 times a power of ten.
    fn decades(low: f64, high: f64) -> Scale {
        let round = |value: f64, up: bool| {
            let power = 10f64.powf(value.log10().floor());
            let mut steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
            if !up {
                steps.reverse();
            }
            let fits = |end: &&f64| {
                if up { **end >= value * (1.0 - 1e-9) } else { **end <= value * (1.0 + 1e-9) }
            };
            steps.iter().find(fits).copied().unwrap_or(value)
        };
        let high = round(high, true);
        let low = round(low.max(high / 10f64.powf(DECADES_MAX)), false);
        let low = if low < high { low } else { high / 10.0 };
        Scale { low, high, log: true }
    }

    /// Where a value stands: 0 at the low end, 1 at the high end. Nothing for what a logarithm has
    /// no place for.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        match self.log {
            _ if value.is_nan() || value.abs() > VALUE_MAX => None,
            // A quotient with less would be 0, and its logarithm without bounds.
            true if value < VALUE_MIN => None,
            true => Some((value / self.low).ln() / (self.high / self.low).ln()),
            false => Some((value - self.low) / (self.high - self.low)),
        }
    }

    /// The marks, about `most` of them with labels.
    pub(super) fn ticks(&self, most: usize, style: NumberStyle) -> Vec<AxisTick> {
        if self.log { self.log_ticks(most, style) } else { self.even_ticks(most, style) }
    }

    fn even_ticks(&self, most: usize, style: NumberStyle) -> Vec<AxisTick> {
        let step = step(self.high - self.low, most);
        let first = (self.low / step - 1e-6).ceil();
        let count = ((self.high / step + 1e-6).floor() - first).max(0.0) as usize;
        // The number of steps, not their sum: no error is carried along.
        let at = (0..=count).map(|steps| (first + steps as f64) * step);
        at.map(|at| AxisTick { at, label: Some(style.tick(at, step)) }).collect()
    }

    /// Labels at the decades, or at 1, 2 and 5 where there are few; marks without at all other
    /// digits.
    fn log_ticks(&self, most: usize, style: NumberStyle) -> Vec<AxisTick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = (self.high / self.low).log10();
        let labelled: &[u32] = match decades {
            few if few < 1.5 => &[1, 2, 3, 5],
            few if few <= 2.6 => &[1, 2, 5],
            _ => &[1],
        };
        let every = (decades / most as f64).ceil().max(1.0) as i32;
        let mut ticks = Vec::new();
        for decade in first..=last {
            let power = 10f64.powi(decade);
            for digit in 1..=9 {
                let at = f64::from(digit) * power;
                if at < self.low * (1.0 - 1e-9) || at > self.high * (1.0 + 1e-9) {
                    continue;
                }
                let told = labelled.contains(&digit) && (decade - first) % every == 0;
                ticks.push(AxisTick { at, label: told.then(|| style.tick(at, at)) });
            }
        }
        ticks
    }
}

/// The step between marks, 1, 2, 2.5 or 5 times a power of ten, so that there are at most `most`
/// and one.
fn step(length: f64, most: usize) -> f64 {
    let least = length / most.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(scale: Scale, most: usize) -> Vec<String> {
        let ticks = scale.ticks(most, NumberStyle::of("rps"));
        ticks.into_iter().filter_map(|tick| tick.label).collect()
    }

    #[test]
    fn an_even_axis_begins_at_nothing_and_has_round_marks() {
        let scale = Scale::around([420e3, 2.76e6].into_iter(), false, true).unwrap();
        assert_eq!(labels(scale, 6), ["0", "500 k", "1.0 M", "1.5 M", "2.0 M", "2.5 M", "3.0 M"]);
        let scale = Scale::around([-47.0, 205.0].into_iter(), false, true).unwrap();
        assert_eq!(labels(scale, 6), ["-50", "0", "50", "100", "150", "200", "250"]);
    }

    #[test]
    fn a_logarithmic_axis_has_its_labels_at_powers_of_ten() {
        let scale = Scale::around([1.0, 4096.0].into_iter(), true, true).unwrap();
        assert_eq!((scale.low, scale.high), (1.0, 5000.0));
        assert_eq!(labels(scale, 8), ["1", "10", "100", "1000"]);
        let unlabelled = scale.ticks(8, NumberStyle::of("rps")).len() - 4;
        assert_eq!(unlabelled, 8 + 8 + 8 + 4);
        let scale = Scale::around([0.3, 4.0].into_iter(), true, true).unwrap();
        assert_eq!(labels(scale, 8), ["0.2", "0.3", "0.5", "1", "2", "3", "5"]);
    }

    #[test]
    fn what_has_no_logarithm_is_not_placed() {
        assert_eq!(Scale::around([0.0, -1.0].into_iter(), true, true), None);
        assert_eq!(Scale { low: 1.0, high: 10.0, log: true }.place(0.0), None);
    }

    proptest! {
        #[test]
        fn all_values_stand_between_the_ends(
            values in proptest::collection::vec(-1e9f64..1e9, 1..9), log: bool, zero: bool,
        ) {
            if let Some(scale) = Scale::around(values.iter().copied(), log, zero) {
                prop_assert!(scale.low < scale.high);
                let high = values.iter().copied().fold(f64::MIN, f64::max);
                for value in values.into_iter().filter(|value| !log || *value > high / 1e11) {
                    let place = scale.place(value).unwrap();
                    prop_assert!((-1e-6..=1.0 + 1e-6).contains(&place), "{value} in {scale:?}");
                }
                let ticks = scale.ticks(6, NumberStyle::of("ms"));
                prop_assert!(ticks.len() <= 120 && ticks.iter().any(|tick| tick.label.is_some()));
            }
        }
    }
}
