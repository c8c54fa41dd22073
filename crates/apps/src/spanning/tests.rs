//! Laws of flooding: every host hears a broadcast, none hears it twice, and it comes to an end, on random networks, with
//! frames in flight while links and ports change.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use aldis_control::Time;
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;
use petgraph::unionfind::UnionFind;
use proptest::prelude::*;

use super::*;
use crate::place::SwitchPort;
use crate::recent::{Recent, Verdict};
use crate::routing::tests::{a_history, both};
use crate::routing::{Change, Graph};

/// Where every switch has its host.
const HOST: PortNo = PortNo(100);

/// The network as it is, and what each switch was told.
struct Net {
    links: BTreeMap<SwitchPort, SwitchPort>,
    // Ports that floods do not leave by.
    closed: BTreeSet<SwitchPort>,
    switches: Vec<DatapathId>,
    // Copies of the frame on their way to a port.
    flight: Vec<SwitchPort>,
    heard: BTreeMap<DatapathId, usize>,
    recent: Option<Recent>,
    random: u64,
    moves: usize,
}

impl Net {
    fn of(graph: &Graph, random: u64) -> Net {
        Net {
            links: links(graph),
            closed: BTreeSet::new(),
            switches: graph.switches().map(|(dpid, _)| dpid).collect(),
            flight: vec![],
            heard: BTreeMap::new(),
            recent: None,
            random: random | 1,
            moves: 0,
        }
    }

    /// One random copy of the frame arrives, if any is in flight.
    fn step(&mut self) -> bool {
        if self.flight.is_empty() {
            return false;
        }
        let at = self.draw(self.flight.len());
        let arrived = self.flight.swap_remove(at);
        self.moves += 1;
        self.floods(arrived);
        true
    }

    /// A switch floods what arrived, as its flow or its controller has it.
    fn floods(&mut self, arrived: SwitchPort) {
        let dpid = arrived.dpid;
        let repeat = self.recent.as_ref().is_some_and(|recent| {
            let now = Time::START + Duration::from_millis(self.moves as u64 / 10);
            let hash = frame_hash([1; 16], dpid, Default::default(), b"one and the same");
            recent.note(now, hash) != Verdict::New
        });
        if repeat || self.recent.is_none() && self.closed.contains(&arrived) {
            return;
        }
        let ends = self.links.iter().filter(|(end, _)| end.dpid == dpid && **end != arrived);
        let open = ends.filter(|(end, _)| !self.closed.contains(end)).map(|(_, far)| *far);
        self.flight.extend(open);
        if arrived.port != HOST {
            *self.heard.entry(dpid).or_default() += 1;
        }
    }

    /// The host of a switch sends a broadcast.
    fn sends(&mut self, dpid: DatapathId) {
        self.heard.clear();
        self.floods(SwitchPort::of(dpid, HOST));
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % below as u64) as usize
    }

    /// The switches connected to this one, without it, once each.
    fn others(&self, from: DatapathId) -> BTreeMap<DatapathId, usize> {
        let place = |dpid| self.switches.binary_search(&dpid).unwrap();
        let mut parts = UnionFind::new(self.switches.len());
        for (a, b) in &self.links {
            parts.union(place(a.dpid), place(b.dpid));
        }
        let connected = |dpid: &&DatapathId| parts.equiv(place(**dpid), place(from));
        let others = self.switches.iter().filter(connected).filter(|dpid| **dpid != from);
        others.map(|dpid| (*dpid, 1)).collect()
    }
}

fn links(graph: &Graph) -> BTreeMap<SwitchPort, SwitchPort> {
    graph.links().flat_map(|(a, b, _)| [(a, b), (b, a)]).collect()
}

/// No link between two ports of one switch: nobody hears through one.
fn apart(history: Vec<Vec<Change>>) -> Vec<Vec<Change>> {
    let is_apart = |change: &Change| match change {
        Change::Link { from, to, .. } => from.dpid != to.dpid,
        _ => true,
    };
    history.into_iter().map(|changes| changes.into_iter().filter(is_apart).collect()).collect()
}

