//! The routes that an engine finds in a graph, found when asked for.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use super::engine::Engine;
use super::graph::{Graph, Node};
use super::next_hops::{Leading, NextHops};
use super::node::Leg;
use super::paths::{Crossing, EqualCostPaths, EqualPaths};
use super::search::{AT_ONCE, FAR, Tree};
use crate::SwitchPort;

/// An odd number without a pattern: 2⁶⁴ over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What tells flows apart that may take different ways of equal cost: a hash of what its packets
/// have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlowHash(pub u64);

impl FlowHash {
    /// The flow as one switch sees it. Without this, all flows that took the first of two links at
    /// one switch would take the first at the next, and half the links would carry nothing.
    #[inline]
    pub(super) fn at(self, dpid: DatapathId) -> FlowHash {
        FlowHash(mix(self.0 ^ dpid.0.wrapping_mul(GOLDEN)))
    }

    /// How much the flow wants this port: it takes the one that it wants most of those there are.
    #[inline]
    pub(super) fn rank(self, port: PortNo) -> u64 {
        mix(self.0.wrapping_add(u64::from(port.0).wrapping_mul(GOLDEN)))
    }

    /// A number below `count`, another for each draw.
    pub(super) fn draw(self, draw: u64, count: usize) -> usize {
        let drawn = mix(self.0.wrapping_add((draw + 1).wrapping_mul(GOLDEN)));
        ((u128::from(drawn) * count as u128) >> 64) as usize
    }
}

/// Spreads every bit over all others (the finaliser of SplitMix64).
#[inline]
fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// A link of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteHop {
    /// The switch that it leaves.
    pub node: Node,
    /// The port by which it leaves.
    pub out_port: PortNo,
    /// The port by which it arrives at the next switch.
    pub in_port: PortNo,
}

/// What was kept and what was done again, since the first version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RouteTally {
    /// Trees that were searched for.
    pub searched: u64,
    /// Trees that a change left as they were.
    pub kept: u64,
    /// Trees that a change made untrue.
    pub dropped: u64,
}

/// Routes between all switches of a graph.
///
/// Immutable to its readers: trees are added when first asked for, and two readers that ask at once
/// find the same.
#[derive(Debug)]
pub struct Routes {
    graph: Arc<Graph>,
    engine: Arc<dyn Engine>,
    trees: Box<[OnceLock<Arc<Tree>>]>,
    next_hop_sets: Box<[OnceLock<NextHops>]>,
    searched: Arc<AtomicU64>,
    kept: u64,
    dropped: u64,
}

impl Routes {
    /// Through this graph, none of them looked for yet.
    pub fn new(engine: Arc<dyn Engine>, graph: Arc<Graph>) -> Routes {
        let trees = (0..graph.places()).map(|_| OnceLock::new()).collect();
        let (next_hop_sets, searched) = (none_found(&graph), Arc::default());
        Routes { graph, engine, trees, next_hop_sets, searched, kept: 0, dropped: 0 }
    }

    /// Through the graph that became of this one. Trees that hold for it too are taken over.
    pub fn after(&self, graph: Arc<Graph>) -> Routes {
        let differences: Vec<Node> = graph.differences(&self.graph).collect();
        let (mut kept, mut dropped) = (self.kept, self.dropped);
        let take_over = |at| {
            let found = self.trees.get(at).and_then(|tree: &OnceLock<_>| tree.get());
            let holds = |tree: &&Arc<Tree>| self.holds(&graph, tree, Node::at(at), &differences);
            let taken_over = found.filter(holds).map(Arc::clone);
            match (found, &taken_over) {
                (Some(_), Some(_)) => kept += 1,
                (Some(_), None) => dropped += 1,
                (None, _) => {}
            }
            taken_over.map_or_else(OnceLock::new, OnceLock::from)
        };
        let trees = (0..graph.places()).map(take_over).collect();
        let (engine, searched) = (Arc::clone(&self.engine), Arc::clone(&self.searched));
        let next_hop_sets = none_found(&graph);
        Routes { graph, engine, trees, next_hop_sets, searched, kept, dropped }
    }

    /// The switches and links that they lead over.
    #[inline]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The engine that finds them.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// How far every switch is from a destination; searched for if that was not done yet. `to` is a
    /// place of this graph.
    #[inline]
    pub fn tree(&self, to: Node) -> &Tree {
        match self.trees[to.index()].get() {
            Some(tree) => tree,
            None => self.search(to),
        }
    }

    /// Searches for all destinations that were not asked for yet, many at once.
    pub fn search_all(&self) {
        while self.search_some() {}
    }

    /// Searches for some of the destinations that were not asked for yet, at once; whether there
    /// may be more. For the publisher of the routes, so that their readers seldom have to.
    pub fn search_some(&self) -> bool {
        let missing = |&node: &Node| self.trees[node.index()].get().is_none();
        let nodes = self.graph.switches().map(|(_, node)| node);
        let roots: Vec<Node> = nodes.filter(missing).take(AT_ONCE).collect();
        self.searched.fetch_add(roots.len() as u64, Ordering::Relaxed);
        for (root, tree) in roots.iter().zip(self.engine.trees(&self.graph, &roots)) {
            self.trees[root.index()].get_or_init(|| Arc::new(tree));
        }
        roots.len() == AT_ONCE
    }

