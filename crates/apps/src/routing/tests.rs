//! Laws of routes on random networks under random changes, against a model that remembers
//! everything and searches with petgraph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aldis_control::SwitchPort;
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;
use petgraph::algo::dijkstra;
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;

use super::*;

/// What the network is known to be, in the plainest words.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkModel {
    up: BTreeSet<DatapathId>,
    links: BTreeMap<SwitchPort, (SwitchPort, Metric)>,
}

impl NetworkModel {
    pub(crate) fn apply(&mut self, change: &GraphChange) {
        match *change {
            GraphChange::SwitchUp(dpid) => _ = self.up.insert(dpid),
            GraphChange::SwitchDown(dpid) => {
                self.up.remove(&dpid);
                self.links.retain(|from, (to, _)| from.dpid != dpid && to.dpid != dpid);
            }
            GraphChange::Link { from, to, metric } => {
                let up = self.up.contains(&from.dpid) && self.up.contains(&to.dpid);
                if up && from != to {
                    self.links.retain(|_, (other, _)| *other != to);
                    self.links.insert(from, (to, metric));
                }
            }
            GraphChange::NoLink { from } => _ = self.links.remove(&from),
        }
    }

    /// Links known from both ends: from, to and what they cost in this direction.
    fn links(&self) -> impl Iterator<Item = (SwitchPort, SwitchPort, Metric)> {
        self.links.iter().filter_map(|(&from, &(to, metric))| {
            let back = self.links.get(&to)?;
            (back.0 == from).then_some((from, to, metric))
        })
    }

    /// Distances to `to`, by petgraph.
    fn distances(&self, to: DatapathId, weight: LinkWeight) -> BTreeMap<DatapathId, u32> {
        let mut graph = DiGraph::<DatapathId, u32>::new();
        let nodes: BTreeMap<_, NodeIndex> =
            self.up.iter().map(|&dpid| (dpid, graph.add_node(dpid))).collect();
        for (from, to, metric) in self.links() {
            // Searched from the destination, against the direction of the links.
            graph.add_edge(nodes[&to.dpid], nodes[&from.dpid], cost(weight, metric));
        }
        let found = dijkstra(&graph, nodes[&to], None, |edge| *edge.weight());
        found.into_iter().map(|(node, distance)| (graph[node], distance)).collect()
    }

    /// How many ways of least cost lead to `to`: those over all links that lie on one, nearest
    /// switches first.
    fn counts(&self, to: DatapathId, weight: LinkWeight) -> BTreeMap<DatapathId, usize> {
        let distances = self.distances(to, weight);
        let mut nearest: Vec<_> = distances.iter().map(|(&dpid, &far)| (far, dpid)).collect();
        nearest.sort_unstable();
        let mut counts = BTreeMap::from([(to, 1)]);
        for (far, dpid) in nearest.into_iter().filter(|(_, dpid)| *dpid != to) {
            let closer = self.links().filter(|(from, next, metric)| {
                let beyond = distances.get(&next.dpid).map(|beyond| beyond + cost(weight, *metric));
                from.dpid == dpid && beyond == Some(far)
            });
            let count = closer.filter_map(|(_, next, _)| counts.get(&next.dpid)).sum();
            counts.insert(dpid, count);
        }
        counts
    }

    /// The narrowest link of the widest way between any two switches, by trying every switch in
    /// between.
    fn widths(&self) -> BTreeMap<(DatapathId, DatapathId), u16> {
        let mut widths = BTreeMap::new();
        for (from, to, metric) in self.links() {
            let best = widths.entry((from.dpid, to.dpid)).or_insert(u16::MAX);
            *best = metric.capacity.min(*best);
        }
        for &middle in &self.up {
            for &from in &self.up {
                for &to in &self.up {
                    let halves = [widths.get(&(from, middle)), widths.get(&(middle, to))];
                    let [Some(&there), Some(&on)] = halves else { continue };
                    let best = widths.entry((from, to)).or_insert(u16::MAX);
                    *best = there.max(on).min(*best);
                }
            }
        }
        widths
    }
}

