//! The links that floods take: a minimum spanning tree of each connected part of the network.

use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use crate::place::SwitchPort;
use crate::routing::{Graph, Node};

/// Which ends of links floods leave by, and which they do not.
///
/// Links of great capacity come first, then those of low names: both ends of one are equal in nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Forest {
    // Both in order.
    open: Vec<SwitchPort>,
    closed: Vec<SwitchPort>,
}

/// What has to change at ports so that floods take another forest. Everything is closed before anything is opened: when
/// all switches have said that they did (a barrier each), not when they have been told.
///
/// Then there is no loop in between, though switches are told at different times: until the last port is closed floods take
/// links of the old forest, and until the last is opened links of the new one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Transition {
    /// Ports that floods do not leave by any more.
    pub close: Vec<SwitchPort>,
    /// Ports that floods leave by from then on.
    pub open: Vec<SwitchPort>,
}

impl Forest {
    /// Of the links of a graph. An end of a link that is known from one side only is closed.
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
        let ends = graph
            .switches()
            .flat_map(|(dpid, node)| graph.ends(node).map(move |port| SwitchPort::of(dpid, port)));
        let closed = ends.filter(|end| open.binary_search(end).is_err()).collect();
        Forest { open, closed }
    }

    /// Whether no flood leaves by this port: it leads to a switch, but not by a link of the forest. What arrives here was
    /// sent before its sender knew that.
    #[inline]
    pub fn is_closed(&self, end: SwitchPort) -> bool {
        self.closed.binary_search(&end).is_ok()
    }

    /// The ports of a switch that lead to others by a link of the forest.
    pub fn ports(&self, dpid: DatapathId) -> impl Iterator<Item = PortNo> {
        let first = self.open.partition_point(|end| end.dpid < dpid);
        self.open[first..].iter().take_while(move |end| end.dpid == dpid).map(|end| end.port)
    }

    /// The ends of all links of the forest, in order.
    pub fn ends(&self) -> &[SwitchPort] {
        &self.open
    }

    /// What has to change for `next` to take the place of this one. A port that leads to no switch is open.
    pub fn transition(&self, next: &Forest) -> Transition {
        let only_in = |here: &Forest, there: &Forest| {
            here.closed.iter().copied().filter(|&end| !there.is_closed(end)).collect()
        };
        Transition { close: only_in(next, self), open: only_in(self, next) }
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
