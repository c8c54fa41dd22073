//! The engine's counters, as [`aldis_control::stats`] names them.

use std::sync::Arc;

use aldis_control::Time;
use aldis_control::pipeline::Pipelines;
pub use aldis_control::stats::{AppSnapshot, Counter, Snapshot, SwitchSnapshot, WorkerStats};
use aldis_control::stats::{AppStats, SwitchHistograms};

use crate::conn::Conn;
use crate::net::Net;
use crate::shared::Shared;

/// The applications, and what each worker counts of them.
#[derive(Clone, Debug)]
pub(crate) struct AppsCounted {
    names: Arc<[&'static str]>,
    workers: Arc<[Arc<[AppStats]>]>,
}

impl AppsCounted {
    pub(crate) fn new(
        pipelines: &Pipelines<'_>,
        workers: impl Iterator<Item = Arc<[AppStats]>>,
    ) -> AppsCounted {
        AppsCounted { names: pipelines.names().collect(), workers: workers.collect() }
    }

    /// What all workers counted together until now.
    pub(crate) fn read(&self) -> Vec<AppSnapshot> {
        AppSnapshot::all(&self.names[..], &self.workers[..])
    }
}

/// All counters at this moment. Those of a connection that is gone went with it.
pub(crate) fn snapshot<N: Net>(
    at: Time,
    workers: &[Arc<WorkerStats>],
    apps: Vec<AppSnapshot>,
    shared: &Shared<N>,
) -> Snapshot {
    let entries = shared.switches.entries();
    let conns = entries.flat_map(|entry| [entry.main].into_iter().chain(entry.auxiliaries));
    let switches = conns.filter_map(|conn| counted(&conn));
    Snapshot { apps, ..Snapshot::new(at, workers.iter().map(Arc::as_ref), switches.collect()) }
}

/// What one connection of a switch counted; nothing before it joined.
pub(crate) fn counted<S>(conn: &Conn<S>) -> Option<SwitchSnapshot> {
    conn.switch().map(|switch| SwitchSnapshot {
        dpid: switch.info.dpid,
        worker: conn.home(),
        weight: conn.weight().number(),
        counts: conn.stats.read(),
        spread: conn.spreads().map(SwitchHistograms::read).unwrap_or_default(),
        shed_ports: conn.with_shed(|tally| tally.clone()),
    })
}