/// What a network came to, in plain words and as a graph, and the routes through it.
fn lived_through(
    history: &[Vec<GraphChange>],
    weight: LinkWeight,
) -> (NetworkModel, Arc<Graph>, Routes) {
    let mut model = NetworkModel::default();
    history.concat().iter().for_each(|change| model.apply(change));
    let graph = Arc::new(Graph::default().with(&history.concat()));
    let routes = Routes::new(Arc::new(Shortest { weight }), Arc::clone(&graph));
    (model, graph, routes)
}

fn a_weight() -> impl Strategy<Value = LinkWeight> {
    prop_oneof![Just(LinkWeight::Hop), Just(LinkWeight::Latency), Just(LinkWeight::Capacity)]
}

fn cost(weight: LinkWeight, metric: Metric) -> u32 {
    match weight {
        LinkWeight::Hop => 1,
        LinkWeight::Latency => metric.latency.into(),
        LinkWeight::Capacity => metric.capacity.into(),
    }
}

const SWITCHES: u64 = 9;
const PORTS: u32 = 5;

fn an_end() -> impl Strategy<Value = SwitchPort> {
    (1..=SWITCHES, 1..=PORTS)
        .prop_map(|(dpid, port)| SwitchPort::of(DatapathId(dpid), PortNo(port)))
}

/// Few different costs, so that ways of equal cost are common.
fn a_metric() -> impl Strategy<Value = Metric> {
    (1..4u16, 1..4u16).prop_map(|(latency, capacity)| Metric { latency, capacity })
}

/// What happens at once.
fn an_incident() -> impl Strategy<Value = Vec<GraphChange>> {
    let link = |from, to, metric| GraphChange::Link { from, to, metric };
    let whole = (an_end(), an_end(), a_metric(), a_metric())
        .prop_map(move |(a, b, there, back)| vec![link(a, b, there), link(b, a, back)]);
    let half = (an_end(), an_end(), a_metric()).prop_map(move |(a, b, m)| vec![link(a, b, m)]);
    let cut = (an_end(), any::<bool>()).prop_map(|(from, _)| vec![GraphChange::NoLink { from }]);
    let down = (1..=SWITCHES).prop_map(|dpid| vec![GraphChange::SwitchDown(DatapathId(dpid))]);
    let up = (1..=SWITCHES).prop_map(|dpid| vec![GraphChange::SwitchUp(DatapathId(dpid))]);
    prop_oneof![12 => whole, 1 => half, 3 => cut, 1 => down, 2 => up]
}

/// What is found out in the beginning, and then version by version.
pub(crate) fn a_history() -> impl Strategy<Value = Vec<Vec<GraphChange>>> {
    let start = prop::collection::vec(an_incident(), 10..40).prop_map(|incidents| {
        let up = (1..=SWITCHES).map(|dpid| GraphChange::SwitchUp(DatapathId(dpid)));
        up.chain(incidents.concat()).collect::<Vec<_>>()
    });
    let version = prop::collection::vec(an_incident(), 1..3).prop_map(|version| version.concat());
    (start, prop::collection::vec(version, 0..10)).prop_map(|(start, versions)| {
        let mut history = vec![start];
        history.extend(versions);
        history
    })
}

fn an_engine() -> impl Strategy<Value = Arc<dyn Engine>> {
    let weight =
        prop_oneof![Just(LinkWeight::Hop), Just(LinkWeight::Latency), Just(LinkWeight::Capacity)];
    (weight, 0..3usize).prop_map(|(weight, which)| {
        let engines = Engines::new(weight);
        let name = engines.names().nth(which).unwrap();
        engines.named(name).unwrap()
    })
}

