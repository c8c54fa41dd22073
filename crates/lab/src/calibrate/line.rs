//! A straight line through measured points: what something costs at all, and what each further
//! piece of it costs.

/// Below this a measured value is taken for this, in ns: a point must not weigh without end.
const VALUE_MIN: f64 = 1.0;

/// `base + each × x`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct StraightLine {
    pub(super) base: f64,
    pub(super) each: f64,
}

impl StraightLine {
    /// The line from which the points `(x, y)` deviate least, as shares of `y`: a small message
    /// counts as much as a large one. Neither a base nor a slope below zero has a meaning; where
    /// one would be, it is zero and the other fits alone.
    ///
    /// `points` have at least two different `x`, and no `x` is negative.
    pub(super) fn through(points: &[(f64, f64)]) -> StraightLine {
        let sum = |of: fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&(x, y)| of(x, y) / y.max(VALUE_MIN).powi(2)).sum()
        };
        let (one, x, xx) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|x, _| x * x));
        let (y, xy) = (sum(|_, y| y), sum(|x, y| x * y));
        let determinant = one * xx - x * x;
        let (base, each) = ((xx * y - x * xy) / determinant, (one * xy - x * y) / determinant);
        match (base < 0.0, each < 0.0) {
            (true, _) => StraightLine { base: 0.0, each: xy / xx },
            (_, true) => StraightLine { base: y / one, each: 0.0 },
            _ => StraightLine { base, each },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZES: [f64; 6] = [64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0];

    proptest! {
        #[test]
        fn a_known_line_is_found(base in 10.0..10_000.0f64, each in 0.001..100.0f64) {
            let points = SIZES.map(|x| (x, base + each * x));
            let found = StraightLine::through(&points);
            prop_assert!((found.base / base - 1.0).abs() < 1e-3, "{found:?}");
            prop_assert!((found.each / each - 1.0).abs() < 1e-3, "{found:?}");
        }

        #[test]
        fn errors_of_a_few_per_cent_move_it_as_little(
            errors in prop::array::uniform6(-0.03..0.03f64),
        ) {
            let truth = |x: f64| 700.0 + 0.08 * x;
            let mut at = 0;
            let points = SIZES.map(|x| {
                at += 1;
                (x, truth(x) * (1.0 + errors[at - 1]))
            });
            let found = StraightLine::through(&points);
            prop_assert!((found.base / 700.0 - 1.0).abs() < 0.1, "{found:?}");
            prop_assert!((found.each / 0.08 - 1.0).abs() < 0.1, "{found:?}");
        }

        #[test]
        fn neither_part_is_ever_negative(values in prop::array::uniform6(0.0..1e6f64)) {
            let mut values = values.into_iter();
            let found = StraightLine::through(&SIZES.map(|x| (x, values.next().unwrap())));
            prop_assert!(found.base >= 0.0 && found.each >= 0.0, "{found:?}");
        }
    }
}
