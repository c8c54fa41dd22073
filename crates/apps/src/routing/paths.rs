//! All paths of equal cost from one switch to another, one after the other, without a list of them.
//!
//! Each next hop leads closer by exactly what it costs, so that no step has to be taken back but to
//! take another: the next path is the one before up to the last switch that has a further port, and
//! from there on by that. Between two paths lies no more work than a path is long.

use super::graph::Node;
use super::node::Leg;
use super::routes::{RouteHop, Routes};
use crate::SwitchPort;

/// Paths of equal cost, and how far they lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EqualPaths {
    /// The name of the engine that found them.
    pub engine: String,
    /// The distance in the engine's unit; nothing where no way leads there.
    pub distance: Option<u32>,
    /// The links of each path.
    pub paths: Vec<Vec<Crossing>>,
    /// Whether there are more.
    pub more: bool,
}

/// A link of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Where packets leave a switch.
    pub from: SwitchPort,
    /// Where they arrive at the next.
    pub to: SwitchPort,
}

/// The paths of equal cost from one switch to another, by their ports. See
/// [`Routes::equal_cost_paths`].
#[derive(Debug)]
pub struct EqualCostPaths<'r> {
    routes: &'r Routes,
    to: Node,
    /// The next path, as far as it is known: where each hop is among the next hops of its switch,
    /// from 0.
    hops: Vec<(RouteHop, usize)>,
    /// The switch behind the last of them; none where there is no further path.
    at: Option<Node>,
}

impl<'r> EqualCostPaths<'r> {
    pub(super) fn new(routes: &'r Routes, from: Node, to: Node) -> EqualCostPaths<'r> {
        let at = routes.distance(from, to).map(|_| from);
        EqualCostPaths { routes, to, hops: vec![], at }
    }

    /// The next hop of this number at a switch.
    fn leg(&self, node: Node, place: usize) -> Option<&'r Leg> {
        self.routes.next_hops(node, self.to).nth(place)
    }

    fn step(&mut self, node: Node, leg: &Leg, place: usize) -> Node {
        self.hops.push((RouteHop { node, out_port: leg.port, in_port: leg.far_port }, place));
        leg.node
    }

    /// Back to the last switch that has a further port, and behind it.
    fn turn(&mut self) -> Option<Node> {
        loop {
            let (hop, place) = self.hops.pop()?;
            if let Some(leg) = self.leg(hop.node, place + 1) {
                return Some(self.step(hop.node, leg, place + 1));
            }
        }
    }
}

impl Iterator for EqualCostPaths<'_> {
    type Item = Vec<RouteHop>;

    fn next(&mut self) -> Option<Vec<RouteHop>> {
        let mut at = self.at.take()?;
        while at != self.to {
            let leg = self.leg(at, 0)?;
            at = self.step(at, leg, 0);
        }
        let way = self.hops.iter().map(|(hop, _)| *hop).collect();
        self.at = self.turn();
        Some(way)
    }
}
