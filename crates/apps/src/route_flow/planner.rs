//! What a flow request is answered.

use core::time::Duration;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use aldis_control::Time;

use super::paths::{Paths, Reroute};
use super::rule::{Key, Rule};
use crate::place::SwitchPort;
use crate::recent::{Recent, Verdict};
use crate::routing::{Hop, Routes};

/// How long the flows of an answered request may be on their way. Later, a switch that asks again lost them.
pub const IN_FLIGHT: Duration = Duration::from_millis(100);

/// What to do about a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer<'p> {
    /// Install all of `rules` in this order, or none of them, then send the packet out of `release`. The rules in `remove` are
    /// of the flow's path before and no longer hold; they go last.
    Install {
        /// The flows, the last hop's first.
        rules: &'p [Rule],
        /// The destination's port.
        release: SwitchPort,
        /// Flows that are to go.
        remove: &'p [Rule],
    },
    /// The flows are on their way already: send the packet out of this port.
    Release(SwitchPort),
    /// The destination is where the packet came from: it heard the packet, and nothing is to be done.
    Filter,
    /// No way leads there.
    NoWay,
}

/// Plans paths: one for each worker.
#[derive(Debug)]
pub struct Planner {
    // Of all workers: the requests of one switch may come to several of them.
    in_flight: Arc<Recent>,
    paths: Paths,
    hops: Vec<Hop>,
    rules: Vec<Rule>,
    remove: Vec<Rule>,
}

impl Planner {
    /// With what all workers share, for members that stay [`IN_FLIGHT`], and room to remember `paths_max` paths.
    pub fn new(in_flight: Arc<Recent>, paths_max: usize) -> Planner {
        let (hops, rules, remove) = (Vec::new(), Vec::new(), Vec::new());
        Planner { in_flight, paths: Paths::new(paths_max), hops, rules, remove }
    }

    /// What it remembers.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The answer to a request: a packet of the flow `key` came in at `from`, and its receiver is at `to`. `version` is that
    /// of the routes: what was answered by others does not count.
    pub fn answer(
        &mut self,
        now: Time,
        (routes, version): (&Routes, u64),
        key: Key,
        (from, to): (SwitchPort, SwitchPort),
    ) -> Answer<'_> {
        if from == to {
            return Answer::Filter;
        }
        if !self.plan(routes, &key, (from, to)) {
            return Answer::NoWay;
        }
        // Where there is no room to remember, flows are sent once too often.
        if self.in_flight.note(now, hash(&key, from, to, version)) == Verdict::Known {
            return Answer::Release(to);
        }
        self.remove.clear();
        self.paths.insert(key, (from, to), &self.rules, &mut self.remove);
        Answer::Install { rules: &self.rules, release: to, remove: &self.remove }
    }

    /// Another version of the routes: plans every path again that went over a link which is gone. Those that still hold stay
    /// as they are, though a better way may have appeared.
    pub fn reroute(
        &mut self,
        before: &Routes,
        routes: &Routes,
        mut each: impl FnMut(&Reroute<'_>),
    ) {
        let lost = routes.graph().lost(before.graph());
        let mut broken: Vec<u32> = lost.flat_map(|end| self.paths.over(end)).collect();
        broken.sort_unstable();
        broken.dedup();
        for path in broken {
            let Some((key, ends)) = self.paths.ends(path) else { continue };
            self.remove.clear();
            if self.plan(routes, &key, ends) {
                self.paths.insert(key, ends, &self.rules, &mut self.remove);
            } else {
                self.rules.clear();
                self.paths.remove(key, ends.0, &mut self.remove);
            }
            each(&Reroute { key, from: ends.0, install: &self.rules, remove: &self.remove });
        }
    }

    /// The flow of the first hop is gone, and so will be the others: forgets the path.
    pub fn expired(&mut self, key: Key, from: SwitchPort) {
        self.remove.clear();
        self.paths.remove(key, from, &mut self.remove);
    }

    /// The host is not where it was, or gone: forgets all paths from it and to it. `each` gets their rules, to be removed.
    pub fn forget_host(&mut self, host: aldis_wire::MacAddr, mut each: impl FnMut(&Reroute<'_>)) {
        let paths: Vec<u32> = self.paths.of_host(host).collect();
        for path in paths {
            let Some((key, (from, _))) = self.paths.ends(path) else { continue };
            self.remove.clear();
            self.paths.remove(key, from, &mut self.remove);
            each(&Reroute { key, from, install: &[], remove: &self.remove });
        }
    }

    /// Fills in the rules of a flow's path, the last hop's first. There are none if there is no way.
    fn plan(&mut self, routes: &Routes, key: &Key, (from, to): (SwitchPort, SwitchPort)) -> bool {
        self.hops.clear();
        self.rules.clear();
        let graph = routes.graph();
        let (Some(first), Some(last)) = (graph.node(from.dpid), graph.node(to.dpid)) else {
            return false;
        };
        if !routes.path(first, last, key.flow(), &mut self.hops) {
            return false;
        }
        let mut out = to;
        for hop in self.hops.iter().rev() {
            self.rules.push(Rule { dpid: out.dpid, in_port: hop.in_port, out_port: out.port });
            let Some(dpid) = graph.dpid(hop.node) else { return false };
            out = SwitchPort::of(dpid, hop.out_port);
        }
        self.rules.push(Rule { dpid: out.dpid, in_port: from.port, out_port: out.port });
        true
    }
}

fn hash(key: &Key, from: SwitchPort, to: SwitchPort, version: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, from, to, version).hash(&mut hasher);
    hasher.finish()
}
