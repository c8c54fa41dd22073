//! What is planned, tried on switches that have nothing but the flows they were sent: does the
//! packet arrive?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aldis_control::{SwitchPort, Time};
use aldis_wire::msg::PortNo;
use aldis_wire::types::{L2FlowSpec, L2Hit};
use aldis_wire::{DatapathId, MacAddr, v13};
use proptest::prelude::*;

use super::*;
use crate::hosts::Identity;
use crate::recent_set::RecentSet;
use crate::routing::tests::{a_history, ring};
use crate::routing::{Graph, GraphChange, Routes, Shortest};

/// Where every switch has its host.
const HOST: PortNo = PortNo(100);

/// The flows in all switches: where the packets of a flow leave that came in at an end.
#[derive(Default)]
struct Tables(BTreeMap<(Key, SwitchPort), PortNo>);

impl Tables {
    fn install(&mut self, key: Key, rule: &Rule) {
        self.0.insert((key, SwitchPort::of(rule.dpid, rule.in_port)), rule.out_port);
    }

    /// As a switch does, only what leads where it is said to lead.
    fn remove(&mut self, key: Key, rule: &Rule) {
        let place = (key, SwitchPort::of(rule.dpid, rule.in_port));
        if self.0.get(&place) == Some(&rule.out_port) {
            self.0.remove(&place);
        }
    }

    /// Where a packet leaves the network, or where it is a request; nothing where it circles.
    fn sends(
        &self,
        graph: &Graph,
        key: Key,
        mut at: SwitchPort,
    ) -> Option<Result<SwitchPort, SwitchPort>> {
        for _ in 0..=graph.switches().len() {
            let Some(&port) = self.0.get(&(key, at)) else { return Some(Err(at)) };
            let leg = graph.legs(graph.node(at.dpid)?).iter().find(|leg| leg.port == port);
            let Some(leg) = leg else { return Some(Ok(SwitchPort::of(at.dpid, port))) };
            at = SwitchPort::of(graph.dpid(leg.node)?, leg.far_port);
        }
        None
    }
}

fn host(dpid: u64) -> SwitchPort {
    SwitchPort::of(DatapathId(dpid), HOST)
}

fn key(src: u64, dst: u64) -> Key {
    Key { src: MacAddr::from_u64(src), dst: MacAddr::from_u64(dst), vlan: Key::UNTAGGED }
}

fn routes(graph: Graph) -> Routes {
    Routes::new(Arc::new(Shortest::default()), Arc::new(graph))
}

/// A worker that plans, and the keeper of what it planned.
struct PlannedQueue {
    planner: Planner,
    maintenance: Maintenance,
    remove: Vec<Rule>,
}

impl PlannedQueue {
    fn new(paths_max: usize) -> PlannedQueue {
        let planner = Planner::new(Arc::new(RecentSet::new(1 << 12, IN_FLIGHT)));
        PlannedQueue { planner, maintenance: Maintenance::new(paths_max), remove: vec![] }
    }

    fn paths(&self) -> &Paths {
        self.maintenance.paths()
    }

    /// The answer; what is installed is remembered.
    fn answer(
        &mut self,
        now: Time,
        routes: (&Routes, u64),
        key: Key,
        ends: (SwitchPort, SwitchPort),
    ) -> RouteAnswer<'_> {
        let answer = self.planner.answer(now, routes, key, ends);
        if let RouteAnswer::Install { rules, .. } = answer {
            self.remove = self.maintenance.installed(key, ends, rules).to_vec();
        }
        answer
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_packet_meets_flows_all_the_way_or_none(history in a_history()) {
        let routes = routes(Graph::default().with(&history.concat()));
        let (graph, mut planner) = (routes.graph(), PlannedQueue::new(1000));
        for (from, a) in graph.switches() {
            for (to, b) in graph.switches().filter(|(to, _)| *to != from) {
                let (key, ends) = (key(from.0, to.0), (host(from.0), host(to.0)));
                let answer = planner.answer(Time::START, (&routes, 1), key, ends);
                let RouteAnswer::Install { rules, release } = answer else {
                    prop_assert_eq!(answer, RouteAnswer::NoWay);
                    prop_assert_eq!(routes.distance(a, b), None);
                    continue;
                };
                prop_assert_eq!(release, ends.1);
                let mut tables = Tables::default();
                for rule in rules {
                    let before = tables.sends(graph, key, ends.0);
                    prop_assert_eq!(before, Some(Err(ends.0)), "as long as one is missing");
                    tables.install(key, rule);
                }
                prop_assert_eq!(tables.sends(graph, key, ends.0), Some(Ok(ends.1)));
            }
        }
    }

