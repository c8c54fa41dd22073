//! Laws of flooding: every host hears a broadcast, none hears it twice, and it comes to an end, on
//! random networks, with frames in flight while links and ports change.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use aldis_control::{SwitchPort, Time};
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr, Version};
use petgraph::unionfind::UnionFind;
use proptest::prelude::*;

use super::app::{CAREFUL_MAX, Inlet};
use super::flood_ports::LARGE;
use super::heads::ports;
use super::shares::Of;
use super::*;
use crate::routing::tests::{a_history, both};
use crate::routing::{Graph, GraphChange};
use crate::topology::{LinkPeer, LinkState, Map, MapPort, MapSwitch};

/// The ports by which the application floods a frame.
fn flood(
    repeats: &Repeats,
    now: Time,
    (at, frame): (Inlet, &[u8]),
    (flood_ports, at_first): (&FloodPorts, &[aldis_wire::msg::Port]),
) -> Vec<PortNo> {
    let ports: Vec<PortNo> = ports(at, flood_ports, at_first).collect();
    let floods =
        !ports.is_empty() && repeats.admits(now, (repeats.key(at, frame), Of::All), flood_ports);
    if floods { ports } else { Vec::new() }
}

/// Where every switch has its host.
const HOST: PortNo = PortNo(100);

type Links = BTreeMap<SwitchPort, SwitchPort>;

/// The network as it is, what is known of it, and what is on its way.
struct FloodNet {
    links: Links,
    flood_ports: FloodPorts,
    repeats: Repeats,
    switches: Vec<DatapathId>,
    // Copies of the frame on their way to a port.
    flight: Vec<SwitchPort>,
    heard: BTreeMap<DatapathId, usize>,
    random: u64,
    frame: Vec<u8>,
    now: Time,
    moves: usize,
}

impl FloodNet {
    /// Where links are as in the graph, and known.
    fn of(graph: &Graph, random: u64) -> FloodNet {
        let mut net = FloodNet {
            links: links(graph),
            flood_ports: FloodPorts::default(),
            repeats: Repeats::default(),
            switches: vec![],
            flight: vec![],
            heard: BTreeMap::new(),
            random: random | 1,
            frame: vec![0; 60],
            now: Time::START,
            moves: 0,
        };
        net.learns(graph, |_| true);
        net
    }

    /// The graph is published: of these switches it is known what their ports lead to.
    fn learns(&mut self, graph: &Graph, known: impl Fn(DatapathId) -> bool) {
        self.switches = graph.switches().map(|(dpid, _)| dpid).collect();
        self.flood_ports = FloodPorts::of(&map(graph, known), &Forest::of(graph));
    }

    /// One random copy of the frame arrives, if any is in flight.
    fn step(&mut self) -> bool {
        if self.flight.is_empty() {
            return false;
        }
        let at = self.draw(self.flight.len());
        let arrived = self.flight.swap_remove(at);
        self.moves += 1;
        self.now = self.now + Duration::from_micros(100);
        self.floods(arrived);
        true
    }

    fn floods(&mut self, arrived: SwitchPort) {
        let at = Inlet { dpid: arrived.dpid, joined: Time::START, port: arrived.port };
        for port in flood(&self.repeats, self.now, (at, &self.frame), (&self.flood_ports, &[])) {
            if port == HOST {
                *self.heard.entry(arrived.dpid).or_default() += 1;
            } else {
                self.flight.extend(self.links.get(&SwitchPort::of(arrived.dpid, port)));
            }
        }
    }

