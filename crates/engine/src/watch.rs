//! What those see who watch from outside: switches, counters, the World.
//!
//! Nobody who looks takes a lock that a worker needs to serve: switches are found in the roster and the World behind its
//! pointer, both without one; counters are read while they are written. The two small locks of a connection, for what was
//! shed of it and for its ports, are a worker's only while it sheds or a port changes.

use std::sync::Arc;

use aldis_control::switch::Seen;
use aldis_control::{Time, World};
use aldis_wire::DatapathId;

use crate::clock::Clock;
use crate::hall::Hall;
use crate::metrics::{self, AppSnapshot, AppsCounted, Snapshot, WorkerStats, counted};
use crate::net::epoll::Epoll;
use crate::roster::Entry;

/// Sees what an engine does, from any thread, for as long as it likes.
#[derive(Clone, Debug)]
pub struct Watch {
    pub(crate) clock: Clock,
    pub(crate) hall: Arc<Hall<Epoll>>,
    pub(crate) stats: Arc<[Arc<WorkerStats>]>,
    pub(crate) apps: AppsCounted,
}

impl Watch {
    /// The time of the engine's clock, which began at its start.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Everything that is counted, now.
    pub fn snapshot(&self) -> Snapshot {
        metrics::snapshot(self.now(), &self.stats, self.apps.read(), &self.hall)
    }

    /// What the applications did until now, in their order.
    pub fn apps(&self) -> Vec<AppSnapshot> {
        self.apps.read()
    }

    /// The switches that are up, by datapath id.
    pub fn switches(&self) -> Vec<Seen> {
        let mut switches: Vec<_> = self.hall.roster.entries().filter_map(seen).collect();
        switches.sort_unstable_by_key(|seen| seen.switch.info.dpid);
        switches
    }

    /// A switch, if it is up.
    pub fn switch(&self, dpid: DatapathId) -> Option<Seen> {
        self.hall.roster.entry(dpid).and_then(seen)
    }

    /// The newest World.
    pub fn world(&self) -> Arc<World> {
        self.hall.newest.world()
    }
}

/// Nothing in the moment before it joined.
fn seen<S>(Entry { main, auxiliaries }: Entry<S>) -> Option<Seen> {
    let mut all = counted(&main)?;
    for more in auxiliaries.iter().filter_map(|conn| counted(conn)) {
        all.counts.merge(&more.counts);
        all.shed_ports.merge(&more.shed_ports);
    }
    Some(Seen {
        switch: Arc::clone(main.switch()?),
        ports_now: main.ports_now(),
        peer: main.peer,
        up_since: main.joined_at()?,
        reads: !main.outgoing.is_stuck(),
        auxiliaries: auxiliaries.len(),
        counted: all,
    })
}