/// The links of a graph, from both ends.
fn links(graph: &Graph) -> BTreeSet<(SwitchPort, SwitchPort, Metric)> {
    let of = |(dpid, node)| {
        graph.legs(node).iter().map(move |leg| {
            let to = SwitchPort::of(graph.dpid(leg.node).unwrap(), leg.far_port);
            (SwitchPort::of(dpid, leg.port), to, leg.out)
        })
    };
    graph.switches().flat_map(of).collect()
}

fn pairs(graph: &Graph) -> impl Iterator<Item = (Node, Node)> {
    graph.switches().flat_map(|(_, from)| graph.switches().map(move |(_, to)| (from, to)))
}

/// The path in words that mean the same in every graph.
fn in_words(graph: &Graph, path: &[RouteHop]) -> Vec<SwitchPort> {
    path.iter().map(|hop| SwitchPort::of(graph.dpid(hop.node).unwrap(), hop.out_port)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_is_what_was_found_out(history in a_history()) {
        let (mut graph, mut model) = (Graph::default(), NetworkModel::default());
        for changes in &history {
            graph = graph.with(changes);
            changes.iter().for_each(|change| model.apply(change));
            prop_assert!(graph.switches().map(|(dpid, _)| dpid).eq(model.up.iter().copied()));
            prop_assert_eq!(links(&graph), model.links().collect::<BTreeSet<_>>());
            prop_assert_eq!(graph.links().count() * 2, model.links().count());
            for (dpid, node) in graph.switches() {
                prop_assert_eq!(graph.node(dpid), Some(node));
                let out = model.links.keys().copied();
                let ends: BTreeSet<SwitchPort> =
                    out.chain(model.links.values().map(|(to, _)| *to)).collect();
                for port in 0..2 * PORTS {
                    let at = SwitchPort::new(dpid.0, port);
                    prop_assert_eq!(graph.is_end(at), ends.contains(&at));
                }
                let ends = ends.iter().filter(|end| end.dpid == dpid).map(|end| end.port);
                prop_assert!(graph.ends(node).eq(ends));
            }
        }
    }

    #[test]
    fn distances_and_next_hops_are_those_of_dijkstra(
        history in a_history(),
        weight in a_weight(),
    ) {
        let (model, graph, routes) = lived_through(&history, weight);
        for (to_dpid, to) in graph.switches() {
            let expected = model.distances(to_dpid, weight);
            for (dpid, from) in graph.switches() {
                let here = expected.get(&dpid).copied();
                prop_assert_eq!(routes.distance(from, to), here);
                let closer = model.links().filter(|(end, far, metric)| {
                    let beyond = expected.get(&far.dpid);
                    let there = beyond.map(|beyond| beyond + cost(weight, *metric));
                    end.dpid == dpid && dpid != to_dpid && there.is_some() && there == here
                });
                let closer: Vec<PortNo> = closer.map(|(end, ..)| end.port).collect();
                let found: Vec<PortNo> =
                    routes.next_hops(from, to).map(|leg| leg.port).collect();
                prop_assert_eq!(found, closer);
            }
        }
    }

    #[test]
    fn all_ways_of_equal_cost_are_found_and_none_twice(
        history in a_history(),
        weight in a_weight(),
    ) {
        let (model, graph, routes) = lived_through(&history, weight);
        for (to_dpid, to) in graph.switches() {
            let counts = model.counts(to_dpid, weight);
            for (dpid, from) in graph.switches() {
                let paths: Vec<_> = routes.equal_cost_paths(from, to).collect();
                prop_assert_eq!(paths.len(), counts.get(&dpid).copied().unwrap_or(0));
                let said = paths.iter().map(|way| in_words(&graph, way)).collect::<BTreeSet<_>>();
                prop_assert_eq!(said.len(), paths.len());
                prop_assert!(said.into_iter().eq(paths.iter().map(|way| in_words(&graph, way))));
                for way in &paths {
                    let (mut here, mut costs) = (from, 0);
                    for hop in way {
                        prop_assert_eq!(hop.node, here);
                        let leg =
                            graph.legs(here).iter().find(|leg| leg.port == hop.out_port).unwrap();
                        prop_assert_eq!(leg.far_port, hop.in_port);
                        costs += cost(weight, leg.out);
                        here = leg.node;
                    }
                    prop_assert_eq!((here, Some(costs)), (to, routes.distance(from, to)));
                }
            }
        }
    }

    #[test]
    fn many_destinations_at_once_are_as_far_as_one_by_one(
        history in a_history(),
        engine in an_engine(),
        asked: prop::sample::Index,
    ) {
        let graph = Arc::new(Graph::default().with(&history.concat()));
        let [one, all] = [0; 2].map(|_| Routes::new(Arc::clone(&engine), Arc::clone(&graph)));
        let up: Vec<Node> = graph.switches().map(|(_, node)| node).collect();
        if !up.is_empty() {
            all.tree(*asked.get(&up));
        }
        all.search_all();
        prop_assert_eq!(all.tally().searched, up.len() as u64);
        for (from, to) in pairs(&graph) {
            prop_assert_eq!(all.distance(from, to), one.distance(from, to));
        }
        prop_assert_eq!(all.tally(), one.tally());
    }

    #[test]
    fn no_way_is_wider_than_the_widest(history in a_history()) {
        let mut model = NetworkModel::default();
        history.concat().iter().for_each(|change| model.apply(change));
        let graph = Arc::new(Graph::default().with(&history.concat()));
        let routes = Routes::new(Arc::new(Widest), Arc::clone(&graph));
        let widths = model.widths();
        for (from, to) in pairs(&graph).filter(|(from, to)| from != to) {
            let between = (graph.dpid(from).unwrap(), graph.dpid(to).unwrap());
            let width = routes.distance(from, to).map(|distance| (distance >> 16) as u16);
            prop_assert_eq!(width, widths.get(&between).copied());
            let mut path = vec![];
            routes.path(from, to, FlowHash(1), &mut path);
            let narrowest = path.iter().map(|hop| {
                let legs = graph.legs(hop.node);
                legs.iter().find(|leg| leg.port == hop.out_port).unwrap().out.capacity
            });
            prop_assert_eq!(narrowest.max(), width);
        }
    }

    #[test]
    fn paths_lead_where_they_should_and_nowhere_twice(
        history in a_history(),
        engine in an_engine(),
        flow: u64,
    ) {
        let graph = Arc::new(Graph::default().with(&history.concat()));
        let routes = Routes::new(engine, Arc::clone(&graph));
        let ahead = RouteHop { node: Node::at(0), out_port: PortNo(77), in_port: PortNo(77) };
        for (from, to) in pairs(&graph) {
            let mut path = vec![ahead];
            let is_way = routes.path(from, to, FlowHash(flow), &mut path);
            prop_assert_eq!(path.remove(0), ahead);
            prop_assert_eq!(is_way, routes.distance(from, to).is_some());
            let mut here = from;
            let mut visited = BTreeSet::from([from]);
            for hop in &path {
                prop_assert_eq!(hop.node, here);
                let leg = graph.legs(here).iter().find(|leg| leg.port == hop.out_port).unwrap();
                prop_assert_eq!(leg.far_port, hop.in_port);
                here = leg.node;
                prop_assert!(visited.insert(here));
            }
            prop_assert_eq!(here, if is_way { to } else { from });
        }
    }

    #[test]
    fn after_any_changes_routes_are_what_they_would_be_from_scratch(
        history in a_history(),
        engine in an_engine(),
        asked in prop::collection::vec((1..=SWITCHES).prop_map(DatapathId), 1..40),
        flow: u64,
    ) {
        let graph = Graph::default().with(&history[0]);
        let mut routes = Routes::new(Arc::clone(&engine), Arc::new(graph));
        let mut asked = asked.iter().cycle();
        for changes in &history[1..] {
            // Some trees are there, others are not.
            let some = asked.by_ref().take(4).filter_map(|&dpid| routes.graph().node(dpid));
            some.for_each(|node| _ = routes.tree(node));
            let graph = Arc::new(routes.graph().with(changes));
            let next = routes.after(Arc::clone(&graph));
            let scratch = Routes::new(Arc::clone(&engine), graph);
            let (kept, dropped) = (next.tally().kept, next.tally().dropped);
            let (mut same, mut other) = (routes.tally().kept, routes.tally().dropped);
            for at in 0..routes.graph().places() {
                let Some(before) = routes.found(Node::at(at)) else { continue };
                let is_up = next.graph().dpid(Node::at(at)) == routes.graph().dpid(Node::at(at));
                let all = 0..routes.graph().places().max(next.graph().places());
                let is_same = is_up
                    && all.map(Node::at).all(|node| {
                        before.distance(node) == scratch.tree(Node::at(at)).distance(node)
                    });
                *(if is_same { &mut same } else { &mut other }) += 1;
            }
            // Whatever is still true is kept, and nothing else.
            prop_assert_eq!((kept, dropped), (same, other));
            routes = next;
        }
        // The same network in places that no history mixed up.
        let mut model = NetworkModel::default();
        history.concat().iter().for_each(|change| model.apply(change));
        let mut changes: Vec<GraphChange> = model.up.iter().map(|&dpid| GraphChange::SwitchUp(dpid)).collect();
        let links = model.links.iter();
        changes.extend(links.map(|(&from, &(to, metric))| GraphChange::Link { from, to, metric }));
        let scratch = Routes::new(engine, Arc::new(Graph::default().with(&changes)));
        for (from, to) in pairs(scratch.graph()) {
            let here = |node| routes.graph().node(scratch.graph().dpid(node).unwrap()).unwrap();
            let (mut path, mut other) = (vec![], vec![]);
            let is_way = scratch.path(from, to, FlowHash(flow), &mut path);
            prop_assert_eq!(routes.path(here(from), here(to), FlowHash(flow), &mut other), is_way);
            prop_assert_eq!(in_words(scratch.graph(), &path), in_words(routes.graph(), &other));
            prop_assert_eq!(routes.distance(here(from), here(to)), scratch.distance(from, to));
        }
    }
}

fn end(dpid: u64, port: u32) -> SwitchPort {
    SwitchPort::of(DatapathId(dpid), PortNo(port))
}

/// Both directions of a link that costs little.
pub(crate) fn both(a: SwitchPort, b: SwitchPort) -> [GraphChange; 2] {
    let metric = Metric { latency: 1, capacity: 1 };
    [GraphChange::Link { from: a, to: b, metric }, GraphChange::Link { from: b, to: a, metric }]
}

fn ups(count: u64) -> impl Iterator<Item = GraphChange> {
    (1..=count).map(|dpid| GraphChange::SwitchUp(DatapathId(dpid)))
}

/// A ring of switches: port 1 leads to the next, port 2 to the one before.
pub(crate) fn ring(count: u64) -> Vec<GraphChange> {
    let next = |dpid| dpid % count + 1;
    let links = (1..=count).flat_map(|dpid| both(end(dpid, 1), end(next(dpid), 2)));
    ups(count).chain(links).collect()
}

fn by_hops(graph: Graph) -> Routes {
    Routes::new(Arc::new(Shortest::default()), Arc::new(graph))
}

#[test]
fn a_link_known_from_one_end_is_not_used() {
    let one = GraphChange::Link { from: end(1, 1), to: end(2, 1), metric: Metric::default() };
    let graph = Graph::default().with(&ups(2).chain([one]).collect::<Vec<_>>());
    let [a, b] = [1, 2].map(|dpid| graph.node(DatapathId(dpid)).unwrap());
    assert_eq!(by_hops(graph.clone()).distance(a, b), None);
    assert!(graph.ends(a).eq([PortNo(1)]) && graph.ends(b).eq([PortNo(1)]));
    let other = GraphChange::Link { from: end(2, 1), to: end(1, 1), metric: Metric::default() };
    assert_eq!(by_hops(graph.with(&[other])).distance(a, b), Some(1));
}

#[test]
fn flows_spread_evenly_over_links_as_good_and_stay_when_another_goes() {
    let links = (1..=4).flat_map(|port| both(end(1, port), end(2, port)));
    let graph = Graph::default().with(&ups(2).chain(links).collect::<Vec<_>>());
    let without = graph
        .with(&[GraphChange::NoLink { from: end(1, 3) }, GraphChange::NoLink { from: end(2, 3) }]);
    let [a, b] = [1, 2].map(|dpid| graph.node(DatapathId(dpid)).unwrap());
    let port = |routes: &Routes, flow| {
        let mut path = vec![];
        assert!(routes.path(a, b, FlowHash(flow), &mut path));
        path[0].out_port
    };
    let (all, fewer) = (by_hops(graph), by_hops(without));
    let mut flows = [0; 5];
    for flow in 0..4000 {
        let (before, after) = (port(&all, flow), port(&fewer, flow));
        flows[before.0 as usize] += 1;
        assert!(before == after || before == PortNo(3));
    }
    assert!(flows[1..].iter().all(|&flows| (850..1150).contains(&flows)), "{flows:?}");
}

#[test]
fn a_link_that_is_on_no_shortest_way_costs_no_search() {
    // With an even number of switches, those opposite each other have two ways.
    let graph = Graph::default().with(&ring(8));
    let routes = by_hops(graph.clone());
    graph.switches().for_each(|(_, node)| _ = routes.tree(node));
    assert_eq!(routes.tally(), RouteTally { searched: 8, kept: 0, dropped: 0 });
    // One more link beside an existing one changes no distance.
    let parallel = both(end(1, 7), end(2, 7));
    let with = routes.after(Arc::new(graph.with(&parallel)));
    graph.switches().for_each(|(_, node)| _ = with.tree(node));
    assert_eq!(with.tally(), RouteTally { searched: 8, kept: 8, dropped: 0 });
    assert_eq!(
        with.next_hops(graph.node(DatapathId(1)).unwrap(), graph.node(DatapathId(2)).unwrap())
            .count(),
        2
    );
    // Nor does it when it goes.
    let without = with.after(Arc::new(with.graph().with(&parallel.map(|link| match link {
        GraphChange::Link { from, .. } => GraphChange::NoLink { from },
        other => other,
    }))));
    assert_eq!(without.tally(), RouteTally { searched: 8, kept: 16, dropped: 0 });
    // A chord between two switches is on the shortest ways to most, but not to those as far from
    // both its ends.
    let chord = routes.after(Arc::new(graph.with(&both(end(1, 7), end(3, 7)))));
    assert_eq!(chord.tally(), RouteTally { searched: 8, kept: 2, dropped: 6 });
}

#[test]
fn a_long_line_and_a_wide_star_are_searched_alike() {
    let line = (1..3000).flat_map(|dpid| both(end(dpid, 1), end(dpid + 1, 2)));
    let graph = Graph::default().with(&ups(3000).chain(line).collect::<Vec<_>>());
    let at = |dpid| graph.node(DatapathId(dpid)).unwrap();
    assert_eq!(by_hops(graph.clone()).distance(at(1), at(3000)), Some(2999));
    let ring = Arc::new(Graph::default().with(&ring(150)));
    let [one, all] = [0; 2].map(|_| Routes::new(Arc::new(Shortest::default()), Arc::clone(&ring)));
    all.search_all();
    assert!(pairs(&ring).all(|(from, to)| all.distance(from, to) == one.distance(from, to)));
    let star = (2..3000).flat_map(|dpid| both(end(1, dpid), end(dpid.into(), 1)));
    let graph = Graph::default().with(&ups(3000).chain(star).collect::<Vec<_>>());
    let routes = by_hops(graph.clone());
    assert_eq!(routes.distance(at(2), at(2999)), Some(2));
    assert_eq!(routes.distance(at(2), at(3000)), None);
}
