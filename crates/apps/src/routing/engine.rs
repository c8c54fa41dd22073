//! What makes one way better than another.
//!
//! An engine says how far a switch is from a destination if a link leads it to a neighbour of known
//! distance ([`Engine::farther`]): hops, a sum of costs, the narrowest link so far. As long as
//! every step leads farther, there is exactly one set of distances in which each switch is as far
//! as its best link says; it is found outward from the destination, and it can be checked switch by
//! switch. The search, what stays true after a change, the next hops and the paths follow from
//! that.

mod shortest;
mod spread;
mod widest;

use core::fmt;

use super::graph::{Graph, Node};
use super::metric::Metric;
use super::node::Leg;
use super::routes::{FlowHash, RouteHop, Routes};
use super::search::{FAR, Tree};

pub use shortest::{LinkWeight, Shortest};
pub use spread::FlowSpread;
pub use widest::Widest;

/// Finds ways through the network.
///
/// [`Engine::name`] and [`Engine::farther`] are enough for an engine of one's own; the rest has
/// defaults, which engines replace to be faster or to choose whole paths another way.
pub trait Engine: Send + Sync + fmt::Debug {
    /// The name by which it is configured and shown.
    fn name(&self) -> &'static str;

    /// How far a switch is from a destination over a link of this cost to a neighbour that is
    /// `beyond` far: always more than `beyond`, and [`FAR`] where this link may not be used.
    fn farther(&self, link: Metric, beyond: u32) -> u32;

    /// How far every switch is from `root`.
    fn tree(&self, graph: &Graph, root: Node) -> Tree {
        Tree::by_cost(graph, root, |link, beyond| self.farther(link, beyond))
    }

    /// How far every switch is from each of `roots`, at most 64, in their order: as
    /// [`Engine::tree`], but at once.
    fn trees(&self, graph: &Graph, roots: &[Node]) -> Vec<Tree> {
        roots.iter().map(|&root| self.tree(graph, root)).collect()
    }

    /// Whether the distance of one switch from `root` is what its links say. Where that is so of
    /// every switch that changed, the tree holds for the changed graph.
    fn holds(&self, graph: &Graph, tree: &Tree, root: Node, node: Node) -> bool {
        let over = |leg: &Leg| match tree.distance(leg.node) {
            FAR => FAR,
            beyond => self.farther(leg.out, beyond),
        };
        let best = graph.legs(node).iter().map(over).min().unwrap_or(FAR);
        node == root || best == tree.distance(node)
    }

    /// The link by which a flow leaves a switch: one of those that lead closer by exactly what they
    /// cost. Of several each flow takes the same one wherever it is asked, about as many flows take
    /// each, and where one of them goes the flows of the others stay.
    fn next<'g>(
        &self,
        graph: &'g Graph,
        tree: &Tree,
        node: Node,
        flow: FlowHash,
    ) -> Option<&'g Leg> {
        let (here, legs) = (tree.distance(node), graph.legs(node));
        let mut closer = legs.iter().filter(|leg| self.leads(tree, leg, here));
        let first = closer.next()?;
        let Some(second) = closer.next() else { return Some(first) };
        let flow = flow.at(graph.dpid(node)?);
        [first, second].into_iter().chain(closer).max_by_key(|leg| flow.rank(leg.port))
    }

    /// Whether a link leads a switch that is `here` far from the destination closer by exactly what
    /// it costs.
    #[inline]
    fn leads(&self, tree: &Tree, leg: &Leg, here: u32) -> bool {
        let beyond = tree.distance(leg.node);
        here != FAR && beyond < here && self.farther(leg.out, beyond) == here
    }

    /// Appends the links that a flow takes from one switch to another; says whether there is a way,
    /// and appends nothing where there is none.
    fn path(
        &self,
        routes: &Routes,
        way: (Node, Node),
        flow: FlowHash,
        path: &mut Vec<RouteHop>,
    ) -> bool {
        let (graph, (mut node, to)) = (routes.graph(), way);
        let (tree, begun) = (routes.tree(to), path.len());
        while node != to {
            let Some(leg) = self.next(graph, tree, node, flow) else {
                path.truncate(begun);
                return false;
            };
            path.push(RouteHop { node, out_port: leg.port, in_port: leg.far_port });
            node = leg.node;
        }
        true
    }
}
