//! What a plan may measure: names, units, and whether a simulation knows it.

use serde::Deserialize;

/// One column of figures. Beside each: its unit, and what stands on the x axis where that is not
/// the plan's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
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
    /// How often a worker found no request pending and slept, a second. 1/s.
    ZeroPending,
    /// From the first connection to the last handshake's end. s.
    ConnectTime,
    /// Resident memory of the controller under load less that before it, a switch. KiB.
    MemoryPerSwitch,
    /// CPU time of the controller a request. ns.
    CpuPerRequest,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 22] = [
        Metric::Throughput,
        Metric::Deviation,
        Metric::DeviationWorst,
        Metric::ProbingDelayMean,
        Metric::ProbingDelayP50,
        Metric::ProbingDelayP99,
        Metric::DelayMean,
        Metric::DelayP99,
        Metric::Delay,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP99,
        Metric::Offered,
        Metric::OfferedOverTime,
        Metric::IbtOverTime,
        Metric::BatchIbt,
        Metric::BatchingDelayMean,
        Metric::LockWait,
        Metric::ZeroPending,
        Metric::ConnectTime,
        Metric::MemoryPerSwitch,
        Metric::CpuPerRequest,
    ];

    /// Its name in a plan and in `points.csv`, and its unit.
    pub fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Metric::Throughput => ("throughput", "rps"),
            Metric::Deviation => ("deviation", "%"),
            Metric::DeviationWorst => ("deviation-worst", "%"),
            Metric::ProbingDelayMean => ("probing-delay-mean", "ms"),
            Metric::ProbingDelayP50 => ("probing-delay-p50", "ms"),
            Metric::ProbingDelayP99 => ("probing-delay-p99", "ms"),
            Metric::DelayMean => ("delay-mean", "ms"),
            Metric::DelayP99 => ("delay-p99", "ms"),
            Metric::Delay => ("delay", "ms"),
            Metric::LatencyMean => ("latency-mean", "us"),
            Metric::LatencyP50 => ("latency-p50", "us"),
            Metric::LatencyP99 => ("latency-p99", "us"),
            Metric::Offered => ("offered", "rps"),
            Metric::OfferedOverTime => ("offered-over-time", "rps"),
            Metric::IbtOverTime => ("ibt-over-time", "requests"),
            Metric::BatchIbt => ("batch-ibt", "requests"),
            Metric::BatchingDelayMean => ("batching-delay-mean", "ms"),
            Metric::LockWait => ("lock-wait", "%"),
            Metric::ZeroPending => ("zero-pending", "1/s"),
            Metric::ConnectTime => ("connect-time", "s"),
            Metric::MemoryPerSwitch => ("memory-per-switch", "KiB"),
            Metric::CpuPerRequest => ("cpu-per-request", "ns"),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.name_and_unit().0
    }

    /// Whether a simulation can say it. Delays of all requests it knows only where queues are not
    /// always full ([`Metric::is_delay_of_all`]).
    pub fn is_simulated(self) -> bool {
        !matches!(
            self,
            Metric::LatencyMean
                | Metric::LatencyP50
                | Metric::LatencyP99
                | Metric::LockWait
                | Metric::ConnectTime
                | Metric::MemoryPerSwitch
                | Metric::CpuPerRequest
        )
    }

    /// Whether it is a delay of the switches that do not probe.
    pub fn is_delay_of_all(self) -> bool {
        matches!(self, Metric::DelayMean | Metric::DelayP99 | Metric::Delay)
    }

    /// Whether only probing switches have it.
    pub fn needs_probes(self) -> bool {
        matches!(self, Metric::ProbingDelayMean | Metric::ProbingDelayP50 | Metric::ProbingDelayP99)
    }

    /// Whether it comes from the counters of Aldis itself, which other controllers do not have.
    pub fn is_internal(self) -> bool {
        matches!(
            self,
            Metric::IbtOverTime
                | Metric::BatchIbt
                | Metric::BatchingDelayMean
                | Metric::LockWait
                | Metric::ZeroPending
        )
    }

    /// Whether it is about rates that follow each other.
    pub fn needs_steps(self) -> bool {
        matches!(self, Metric::OfferedOverTime | Metric::IbtOverTime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Named {
        metric: Metric,
    }

    #[test]
    fn a_metric_is_read_by_the_name_that_is_written() {
        for metric in Metric::ALL {
            let text = format!("metric = \"{}\"", metric.name());
            assert_eq!(toml::from_str::<Named>(&text).unwrap().metric, metric);
        }
    }
}