    #[test]
    fn after_links_went_packets_arrive_and_nothing_stale_is_left(
        history in a_history(),
        flows in prop::collection::btree_set((1..=9u64, 1..=9u64), 1..30),
        paths_max in prop_oneof![Just(5usize), Just(1000)],
    ) {
        let mut routes = routes(Graph::default().with(&history[0]));
        let (mut planner, mut tables) = (PlannedQueue::new(paths_max), Tables::default());
        for (from, to) in flows.iter().filter(|(from, to)| from != to) {
            let (key, ends) = (key(*from, *to), (host(*from), host(*to)));
            if let RouteAnswer::Install { rules, .. } =
                planner.answer(Time::START, (&routes, 1), key, ends)
            {
                rules.iter().for_each(|rule| tables.install(key, rule));
            }
        }
        prop_assert!(planner.paths().len() <= paths_max);
        let planned = planner.paths().len() as u64 + planner.paths().refused();
        // Those that are not remembered are no longer looked at.
        let known = |key: &Key, planner: &PlannedQueue| {
            planner.paths().rules(*key, host(key.src.to_u64())).is_some()
        };
        tables.0.retain(|(key, _), _| known(key, &planner));
        let mut remembered: BTreeSet<Key> = tables.0.keys().map(|(key, _)| *key).collect();
        prop_assert!(remembered.len() as u64 <= planned);
        for changes in &history[1..] {
            let next = routes.after(Arc::new(routes.graph().with(changes)));
            planner.maintenance.reroute(&routes, &next, |reroute| {
                reroute.install.iter().for_each(|rule| tables.install(reroute.key, rule));
                reroute.remove.iter().for_each(|rule| tables.remove(reroute.key, rule));
            });
            routes = next;
            let graph = routes.graph();
            remembered.retain(|flow| {
                let ends = [flow.src, flow.dst].map(|host| graph.node(DatapathId(host.to_u64())));
                matches!(ends, [Some(from), Some(to)] if routes.distance(from, to).is_some())
                    && known(flow, &planner)
            });
            let mut expected = Tables::default();
            for flow in &remembered {
                let (from, to) = (host(flow.src.to_u64()), host(flow.dst.to_u64()));
                prop_assert_eq!(tables.sends(graph, *flow, from), Some(Ok(to)));
                let rules = planner.paths().rules(*flow, from).unwrap();
                rules.iter().for_each(|rule| expected.install(*flow, rule));
            }
            // A switch that went took its flows along, and a path that only ended there is still
            // remembered.
            let up = |(_, end): &(Key, SwitchPort)| graph.node(end.dpid).is_some();
            tables.0.retain(|place, _| up(place) && remembered.contains(&place.0));
            prop_assert_eq!(&tables.0, &expected.0);
        }
    }

