//! What `aldis bench` prints: rows of a name, a value and words, as a table or as one JSON object.

mod further;
mod soak;

use super::args::ModeArg;
use super::controller::{Usage, UsageSample};
use aldis_emulator::load::{
    CONGESTION, Delays, DemandRate, DemandSpread, Destinations, Forms, Load, LoadReport, Mode,
};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A run, and what was seen beside it.
pub(super) struct BenchRun<'a> {
    pub(super) load: &'a Load,
    pub(super) report: &'a LoadReport,
    pub(super) mode: ModeArg,
    /// The controller's CPU time, where it could be seen.
    pub(super) usage: Option<Usage>,
    /// What the controller held when measuring began and at the end of each phase, where it could
    /// be seen.
    pub(super) samples: Vec<UsageSample>,
    /// Why the result is partial, if it is.
    pub(super) partial: Option<&'a str>,
}

/// One row: the key in the JSON object and its value; what a person reads, on a line or some or
/// none.
pub(super) struct ReportRow {
    key: &'static str,
    value: Value,
    label: &'static str,
    words: String,
}

pub(super) fn row(
    key: &'static str,
    value: impl Into<Value>,
    label: &'static str,
    words: String,
) -> ReportRow {
    ReportRow { key, value: value.into(), label, words }
}

/// All rows of a run, in order.
pub(super) fn rows(measured: &BenchRun<'_>) -> Vec<ReportRow> {
    let BenchRun { load, report, .. } = *measured;
    let mut rows = setting(load);
    rows.extend([
        connected_row(report),
        loops_row("requests_per_second", "requests/s", &report.loops),
        delay_row("delay_us", "delay µs", &report.delay),
        spread_row(load, report),
        counts_row(report),
        forms_row(report.forms),
    ]);
    rows.extend(further::rows(load, report, measured.mode));
    rows.extend(soak::change(measured));
    rows.extend([
        generator_row(
            report.idle,
            limit(report).as_deref(),
            report.generator_cpu.as_nanos() as f64,
            report.answered(),
        ),
        cpu_row(report.answered(), measured.usage.as_ref()),
        partial_row(measured.partial),
    ]);
    rows
}

/// The table.
pub(super) fn text(rows: &[ReportRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut label = row.label;
        for line in row.words.lines() {
            let _ = writeln!(text, "{label:<12} {line}");
            label = "";
        }
    }
    text
}

/// One JSON object, on one line.
pub(super) fn json(rows: &[ReportRow]) -> String {
    Value::Object(object(rows)).to_string()
}

/// The keys of all rows and their values.
pub(super) fn object(rows: &[ReportRow]) -> Map<String, Value> {
    rows.iter().map(|row| (row.key.into(), row.value.clone())).collect()
}

pub(super) fn setting(load: &Load) -> Vec<ReportRow> {
    let (mode, mode_words) = match load.mode {
        Mode::Latency => (json!("latency"), "latency, one request outstanding a switch".into()),
        Mode::Window(window) => (
            json!({ "outstanding": window }),
            format!("throughput, {window} requests outstanding a switch"),
        ),
        Mode::Full => (json!("full"), "throughput, queues always full".into()),
    };
    let (rate, rate_words) = rate(load);
    let (destinations, spoken_to) = match load.destinations_in_fact() {
        Destinations::All => ("all", "destinations cycle over all addresses"),
        Destinations::One => ("one", "destination is one address"),
    };
    let buffers = if load.buffered { "with buffer ids" } else { "NO_BUFFER" };
    let taught = if load.teach { "taught before" } else { "not taught" };
    let switches = json!({
        "number": load.switches, "macs": load.macs, "ports": load.ports,
        "openflow": load.version.to_string(), "buffered": load.buffered,
        "destinations": destinations, "taught": load.teach, "tls": load.secure.is_some(),
    });
    vec![
        row("controller", load.controller.to_string(), "controller", load.controller.to_string()),
        row(
            "switches",
            switches,
            "switches",
            format!(
                "{} × {} addresses on {} ports ({taught}), {}, {buffers}; {spoken_to}",
                load.switches, load.macs, load.ports, load.version
            ),
        ),
        row("mode", json!({ "mode": mode, "rate": rate }), "mode", mode_words + &rate_words),
    ]
}

