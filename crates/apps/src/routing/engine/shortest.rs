//! The way whose links cost least in sum, as most networks have it.

use super::{Engine, Metric};
use crate::routing::graph::{Graph, Node};
use crate::routing::routes::{FlowHash, RouteHop, Routes};
use crate::routing::search::Tree;

/// What a link costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LinkWeight {
    /// 1, whatever it is like.
    #[default]
    Hop,
    /// Its latency, in steps of 10 µs ([`Metric::latency`]).
    Latency,
    /// The less it carries the more it costs ([`Metric::capacity`]).
    Capacity,
}

impl LinkWeight {
    /// The cost of one link.
    #[inline]
    pub(super) fn of(self, link: Metric) -> u32 {
        match self {
            LinkWeight::Hop => 1,
            LinkWeight::Latency => link.latency.into(),
            LinkWeight::Capacity => link.capacity.into(),
        }
    }
}

/// The least sum of costs, over all ways that have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shortest {
    /// What is summed up.
    pub weight: LinkWeight,
}

impl Engine for Shortest {
    fn name(&self) -> &'static str {
        "shortest"
    }

    #[inline]
    fn farther(&self, link: Metric, beyond: u32) -> u32 {
        beyond + self.weight.of(link)
    }

    fn tree(&self, graph: &Graph, root: Node) -> Tree {
        match self.weight {
            LinkWeight::Hop => Tree::by_hops(graph, root),
            weight => Tree::by_cost(graph, root, |link, beyond| beyond + weight.of(link)),
        }
    }

    fn trees(&self, graph: &Graph, roots: &[Node]) -> Vec<Tree> {
        match self.weight {
            LinkWeight::Hop => Tree::many_by_hops(graph, roots),
            _ => roots.iter().map(|&root| self.tree(graph, root)).collect(),
        }
    }

    fn path(
        &self,
        routes: &Routes,
        way: (Node, Node),
        flow: FlowHash,
        path: &mut Vec<RouteHop>,
    ) -> bool {
        routes.follow(way, flow, path)
    }
}