    #[test]
    fn a_rule_is_the_same_built_or_stamped(
        src in 0..1u64 << 48,
        dst in 0..1u64 << 48,
        vlan in prop_oneof![Just(Key::UNTAGGED), 0..4096u16],
        ports in (1..0xff00u32, 1..0xff00u32),
        idle_timeout_s: u16,
        priority: u16,
        cookie: u64,
        is_first: bool,
    ) {
        let key = Key { vlan, ..key(src, dst) };
        let (in_port, out_port) = (PortNo(ports.0), PortNo(ports.1));
        let rule = Rule { dpid: DatapathId(1), in_port, out_port };
        let style = Style { idle_timeout_s, priority, cookie, tables: aldis_control::Tables::One };
        let send_flow_removed = is_first;
        let spec =
            L2FlowSpec { idle_timeout_s, hard_timeout_s: 0, priority, cookie, send_flow_removed };
        let hit: L2Hit = rule.hit(&key, 7);
        for version in aldis_wire::Version::ALL {
            let mut built = vec![];
            rule.add(&key, &style, is_first).encode(version, 7, &mut built).unwrap();
            rule.delete(&key, &style).encode(version, 7, &mut vec![]).unwrap();
            // What a switch says of it when it is gone.
            let gone = rule.add(&key, &style, is_first).match_;
            prop_assert_eq!(Key::of_match(&gone), Some((key, in_port)));
            // In 1.0 the template has other bits where none is looked at.
            if version == aldis_wire::Version::V13 {
                let mut stamped = [0; v13::template::L2Flow::SIZE];
                v13::template::L2Flow::new(&spec).stamp(&mut stamped, &hit);
                prop_assert_eq!(&stamped[..], &built[..]);
            }
        }
    }
}

#[test]
fn requests_that_were_on_their_way_get_no_flows_again() {
    let routes = routes(Graph::default().with(&ring(5)));
    let mut planner = PlannedQueue::new(10);
    let mut ask = |now, version, to| {
        let (key, ends) = (key(1, 3), (host(1), host(to)));
        match planner.answer(now, (&routes, version), key, ends) {
            RouteAnswer::Install { rules, release } => {
                assert_eq!(release, host(to));
                let count = rules.len();
                format!("install {count} remove {}", planner.remove.len())
            }
            RouteAnswer::InFlight { release: end, .. } => format!("release {end}"),
            other => format!("{other:?}"),
        }
    };
    let later = Time::START + 2 * IN_FLIGHT;
    assert_eq!(ask(Time::START, 1, 3), "install 3 remove 0");
    assert_eq!(ask(Time::START, 1, 3), "release 0000000000000003/100");
    assert_eq!(ask(later, 1, 3), "install 3 remove 0");
    // New routes, and the flows of the old ones may be gone.
    assert_eq!(ask(later, 2, 3), "install 3 remove 0");
    // The receiver moved to the other side of the ring: but for the first hop's flow, which is
    // replaced, all is removed.
    assert_eq!(ask(later, 2, 5), "install 2 remove 2");
    assert_eq!(ask(later, 2, 1), "Filter");
    assert_eq!(ask(later, 2, 77), "NoWay");
}

#[test]
fn a_packet_that_went_astray_is_led_back_without_flows() {
    let routes = routes(Graph::default().with(&ring(5)));
    let mut planner = PlannedQueue::new(10);
    // It came to 2 from 1 by the link between them, and belongs to 1.
    let from = SwitchPort::of(DatapathId(2), PortNo(2));
    let answer = planner.answer(Time::START, (&routes, 1), key(9, 1), (from, host(1)));
    assert_eq!(answer, RouteAnswer::Release(host(1)));
    assert!(planner.paths().is_empty());
}

#[test]
fn where_a_port_goes_down_the_paths_that_end_there_go() {
    let routes = routes(Graph::default().with(&ring(5)));
    let mut planner = PlannedQueue::new(10);
    for (src, dst) in [(1, 3), (3, 1), (2, 3)] {
        planner.answer(Time::START, (&routes, 1), key(src, dst), (host(src), host(dst)));
    }
    let mut removed = vec![];
    planner.maintenance.forget_port(host(3), |path| removed.push(path.key));
    assert_eq!(removed, [key(1, 3), key(2, 3)]);
}

