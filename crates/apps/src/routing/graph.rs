//! The network as a graph: switches and the links between them, as they were at one moment.
//!
//! A graph is immutable. The next version ([`Graph::with`]) shares every switch that did not change
//! with this one, and two versions are compared by comparing pointers. What searches read of all
//! switches, their neighbours and costs, is laid out anew in one piece each time: a search follows
//! no pointers, and takes longer than that.
//!
//! A link is used only if it is known from both ends. What is known from one end is remembered: its
//! ports are no place for hosts, and the other half may be heard of any moment.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use aldis_control::SwitchPort;
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use super::metric::Metric;
use super::node::{FarEnd, Leg, NodeLinks, Side};

/// Switches that a graph can hold: with them, costs of 16 bits add up to 32. Further ones are left
/// out.
pub const SWITCHES_MAX: usize = 65_535;

/// What was found out about the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphChange {
    /// The switch can be programmed.
    SwitchUp(DatapathId),
    /// It cannot any more; its links are gone with it.
    SwitchDown(DatapathId),
    /// What leaves by `from` arrives at `to`. Each of the two ports has no other peer in this
    /// direction any more. Counts only for switches that are up.
    Link {
        /// Where it leaves.
        from: SwitchPort,
        /// Where it arrives.
        to: SwitchPort,
        /// What it costs in this direction.
        metric: Metric,
    },
    /// What leaves by `from` arrives at no switch. A link that is cut is told from both ends.
    NoLink {
        /// Where it leaves.
        from: SwitchPort,
    },
}

/// The place of a switch in a graph. It is the same in all versions while the switch is up;
/// afterwards another switch may have it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(u32);

impl Node {
    /// Its number, from 0.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(super) fn at(index: usize) -> Node {
        debug_assert!(index < SWITCHES_MAX);
        Node(index as u32)
    }
}

/// Switches and links at one moment.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Arc<NodeLinks>>,
    // By name.
    places: Arc<Vec<(DatapathId, Node)>>,
    // The same, for look-ups.
    by_name: Arc<HashMap<DatapathId, Node, RandomState>>,
    layout: GraphLayout,
}

/// The links of all switches one after the other: compressed sparse rows.
#[derive(Clone, Debug, Default)]
struct GraphLayout {
    // Where the links of a place begin; those of the next place follow.
    starts: Vec<u32>,
    neighbours: Vec<(Node, Metric)>,
    names: Vec<Option<DatapathId>>,
}

impl Graph {
    /// The graph after these changes, in their order.
    pub fn with(&self, changes: &[GraphChange]) -> Graph {
        let mut next = self.clone();
        let mut touched = Vec::new();
        for change in changes {
            next.apply(change, &mut touched);
        }
        touched.sort_unstable();
        touched.dedup();
        for node in touched {
            next.links_of_mut(node).settle();
        }
        next.layout = GraphLayout::of(&next.nodes);
        next
    }

    /// The place of a switch that is up.
    #[inline]
    pub fn node(&self, dpid: DatapathId) -> Option<Node> {
        self.by_name.get(&dpid).copied()
    }

    /// The switch in a place.
    #[inline]
    pub fn dpid(&self, node: Node) -> Option<DatapathId> {
        *self.layout.names.get(node.index())?
    }

