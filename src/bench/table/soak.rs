//! What changed over a long run.

use super::{BenchRun, ReportRow, grouped, row};
use crate::bench::args::ModeArg;
use aldis_emulator::load::{Delays, ReportPhase};
use serde_json::{Value, json};

/// Which part of the phases is the beginning, and which the end.
const ENDS: usize = 10;

/// The first tenth of the phases beside the last; of mode soak only.
pub(super) fn change(measured: &BenchRun<'_>) -> Option<ReportRow> {
    let phases = &measured.report.phases;
    if measured.mode != ModeArg::Soak || phases.len() < 2 {
        return None;
    }
    let len = phases.len().div_ceil(ENDS).min(phases.len() / 2);
    let [first, last] = [&phases[..len], &phases[phases.len() - len..]];
    let [rate_first, rate_last] = [first, last].map(rate);
    let [p99_first, p99_last] = [first, last].map(p99_us);
    let mut words = format!(
        "{} → {} a second · p99 {p99_first:.1} → {p99_last:.1} µs (first {len} of {} phases → last)",
        grouped(rate_first),
        grouped(rate_last),
        phases.len()
    );
    let mut value = json!({
        "requests_per_second": [rate_first.round(), rate_last.round()],
        "p99_us": [p99_first, p99_last],
        "resident_bytes": Value::Null,
        "descriptors": Value::Null,
    });
    if let (Some(begin), Some(end)) = (measured.samples.first(), measured.samples.last()) {
        let resident: Vec<u64> =
            measured.samples.iter().map(|sample| sample.resident_bytes).collect();
        let [mib_begin, mib_end] =
            [begin, end].map(|sample| sample.resident_bytes as f64 / f64::from(1 << 20));
        value["resident_bytes"] = json!(resident);
        value["descriptors"] = json!([begin.descriptors, end.descriptors]);
        words += &format!(
            "\nthe controller held {mib_begin:.1} → {mib_end:.1} MiB, {} → {} descriptors",
            begin.descriptors, end.descriptors
        );
    }
    Some(row("soak", value, "soak", words))
}

fn rate(phases: &[ReportPhase]) -> f64 {
    let answered: u64 = phases.iter().map(ReportPhase::answered).sum();
    let seconds: f64 = phases.iter().map(|phase| phase.elapsed.as_secs_f64()).sum();
    answered as f64 / seconds.max(f64::MIN_POSITIVE)
}

fn p99_us(phases: &[ReportPhase]) -> f64 {
    let mut all = Delays::new(3).expect("three digits are as many as there may be");
    for phase in phases {
        // It grows as it has to.
        let _ = all.add(&phase.delay);
    }
    all.value_at_quantile(0.99) as f64 / 1e3
}
