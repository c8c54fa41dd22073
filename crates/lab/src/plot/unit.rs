//! Units that can be turned into each other, and numbers as people read them: `1.70 M`, `2.81`,
//! `250 k`.

/// Units with what they measure and how much of its base they are.
const UNITS: &[(&str, Dimension, f64)] = &[
    ("ns", Dimension::Time, 1e-9),
    ("us", Dimension::Time, 1e-6),
    ("µs", Dimension::Time, 1e-6),
    ("ms", Dimension::Time, 1e-3),
    ("s", Dimension::Time, 1.0),
    ("", Dimension::Share, 1.0),
    ("ratio", Dimension::Share, 1.0),
    ("share", Dimension::Share, 1.0),
    ("%", Dimension::Share, 0.01),
    ("rps", Dimension::Rate, 1.0),
    ("krps", Dimension::Rate, 1e3),
    ("Mrps", Dimension::Rate, 1e6),
];

/// Prefixes of large numbers.
const PREFIXES: &[(f64, &str)] = &[(1e9, " G"), (1e6, " M"), (1e3, " k")];

/// Below this a number is written out.
pub(super) const PREFIX_FROM: f64 = 1e4;

/// What is less than half of a millionth of its unit is 0: no clock here tells it from that, and
/// sums of floating-point numbers leave such remainders.
const DECIMALS_MAX: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Time,
    Share,
    Rate,
}

fn unit(name: &str) -> Option<(Dimension, f64)> {
    UNITS
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, dimension, factor)| (*dimension, *factor))
}

/// What one `from` is in `to`; nothing where the two measure different things.
pub(crate) fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    let (from, to) = (unit(from)?, unit(to)?);
    (from.0 == to.0).then(|| from.1 / to.1)
}

/// How a number of some unit is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NumberStyle {
    /// Large numbers get a prefix: counts and rates do, a time or a share does not.
    pub prefix: bool,
}

impl NumberStyle {
    /// For values in `name`.
    pub(super) fn of(name: &str) -> NumberStyle {
        let written_out =
            unit(name).is_some_and(|(dimension, _)| dimension == Dimension::Time || name == "%");
        NumberStyle { prefix: !written_out }
    }

    /// Three digits, and not more than [`DECIMALS_MAX`] behind the point: for tables.
    pub(super) fn cell(self, value: f64) -> String {
        let (scaled, prefix) = self.scaled(value, PREFIX_FROM);
        let digits = match scaled.abs() {
            size if size >= 99.95 => 0,
            size if size >= 9.995 => 1,
            size if size >= 0.9995 => 2,
            size if size >= 0.0995 => 3,
            size if size >= 0.00995 => 4,
            size if size >= 0.000995 => 5,
            _ => DECIMALS_MAX,
        };
        let text = format!("{scaled:.digits$}");
        match text.trim_start_matches(['-', '0', '.']).is_empty() {
            true => "0".into(),
            false => format!("{text}{prefix}"),
        }
    }

    /// As short as it can be told from its neighbours `step` away: for the marks of an axis.
    pub(super) fn tick(self, value: f64, step: f64) -> String {
        let (scaled, prefix) = self.scaled(value, PREFIX_FROM);
        let step = step * if value == 0.0 { 1.0 } else { scaled / value };
        let digits = (-step.abs().log10().floor()).clamp(0.0, 9.0) as usize;
        // 2.5 needs a digit more than its step's size tells.
        let more = format!("{:.1$}", scaled, digits + 1);
        let less = format!("{scaled:.digits$}");
        let exact = more.strip_suffix('0').is_some_and(|cut| cut.trim_end_matches('.') == less);
        let text = if exact || step == 0.0 { less } else { more };
        match text.trim_start_matches(['-', '0', '.']).is_empty() {
            true => "0".into(),
            false => format!("{text}{prefix}"),
        }
    }

    fn scaled(self, value: f64, from: f64) -> (f64, &'static str) {
        let large = self.prefix && value.abs() >= from;
        // Half a thousandth below the next prefix is rounded up to it.
        let found = PREFIXES.iter().find(|(size, _)| large && value.abs() >= size * 0.9995);
        found.map_or((value, ""), |(size, prefix)| (value / size, *prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_dimension_are_converted() {
        for (from, to, expected) in [
            ("us", "ms", Some(1e-3)),
            ("s", "µs", Some(1e6)),
            ("", "%", Some(100.0)),
            ("Mrps", "rps", Some(1e6)),
            ("switches", "switches", Some(1.0)),
            ("ms", "rps", None),
            ("switches", "%", None),
        ] {
            let found = factor(from, to);
            let close = |(found, expected): (f64, f64)| (found / expected - 1.0).abs() < 1e-12;
            assert_eq!(found.is_some(), expected.is_some(), "{from} to {to}");
            assert!(found.zip(expected).is_none_or(close), "{from} to {to}: {found:?}");
        }
    }

    #[test]
    fn cells_have_three_digits() {
        let (rate, time) = (NumberStyle::of("rps"), NumberStyle::of("ms"));
        for (style, value, expected) in [
            (rate, 1.7e6, "1.70 M"),
            (rate, 850_000.0, "850 k"),
            (rate, 999_960.0, "1.00 M"),
            (rate, 1234.0, "1234"),
            (rate, 0.0, "0"),
            (time, 2.8, "2.80"),
            (time, 342.9, "343"),
            (time, 12_345.6, "12346"),
            (time, 0.25, "0.250"),
            (time, 0.0995, "0.100"),
            (time, 0.098, "0.0980"),
            (time, 0.0247, "0.0247"),
            (time, 0.009_96, "0.0100"),
            (time, 0.004_52, "0.00452"),
            (time, 0.000_123_4, "0.000123"),
            (time, 0.000_001, "0.000001"),
            (time, 5.39e-14, "0"),
            (time, -1.61e-14, "0"),
            (NumberStyle::of("%"), -0.51, "-0.510"),
            (NumberStyle::of("macs"), 1e9, "1.00 G"),
        ] {
            assert_eq!(style.cell(value), expected);
        }
    }

    #[test]
    fn marks_are_short() {
        let (rate, time) = (NumberStyle::of("rps"), NumberStyle::of("ms"));
        for (style, value, step, expected) in [
            (rate, 1.5e6, 5e5, "1.5 M"),
            (rate, 2e6, 5e5, "2.0 M"),
            (rate, 2e6, 1e6, "2 M"),
            (rate, 2.5e6, 2.5e6, "2.5 M"),
            (rate, 0.0, 5e5, "0"),
            (time, 0.1, 0.1, "0.1"),
            (time, 100_000.0, 1.0, "100000"),
            (time, -1e-17, 0.2, "0"),
            (NumberStyle::of("%"), -50.0, 50.0, "-50"),
        ] {
            assert_eq!(style.tick(value, step), expected, "{value} by {step}");
        }
    }
}
