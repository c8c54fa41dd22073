//! What Aldis counts of itself: read from its `--stats` file, which SIGUSR1 has it write, or from a
//! simulation.

use aldis_control::stats::{Distribution, Snapshot, WorkerCounts};
use serde::Deserialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long Aldis may take to write its counters.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

/// The largest file of counters that is read, in bytes.
const FILE_MAX: u64 = 64 << 20;

/// The counters at a moment.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
pub(super) struct ControllerCounters {
    /// In nanoseconds since the controller started.
    at_ns: u64,
    /// All workers together.
    pub(super) total: AskedCounts,
    /// Each of them; I/O threads, where the design has them, come first.
    pub(super) workers: Vec<AskedCounts>,
}

/// The part of [`WorkerCounts`] that is asked for here.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
pub(super) struct AskedCounts {
    pub(super) ibt: ReadHistogram,
    pub(super) ibt_now: u64,
    pub(super) batching_delay_ns: ReadHistogram,
    pub(super) lock_wait_ns: u64,
    pub(super) run_time_ns: u64,
    pub(super) wakeups: u64,
    pub(super) moves: u64,
}

/// A distribution as the counters write it.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
pub(super) struct ReadHistogram {
    pub(super) count: u64,
    pub(super) sum: u64,
    pub(super) buckets: Vec<ReadBucket>,
}

/// Values that are counted together.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(super) struct ReadBucket {
    upper: u64,
    count: u64,
}

impl ControllerCounters {
    /// Those that the file has once it is newer than `before`.
    ///
    /// # Errors
    /// It was not written in time, or cannot be read.
    pub(super) fn after(
        file: &Path,
        before: &ControllerCounters,
    ) -> Result<ControllerCounters, String> {
        let deadline = Instant::now() + WRITTEN_WITHIN;
        loop {
            if let Some(counters) = read(file)?
                && counters.at_ns > before.at_ns
            {
                return Ok(counters);
            }
            if Instant::now() >= deadline {
                return Err(format!("its counters were not written within {WRITTEN_WITHIN:?}"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What was counted since an earlier moment; levels are those of now.
    pub(super) fn since(&self, before: &ControllerCounters) -> ControllerCounters {
        let none = AskedCounts::default();
        let workers = self.workers.iter().enumerate();
        let earlier = |index: usize| before.workers.get(index).unwrap_or(&none);
        ControllerCounters {
            at_ns: self.at_ns,
            total: self.total.since(&before.total),
            workers: workers.map(|(index, now)| now.since(earlier(index))).collect(),
        }
    }
}

/// The file's, if it is there.
fn read(file: &Path) -> Result<Option<ControllerCounters>, String> {
    match std::fs::metadata(file) {
        Err(_) => return Ok(None),
        Ok(found) if found.len() > FILE_MAX => {
            return Err(format!("its counters are larger than {FILE_MAX} bytes"));
        }
        Ok(_) => {}
    }
    let text = std::fs::read(file).map_err(|error| format!("cannot read its counters: {error}"))?;
    let counters = serde_json::from_slice(&text);
    counters.map(Some).map_err(|error| format!("its counters are no counters: {error}"))
}

impl AskedCounts {
    fn since(&self, before: &AskedCounts) -> AskedCounts {
        AskedCounts {
            ibt: self.ibt.since(&before.ibt),
            ibt_now: self.ibt_now,
            batching_delay_ns: self.batching_delay_ns.since(&before.batching_delay_ns),
            lock_wait_ns: self.lock_wait_ns.saturating_sub(before.lock_wait_ns),
            run_time_ns: self.run_time_ns.saturating_sub(before.run_time_ns),
            wakeups: self.wakeups.saturating_sub(before.wakeups),
            moves: self.moves.saturating_sub(before.moves),
        }
    }
}

impl ReadHistogram {
    fn since(&self, before: &ReadHistogram) -> ReadHistogram {
        let earlier = |upper: u64| before.buckets.iter().find(|bucket| bucket.upper == upper);
        let left = |bucket: &ReadBucket| {
            let count =
                bucket.count - earlier(bucket.upper).map_or(0, |b| b.count).min(bucket.count);
            ReadBucket { count, ..*bucket }
        };
        ReadHistogram {
            count: self.count.saturating_sub(before.count),
            sum: self.sum.wrapping_sub(before.sum),
            buckets: self.buckets.iter().map(left).filter(|bucket| bucket.count > 0).collect(),
        }
    }

    /// The mean, where there is anything.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value that the part `quantile` of all does not exceed, where there is anything.
    pub(super) fn quantile(&self, quantile: f64) -> Option<u64> {
        let all: u64 = self.buckets.iter().map(|bucket| bucket.count).sum();
        let rank = ((quantile * all as f64).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0;
        let reached = self.buckets.iter().find(|bucket| {
            seen += bucket.count;
            seen >= rank
        });
        reached.map(|bucket| bucket.upper)
    }
}

impl From<&Snapshot> for ControllerCounters {
    fn from(snapshot: &Snapshot) -> ControllerCounters {
        ControllerCounters {
            at_ns: snapshot.at_ns,
            total: (&snapshot.total).into(),
            workers: snapshot.workers.iter().map(|worker| (&worker.counts).into()).collect(),
        }
    }
}

impl From<&WorkerCounts> for AskedCounts {
    fn from(counts: &WorkerCounts) -> AskedCounts {
        AskedCounts {
            ibt: (&counts.ibt).into(),
            ibt_now: counts.ibt_now,
            batching_delay_ns: (&counts.batching_delay_ns).into(),
            lock_wait_ns: counts.lock_wait_ns,
            run_time_ns: counts.run_time_ns,
            wakeups: counts.wakeups,
            moves: counts.moves,
        }
    }
}

impl From<&Distribution> for ReadHistogram {
    fn from(distribution: &Distribution) -> ReadHistogram {
        let bucket = |bucket: aldis_control::stats::Bucket| ReadBucket {
            upper: bucket.upper,
            count: bucket.count,
        };
        ReadHistogram {
            count: distribution.count(),
            sum: distribution.sum(),
            buckets: distribution.buckets().map(bucket).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_control::Time;
    use aldis_control::stats::WorkerStats;

    fn counters(stats: &WorkerStats, at: u64) -> ControllerCounters {
        (&Snapshot::new(Time(at), [stats], vec![])).into()
    }

    #[test]
    fn what_came_between_two_moments_is_left() {
        let stats = WorkerStats::default();
        stats.ibt.record(20);
        stats.wakeups.add(5);
        let before = counters(&stats, 1);
        (0..3).for_each(|_| stats.ibt.record(30));
        stats.ibt.record(20);
        stats.wakeups.add(2);
        let between = counters(&stats, 2).since(&before);
        assert_eq!((between.total.wakeups, between.total.ibt.count), (2, 4));
        assert_eq!(between.total.ibt.mean(), Some(27.5));
        let ibt = &between.workers[0].ibt;
        assert_eq!([0.0, 0.25, 0.26, 1.0].map(|q| ibt.quantile(q).unwrap()), [20, 20, 30, 30]);
        assert_eq!(ReadHistogram::default().quantile(0.5), None);
    }
}
