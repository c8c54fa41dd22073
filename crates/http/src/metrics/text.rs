//! Prometheus' text format, version 0.0.4.

use std::fmt::Write;

use aldis_control::stats::Distribution;

/// Everything of ours begins so.
const PREFIX: &str = "aldis_";

/// How many of what is counted make one of what is shown.
#[derive(Clone, Copy)]
pub(super) struct Unit(u64);

/// Shown as it is counted.
pub(super) const ONE: Unit = Unit(1);

/// Counted in nanoseconds, shown in seconds.
pub(super) const NANOSECOND: Unit = Unit(1_000_000_000);

/// The least and the greatest bound of the buckets of a distribution, as powers of ten of what is
/// counted.
const TIMES: (u32, u32) = (3, 10);
const SIZES: (u32, u32) = (0, 4);

/// Lines.
#[derive(Default)]
pub(super) struct MetricsText(String);

impl MetricsText {
    /// Samples of this name follow: a counter where the name ends in `_total`, or else a gauge.
    pub(super) fn family(&mut self, name: &str, help: &str) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        self.head(name, kind, help);
    }

    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, String)], unit: Unit, value: u64) {
        let _ = write!(self.0, "{PREFIX}{name}");
        self.labels(labels);
        self.value(unit, value);
    }

    /// Buckets at 1, 2 and 5 of each power of ten.
    pub(super) fn histogram(&mut self, name: &str, unit: Unit, help: &str, values: &Distribution) {
        self.head(name, "histogram", help);
        let (least, greatest) = if unit.0 == 1 { SIZES } else { TIMES };
        let powers = (least..greatest).map(|power| 10_u64.pow(power));
        let bounds = powers.flat_map(|power| [power, 2 * power, 5 * power]);
        let (mut buckets, mut below) = (values.buckets().peekable(), 0);
        for bound in bounds.chain([10_u64.pow(greatest)]) {
            while let Some(bucket) = buckets.next_if(|bucket| bucket.upper <= bound) {
                below += bucket.count;
            }
            let _ = write!(self.0, "{PREFIX}{name}_bucket{{le=\"{}\"}}", unit.show(bound));
            self.value(ONE, below);
        }
        let count = values.count();
        let _ = writeln!(self.0, "{PREFIX}{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = writeln!(self.0, "{PREFIX}{name}_sum {}", unit.show(values.sum()));
        let _ = writeln!(self.0, "{PREFIX}{name}_count {count}");
    }

    /// A line of a name that is not ours alone.
    pub(super) fn foreign(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}");
    }

    /// Nothing of ours needs to be escaped: numbers, hexadecimal digits and words.
    fn labels(&mut self, labels: &[(&str, String)]) {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        if !labels.is_empty() {
            let _ = write!(self.0, "{{{}}}", labels.join(","));
        }
    }

    fn value(&mut self, unit: Unit, value: u64) {
        let _ = writeln!(self.0, " {}", unit.show(value));
    }
}

impl Unit {
    fn show(self, value: u64) -> String {
        match self.0 {
            1 => value.to_string(),
            per => (value as f64 / per as f64).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_control::stats::Histogram;

    #[test]
    fn numbers_are_lines() {
        let mut text = MetricsText::default();
        text.family("waits_seconds_total", "Waits");
        text.sample("waits_seconds_total", &[("worker", "3".into())], NANOSECOND, 1_500_000_000);
        text.family("switches", "Switches");
        text.sample("switches", &[], ONE, 7);
        let expected = "# HELP aldis_waits_seconds_total Waits\n# TYPE aldis_waits_seconds_total counter\n\
                        aldis_waits_seconds_total{worker=\"3\"} 1.5\n\
                        # HELP aldis_switches Switches\n# TYPE aldis_switches gauge\naldis_switches 7\n";
        assert_eq!(text.finish(), expected);
    }

    #[test]
    fn a_distribution_is_cumulative_and_loses_nothing() {
        let histogram = Histogram::default();
        [1, 1, 3, 40, 2_000_000].into_iter().for_each(|value| histogram.record(value));
        let mut text = MetricsText::default();
        text.histogram("batch_size", ONE, "Sizes", &histogram.read());
        let text = text.finish();
        for line in [
            "aldis_batch_size_bucket{le=\"1\"} 2",
            "aldis_batch_size_bucket{le=\"2\"} 2",
            "aldis_batch_size_bucket{le=\"5\"} 3",
            "aldis_batch_size_bucket{le=\"50\"} 4",
            "aldis_batch_size_bucket{le=\"10000\"} 4",
            "aldis_batch_size_bucket{le=\"+Inf\"} 5",
            "aldis_batch_size_sum 2000045",
            "aldis_batch_size_count 5",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is missing:\n{text}");
        }
    }
}
