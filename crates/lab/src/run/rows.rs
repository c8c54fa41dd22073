//! What a point says in figures: one row for each metric, or one for each sample of a distribution.

use super::controller_stats::{ControllerCounters, ReadHistogram};
use super::measure::{MeasuredPoint, throughput};
use super::simulated::Simulated;
use crate::plan::expand::PlanPoint;
use crate::plan::{PlanMetric, PlanRun};
use crate::results::{self, ValueMark, ValueOrigin, X};
use aldis_control::stats::Distribution;
use aldis_emulator::load::{Delays, LoadReport, ReportPhase};
use std::time::Duration;

/// The most samples of a distribution: equally spaced quantiles.
const QUANTILES: u32 = 1000;

/// Rows of one point.
struct PointRows<'a> {
    point: &'a PlanPoint,
    repeat: u32,
    mark: ValueMark,
    x: X,
    rows: Vec<results::Point>,
}

/// The rows of a measured point.
pub(super) fn of_measured(
    point: &PlanPoint,
    run: &PlanRun,
    repeat: u32,
    measured: &MeasuredPoint,
) -> Vec<results::Point> {
    let report = &measured.report;
    let limited = report.is_generator_limited();
    let offered = offered(measured);
    let mut rows = PointRows {
        point,
        repeat,
        mark: if limited { ValueMark::GeneratorLimited } else { ValueMark::None },
        x: point.x.clone().unwrap_or(X::Number(offered)),
        rows: Vec::new(),
    };
    for metric in &run.metrics {
        rows.measured(*metric, measured);
    }
    rows.rows
}

/// The rows of a simulated point.
pub(super) fn of_simulated(
    point: &PlanPoint,
    run: &PlanRun,
    simulated: &Simulated,
) -> Vec<results::Point> {
    let offered = simulated.steps.first().map_or(f64::INFINITY, |(rate, _)| *rate);
    let x = point.x.clone().unwrap_or(X::Number(offered));
    let mut rows = PointRows { point, repeat: 0, mark: ValueMark::None, x, rows: Vec::new() };
    for metric in &run.metrics {
        rows.simulated(*metric, simulated);
    }
    rows.rows
}

/// What became due a second, all switches together.
fn offered(measured: &MeasuredPoint) -> f64 {
    let phases = &measured.report.phases;
    let demand: f64 = phases.iter().flat_map(ReportPhase::demands).sum();
    demand / measured.report.elapsed.as_secs_f64().max(1e-9)
}