    /// The host of a switch sends a broadcast, unlike all before.
    fn sends(&mut self, dpid: DatapathId) {
        let number = u32::from_be_bytes(*self.frame.last_chunk().unwrap());
        *self.frame.last_chunk_mut().unwrap() = (number + 1).to_be_bytes();
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

fn links(graph: &Graph) -> Links {
    graph.links().flat_map(|(a, b, _)| [(a, b), (b, a)]).collect()
}

/// What the search for links would say.
fn map(graph: &Graph, known: impl Fn(DatapathId) -> bool) -> Map {
    let links = links(graph);
    let switches = graph.switches().map(|(dpid, node)| {
        let mut numbers: Vec<PortNo> = graph.ends(node).chain([HOST]).collect();
        numbers.sort_unstable();
        let port = |number| {
            let at = links.get(&SwitchPort::of(dpid, number));
            let state = if at.is_some() { LinkState::Up } else { LinkState::OneWay };
            let leads_on = number != HOST;
            let at = at.copied().unwrap_or_default();
            let (since, slow, latency_us) = (Time::START, false, 0);
            let (out, back) = (true, state == LinkState::Up);
            let peer = LinkPeer { at, state, since, out, back, slow, latency_us };
            MapPort {
                number,
                mac: MacAddr::default(),
                speed_kbps: 0,
                known: known(dpid),
                host: !leads_on,
                link: leads_on.then_some(peer),
                far: vec![],
            }
        };
        let (ports, since) = (numbers.into_iter().map(port).collect(), Time::START);
        MapSwitch { dpid, version: Version::V13, since, ports }
    });
    switches.collect()
}

/// The same, where all ports seem to lead to hosts.
fn bare(map: &Map) -> Map {
    let port = |port: &MapPort| MapPort { link: None, ..port.clone() };
    let switch = |switch: &MapSwitch| MapSwitch {
        ports: switch.ports.iter().map(port).collect(),
        ..switch.clone()
    };
    map.switches().map(switch).collect()
}

/// No link between two ports of one switch: no other switch is behind it.
fn apart(history: Vec<Vec<GraphChange>>) -> Vec<Vec<GraphChange>> {
    let is_apart = |change: &GraphChange| match change {
        GraphChange::Link { from, to, .. } => from.dpid != to.dpid,
        _ => true,
    };
    history.into_iter().map(|changes| changes.into_iter().filter(is_apart).collect()).collect()
}

/// The links that are the same in both.
fn common(a: &Links, b: &Links) -> Links {
    a.iter().filter(|(from, to)| b.get(from) == Some(to)).map(|(a, b)| (*a, *b)).collect()
}

/// The switches whose links differ.
fn touched(a: &Links, b: &Links) -> BTreeSet<DatapathId> {
    let only_in = |a: &Links, b: &Links| -> Vec<DatapathId> {
        a.iter().filter(|(from, to)| b.get(from) != Some(to)).map(|(end, _)| end.dpid).collect()
    };
    only_in(a, b).into_iter().chain(only_in(b, a)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_host_hears_a_broadcast_once_whatever_is_known(
        history in a_history(),
        random: u64,
        known in prop::collection::btree_set(1..=9u64, 0..=9),
    ) {
        let graph = Graph::default().with(&history.concat());
        let mut net = FloodNet::of(&graph, random);
        // Nothing, some of it, and all.
        for learns in 0..3 {
            net.learns(&graph, |dpid| learns == 2 || learns == 1 && known.contains(&dpid.0));
            for from in net.switches.clone() {
                net.sends(from);
                while net.step() {}
                net.heard.remove(&from);
                prop_assert_eq!(&net.heard, &net.others(from));
            }
        }
    }

    #[test]
    fn where_no_link_is_known_a_broadcast_is_flooded_once(history in a_history(), random: u64) {
        let graph = Graph::default().with(&history.concat());
        let mut net = FloodNet::of(&graph, random);
        net.flood_ports = FloodPorts::of(&bare(&map(&graph, |_| false)), &Forest::default());
        for from in net.switches.clone() {
            net.sends(from);
            while net.step() {}
            net.heard.remove(&from);
            prop_assert_eq!(&net.heard, &net.others(from));
        }
    }

    #[test]
    fn while_links_change_nobody_hears_a_broadcast_twice_and_afterwards_all_do(
        history in a_history(),
        random: u64,
        careful: bool,
    ) {
        let history = apart(history);
        let mut graph = Graph::default().with(&history[0]);
        let mut net = FloodNet::of(&graph, random);
        net.learns(&graph, |_| !careful);
        for changes in &history[1..] {
            let next = graph.with(changes);
            let (was, is) = (links(&graph), links(&next));
            if let Some(&from) = net.switches.first() {
                net.sends(from);
            }
            // What is cut is cut before that is known; what is new begins with ports that come up,
            // which is known at once.
            net.links = common(&was, &is);
            for _ in 0..net.draw(8) {
                net.step();
            }
            let touched = touched(&was, &is);
            net.learns(&next, |dpid| !careful && !touched.contains(&dpid));
            net.links = is;
            while net.step() {}
            if !touched.is_empty() {
                prop_assert!(net.heard.values().all(|&times| times <= 1), "{:?}", net.heard);
            }
            net.learns(&next, |_| true);
            if let Some(&from) = net.switches.first() {
                net.sends(from);
                while net.step() {}
                net.heard.remove(&from);
                prop_assert_eq!(&net.heard, &net.others(from));
            }
            graph = next;
        }
    }

    #[test]
    fn while_it_becomes_known_what_ports_lead_to_nobody_hears_a_broadcast_twice(
        history in a_history(),
        random: u64,
    ) {
        let graph = Graph::default().with(&apart(history).concat());
        let mut net = FloodNet::of(&graph, random);
        net.now = net.now + Duration::from_secs(1);
        net.learns(&graph, |_| false);
        for from in net.switches.clone() {
            net.flood_ports = net.flood_ports.next(net.now, &map(&graph, |_| false), &Forest::of(&graph));
            net.sends(from);
            for _ in 0..net.draw(8) {
                net.step();
            }
            net.flood_ports = net.flood_ports.next(net.now, &map(&graph, |_| true), &Forest::of(&graph));
            while net.step() {}
            net.heard.remove(&from);
            prop_assert!(net.heard.values().all(|&times| times <= 1), "{:?}", net.heard);
        }
    }

    #[test]
    fn a_loop_that_nobody_can_see_is_no_storm(history in a_history(), random: u64) {
        let graph = Graph::default().with(&apart(history).concat());
        let mut net = FloodNet::of(&graph, random);
        net.flood_ports = FloodPorts::of(&bare(&map(&graph, |_| true)), &Forest::default());
        prop_assert!(net.flood_ports.settled().is_some());
        if let Some(&from) = net.switches.first() {
            net.sends(from);
            while net.step() {}
            prop_assert!(net.moves <= super::app::TIMES as usize * net.links.len());
        }
    }

    #[test]
    fn where_one_link_goes_at_most_one_other_takes_its_place(history in a_history()) {
        let graph = Graph::default().with(&apart(history).concat());
        let forest = Forest::of(&graph);
        for (a, b, _) in graph.links() {
            let without = graph.with(&[GraphChange::NoLink { from: a }, GraphChange::NoLink { from: b }]);
            let next = Forest::of(&without);
            let fresh = next.ends().iter().filter(|end| forest.ends().binary_search(end).is_err());
            let fresh = fresh.count();
            let was_in = forest.ends().binary_search(&a).is_ok();
            prop_assert!(fresh == 0 || fresh == 2 && was_in);
            let gone = forest.ends().iter().filter(|end| next.ends().binary_search(end).is_err());
            let expected = if was_in { vec![&a, &b] } else { vec![] };
            prop_assert!(gone.eq(expected));
        }
    }

    #[test]
    fn a_forest_does_not_depend_on_what_was_before(history in a_history()) {
        let mut graph = Graph::default();
        for changes in &history {
            graph = graph.with(changes);
        }
        let up = graph.switches().map(|(dpid, _)| GraphChange::SwitchUp(dpid));
        let links = graph.links().flat_map(|(from, to, leg)| {
            let there = GraphChange::Link { from, to, metric: leg.out };
            [there, GraphChange::Link { from: to, to: from, metric: leg.back }]
        });
        let scratch = Graph::default().with(&up.chain(links).collect::<Vec<_>>());
        let [forest, expected] = [graph, scratch].map(|graph| Forest::of(&graph));
        prop_assert_eq!(forest.ends(), expected.ends());
    }
}

#[test]
fn a_port_of_a_link_known_from_one_end_is_closed() {
    let [a, b] = [1, 2].map(|dpid| SwitchPort::of(DatapathId(dpid), PortNo(1)));
    let up = [GraphChange::SwitchUp(a.dpid), GraphChange::SwitchUp(b.dpid)];
    let half = both(a, b)[0];
    let graph = Graph::default().with(&[up[0], up[1], half]);
    let ports = |graph: &Graph| -> Vec<PortNo> {
        let flood_ports = FloodPorts::of(&map(graph, |_| true), &Forest::of(graph));
        flood_ports.switch(a.dpid).unwrap().flood(PortNo(99)).collect()
    };
    assert_eq!(ports(&graph), [HOST]);
    assert_eq!(ports(&graph.with(&both(a, b))), [a.port, HOST]);
}

#[test]
fn a_switch_that_nobody_heard_of_floods_by_the_ports_that_it_joined_with() {
    let port = |number, link_down| aldis_wire::msg::Port {
        number,
        hw_addr: MacAddr::default(),
        name: aldis_wire::FixedText::default(),
        admin_down: false,
        link_down,
        speed_kbps: 0,
        details: aldis_wire::msg::PortDetails::default(),
    };
    let ports =
        [(1, false), (2, false), (3, true)].map(|(number, down)| port(PortNo(number), down));
    let ports = [&ports[..], &[port(PortNo::LOCAL, false)]].concat();
    let (repeats, flood_ports) = (Repeats::default(), FloodPorts::default());
    let at = Inlet { dpid: DatapathId(1), joined: Time::START, port: PortNo(1) };
    let flood = |now| flood(&repeats, now, (at, &[0; 60]), (&flood_ports, &ports));
    assert_eq!(flood(Time::START), [PortNo(2)]);
    assert_eq!(flood(Time::START), []);
    assert_eq!(flood(Time::START + Duration::from_secs(1)), [PortNo(2)]);
}

#[test]
fn a_large_network_floods_less_while_it_is_being_found_out() {
    let flooded = |switches: usize, known| {
        let port = |number| MapPort {
            number: PortNo(number),
            mac: MacAddr::default(),
            speed_kbps: 0,
            known,
            host: false,
            link: None,
            far: vec![],
        };
        let dpids = (1..=switches as u64).map(DatapathId);
        let (version, since) = (Version::V13, Time::START);
        let switch = |dpid| MapSwitch { dpid, version, since, ports: vec![port(1), port(2)] };
        let map: Map = dpids.clone().map(switch).collect();
        let mut graph_builder = crate::routing::GraphBuilder::default();
        graph_builder.follow(&map);
        let flood_ports = FloodPorts::of(&map, &Forest::of(graph_builder.graph()));
        let repeats = Repeats::default();
        let frames = dpids.flat_map(|dpid| (0..40u8).map(move |frame| (dpid, [frame; 60])));
        let is_flooded = |(dpid, frame): &(DatapathId, [u8; 60])| {
            let at = Inlet { dpid: *dpid, joined: Time::START, port: PortNo(1) };
            !flood(&repeats, Time::START, (at, frame), (&flood_ports, &[])).is_empty()
        };
        frames.filter(is_flooded).count()
    };
    assert_eq!(flooded(LARGE - 1, false), 40 * (LARGE - 1));
    assert_eq!(flooded(LARGE, true), 40 * LARGE);
    let large = flooded(LARGE, false);
    assert!((CAREFUL_MAX * 9 / 10..=CAREFUL_MAX).contains(&large), "{large}");
}

#[test]
fn behind_a_switch_that_is_not_ours_one_port_is_open_to_its_hosts() {
    // Three switches on one of another's, and a cable between the first two.
    let at = |dpid| SwitchPort::new(dpid, 1);
    let peer = |at| {
        let (state, since, latency_us) = (LinkState::Up, Time::START, 0);
        LinkPeer { at, state, since, out: true, back: true, slow: false, latency_us }
    };
    let port = |number, link: Option<LinkPeer>, far: Vec<LinkPeer>| MapPort {
        number: PortNo(number),
        mac: MacAddr::default(),
        speed_kbps: 0,
        known: true,
        host: false,
        link,
        far,
    };
    let switches = (1..=3).map(|dpid| {
        let far = (1..=3).filter(|other| *other != dpid).map(|other| peer(at(other))).collect();
        let cable = (dpid < 3).then(|| port(2, Some(peer(SwitchPort::new(3 - dpid, 2))), vec![]));
        let ports = [port(1, None, far)].into_iter().chain(cable).collect();
        let (version, since) = (Version::V13, Time::START);
        MapSwitch { dpid: DatapathId(dpid), version, since, ports }
    });
    let map: Map = switches.collect();
    let mut graph_builder = crate::routing::GraphBuilder::default();
    assert!(graph_builder.follow(&map));
    let ends: Vec<_> = graph_builder.graph().links().map(|(from, to, _)| (from, to)).collect();
    let cable = (SwitchPort::new(1, 2), SwitchPort::new(2, 2));
    assert_eq!(ends, [(at(1), at(2)), cable]);
    let flood_ports = FloodPorts::of(&map, &Forest::of(graph_builder.graph()));
    let open = |dpid| -> Vec<u32> {
        let flood = flood_ports.switch(DatapathId(dpid)).unwrap().flood(PortNo(99));
        flood.map(|port| port.0).collect()
    };
    // The first two reach each other through it, and not by their cable; it is the first that
    // speaks to its hosts.
    assert_eq!([open(1), open(2), open(3)], [vec![1], vec![1], vec![]]);
}
