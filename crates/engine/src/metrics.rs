//! The engine's counters, as [`aldis_control::stats`] names them.

use std::sync::Arc;

use aldis_control::Time;
use aldis_control::stats::SwitchHistograms;
pub use aldis_control::stats::{AppSnapshot, Counter, Snapshot, SwitchSnapshot, WorkerStats};

use crate::conn::Conn;
use crate::net::Net;
use crate::shared::Shared;

/// All counters at this moment. Those of a connection that is gone went with it.
pub(crate) fn snapshot<N: Net>(
    at: Time,
    workers: &[Arc<WorkerStats>],
    shared: &Shared<N>,
) -> Snapshot {
    let entries = shared.switches.entries();
    let conns = entries.flat_map(|entry| [entry.main].into_iter().chain(entry.auxiliaries));
    let switches = conns.filter_map(|conn| counted(&conn));
    let apps = shared.line_up.counted();
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
