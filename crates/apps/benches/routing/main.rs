//! What routes cost: of all pairs of switches from cold, after one link went, and for each request
//! answered with a path.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-apps --bench routing
//! ```
//!
//! The networks are two of 79 and 1,347 switches, grown by preferential attachment, as many as
//! Maestro's have, and the fat tree of 1,280 switches. Of each figure the least of the rounds and
//! their median are printed; where single destinations are timed, the longest too.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

mod topologies;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use aldis_apps::SwitchPort;
use aldis_apps::recent_set::RecentSet;
use aldis_apps::route_flow::{IN_FLIGHT, Key, Maintenance, Planner, RouteAnswer};
use aldis_apps::routing::{
    Engine, FlowHash, FlowSpread, Graph, GraphChange, LinkWeight, Node, Routes, Shortest, Widest,
};
use aldis_apps::spanning::Forest;
use aldis_control::Time;
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};

const ROUNDS: usize = 11;
/// Links that are cut in turn.
const CUTS: usize = 20;
/// Paths in a round.
const PATHS: usize = 100_000;

fn main() {
    println!("{:<12} {:<40} {:>10} {:>10} {:>10}", "network", "figure", "least", "median", "most");
    let networks = [
        ("grown, 79", topologies::grown(79)),
        ("grown, 1347", topologies::grown(1347)),
        ("fat tree", topologies::fat_tree()),
    ];
    for (name, changes) in networks {
        let graph = Arc::new(Graph::default().with(&changes));
        let links = graph.links().map(|(from, to, _)| [from, to]).collect();
        let bench = Bench { name, changes, graph, links };
        bench.graphs();
        let weighted = |weight| Arc::new(Shortest { weight });
        bench.engine("shortest, hops", &(weighted(LinkWeight::Hop) as Arc<dyn Engine>));
        bench.engine("shortest, latency", &(weighted(LinkWeight::Latency) as Arc<dyn Engine>));
        bench.engine("widest", &(Arc::new(Widest) as Arc<dyn Engine>));
        bench.engine("spread", &(Arc::new(FlowSpread::default()) as Arc<dyn Engine>));
        bench.requests();
        bench.forest();
    }
}

struct Bench {
    name: &'static str,
    changes: Vec<GraphChange>,
    graph: Arc<Graph>,
    links: Vec<[SwitchPort; 2]>,
}

impl Bench {
    fn graphs(&self) {
        let whole = || micros(|| drop(black_box(Graph::default().with(&self.changes))));
        self.show("graph from nothing, µs", (0..ROUNDS).map(|_| whole()).collect());
        let cut = |at| micros(|| drop(black_box(self.without(at))));
        self.show("graph without one link, µs", (0..CUTS).map(cut).collect());
    }

    fn engine(&self, name: &str, engine: &Arc<dyn Engine>) {
        let rounds = (0..ROUNDS).map(|_| micros(|| drop(self.all(engine))) / 1000.0).collect();
        self.show(&format!("{name}: all pairs one by one, ms"), rounds);
        let at_once = || {
            let routes = Routes::new(Arc::clone(engine), Arc::clone(&self.graph));
            micros(|| routes.search_all()) / 1000.0
        };
        self.show(&format!("{name}: all pairs, ms"), (0..ROUNDS).map(|_| at_once()).collect());
        let (warm, mut over, mut first) = (self.all(engine), Vec::new(), Vec::new());
        let mut dropped = Vec::new();
        for at in 0..CUTS {
            let graph = Arc::new(self.without(at));
            let begun = Instant::now();
            let routes = warm.after(graph);
            over.push(begun.elapsed().as_nanos() as f64 / 1000.0);
            dropped.push((routes.tally().dropped - warm.tally().dropped) as f64);
            for (_, node) in routes.graph().switches() {
                let searched = routes.tally().searched;
                let took = micros(|| _ = black_box(routes.tree(node)));
                if routes.tally().searched > searched {
                    first.push(took);
                }
            }
        }
        self.show(&format!("{name}: taken over, µs"), over);
        self.show(&format!("{name}: destinations dropped"), dropped);
        self.show(&format!("{name}: first use after, µs"), first);
        let rounds = (0..ROUNDS).map(|_| self.paths(&warm)).collect();
        self.show(&format!("{name}: a path, ns"), rounds);
    }

    fn all(&self, engine: &Arc<dyn Engine>) -> Routes {
        let routes = Routes::new(Arc::clone(engine), Arc::clone(&self.graph));
        for (_, node) in self.graph.switches() {
            black_box(routes.tree(node));
        }
        routes
    }

    /// Without one of its links, another for each `at`.
    fn without(&self, at: usize) -> Graph {
        let cut = self.links[at * self.links.len() / CUTS].map(|from| GraphChange::NoLink { from });
        self.graph.with(&cut)
    }

    fn paths(&self, routes: &Routes) -> f64 {
        let nodes: Vec<Node> = self.graph.switches().map(|(_, node)| node).collect();
        let mut path = Vec::new();
        let whole = micros(|| {
            for at in 0..PATHS {
                path.clear();
                let (from, to) =
                    (nodes[at * 7919 % nodes.len()], nodes[at * 104_729 % nodes.len()]);
                black_box(routes.path(from, to, FlowHash(at as u64), &mut path));
            }
        });
        whole * 1000.0 / PATHS as f64
    }

    /// Requests between hosts of all switches, warm: of new flows, and of flows that were answered
    /// before.
    fn requests(&self) {
        let routes = self.all(&(Arc::new(Shortest::default()) as Arc<dyn Engine>));
        let dpids: Vec<DatapathId> = self.graph.switches().map(|(dpid, _)| dpid).collect();
        let recent = Arc::new(RecentSet::new(1 << 14, IN_FLIGHT));
        let (mut fresh, mut known) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS as u32 {
            let mut planner = Planner::new(Arc::clone(&recent));
            let mut maintenance = Maintenance::new(PATHS);
            for (again, rounds) in [(0, &mut fresh), (1, &mut known)] {
                let now = Time::START + 2 * IN_FLIGHT * (2 * round + again);
                let whole = micros(|| {
                    for at in 0..PATHS {
                        let host = |at: usize| SwitchPort::of(dpids[at % dpids.len()], PortNo(100));
                        let (from, to) = (host(at * 7919), host(at * 104_729 + 1));
                        let [src, dst] =
                            [at, !at].map(|at| MacAddr::from_u64(at as u64 & 0xff_ffff));
                        let key = Key { src, dst, vlan: Key::UNTAGGED };
                        let answer = planner.answer(now, (&routes, 1), key, (from, to));
                        if let RouteAnswer::Install { rules, .. } = black_box(answer) {
                            black_box(maintenance.installed(key, (from, to), rules));
                        }
                    }
                });
                rounds.push(whole * 1000.0 / PATHS as f64);
            }
        }
        self.show("route_flow: a new flow, ns", fresh);
        self.show("route_flow: a known flow, ns", known);
    }

    fn forest(&self) {
        let rounds = (0..ROUNDS).map(|_| micros(|| drop(black_box(Forest::of(&self.graph)))));
        self.show("spanning: forest, µs", rounds.collect());
    }

    fn show(&self, figure: &str, mut values: Vec<f64>) {
        values.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (values.first(), values.last()) else { return };
        let median = values[values.len() / 2];
        println!("{:<12} {figure:<40} {least:>10.1} {median:>10.1} {most:>10.1}", self.name);
    }
}

fn micros(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_nanos() as f64 / 1000.0
}
