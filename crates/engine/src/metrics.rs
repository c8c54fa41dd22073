//! What the engine counts, for whoever serves it: see [`aldis_control::stats`].

use std::sync::Arc;

use aldis_control::Time;
pub use aldis_control::stats::{Count, Snapshot, SwitchSnapshot, WorkerStats};

use crate::conn::Conn;
use crate::hall::Hall;
use crate::net::Net;

/// All counters at this moment. Those of a connection that is gone went with it.
pub(crate) fn snapshot<N: Net>(at: Time, workers: &[Arc<WorkerStats>], hall: &Hall<N>) -> Snapshot {
    let entries = hall.roster.entries();
    let conns = entries.flat_map(|entry| [entry.main].into_iter().chain(entry.auxiliaries));
    let switches = conns.filter_map(|conn| counted(&conn));
    Snapshot::new(at, workers.iter().map(Arc::as_ref), switches.collect())
}

/// What one connection of a switch counted; nothing before it joined.
pub(crate) fn counted<S>(conn: &Conn<S>) -> Option<SwitchSnapshot> {
    conn.switch().map(|switch| SwitchSnapshot {
        dpid: switch.info.dpid,
        worker: conn.home(),
        weight: conn.weight().number(),
        counts: conn.stats.read(),
        shed_ports: conn.with_tally(|tally| tally.clone()),
    })
}
