//! What a plan may measure: names, units, and whether a simulation knows it.

use serde::Deserialize;

/// One column of figures. Beside each: its unit, and what stands on the x axis where that is not
/// the plan's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanMetric {
    /// Answers a second, all switches together; those that probe do not count. rps.
    Throughput,
    /// Fairness deviation of each switch, lowest first. %, x the switch's rank.
    Deviation,
    /// The one farthest from 0, without its sign. %.
    DeviationWorst,
    /// Mean delay of the probing switches. ms.
    ProbingDelayMean,
    /// Its median. ms.
    ProbingDelayP50,
    /// Its 99th percentile. ms.
    ProbingDelayP99,
    /// Mean delay of all requests; of one in 64 where there are many. ms.
    DelayMean,
    /// Its 99th percentile. ms.
    DelayP99,
    /// Its distribution: equally spaced quantiles. ms, x their number.
    Delay,
    /// Mean delay with one request outstanding. us.
    LatencyMean,
    /// Its median. us.
    LatencyP50,
    /// Its 99th percentile. us.
    LatencyP99,
    /// What each switch offered, most first. rps, x the switch's rank.
    Offered,
    /// What all switches together offered over time. rps, x seconds.
    OfferedOverTime,
    /// The IBT in force, of an average worker, over time. requests, x seconds.
    IbtOverTime,
    /// The IBT in force when a batch ended: equally spaced quantiles. requests, x their number.
    BatchIbt,
    /// Mean batching delay: from the first read of a batch to its last write. ms.
    BatchingDelayMean,
    /// Time spent on waiting for locks and claims, over the time the workers ran. %.
    LockWait,
    /// Switches that went from one worker to another, a second. 1/s.
    Moves,
    /// How often a worker found no request pending and slept, a second. 1/s.
    ZeroPending,
    /// From the first connection to the last handshake's end. s.
    ConnectTime,
    /// Resident memory of the controller under load less that before it, a switch. KiB.
    MemoryPerSwitch,
    /// CPU time of the controller a request. ns.
    CpuPerRequest,
}

impl PlanMetric {
    /// All of them.
    pub const ALL: [PlanMetric; 23] = [
        PlanMetric::Throughput,
        PlanMetric::Deviation,
        PlanMetric::DeviationWorst,
        PlanMetric::ProbingDelayMean,
        PlanMetric::ProbingDelayP50,
        PlanMetric::ProbingDelayP99,
        PlanMetric::DelayMean,
        PlanMetric::DelayP99,
        PlanMetric::Delay,
        PlanMetric::LatencyMean,
        PlanMetric::LatencyP50,
        PlanMetric::LatencyP99,
        PlanMetric::Offered,
        PlanMetric::OfferedOverTime,
        PlanMetric::IbtOverTime,
        PlanMetric::BatchIbt,
        PlanMetric::BatchingDelayMean,
        PlanMetric::LockWait,
        PlanMetric::Moves,
        PlanMetric::ZeroPending,
        PlanMetric::ConnectTime,
        PlanMetric::MemoryPerSwitch,
        PlanMetric::CpuPerRequest,
    ];

    /// Its name in a plan and in `points.csv`, and its unit.
    pub fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            PlanMetric::Throughput => ("throughput", "rps"),
            PlanMetric::Deviation => ("deviation", "%"),
            PlanMetric::DeviationWorst => ("deviation-worst", "%"),
            PlanMetric::ProbingDelayMean => ("probing-delay-mean", "ms"),
            PlanMetric::ProbingDelayP50 => ("probing-delay-p50", "ms"),
            PlanMetric::ProbingDelayP99 => ("probing-delay-p99", "ms"),
            PlanMetric::DelayMean => ("delay-mean", "ms"),
            PlanMetric::DelayP99 => ("delay-p99", "ms"),
            PlanMetric::Delay => ("delay", "ms"),
            PlanMetric::LatencyMean => ("latency-mean", "us"),
            PlanMetric::LatencyP50 => ("latency-p50", "us"),
            PlanMetric::LatencyP99 => ("latency-p99", "us"),
            PlanMetric::Offered => ("offered", "rps"),
            PlanMetric::OfferedOverTime => ("offered-over-time", "rps"),
            PlanMetric::IbtOverTime => ("ibt-over-time", "requests"),
            PlanMetric::BatchIbt => ("batch-ibt", "requests"),
            PlanMetric::BatchingDelayMean => ("batching-delay-mean", "ms"),
            PlanMetric::LockWait => ("lock-wait", "%"),
            PlanMetric::Moves => ("moves", "1/s"),
            PlanMetric::ZeroPending => ("zero-pending", "1/s"),
            PlanMetric::ConnectTime => ("connect-time", "s"),
            PlanMetric::MemoryPerSwitch => ("memory-per-switch", "KiB"),
            PlanMetric::CpuPerRequest => ("cpu-per-request", "ns"),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.name_and_unit().0
    }

    /// Whether a simulation can say it. Delays of all requests it knows only where queues are not
    /// always full ([`PlanMetric::is_delay_of_all`]).
    pub fn is_simulated(self) -> bool {
        !matches!(
            self,
            PlanMetric::LatencyMean
                | PlanMetric::LatencyP50
                | PlanMetric::LatencyP99
                | PlanMetric::LockWait
                | PlanMetric::ConnectTime
                | PlanMetric::MemoryPerSwitch
                | PlanMetric::CpuPerRequest
        )
    }

    /// Whether it is a delay of the switches that do not probe.
    pub fn is_delay_of_all(self) -> bool {
        matches!(self, PlanMetric::DelayMean | PlanMetric::DelayP99 | PlanMetric::Delay)
    }

    /// Whether only probing switches have it.
    pub fn needs_probes(self) -> bool {
        matches!(
            self,
            PlanMetric::ProbingDelayMean
                | PlanMetric::ProbingDelayP50
                | PlanMetric::ProbingDelayP99
        )
    }

    /// Whether it comes from the counters of Aldis itself, which other controllers do not have.
    pub fn is_internal(self) -> bool {
        matches!(
            self,
            PlanMetric::IbtOverTime
                | PlanMetric::BatchIbt
                | PlanMetric::BatchingDelayMean
                | PlanMetric::LockWait
                | PlanMetric::Moves
                | PlanMetric::ZeroPending
        )
    }

    /// Whether it is about rates that follow each other.
    pub fn needs_steps(self) -> bool {
        matches!(self, PlanMetric::OfferedOverTime | PlanMetric::IbtOverTime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct MetricName {
        metric: PlanMetric,
    }

    #[test]
    fn a_metric_is_read_by_the_name_that_is_written() {
        for metric in PlanMetric::ALL {
            let text = format!("metric = \"{}\"", metric.name());
            assert_eq!(toml::from_str::<MetricName>(&text).unwrap().metric, metric);
        }
    }
}
