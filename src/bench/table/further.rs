//! The rows about unequal load: fairness, steps, storms, probes, a hot port, and switches that read
//! badly.

use super::{LIMITED, ReportRow, delay_words, delays, grouped, row};
use crate::bench::args::ModeArg;
use crate::bench::probe;
use aldis_emulator::load::fairness::Fairness;
use aldis_emulator::load::{Load, LoadReport, PortCounts, Served, SlowReaders};
use serde_json::{Value, json};
use std::time::Duration;

/// The rows, in order; without words where the run has nothing of the kind.
pub(super) fn rows(load: &Load, report: &LoadReport, mode: ModeArg) -> Vec<ReportRow> {
    vec![
        fairness_row(load, report, mode),
        phases_row(load, report),
        storm_row(load, report),
        probe_row(load, report),
        ports_row(load, report),
        straggler_row("slow", load.slow, &report.slow),
        straggler_row("dead", load.dead, &report.dead),
    ]
}

/// How many switches are named that were served worst.
const WORST_MAX: usize = 10;

fn fairness_row(load: &Load, report: &LoadReport, mode: ModeArg) -> ReportRow {
    let fairness = report.fairness(load);
    let mut value = deviations(&fairness);
    value["sorted"] = fairness.sorted().iter().map(|&deviation| rounded(deviation)).collect();
    value["weights"] = json!(load.weights);
    let mut words = fairness_words(&fairness);
    if mode == ModeArg::Fairness {
        let mut served = report.served(load);
        let farness = |switch: &Served| switch.deviation().unwrap_or(0.0).abs();
        served.sort_by(|a, b| farness(b).total_cmp(&farness(a)));
        for switch in served.iter().take(WORST_MAX) {
            words += &served_words(switch);
        }
    }
    row("fairness", value, "fairness", words)
}

fn served_words(switch: &Served) -> String {
    let due = match switch.demand {
        f64::INFINITY => "always full".into(),
        demand => format!("{} due", grouped(demand)),
    };
    let deviation =
        switch.deviation().map_or("none".into(), |off| format!("{:+.2} %", off * 100.0));
    format!(
        "\n  switch {}: {} answered of a share of {}, {due}, weight {}: {deviation}",
        switch.dpid,
        grouped(switch.answered as f64),
        grouped(switch.share),
        switch.weight
    )
}

fn deviations(fairness: &Fairness) -> Value {
    let [p1, p50, p99] = [0.01, 0.5, 0.99].map(|quantile| rounded(fairness.at_quantile(quantile)));
    json!({ "worst": rounded(fairness.worst()), "p1": p1, "p50": p50, "p99": p99 })
}

fn fairness_words(fairness: &Fairness) -> String {
    let percent = |deviation: f64| format!("{:+.2} %", deviation * 100.0);
    let [p1, p50, p99] = [0.01, 0.5, 0.99].map(|quantile| percent(fairness.at_quantile(quantile)));
    let worst = percent(fairness.worst());
    format!("worst {worst} off the max-min share · p1 {p1} · p50 {p50} · p99 {p99}")
}

/// To a millionth.
fn rounded(deviation: f64) -> f64 {
    (deviation * 1e6).round() / 1e6
}

fn phases_row(load: &Load, report: &LoadReport) -> ReportRow {
    let (mut phases, mut words) = (Vec::new(), String::new());
    for phase in &report.phases {
        let seconds = phase.elapsed.as_secs_f64();
        let rps = per_second(phase.answered(), phase.elapsed);
        let fairness = phase.fairness(load);
        phases.push(json!({
            "offered_per_second": phase.rate, "seconds": seconds, "requests_per_second": rps.round(),
            "fairness": deviations(&fairness), "delay_us": delays(&phase.delay),
            "probe_delay_us": delays(&phase.probe_delay), "generator_idle": phase.idle,
            "generator_limited": phase.is_generator_limited(),
        }));
        let offered = phase.rate.map_or("as much as possible".into(), grouped);
        let mark = if phase.is_generator_limited() { LIMITED } else { "" };
        let rps = grouped(rps);
        words += &format!("{offered} a second for {seconds:.1} s: {rps} answered a second{mark}\n");
        words += &format!("  {}\n", fairness_words(&fairness));
        if load.probes > 0 {
            words += &format!("  probes {}\n", delay_words(&phase.probe_delay));
        }
    }
    // One phase alone is the whole run, and slices are summed up by the row on soaking.
    let words = if phases.len() > 1 && load.slices == 1 { words } else { String::new() };
    row("phases", phases, "steps", words)
}