/// Of the links that are the same in both, and only those.
fn common(
    a: &BTreeMap<SwitchPort, SwitchPort>,
    b: &BTreeMap<SwitchPort, SwitchPort>,
) -> BTreeMap<SwitchPort, SwitchPort> {
    a.iter().filter(|(from, to)| b.get(from) == Some(to)).map(|(a, b)| (*a, *b)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn before_any_link_is_known_every_host_hears_a_broadcast_once(
        history in a_history(),
        random: u64,
    ) {
        let graph = Graph::default().with(&history.concat());
        let mut net = Net::of(&graph, random);
        for from in net.switches.clone() {
            net.recent = Some(Recent::new(64, Duration::from_secs(1)));
            net.sends(from);
            while net.step() {}
            net.heard.remove(&from);
            prop_assert_eq!(&net.heard, &net.others(from));
        }
    }

    #[test]
    fn over_the_forest_every_host_hears_a_broadcast_once(history in a_history(), random: u64) {
        let graph = Graph::default().with(&history.concat());
        let mut net = Net::of(&graph, random);
        net.closed = Forest::default().transition(&Forest::of(&graph)).close.into_iter().collect();
        for from in net.switches.clone() {
            net.sends(from);
            while net.step() {}
            prop_assert_eq!(&net.heard, &net.others(from));
        }
    }

    #[test]
    fn while_links_change_a_broadcast_never_circles_and_afterwards_all_is_as_before(
        history in a_history(),
        random: u64,
        careful: bool,
    ) {
        let history = apart(history);
        let mut graph = Graph::default().with(&history[0]);
        let mut forest = Forest::of(&graph);
        let mut net = Net::of(&graph, random);
        net.closed = Forest::default().transition(&forest).close.into_iter().collect();
        for changes in &history[1..] {
            let next_graph = graph.with(changes);
            let next_forest = Forest::of(&next_graph);
            let next = Net::of(&next_graph, net.random);
            net.recent = careful.then(|| Recent::new(64, Duration::from_secs(1)));
            net.flight.clear();
            net.moves = 0;
            if let Some(&from) = net.switches.first() {
                net.sends(from);
            }
            // What is cut is cut before anybody knows, and what is new is used when it is known: until then its ports were
            // no part of the network.
            net.links = common(&links(&graph), &links(&next_graph));
            let Transition { mut close, mut open } = forest.transition(&next_forest);
            while !close.is_empty() || !open.is_empty() {
                for _ in 0..net.draw(4) {
                    net.step();
                }
                let last = !close.is_empty();
                let waiting = if last { &mut close } else { &mut open };
                let at = net.draw(waiting.len());
                let end = waiting.swap_remove(at);
                if last {
                    net.closed.insert(end);
                } else {
                    net.closed.remove(&end);
                }
                if close.is_empty() {
                    net.links = next.links.clone();
                }
            }
            net.links = next.links;
            while net.step() {
                // Over the old forest, what it has in common with the new, and the new: nowhere more often.
                prop_assert!(net.moves <= 3 * (net.switches.len() + next.switches.len()));
            }
            let most = if careful { 1 } else { 3 };
            prop_assert!(net.heard.values().all(|&times| times <= most), "{:?}", net.heard);
            net.switches = next.switches;
            net.recent = None;
            if let Some(&from) = net.switches.first() {
                net.sends(from);
                while net.step() {}
                prop_assert_eq!(&net.heard, &net.others(from));
            }
            (graph, forest) = (next_graph, next_forest);
        }
    }

    #[test]
    fn where_one_link_goes_at_most_one_other_takes_its_place(history in a_history()) {
        let graph = Graph::default().with(&apart(history).concat());
        let forest = Forest::of(&graph);
        for (a, b, _) in graph.links() {
            let without = graph.with(&[Change::NoLink { from: a }, Change::NoLink { from: b }]);
            let next = Forest::of(&without);
            let fresh = next.ends().iter().filter(|end| forest.ends().binary_search(end).is_err());
            let fresh = fresh.count();
            let was_in = forest.ends().binary_search(&a).is_ok();
            prop_assert!(fresh == 0 || fresh == 2 && was_in);
            let gone = forest.ends().iter().filter(|end| next.ends().binary_search(end).is_err());
            let expected = if was_in { vec![&a, &b] } else { vec![] };
            prop_assert!(gone.eq(expected));
            // Only the ports of the two links are touched.
            let Transition { close, open } = forest.transition(&next);
            prop_assert!(close.is_empty());
            prop_assert!(open.len() <= 2);
            let back = next.transition(&forest);
            prop_assert_eq!((back.close, back.open), (open, close));
        }
    }

    #[test]
    fn a_forest_does_not_depend_on_what_was_before(history in a_history()) {
        let mut graph = Graph::default();
        for changes in &history {
            graph = graph.with(changes);
        }
        let up = graph.switches().map(|(dpid, _)| Change::SwitchUp(dpid));
        let links = graph.links().flat_map(|(from, to, leg)| {
            let there = Change::Link { from, to, metric: leg.out };
            [there, Change::Link { from: to, to: from, metric: leg.back }]
        });
        let scratch = Graph::default().with(&up.chain(links).collect::<Vec<_>>());
        let [forest, expected] = [graph, scratch].map(|graph| Forest::of(&graph));
        prop_assert_eq!(forest.ends(), expected.ends());
    }
}

#[test]
fn a_port_of_a_link_known_from_one_end_is_closed() {
    let [a, b] = [1, 2].map(|dpid| SwitchPort::of(DatapathId(dpid), PortNo(1)));
    let up = [Change::SwitchUp(a.dpid), Change::SwitchUp(b.dpid)];
    let half = both(a, b)[0];
    let graph = Graph::default().with(&[up[0], up[1], half]);
    let forest = Forest::of(&graph);
    assert!(forest.is_closed(a) && forest.is_closed(b) && forest.ends().is_empty());
    let whole = Forest::of(&graph.with(&both(a, b)));
    assert!(!whole.is_closed(a) && whole.ports(a.dpid).eq([PortNo(1)]));
    assert_eq!(forest.transition(&whole), Transition { close: vec![], open: vec![a, b] });
}