    /// How far one switch is from another, in the units of the engine; `None` where no way leads
    /// there.
    #[inline]
    pub fn distance(&self, from: Node, to: Node) -> Option<u32> {
        Some(self.tree(to).distance(from)).filter(|&distance| distance != FAR)
    }

    /// All links by which `from` may be left for `to`, by port: each leads closer by exactly what
    /// it costs.
    pub fn next_hops(&self, from: Node, to: Node) -> impl Iterator<Item = &Leg> {
        let tree = self.tree(to);
        let here = tree.distance(from);
        self.graph.legs(from).iter().filter(move |leg| self.engine.leads(tree, leg, here))
    }

    /// All paths of equal cost from one switch to another, by their ports: found one after the
    /// other, and none twice. There may be very many.
    pub fn equal_cost_paths(&self, from: Node, to: Node) -> EqualCostPaths<'_> {
        EqualCostPaths::new(self, from, to)
    }

    /// The same as lists of links: at most `max` of them, of `hops_max` links together unless the
    /// first is longer.
    pub fn paths(
        &self,
        from: DatapathId,
        to: DatapathId,
        max: usize,
        hops_max: usize,
    ) -> EqualPaths {
        let engine = self.engine.name().to_owned();
        let mut paths = EqualPaths { engine, distance: None, paths: vec![], more: false };
        let (Some(from), Some(to)) = (self.graph.node(from), self.graph.node(to)) else {
            return paths;
        };
        paths.distance = self.distance(from, to);
        let mut hops = 0;
        for path in self.equal_cost_paths(from, to) {
            hops += path.len();
            if paths.paths.len() == max || (hops > hops_max && !paths.paths.is_empty()) {
                paths.more = true;
                break;
            }
            paths.paths.push(self.crossings(&path, to));
        }
        paths
    }

    fn crossings(&self, path: &[RouteHop], to: Node) -> Vec<Crossing> {
        let at = |node, port| SwitchPort::of(self.graph.dpid(node).unwrap_or(DatapathId(0)), port);
        let next = path.iter().skip(1).map(|hop| hop.node).chain([to]);
        let one = |(hop, next): (&RouteHop, Node)| Crossing {
            from: at(hop.node, hop.out_port),
            to: at(next, hop.in_port),
        };
        path.iter().zip(next).map(one).collect()
    }

    /// Appends the links that a flow takes from one switch to another, none if they are the same;
    /// says whether there is a way, and appends nothing where there is none.
    #[inline]
    pub fn path(&self, from: Node, to: Node, flow: FlowHash, path: &mut Vec<RouteHop>) -> bool {
        self.engine.path(self, (from, to), flow, path)
    }

    /// The same for engines that choose each link by itself, as [`Engine::next`] does: which links
    /// lead closer is found once for each switch and destination.
    #[inline]
    pub fn follow(
        &self,
        (from, to): (Node, Node),
        flow: FlowHash,
        path: &mut Vec<RouteHop>,
    ) -> bool {
        let (tree, begun, mut node) = (self.tree(to), path.len(), from);
        let next_hop_sets =
            self.next_hop_sets[to.index()].get_or_init(|| NextHops::new(self.graph.places()));
        while node != to {
            let find = |leg: &Leg| self.engine.leads(tree, leg, tree.distance(node));
            let leg = match next_hop_sets.leading(node, self.graph.legs(node), find) {
                Some(legs) => self.choose(node, legs, flow),
                None => self.engine.next(&self.graph, tree, node, flow),
            };
            let Some(leg) = leg else {
                path.truncate(begun);
                return false;
            };
            path.push(RouteHop { node, out_port: leg.port, in_port: leg.far_port });
            node = leg.node;
        }
        true
    }

    /// One of these links of a switch, as [`Engine::next`] has it.
    #[inline]
    fn choose<'g>(&self, node: Node, mut legs: Leading<'g>, flow: FlowHash) -> Option<&'g Leg> {
        let first = legs.next()?;
        let Some(second) = legs.next() else { return Some(first) };
        let flow = flow.at(self.graph.dpid(node)?);
        [first, second].into_iter().chain(legs).max_by_key(|leg| flow.rank(leg.port))
    }

    /// What was kept and what was done again, up to this version.
    pub fn tally(&self) -> RouteTally {
        let searched = self.searched.load(Ordering::Relaxed);
        RouteTally { searched, kept: self.kept, dropped: self.dropped }
    }

    /// The tree of a destination, if it is there.
    #[cfg(test)]
    pub(super) fn found(&self, to: Node) -> Option<&Tree> {
        self.trees.get(to.index())?.get().map(|tree| &**tree)
    }

    #[cold]
    fn search(&self, to: Node) -> &Tree {
        let tree = Arc::new(self.engine.tree(&self.graph, to));
        self.searched.fetch_add(1, Ordering::Relaxed);
        // No reader waits for the search of another: the second one throws away the same result.
        self.trees[to.index()].get_or_init(|| tree)
    }

    fn holds(&self, graph: &Graph, tree: &Tree, root: Node, differences: &[Node]) -> bool {
        let same = self.graph.dpid(root).is_some() && self.graph.dpid(root) == graph.dpid(root);
        same && differences.iter().all(|&node| self.engine.holds(graph, tree, root, node))
    }
}

/// No next hops are known yet of a graph.
fn none_found(graph: &Graph) -> Box<[OnceLock<NextHops>]> {
    (0..graph.places()).map(|_| OnceLock::new()).collect()
}
