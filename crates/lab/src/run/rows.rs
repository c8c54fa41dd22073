//! What a point says in figures: one row for each metric, or one for each sample of a distribution.

use super::controller_stats::{Counters, Histogram};
use super::measure::{Measured, throughput};
use super::simulated::Simulated;
use crate::plan::expand::Point;
use crate::plan::{Metric, Run};
use crate::results::{self, Mark, Origin, X};
use aldis_control::stats::Distribution;
use aldis_emulator::load::{Delays, Phase, Report};
use std::time::Duration;

/// The most samples of a distribution: equally spaced quantiles.
const QUANTILES: u32 = 1000;

/// Rows of one point.
struct Rows<'a> {
    point: &'a Point,
    repeat: u32,
    mark: Mark,
    x: X,
    rows: Vec<results::Point>,
}

/// The rows of a measured point.
pub(super) fn of_measured(
    point: &Point,
    run: &Run,
    repeat: u32,
    measured: &Measured,
) -> Vec<results::Point> {
    let report = &measured.report;
    let limited = report.is_generator_limited();
    let offered = offered(measured);
    let mut rows = Rows {
        point,
        repeat,
        mark: if limited { Mark::GeneratorLimited } else { Mark::None },
        x: point.x.clone().unwrap_or(X::Number(offered)),
        rows: Vec::new(),
    };
    for metric in &run.metrics {
        rows.measured(*metric, measured);
    }
    rows.rows
}

/// The rows of a simulated point.
pub(super) fn of_simulated(point: &Point, run: &Run, simulated: &Simulated) -> Vec<results::Point> {
    let offered = simulated.steps.first().map_or(f64::INFINITY, |(rate, _)| *rate);
    let x = point.x.clone().unwrap_or(X::Number(offered));
    let mut rows = Rows { point, repeat: 0, mark: Mark::None, x, rows: Vec::new() };
    for metric in &run.metrics {
        rows.simulated(*metric, simulated);
    }
    rows.rows
}

/// What became due a second, all switches together.
fn offered(measured: &Measured) -> f64 {
    let phases = &measured.report.phases;
    let demand: f64 = phases.iter().flat_map(Phase::demands).sum();
    demand / measured.report.elapsed.as_secs_f64().max(1e-9)
}