/// The rate and how it is divided.
fn rate(load: &Load) -> (Value, String) {
    let (spread, spread_words) = match load.spread {
        DemandSpread::Even => (json!("even"), String::new()),
        DemandSpread::NearUniform => (json!("near-uniform"), ", nearly uniform".into()),
        DemandSpread::Zipf(exponent) => {
            (json!({ "zipf": exponent }), format!(", as 1/rank^{exponent}"))
        }
    };
    let (mut rate, words) = match &load.rate {
        DemandRate::Unlimited => return (Value::Null, String::new()),
        DemandRate::Total(rate) => (json!({ "total": rate }), format!("{rate} a second")),
        DemandRate::PerSwitch(rate) => {
            (json!({ "per_switch": rate }), format!("{rate} a second and switch"))
        }
        DemandRate::Steps(steps) => {
            let list: Vec<_> =
                steps.iter().map(|step| json!([step.rate, step.length.as_secs_f64()])).collect();
            (json!({ "steps": list }), format!("what {} steps say", steps.len()))
        }
    };
    (rate["spread"], rate["seed"]) = (spread, load.seed.into());
    let mut words = format!(", at most {words}{spread_words}");
    if let Some(on_off) = load.on_off {
        let [on, off] =
            [on_off.on, on_off.off].map(|(least, most)| [least, most].map(|t| t.as_secs_f64()));
        rate["on_off_s"] = json!([on, off]);
        let span = |[least, most]: [f64; 2]| match least == most {
            true => format!("{least} s"),
            false => format!("{least} to {most} s"),
        };
        words += &format!(", {} on and {} off", span(on), span(off));
    }
    (rate, words)
}

fn connected_row(report: &LoadReport) -> ReportRow {
    let ms = (report.connected_in.as_secs_f64() * 1e3).round();
    row("connected_in_ms", ms, "connected", format!("all switches in {ms} ms"))
}

/// So many a second in each loop.
pub(super) fn loops_row(key: &'static str, label: &'static str, loops: &[f64]) -> ReportRow {
    let mut sorted = loops.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (sorted.first().copied(), sorted.last().copied());
    let [min, median, max] = [min, median(&sorted), max].map(Option::unwrap_or_default);
    let loops: Vec<f64> = loops.iter().map(|rate| rate.round()).collect();
    row(
        key,
        json!({ "min": min.round(), "median": median.round(), "max": max.round(), "loops": loops }),
        label,
        format!(
            "min {} · median {} · max {} ({} loops)",
            grouped(min),
            grouped(median),
            grouped(max),
            loops.len()
        ),
    )
}

pub(super) fn delay_row(key: &'static str, label: &'static str, delay: &Delays) -> ReportRow {
    row(key, delays(delay), label, delay_words(delay))
}

/// Delays, in microseconds.
fn delays(delay: &Delays) -> Value {
    let [p50, p99, p999, max] = quantiles_us(delay);
    json!({ "p50": p50, "p99": p99, "p99.9": p999, "max": max, "samples": delay.len() })
}

pub(super) fn delay_words(delay: &Delays) -> String {
    let [p50, p99, p999, max] = quantiles_us(delay);
    match delay.len() {
        0 => "no request was timed".into(),
        samples => {
            format!(
                "p50 {p50:.1} · p99 {p99:.1} · p99.9 {p999:.1} · max {max:.1} ({samples} timed)"
            )
        }
    }
}

fn quantiles_us(delay: &Delays) -> [f64; 4] {
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| delay.value_at_quantile(quantile));
    [p50, p99, p999, delay.max()].map(|ns| ns as f64 / 1e3)
}

/// Each switch's part of all answers, in units of an equal share.
fn spread_row(load: &Load, report: &LoadReport) -> ReportRow {
    let equal = report.answered() as f64 / f64::from(load.switches_that_count());
    let share = |answered: &u64| if equal > 0.0 { *answered as f64 / equal } else { 0.0 };
    let mut shares: Vec<f64> = report.per_switch.iter().map(share).collect();
    shares.sort_by(f64::total_cmp);
    let (min, max) = (shares.first().copied(), shares.last().copied());
    let [min, median, max] = [min, median(&shares), max].map(Option::unwrap_or_default);
    let worst = (1.0 - min).max(max - 1.0);
    row(
        "share",
        json!({ "min": min, "median": median, "max": max, "worst_deviation": worst }),
        "switch share",
        format!(
            "min {min:.3} · median {median:.3} · max {max:.3} of an equal share; worst deviation {:.1} %",
            worst * 100.0
        ),
    )
}

fn counts_row(report: &LoadReport) -> ReportRow {
    let counts = report.counts;
    row(
        "counts",
        json!({
            "offered": counts.offered, "answered": counts.answered, "late": counts.late,
            "lost": counts.lost, "strays": counts.strays,
        }),
        "counts",
        format!(
            "{} offered · {} answered, {} late · {} lost · {} strays (warm-up included)",
            counts.offered, counts.answered, counts.late, counts.lost, counts.strays
        ),
    )
}

/// By what the answers named their requests.
fn forms_row(forms: Forms) -> ReportRow {
    let Forms { buffer_id, frame, matched, xid } = forms;
    let value = json!({ "buffer_id": buffer_id, "frame": frame, "match": matched, "xid": xid });
    let named = [(buffer_id, "buffer id"), (frame, "frame"), (matched, "match"), (xid, "xid")];
    let named = named.into_iter().filter(|&(count, _)| count > 0);
    let words: Vec<_> = named.map(|(count, what)| format!("{count} by {what}")).collect();
    row("answered_by", value, "known", words.join(" · "))
}

