//! Everything that is counted, at a moment: a value of its own, to be served over HTTP or written
//! to a file.

use alloc::vec;
use alloc::vec::Vec;

use aldis_wire::DatapathId;

use super::{AppSnapshot, SwitchCounts, SwitchDistributions, WorkerCounts, WorkerStats};
use crate::shed::Tally;
use crate::time::Time;

/// All counters of a controller at a moment. The numbers were read one after the other while
/// workers went on counting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Snapshot {
    /// When, in nanoseconds since the controller started.
    pub at_ns: u64,
    /// [`WorkerCounts::lock_wait_ppm`] of all workers together.
    pub lock_wait_ppm: u64,
    /// What all workers counted together.
    pub total: WorkerCounts,
    /// What each worker counted, in their order.
    pub workers: Vec<WorkerSnapshot>,
    /// What each application did, in their order.
    pub apps: Vec<AppSnapshot>,
    /// What was counted for each switch, in the order of their datapath ids.
    pub switches: Vec<SwitchSnapshot>,
}

/// One worker in a [`Snapshot`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WorkerSnapshot {
    /// Its place among the workers, from 0.
    pub worker: usize,
    /// Its [`WorkerCounts::lock_wait_ppm`].
    pub lock_wait_ppm: u64,
    /// What it counted; in JSON, beside the fields above.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub counts: WorkerCounts,
}

/// One switch in a [`Snapshot`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SwitchSnapshot {
    /// Which switch.
    pub dpid: DatapathId,
    /// The place of its home worker, that of its main connection.
    pub worker: usize,
    /// Its weight, from 1.
    pub weight: u32,
    /// What was counted for it; in JSON, beside the fields above.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub counts: SwitchCounts,
    /// Its distributions; in JSON, beside the fields above.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub spread: SwitchDistributions,
    /// Of the requests that were shed, those of each port.
    pub shed_ports: Tally,
}

impl Snapshot {
    /// Reads the workers' counters, given in their order, and adds them up. Connections of the same
    /// switch become one entry: the first that is given names its worker. What applications did is
    /// not there yet.
    pub fn new<'a>(
        at: Time,
        workers: impl IntoIterator<Item = &'a WorkerStats>,
        switches: Vec<SwitchSnapshot>,
    ) -> Snapshot {
        let workers: Vec<_> = workers.into_iter().enumerate().map(WorkerSnapshot::new).collect();
        let mut total = WorkerCounts::default();
        for one in &workers {
            total.merge(&one.counts);
        }
        let lock_wait_ppm = total.lock_wait_ppm();
        let switches = together(switches);
        Snapshot { at_ns: at.0, lock_wait_ppm, total, workers, apps: vec![], switches }
    }
}

impl WorkerSnapshot {
    fn new((worker, stats): (usize, &WorkerStats)) -> WorkerSnapshot {
        let counts = stats.read();
        WorkerSnapshot { worker, lock_wait_ppm: counts.lock_wait_ppm(), counts }
    }
}

/// One entry a switch.
fn together(mut switches: Vec<SwitchSnapshot>) -> Vec<SwitchSnapshot> {
    switches.sort_by_key(|switch| switch.dpid);
    switches.dedup_by(|next, first| {
        let same = next.dpid == first.dpid;
        if same {
            first.counts.merge(&next.counts);
            first.spread.merge(&next.spread);
            first.shed_ports.merge(&next.shed_ports);
        }
        same
    });
    switches
}