impl PointRows<'_> {
    fn measured(&mut self, metric: PlanMetric, measured: &MeasuredPoint) {
        let report = &measured.report;
        let (delay, probes) = (&report.delay, &report.probes.delay);
        let of = |delays: &Delays, value: f64| (!delays.is_empty()).then_some(value);
        let mean = |delays: &Delays| of(delays, delays.mean());
        let at = |delays: &Delays, part: f64| of(delays, delays.value_at_quantile(part) as f64);
        let (ms, us) = (|ns: f64| ns / 1e6, |ns: f64| ns / 1e3);
        match metric {
            PlanMetric::Throughput => self.one(metric, Some(throughput(report))),
            PlanMetric::Deviation => {
                let fairness = report.fairness(&measured.load);
                let deviations = fairness.sorted().iter().map(|deviation| deviation * 100.0);
                self.samples(metric, "", deviations.collect());
            }
            PlanMetric::DeviationWorst => {
                let worst = report.fairness(&measured.load).worst().abs();
                self.one(metric, Some(worst * 100.0));
            }
            PlanMetric::ProbingDelayMean => self.one(metric, mean(probes).map(ms)),
            PlanMetric::ProbingDelayP50 => self.one(metric, at(probes, 0.5).map(ms)),
            PlanMetric::ProbingDelayP99 => self.one(metric, at(probes, 0.99).map(ms)),
            PlanMetric::DelayMean => self.one(metric, mean(delay).map(ms)),
            PlanMetric::DelayP99 => self.one(metric, at(delay, 0.99).map(ms)),
            PlanMetric::Delay => {
                let samples = quantiles(delay.len(), |part| delay.value_at_quantile(part) as f64);
                self.samples(metric, "", samples.into_iter().map(ms).collect());
            }
            PlanMetric::LatencyMean => self.one(metric, mean(delay).map(us)),
            PlanMetric::LatencyP50 => self.one(metric, at(delay, 0.5).map(us)),
            PlanMetric::LatencyP99 => self.one(metric, at(delay, 0.99).map(us)),
            PlanMetric::Offered => {
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
            PlanMetric::OfferedOverTime => self.offered_over_time(&phases(report)),
            PlanMetric::ConnectTime => self.one(metric, Some(report.connected_in.as_secs_f64())),
            PlanMetric::MemoryPerSwitch => {
                let switches = f64::from(measured.load.switches_in_all());
                let more = |[before, after]: [u64; 2]| after.saturating_sub(before) as f64;
                let kib = measured.memory.map(|memory| more(memory) / switches / 1024.0);
                self.one(metric, kib);
            }
            PlanMetric::CpuPerRequest => {
                let answered = report.answered();
                let used = measured.cpu_ns.filter(|_| answered > 0);
                self.one(metric, used.map(|ns| ns as f64 / answered as f64));
            }
            PlanMetric::IbtOverTime
            | PlanMetric::BatchIbt
            | PlanMetric::BatchingDelayMean
            | PlanMetric::LockWait
            | PlanMetric::Moves
            | PlanMetric::ZeroPending => {
                self.internal(metric, &measured.counters, &phases(report));
            }
        }
    }

    fn simulated(&mut self, metric: PlanMetric, simulated: &Simulated) {
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
            PlanMetric::Throughput => self.one(metric, Some(outcome.throughput())),
            PlanMetric::Deviation => {
                let mut deviations: Vec<f64> =
                    outcome.deviations().into_iter().map(|deviation| deviation * 100.0).collect();
                deviations.sort_by(f64::total_cmp);
                self.samples(metric, "", deviations);
            }
            PlanMetric::DeviationWorst => self.one(metric, Some(outcome.deviation_max() * 100.0)),
            PlanMetric::ProbingDelayMean => self.one(metric, mean(&probes)),
            PlanMetric::ProbingDelayP50 => self.one(metric, at(&probes, 500)),
            PlanMetric::ProbingDelayP99 => self.one(metric, at(&probes, 990)),
            PlanMetric::DelayMean => self.one(metric, mean(&delay)),
            PlanMetric::DelayP99 => self.one(metric, at(&delay, 990)),
            PlanMetric::Delay => {
                let quantile = |part: f64| delay.quantile((part * 1000.0) as u32) as f64;
                let samples = quantiles(delay.count(), quantile);
                self.samples(metric, "", samples.into_iter().map(ms).collect());
            }
            PlanMetric::Offered => {
                let mut offered: Vec<f64> =
                    outcome.switches.iter().map(|switch| switch.demand).collect();
                offered.sort_by(|a, b| b.total_cmp(a));
                self.samples(metric, "", offered);
            }
            PlanMetric::OfferedOverTime => self.offered_over_time(&simulated.steps),
            PlanMetric::IbtOverTime
            | PlanMetric::BatchIbt
            | PlanMetric::BatchingDelayMean
            | PlanMetric::Moves
            | PlanMetric::ZeroPending => {
                self.internal(metric, &simulated.counters, &simulated.steps)
            }
            PlanMetric::LatencyMean
            | PlanMetric::LatencyP50
            | PlanMetric::LatencyP99
            | PlanMetric::LockWait
            | PlanMetric::ConnectTime
            | PlanMetric::MemoryPerSwitch
            | PlanMetric::CpuPerRequest => {}
        }
    }

    /// A figure from the counters, which were read at these moments while these rates followed each
    /// other.
    fn internal(
        &mut self,
        metric: PlanMetric,
        counters: &[(Duration, ControllerCounters)],
        phases: &[(f64, Duration)],
    ) {
        let [(from, first), .., (to, last)] = counters else { return };
        let counted = last.since(first);
        let total = &counted.total;
        match metric {
            PlanMetric::IbtOverTime => self.ibt_over_time(counters),
            PlanMetric::BatchIbt if phases.len() < 2 => {
                self.samples(metric, "", ibt_samples(&total.ibt));
            }
            PlanMetric::BatchIbt => self.batch_ibt_by_phase(counters, phases),
            PlanMetric::BatchingDelayMean => {
                self.one(metric, total.batching_delay_ns.mean().map(|ns| ns / 1e6));
            }
            PlanMetric::LockWait => {
                let part = total.lock_wait_ns as f64 / total.run_time_ns.max(1) as f64;
                self.one(metric, Some(part * 100.0));
            }
            PlanMetric::Moves => {
                let seconds = to.saturating_sub(*from).as_secs_f64();
                self.one(metric, (seconds > 0.0).then(|| total.moves as f64 / seconds));
            }
            PlanMetric::ZeroPending => {
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
                self.push(PlanMetric::OfferedOverTime, "", X::Number(moment), *rate);
            }
            at = end;
        }
    }

    fn ibt_over_time(&mut self, counters: &[(Duration, ControllerCounters)]) {
        for (at, counters) in counters {
            let workers = counters.workers.len().saturating_sub(self.point.io_threads()).max(1);
            let ibt = counters.total.ibt_now as f64 / workers as f64;
            self.push(PlanMetric::IbtOverTime, "", X::Number(at.as_secs_f64()), ibt);
        }
    }

    /// One distribution for each rate: those that come twice are named apart.
    fn batch_ibt_by_phase(
        &mut self,
        counters: &[(Duration, ControllerCounters)],
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
                self.samples(PlanMetric::BatchIbt, &name, ibt_samples(&to.since(from).total.ibt));
            }
            begin = end;
        }
    }

    fn one(&mut self, metric: PlanMetric, value: Option<f64>) {
        if let Some(value) = value {
            self.push(metric, "", self.x.clone(), value);
        }
    }

    fn samples(&mut self, metric: PlanMetric, of: &str, samples: Vec<f64>) {
        for (number, sample) in (1u32..).zip(samples) {
            self.push(metric, of, X::Number(number.into()), sample);
        }
    }

    fn push(&mut self, metric: PlanMetric, of: &str, x: X, value: f64) {
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
            mark: if self.point.origin == ValueOrigin::Measured {
                self.mark
            } else {
                ValueMark::None
            },
        });
    }
}

/// The rates that followed each other, in requests a second, and how long each was offered.
fn phases(report: &LoadReport) -> Vec<(f64, Duration)> {
    report.phases.iter().filter_map(|phase| Some((phase.rate?, phase.elapsed))).collect()
}

/// Equally spaced quantiles of so many values, as many as there are values and [`QUANTILES`] at
/// most.
fn quantiles(count: u64, at: impl Fn(f64) -> f64) -> Vec<f64> {
    let wanted = u32::try_from(count).unwrap_or(QUANTILES).min(QUANTILES);
    (1..=wanted).map(|rank| at(f64::from(rank) / f64::from(wanted))).collect()
}

fn ibt_samples(ibt: &ReadHistogram) -> Vec<f64> {
    quantiles(ibt.count, |part| ibt.quantile(part).unwrap_or_default() as f64)
}