    /// The switches that are up, by name.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = (DatapathId, Node)> + Clone {
        self.places.iter().copied()
    }

    /// Places in the graph, those counted that no switch has just now: every [`Node`] is below.
    #[inline]
    pub fn places(&self) -> usize {
        self.nodes.len()
    }

    /// The links of a switch that can be used, by port.
    #[inline]
    pub fn legs(&self, node: Node) -> &[Leg] {
        self.nodes.get(node.index()).map_or(&[], |node_links| node_links.legs())
    }

    /// The links that can be used, each once, from its lower end.
    pub fn links(&self) -> impl Iterator<Item = (SwitchPort, SwitchPort, Leg)> {
        let both = self.switches().flat_map(move |(dpid, node)| {
            self.legs(node).iter().filter_map(move |leg| {
                let to = SwitchPort::of(self.dpid(leg.node)?, leg.far_port);
                Some((SwitchPort::of(dpid, leg.port), to, *leg))
            })
        });
        both.filter(|(from, to, _)| from < to)
    }

    /// The ports of a switch that lead to a switch or where one was heard, by number; also those of
    /// links that cannot be used because they are known from one end alone.
    pub fn ends(&self, node: Node) -> impl Iterator<Item = PortNo> {
        self.nodes.get(node.index()).into_iter().flat_map(|node_links| node_links.ends())
    }

    /// Whether a port is one of those.
    #[inline]
    pub fn is_end(&self, end: SwitchPort) -> bool {
        self.node(end.dpid).is_some_and(|node| self.is_end_of(node, end.port))
    }

    /// Whether the port of this number of the switch in a place is one of those.
    #[inline]
    pub(crate) fn is_end_of(&self, node: Node, port: PortNo) -> bool {
        self.links_of(node).knows(port.0)
    }

    /// What is known of the switch in a place.
    #[inline]
    pub(super) fn links_of(&self, node: Node) -> &NodeLinks {
        &self.nodes[node.index()]
    }

    /// The neighbours of a switch, one for each link that can be used, with what the link costs
    /// from there to here.
    #[inline]
    pub(super) fn neighbours(&self, node: Node) -> &[(Node, Metric)] {
        let starts = &self.layout.starts;
        let (from, to) = (starts[node.index()], starts[node.index() + 1]);
        &self.layout.neighbours[from as usize..to as usize]
    }

    /// The places where this graph differs from the one that it was made from, or that was made
    /// from it.
    pub(super) fn differences(&self, other: &Graph) -> impl Iterator<Item = Node> {
        let differs = |at: &usize| match (self.nodes.get(*at), other.nodes.get(*at)) {
            (Some(a), Some(b)) => !Arc::ptr_eq(a, b),
            _ => true,
        };
        (0..self.places().max(other.places())).filter(differs).map(Node::at)
    }

    /// The ends of links that could be used in `before`, and cannot any more or lead elsewhere now.
    pub fn lost(&self, before: &Graph) -> impl Iterator<Item = SwitchPort> {
        let stays = |was: &Leg, leg: &Leg| {
            (was.port, was.node, was.far_port) == (leg.port, leg.node, leg.far_port)
        };
        self.differences(before).flat_map(move |node| {
            let is_there = self.dpid(node) == before.dpid(node);
            let is_lost = move |was: &&Leg| {
                let far = self.dpid(was.node) == before.dpid(was.node);
                !(is_there && far && self.legs(node).iter().any(|leg| stays(was, leg)))
            };
            let lost = before.legs(node).iter().filter(is_lost);
            lost.filter_map(move |was| Some(SwitchPort::of(before.dpid(node)?, was.port)))
        })
    }

    fn apply(&mut self, change: &GraphChange, touched: &mut Vec<Node>) {
        match *change {
            GraphChange::SwitchUp(dpid) => self.add(dpid),
            GraphChange::SwitchDown(dpid) => self.remove(dpid, touched),
            GraphChange::Link { from, to, metric } => self.link(from, to, metric, touched),
            GraphChange::NoLink { from } => {
                if let Some(node) = self.node(from.dpid) {
                    self.cut(node, from.port.0, Side::Out, touched);
                }
            }
        }
    }

    fn add(&mut self, dpid: DatapathId) {
        let Err(at) = self.place(dpid) else { return };
        let vacant = self.nodes.iter().position(|node_links| node_links.dpid.is_none());
        let place = vacant.unwrap_or(self.nodes.len());
        if place >= SWITCHES_MAX {
            return;
        }
        let node_links = Arc::new(NodeLinks::of(dpid));
        match vacant {
            Some(place) => self.nodes[place] = node_links,
            None => self.nodes.push(node_links),
        }
        Arc::make_mut(&mut self.places).insert(at, (dpid, Node::at(place)));
        Arc::make_mut(&mut self.by_name).insert(dpid, Node::at(place));
    }

    fn remove(&mut self, dpid: DatapathId, touched: &mut Vec<Node>) {
        let Ok(at) = self.place(dpid) else { return };
        let (_, node) = Arc::make_mut(&mut self.places).remove(at);
        Arc::make_mut(&mut self.by_name).remove(&dpid);
        let ends: Vec<_> = self.links_of(node).far_ends().collect();
        for (port, side, _) in ends {
            self.cut(node, port, side, touched);
        }
        *self.links_of_mut(node) = NodeLinks::default();
    }

    fn link(&mut self, from: SwitchPort, to: SwitchPort, metric: Metric, touched: &mut Vec<Node>) {
        let (Some(source), Some(target)) = (self.node(from.dpid), self.node(to.dpid)) else {
            return;
        };
        let out = FarEnd { node: target, port: to.port.0, metric };
        let back = FarEnd { node: source, port: from.port.0, metric };
        let known = self.links_of(source).far(from.port.0, Side::Out) == Some(out);
        let room = |node, port| self.links_of(node).has_room_for(port);
        if known || from == to || !room(source, from.port.0) || !room(target, to.port.0) {
            return;
        }
        self.cut(source, from.port.0, Side::Out, touched);
        self.cut(target, to.port.0, Side::Back, touched);
        self.links_of_mut(source).note(from.port.0, Side::Out, Some(out));
        self.links_of_mut(target).note(to.port.0, Side::Back, Some(back));
        touched.extend([source, target]);
    }

    /// Forgets one direction at a port, at its other end too.
    fn cut(&mut self, node: Node, port: u32, side: Side, touched: &mut Vec<Node>) {
        let Some(far) = self.links_of(node).far(port, side) else { return };
        let other = if side == Side::Out { Side::Back } else { Side::Out };
        self.links_of_mut(node).note(port, side, None);
        self.links_of_mut(far.node).note(far.port, other, None);
        touched.extend([node, far.node]);
    }

    fn place(&self, dpid: DatapathId) -> Result<usize, usize> {
        self.places.binary_search_by_key(&dpid, |&(dpid, _)| dpid)
    }

    fn links_of_mut(&mut self, node: Node) -> &mut NodeLinks {
        Arc::make_mut(&mut self.nodes[node.index()])
    }
}

impl GraphLayout {
    fn of(nodes: &[Arc<NodeLinks>]) -> GraphLayout {
        let links = nodes.iter().map(|node_links| node_links.legs().len()).sum();
        let mut neighbours = Vec::with_capacity(links);
        let mut starts = Vec::with_capacity(nodes.len() + 1);
        starts.push(0);
        for node_links in nodes {
            neighbours.extend(node_links.legs().iter().map(|leg| (leg.node, leg.back)));
            starts.push(neighbours.len() as u32);
        }
        let names = nodes.iter().map(|node_links| node_links.dpid).collect();
        GraphLayout { starts, neighbours, names }
    }
}