#[test]
fn where_nobody_remembers_what_happened_paths_are_looked_at_some_at_a_time() {
    const HOSTS: u64 = 120;
    let routes = routes(Graph::default().with(&ring(5)));
    let mut planner = PlannedQueue::new(20_000);
    let end = |host: u64| SwitchPort::new(1 + host % 5, 100 + host as u32);
    for (src, dst) in (1..=HOSTS).flat_map(|src| (1..=HOSTS).map(move |dst| (src, dst))) {
        if src != dst {
            planner.answer(Time::START, (&routes, 1), key(src, dst), (end(src), end(dst)));
        }
    }
    let all = planner.paths().len();
    assert_eq!(all, (HOSTS * (HOSTS - 1)) as usize);
    // Every third host is elsewhere now, or nowhere.
    let is_there = |host: u64| !host.is_multiple_of(3);
    let (mut looked_at, mut removed) = (vec![], 0);
    planner.maintenance.doubt_all();
    while planner.maintenance.is_in_doubt() {
        let mut asked = 0;
        planner.maintenance.look_again(
            |ids, places| {
                asked += ids.len();
                let at = |id: &Identity| match id.mac.to_u64() {
                    host if is_there(host) => Some(end(host)),
                    host if host.is_multiple_of(2) => Some(end(host + 1)),
                    _ => None,
                };
                places.extend(ids.iter().map(at));
            },
            |path| {
                assert!(!is_there(path.key.dst.to_u64()));
                removed += 1;
            },
        );
        looked_at.push(asked);
    }
    assert_eq!(looked_at, [8192, all - 8192]);
    assert_eq!((removed, planner.paths().len()), (all / 3, all - all / 3));
}

#[test]
fn a_host_that_moves_takes_its_paths_along() {
    let routes = routes(Graph::default().with(&ring(5)));
    let mut planner = PlannedQueue::new(10);
    for (src, dst) in [(1, 3), (3, 1), (2, 4)] {
        planner.answer(Time::START, (&routes, 1), key(src, dst), (host(src), host(dst)));
    }
    let mut removed = BTreeMap::new();
    let three = Identity { mac: MacAddr::from_u64(3), vlan: 0 };
    planner.maintenance.forget_host(three, |path| {
        assert!(path.install.is_empty());
        let dpids: Vec<u64> = path.remove.iter().map(|rule| rule.dpid.0).collect();
        removed.insert(path.key, dpids);
    });
    // From the first hop on: what still comes in finds no flow, rather than half of them.
    assert_eq!(removed, BTreeMap::from([(key(1, 3), vec![1, 2, 3]), (key(3, 1), vec![3, 2, 1])]));
    assert_eq!(planner.paths().len(), 1);
}

#[test]
fn what_is_remembered_is_bounded_and_leaves_nothing_behind() {
    let graph = Graph::default().with(&ring(9));
    let routes = routes(graph.clone());
    let mut planner = PlannedQueue::new(20);
    for (src, dst) in (1..=9).flat_map(|src| (1..=9).map(move |dst| (src, dst))) {
        planner.answer(Time::START, (&routes, 1), key(src, dst), (host(src), host(dst)));
    }
    assert_eq!((planner.paths().len(), planner.paths().refused()), (20, 52));
    let cut = (1..=9).map(|dpid| GraphChange::SwitchDown(DatapathId(dpid))).collect::<Vec<_>>();
    let next = routes.after(Arc::new(graph.with(&cut)));
    let mut gone = 0;
    planner
        .maintenance
        .reroute(&routes, &next, |path| gone += usize::from(path.install.is_empty()));
    assert_eq!(gone, 20);
    assert!(planner.paths().is_empty() && planner.paths().is_clear());
    let routes = self::routes(Graph::default().with(&ring(9)));
    planner.answer(Time::START, (&routes, 2), key(1, 4), (host(1), host(4)));
    assert_eq!(planner.paths().len(), 1);
    planner.maintenance.expired(key(1, 4), host(1));
    assert!(planner.paths().is_empty() && planner.paths().is_clear());
}