impl Rows<'_> {
    fn measured(&mut self, metric: Metric, measured: &Measured) {
        let report = &measured.report;
        let (delay, probes) = (&report.delay, &report.probes.delay);
        let of = |delays: &Delays, value: f64| (!delays.is_empty()).then_some(value);
        let mean = |delays: &Delays| of(delays, delays.mean());
        let at = |delays: &Delays, part: f64| of(delays, delays.value_at_quantile(part) as f64);
        let (ms, us) = (|ns: f64| ns / 1e6, |ns: f64| ns / 1e3);
        match metric {
            Metric::Throughput => self.one(metric, Some(throughput(report))),
            Metric::Deviation => {
                let fairness = report.fairness(&measured.load);
                let deviations = fairness.sorted().iter().map(|deviation| deviation * 100.0);
                self.samples(metric, "", deviations.collect());
            }
            Metric::DeviationWorst => {
                let worst = report.fairness(&measured.load).worst().abs();
                self.one(metric, Some(worst * 100.0));
            }
            Metric::ProbingDelayMean => self.one(metric, mean(probes).map(ms)),
            Metric::ProbingDelayP50 => self.one(metric, at(probes, 0.5).map(ms)),
            Metric::ProbingDelayP99 => self.one(metric, at(probes, 0.99).map(ms)),
            Metric::DelayMean => self.one(metric, mean(delay).map(ms)),
            Metric::DelayP99 => self.one(metric, at(delay, 0.99).map(ms)),
            Metric::Delay => {
                let samples = quantiles(delay.len(), |part| delay.value_at_quantile(part) as f64);
                self.samples(metric, "", samples.into_iter().map(ms).collect());
            }
            Metric::LatencyMean => self.one(metric, mean(delay).map(us)),
            Metric::LatencyP50 => self.one(metric, at(delay, 0.5).map(us)),
            Metric::LatencyP99 => self.one(metric, at(delay, 0.99).map(us)),
            Metric::Offered => {
                let mut offered: Vec<f64> = match report.phases.first() {
                    Some(phase) => {
                        let seconds = phase.elapsed.as_secs_f64().max(1e-9);
                        phase.demands().iter().map(|demand| demand / seconds).collect()
                    }
                    None => Vec::new(),
                };
                offered.sort_by(|a, b| b.total_cmp(a));
                self.samples(metric, "", offered);
            }
            Metric::OfferedOverTime => self.offered_over_time(&phases(report)),
            Metric::ConnectTime => self.one(metric, Some(report.connected_in.as_secs_f64())),
            Metric::MemoryPerSwitch => {
                let switches = f64::from(measured.load.switches_in_all());
                let more = |[before, after]: [u64; 2]| after.saturating_sub(before) as f64;
                let kib = measured.memory.map(|memory| more(memory) / switches / 1024.0);
                self.one(metric, kib);
            }
            Metric::CpuPerRequest => {
                let answered = report.answered();
                let used = measured.cpu_ns.filter(|_| answered > 0);
                self.one(metric, used.map(|ns| ns as f64 / answered as f64));
            }
            Metric::IbtOverTime
            | Metric::BatchIbt
            | Metric::BatchingDelayMean
            | Metric::LockWait
            | Metric::ZeroPending => {
                self.internal(metric, &measured.counters, &phases(report));
            }
        }
    }

    fn simulated(&mut self, metric: Metric, simulated: &Simulated) {
        let outcome = &simulated.outcome;
        let ms = |ns: f64| ns / 1e6;
        let mut probes = Distribution::default();
        simulated.probes.iter().for_each(|probe| probes.merge(&probe.delay_ns));
        let mut delay = Distribution::default();
        outcome.switches.iter().for_each(|switch| delay.merge(&switch.delay_ns));
        let of = |delays: &Distribution, value: f64| (delays.count() > 0).then_some(ms(value));
        let mean =
            |delays: &Distribution| of(delays, delays.sum() as f64 / delays.count().max(1) as f64);
        let at =
            |delays: &Distribution, thousandths| of(delays, delays.quantile(thousandths) as f64);
        match metric {
            Metric::Throughput => self.one(metric, Some(outcome.throughput())),
            Metric::Deviation => {
                let mut deviations: Vec<f64> =
                    outcome.deviations().into_iter().map(|deviation| deviation * 100.0).collect();
                deviations.sort_by(f64::total_cmp);
                self.samples(metric, "", deviations);
            }
            Metric::DeviationWorst => self.one(metric, Some(outcome.deviation_max() * 100.0)),
            Metric::ProbingDelayMean => self.one(metric, mean(&probes)),
            Metric::ProbingDelayP50 => self.one(metric, at(&probes, 500)),
            Metric::ProbingDelayP99 => self.one(metric, at(&probes, 990)),
            Metric::DelayMean => self.one(metric, mean(&delay)),
            Metric::DelayP99 => self.one(metric, at(&delay, 990)),
            Metric::Delay => {
                let quantile = |part: f64| delay.quantile((part * 1000.0) as u32) as f64;
                let samples = quantiles(delay.count(), quantile);
                self.samples(metric, "", samples.into_iter().map(ms).collect());
            }
            Metric::Offered => {
                let mut offered: Vec<f64> =
                    outcome.switches.iter().map(|switch| switch.demand).collect();
                offered.sort_by(|a, b| b.total_cmp(a));
                self.samples(metric, "", offered);
            }
            Metric::OfferedOverTime => self.offered_over_time(&simulated.steps),
            Metric::IbtOverTime
            | Metric::BatchIbt
            | Metric::BatchingDelayMean
            | Metric::ZeroPending => self.internal(metric, &simulated.counters, &simulated.steps),
            Metric::LatencyMean
            | Metric::LatencyP50
            | Metric::LatencyP99
            | Metric::LockWait
            | Metric::ConnectTime
            | Metric::MemoryPerSwitch
            | Metric::CpuPerRequest => {}
        }
    }

    /// A figure from the counters, which were read at these moments while these rates followed each
    /// other.
    fn internal(
        &mut self,
        metric: Metric,
        counters: &[(Duration, Counters)],
        phases: &[(f64, Duration)],
    ) {
        let [(from, first), .., (to, last)] = counters else { return };
        let counted = last.since(first);
        let total = &counted.total;
        match metric {
            Metric::IbtOverTime => self.ibt_over_time(counters),
            Metric::BatchIbt if phases.len() < 2 => {
                self.samples(metric, "", ibt_samples(&total.ibt));
            }
            Metric::BatchIbt => self.batch_ibt_by_phase(counters, phases),
            Metric::BatchingDelayMean => {
                self.one(metric, total.batching_delay_ns.mean().map(|ns| ns / 1e6));
            }
            Metric::LockWait => {
                let part = total.lock_wait_ns as f64 / total.run_time_ns.max(1) as f64;
                self.one(metric, Some(part * 100.0));
            }
            Metric::ZeroPending => {
                let seconds = to.saturating_sub(*from).as_secs_f64();
                let workers = counted.workers.iter().skip(self.point.io_threads());
                let slept: u64 = workers.map(|worker| worker.wakeups).sum();
                self.one(metric, (seconds > 0.0).then(|| slept as f64 / seconds));
            }
            _ => {}
        }
    }

    /// A value for each moment at which the rate changes, and one just before it.
    fn offered_over_time(&mut self, phases: &[(f64, Duration)]) {
        let mut at = 0.0;
        for (rate, length) in phases {
            let end = at + length.as_secs_f64();
            for moment in [at, end] {
                self.push(Metric::OfferedOverTime, "", X::Number(moment), *rate);
            }
            at = end;
        }
    }

    fn ibt_over_time(&mut self, counters: &[(Duration, Counters)]) {
        for (at, counters) in counters {
            let workers = counters.workers.len().saturating_sub(self.point.io_threads()).max(1);
            let ibt = counters.total.ibt_now as f64 / workers as f64;
            self.push(Metric::IbtOverTime, "", X::Number(at.as_secs_f64()), ibt);
        }
    }

    /// One distribution for each rate: those that come twice are named apart.
    fn batch_ibt_by_phase(
        &mut self,
        counters: &[(Duration, Counters)],
        phases: &[(f64, Duration)],
    ) {
        let rates = &self.point.rates;
        let mut begin = Duration::ZERO;
        for (index, ((_, length), rate)) in phases.iter().zip(rates).enumerate() {
            let end = begin + *length;
            let near = |moment: Duration| {
                counters.iter().min_by_key(|(at, _)| at.abs_diff(moment)).map(|(_, then)| then)
            };
            if let (Some(from), Some(to)) = (near(begin), near(end)) {
                let again = rates[..index].contains(rate);
                let name = if again { format!("{rate} again") } else { rate.to_string() };
                self.samples(Metric::BatchIbt, &name, ibt_samples(&to.since(from).total.ibt));
            }
            begin = end;
        }
    }

    fn one(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(value) = value {
            self.push(metric, "", self.x.clone(), value);
        }
    }

    fn samples(&mut self, metric: Metric, of: &str, samples: Vec<f64>) {
        for (number, sample) in (1u32..).zip(samples) {
            self.push(metric, of, X::Number(number.into()), sample);
        }
    }

    fn push(&mut self, metric: Metric, of: &str, x: X, value: f64) {
        if !value.is_finite() {
            return;
        }
        let (name, unit) = metric.name_and_unit();
        let series = match of {
            "" => self.point.series.clone(),
            of => format!("{}, {of}", self.point.series),
        };
        self.rows.push(results::Point {
            series,
            x,
            metric: name.into(),
            value,
            unit: unit.into(),
            repeat: self.repeat,
            origin: self.point.origin,
            mark: if self.point.origin == Origin::Measured { self.mark } else { Mark::None },
        });
    }
}

/// The rates that followed each other, in requests a second, and how long each was offered.
fn phases(report: &Report) -> Vec<(f64, Duration)> {
    report.phases.iter().filter_map(|phase| Some((phase.rate?, phase.elapsed))).collect()
}

/// Equally spaced quantiles of so many values, as many as there are values and [`QUANTILES`] at
/// most.
fn quantiles(count: u64, at: impl Fn(f64) -> f64) -> Vec<f64> {
    let wanted = u32::try_from(count).unwrap_or(QUANTILES).min(QUANTILES);
    (1..=wanted).map(|rank| at(f64::from(rank) / f64::from(wanted))).collect()
}

fn ibt_samples(ibt: &Histogram) -> Vec<f64> {
    quantiles(ibt.count, |part| ibt.quantile(part).unwrap_or_default() as f64)
}
