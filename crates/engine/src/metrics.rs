//! What the engine counts, for whoever serves it: see [`aldis_control::stats`].

use std::sync::Arc;

use aldis_control::Time;
pub use aldis_control::stats::{Count, Snapshot, SwitchSnapshot, WorkerStats};

use crate::hall::Hall;
use crate::net::Net;

/// All counters at this moment. Those of a connection that is gone went with it.
pub(crate) fn snapshot<N: Net>(at: Time, workers: &[Arc<WorkerStats>], hall: &Hall<N>) -> Snapshot {
    let conns: Vec<_> = hall.directory().values().map(Arc::clone).collect();
    let (main, auxiliary): (Vec<_>, Vec<_>) =
        conns.iter().partition(|conn| conn.main_of().is_some());
    let switches = main.into_iter().chain(auxiliary).filter_map(|conn| {
        conn.switch().map(|switch| SwitchSnapshot {
            dpid: switch.info.dpid,
            worker: conn.home(),
            weight: conn.weight().number(),
            counts: conn.stats.read(),
            shed_ports: conn.with_tally(|tally| tally.clone()),
        })
    });
    Snapshot::new(at, workers.iter().map(Arc::as_ref), switches.collect())
}
