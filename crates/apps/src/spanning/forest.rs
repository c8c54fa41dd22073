//! The links that floods take: a minimum spanning tree of each connected part of the network.

use aldis_control::SwitchPort;

use crate::routing::{Graph, Node};

/// Which ends of links floods leave by.
///
/// Links of great capacity come first, then those of low names: both ends of one are equal in
/// nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Forest {
    // In order.
    open: Vec<SwitchPort>,
}

impl Forest {
    /// Of the links of a graph.
    pub fn of(graph: &Graph) -> Forest {
        let mut links: Vec<_> = graph
            .links()
            .map(|(from, to, leg)| (leg.out.capacity.max(leg.back.capacity), from, to, leg.node))
            .collect();
        links.sort_unstable_by_key(|&(cost, from, to, _)| (cost, from, to));
        let mut parts = Parts::of(graph.places());
        let mut open = Vec::with_capacity(2 * graph.switches().len());
        for (_, from, to, node) in links {
            if graph.node(from.dpid).is_some_and(|other| parts.join(other, node)) {
                open.extend([from, to]);
            }
        }
        open.sort_unstable();
        Forest { open }
    }

    /// Whether a port is the end of a link that floods leave by.
    #[inline]
    pub fn is_open(&self, end: SwitchPort) -> bool {
        self.open.binary_search(&end).is_ok()
    }

    /// The ends of all links of the forest, in order.
    pub fn ends(&self) -> &[SwitchPort] {
        &self.open
    }
}

/// Which switches are connected so far.
struct Parts {
    // The place of another switch of the same part, or the switch's own.
    above: Vec<u32>,
}

impl Parts {
    fn of(places: usize) -> Parts {
        Parts { above: (0..places as u32).collect() }
    }

    /// Connects two switches; says whether they were not connected.
    fn join(&mut self, a: Node, b: Node) -> bool {
        let (a, b) = (self.root(a.index() as u32), self.root(b.index() as u32));
        self.above[a as usize] = b;
        a != b
    }

    fn root(&mut self, mut place: u32) -> u32 {
        while self.above[place as usize] != place {
            let above = self.above[place as usize];
            self.above[place as usize] = self.above[above as usize];
            place = above;
        }
        place
    }
}
