//! What a flow request is answered.

use core::time::Duration;
use std::sync::Arc;

use aldis_control::{SwitchPort, Time};

use super::path::{Found, PathSearch};
use super::rule::{Key, Rule};
use crate::recent_set::{Recency, RecentSet, Tick};
use crate::routing::{Node, Routes};

/// How long the flows of an answered request may be on their way. Later, a switch that asks again
/// lost them.
pub const IN_FLIGHT: Duration = Duration::from_millis(100);

/// What to do about a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteAnswer<'p> {
    /// Install all of `rules` in this order, or none of them, then send the packet out of
    /// `release`.
    Install {
        /// The flows, the last hop's first.
        rules: &'p [Rule],
        /// The destination's port.
        release: SwitchPort,
    },
    /// The flows are on their way already: send the packet out of `release`.
    InFlight {
        /// The destination's port.
        release: SwitchPort,
        /// Since when they are.
        since: Tick,
    },
    /// No flows are needed: send the packet out of this port.
    Release(SwitchPort),
    /// The destination is where the packet came from: it heard the packet, and nothing is to be
    /// done.
    Filter,
    /// No way leads there.
    NoWay,
}

/// What is known of a request before it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foreseen {
    /// What [`Planner::foresee`] returned.
    pub(super) hash: u64,
    /// The places of its first switch and its last one, if both are there.
    pub(super) nodes: Option<(Node, Node)>,
}

/// Plans paths: one for each worker.
#[derive(Debug)]
pub struct Planner {
    // Of all workers: the requests of one switch may come to several of them.
    in_flight: Arc<RecentSet>,
    search: PathSearch,
}

impl Planner {
    /// With what all workers share, for members that stay [`IN_FLIGHT`].
    pub fn new(in_flight: Arc<RecentSet>) -> Planner {
        Planner { in_flight, search: PathSearch::default() }
    }

    /// The answer to such a request will be asked for soon: what is known of it is on its way until
    /// then. Returns its hash. `version` is that of the World: what was answered by others does not
    /// count.
    #[inline]
    pub fn foresee(&self, key: Key, (from, to): (SwitchPort, SwitchPort), version: u64) -> u64 {
        let hash = self.in_flight.hash((key, from, to, version));
        self.in_flight.ask_for(hash);
        hash
    }

    /// The same for a request whose hash is known: one of all that its answer depends on.
    #[inline]
    pub(super) fn foresee_hash(&self, hash: u64) -> u64 {
        self.in_flight.ask_for(hash);
        hash
    }

    /// The answer to a request: a packet of the flow `key` came in at `from`, and its receiver is
    /// at `to`. `version` is that of the World.
    pub fn answer(
        &mut self,
        now: Time,
        (routes, version): (&Routes, u64),
        key: Key,
        (from, to): (SwitchPort, SwitchPort),
    ) -> RouteAnswer<'_> {
        let hash = self.foresee(key, (from, to), version);
        let graph = routes.graph();
        let nodes = graph.node(from.dpid).zip(graph.node(to.dpid));
        self.answer_foreseen(now, (routes, Foreseen { hash, nodes }), key, (from, to))
    }

    /// The same, with what is known of it already.
    pub(super) fn answer_foreseen(
        &mut self,
        now: Time,
        (routes, Foreseen { hash, nodes }): (&Routes, Foreseen),
        key: Key,
        (from, to): (SwitchPort, SwitchPort),
    ) -> RouteAnswer<'_> {
        if from == to {
            return RouteAnswer::Filter;
        }
        match self.search.find_between(routes, nodes, &key, (from, to)) {
            Found::Nothing => return RouteAnswer::NoWay,
            Found::Back => return RouteAnswer::Release(to),
            Found::Path => {}
        }
        // Where there is no room to remember, flows are sent once too often.
        if let (Recency::Known, since) = self.in_flight.note_since(now, hash) {
            return RouteAnswer::InFlight { release: to, since };
        }
        RouteAnswer::Install { rules: self.search.rules(), release: to }
    }
}
