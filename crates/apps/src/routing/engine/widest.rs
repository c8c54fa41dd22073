//! The way whose narrowest link is widest, and of those the one of fewest hops.

use super::{Engine, Metric};
use crate::routing::graph::Node;
use crate::routing::routes::{FlowHash, RouteHop, Routes};

/// Bits of a distance that count hops; those above are the cost of the narrowest link.
const HOPS: u32 = 16;

/// The greatest capacity from end to end: for few, large flows, where
/// [`Weight::Capacity`](super::LinkWeight::Capacity) would rather cross one slow link than five
/// fast ones.
///
/// Each hop goes on by what is widest from there: behind the narrowest link of its way a flow may
/// go around for more width than it can use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Widest;

impl Engine for Widest {
    fn name(&self) -> &'static str {
        "widest"
    }

    #[inline]
    fn farther(&self, link: Metric, beyond: u32) -> u32 {
        let narrowest = (beyond >> HOPS).max(link.capacity.into());
        // One hop more never carries over: a way has fewer hops than there are switches.
        narrowest << HOPS | ((beyond + 1) & ((1 << HOPS) - 1))
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