fn storm_row(load: &Load, report: &LoadReport) -> ReportRow {
    let (normal, storm) = report.per_switch.split_at(load.switches as usize);
    let rps = |answered: &[u64]| per_second(answered.iter().sum(), report.elapsed);
    let (normal_rps, storm_rps) = (rps(normal), rps(storm));
    let value = json!({
        "switches": storm.len(), "requests_per_second": storm_rps.round(),
        "others_per_second": normal_rps.round(),
    });
    let words = match storm.len() {
        0 => String::new(),
        switches => format!(
            "{switches} storming: {} a second · {} others: {} a second",
            grouped(storm_rps),
            normal.len(),
            grouped(normal_rps)
        ),
    };
    row("storm", value, "storm", words)
}

fn probe_row(load: &Load, report: &LoadReport) -> ReportRow {
    let probes = &report.probes;
    let mut value = delays(&probes.delay);
    value["switches"] = load.probes.into();
    value["rate"] = load.probe_rate.into();
    value["offered"] = probes.counts.offered.into();
    value["answered"] = probes.counts.answered.into();
    value["lost"] = probes.counts.lost.into();
    let wait = probes.processor_wait.as_secs_f64() * 1e6;
    value["processor_wait"] = ((wait * 10.0).round() / 10.0).into();
    let words = match load.probes {
        0 => String::new(),
        _ => probe::words(probes),
    };
    row("probe_delay_us", value, "probe µs", words)
}

fn ports_row(load: &Load, report: &LoadReport) -> ReportRow {
    let count = |(port, counts): (u32, &PortCounts)| json!({ "port": port, "offered": counts.offered, "answered": counts.answered });
    let value: Vec<_> = (1..).zip(&report.ports).map(count).collect();
    let words = match report.ports.split_first() {
        None => String::new(),
        Some((hot, others)) => format!(
            "switch 1, port 1 at {} ×: {} · its {} others: {}",
            load.hot_port,
            port_words(*hot),
            others.len(),
            port_words(sum(others))
        ),
    };
    row("ports", value, "hot port", words)
}

fn sum(ports: &[PortCounts]) -> PortCounts {
    let add = |sum: PortCounts, port: &PortCounts| PortCounts {
        offered: sum.offered + port.offered,
        answered: sum.answered + port.answered,
    };
    ports.iter().fold(PortCounts::default(), add)
}

fn port_words(counts: PortCounts) -> String {
    let share = counts.answered as f64 / counts.offered.max(1) as f64;
    format!("{} of {} answered ({:.1} %)", counts.answered, counts.offered, share * 100.0)
}

/// Of switches that read slowly or never.
fn straggler_row(kind: &'static str, switches: u32, stragglers: &SlowReaders) -> ReportRow {
    let ms = |lasted: &Duration| lasted.as_secs_f64() * 1e3;
    let evicted = stragglers.evicted_after.len();
    let min = stragglers.evicted_after.iter().min().map(ms);
    let max = stragglers.evicted_after.iter().max().map(ms);
    let counts = stragglers.counts;
    let value = json!({
        "switches": switches, "offered": counts.offered, "answered": counts.answered,
        "evicted": evicted, "evicted_after_ms": { "min": min, "max": max },
    });
    let words = match (switches, min, max) {
        (0, ..) => String::new(),
        (_, Some(min), Some(max)) => {
            format!("{evicted} of {switches} disconnected, after {min:.0} to {max:.0} ms")
        }
        _ => format!("none of {switches} disconnected"),
    };
    row(kind, value, kind, words)
}

fn per_second(answered: u64, elapsed: Duration) -> f64 {
    answered as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
}