/// Where the generator was the limit, if it was: nothing more to say of a whole run.
fn limit(report: &LoadReport) -> Option<String> {
    let limited = report.phases.iter().filter(|phase| phase.is_generator_limited()).count();
    report.is_generator_limited().then(|| match report.phases.len() {
        0 | 1 => String::new(),
        phases => format!(" in {limited} of {phases} phases"),
    })
}

/// What stands beside a figure that the generator limited.
const LIMITED: &str = "  ** generator-limited **";

/// What the generator itself took for `done` requests, `cpu_ns` in all, and where it was the limit,
/// if it was.
pub(super) fn generator_row(idle: f64, limited: Option<&str>, cpu_ns: f64, done: u64) -> ReportRow {
    let ns = per_request(cpu_ns, done);
    let mark = limited.map_or(String::new(), |place| format!("{LIMITED}{place}"));
    row(
        "generator",
        json!({
            "idle": idle, "limited": limited.is_some(), "cpu_ns_per_request": ns,
            "congestion_control": CONGESTION,
        }),
        "generator",
        format!(
            "{:.1} % idle · {ns:.1} ns CPU per request · sends by TCP {CONGESTION}{mark}",
            idle * 100.0
        ),
    )
}

/// What the controller took for `done` requests.
pub(super) fn cpu_row(done: u64, usage: Option<&Usage>) -> ReportRow {
    let label = "CPU/request";
    let Some(usage) = usage else {
        let words = "unknown: the controller's process is not on this machine or not ours to see";
        return row("controller_cpu", Value::Null, label, words.into());
    };
    let [total, user] = [usage.total_ns, usage.user_ns].map(|ns| per_request(ns, done));
    row(
        "controller_cpu",
        json!({ "pid": usage.pid, "name": usage.name, "ns_per_request": total, "user_ns_per_request": user }),
        label,
        format!(
            "{total:.1} ns user + system · {user:.1} ns user ({}, pid {})",
            usage.name, usage.pid
        ),
    )
}

/// Why the result is partial, if it is.
pub(super) fn partial_row(partial: Option<&str>) -> ReportRow {
    let words = partial.map(|why| format!("** partial ** {why}")).unwrap_or_default();
    row("partial", partial, "partial", words)
}

fn per_request(ns: f64, done: u64) -> f64 {
    if done == 0 { 0.0 } else { ns / done as f64 }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => None,
        0 => Some((sorted[half - 1] + sorted[half]) / 2.0),
        _ => Some(sorted[half]),
    }
}

/// A whole number with its thousands set apart.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_emulator::load::ReportPhase;

    /// A run whose generator was idle for so much of the time, and for so much of each phase: what
    /// the table says of it, and the JSON object.
    fn idle(idle: f64, phases: &[f64]) -> (String, Value) {
        let load = Load::new(([127, 0, 0, 1], 1).into());
        let phase = |&idle| ReportPhase { idle, ..ReportPhase::empty(&load, Some(10.0)) };
        let phases = phases.iter().map(phase).collect();
        let report = LoadReport { idle, phases, ..LoadReport::empty(&load) };
        let mode = ModeArg::Latency;
        let (usage, samples, partial) = (None, Vec::new(), None);
        let rows = rows(&BenchRun { load: &load, report: &report, mode, usage, samples, partial });
        (text(&rows), Value::Object(object(&rows)))
    }

    #[test]
    fn a_generator_that_was_the_limit_is_marked() {
        let (table, object) = idle(0.049, &[0.049]);
        assert!(table.contains("4.9 % idle") && table.contains("generator-limited"), "{table}");
        assert_eq!(object["generator"]["limited"], true);
        let (table, object) = idle(0.05, &[0.05]);
        assert!(table.contains("5.0 % idle") && !table.contains("generator-limited"), "{table}");
        assert_eq!(object["generator"]["limited"], false);
    }

    #[test]
    fn a_step_in_which_the_generator_was_the_limit_is_marked() {
        let (table, object) = idle(0.5, &[0.9, 0.049, 0.05]);
        assert!(table.contains("** generator-limited ** in 1 of 3 phases"), "{table}");
        let steps: Vec<_> = table.lines().filter(|line| line.contains("10 a second for")).collect();
        let marked: Vec<_> = steps.iter().map(|step| step.contains("generator-limited")).collect();
        assert_eq!(marked, [false, true, false], "{table}");
        assert_eq!(object["generator"]["limited"], true);
        assert_eq!(object["phases"][1]["generator_limited"], true);
        assert_eq!(object["phases"][1]["generator_idle"], 0.049);
        assert_eq!(object["phases"][2]["generator_limited"], false);
    }

    #[test]
    fn a_median_of_an_even_number_is_between_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in
            [(0.0, "0"), (999.4, "999"), (1000.0, "1,000"), (1234567.0, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
    }
}
