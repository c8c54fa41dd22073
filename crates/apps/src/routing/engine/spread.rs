//! Ways over a switch drawn by the flow's hash (Valiant's load balancing): twice as long, and no
//! two links can be overloaded by the choice of senders and receivers.

use super::{Engine, LinkWeight, Metric, Shortest};
use crate::routing::graph::{Graph, Node};
use crate::routing::routes::{FlowHash, RouteHop, Routes};
use crate::routing::search::Tree;

/// Switches drawn before a flow goes straight: in a network of several parts, most may lie in
/// another.
const DRAWS: u64 = 4;

/// The shortest way to a switch drawn by the flow's hash, and the shortest from there; without what
/// would be gone twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowSpread {
    /// What is shortest.
    pub weight: LinkWeight,
}

impl FlowSpread {
    /// The switch to go over.
    fn middle(routes: &Routes, (from, to): (Node, Node), flow: FlowHash) -> Option<Node> {
        let graph = routes.graph();
        let mut draws = (0..DRAWS).filter_map(|draw| {
            let (_, node) = graph.switches().nth(flow.draw(draw, graph.switches().len()))?;
            Some(node)
        });
        draws.find(|&node| node != from && node != to && routes.distance(from, node).is_some())
    }
}

impl Engine for FlowSpread {
    fn name(&self) -> &'static str {
        "spread"
    }

    #[inline]
    fn farther(&self, link: Metric, beyond: u32) -> u32 {
        Shortest { weight: self.weight }.farther(link, beyond)
    }

    fn tree(&self, graph: &Graph, root: Node) -> Tree {
        Shortest { weight: self.weight }.tree(graph, root)
    }

    fn trees(&self, graph: &Graph, roots: &[Node]) -> Vec<Tree> {
        Shortest { weight: self.weight }.trees(graph, roots)
    }

    fn path(
        &self,
        routes: &Routes,
        way: (Node, Node),
        flow: FlowHash,
        path: &mut Vec<RouteHop>,
    ) -> bool {
        let (from, to) = way;
        let straight = Shortest { weight: self.weight };
        let Some(middle) = FlowSpread::middle(routes, way, flow).filter(|_| from != to) else {
            return straight.path(routes, way, flow, path);
        };
        let begun = path.len();
        let whole = straight.path(routes, (from, middle), flow, path)
            && straight.path(routes, (middle, to), flow, path);
        if !whole {
            path.truncate(begun);
            return false;
        }
        cut_loops(path, begun, to);
        true
    }
}

/// Leaves out what lies between two visits of the same switch, in the part of the path from `begun`
/// on.
fn cut_loops(path: &mut Vec<RouteHop>, begun: usize, to: Node) {
    if let Some(early) = path[begun..].iter().position(|hop| hop.node == to) {
        path.truncate(begun + early);
    }
    let mut at = begun;
    while at < path.len() {
        let last = path.iter().rposition(|hop| hop.node == path[at].node).unwrap_or(at);
        path.drain(at..last);
        at += 1;
    }
}
