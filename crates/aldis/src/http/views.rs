//! What the applications, the World and the settings look like from outside.

use std::collections::BTreeMap;

use aldis_apps::hosts::Lookout;
use aldis_apps::monitor::Statistics;
use aldis_apps::reconcile::{FlowStatuses, Owner, Status};
use aldis_apps::routing::{Hop, Node, Routes, Routing};
use aldis_apps::static_flows::StaticFlows;
use aldis_apps::topology::{Map, Peer, Search, State, Topology};
use aldis_apps::{Acl, SwitchPort, hosts, topology};
use aldis_control::pipeline::Graph;
use aldis_control::stats::AppSnapshot;
use aldis_control::{App as _, Time, World};
use aldis_engine::design::{Batching, Read, Write};
use aldis_http::api::apps::{App, Apps, Counted, Sequence, WorldPart};
use aldis_http::api::links::LinkState;
use aldis_http::api::weights::Design;
use aldis_http::source::{Crossing, Host, Link, PortsCounted, Ways};
use aldis_wire::DatapathId;

use crate::app_registry::BUILT_IN;
use crate::config::Config;

/// What [`Graph`] says, as it is told.
pub(crate) fn apps(graph: &Graph) -> Apps {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let says = |name: &str| BUILT_IN.iter().find(|known| known.name == name);
    let apps = graph.apps.iter().map(|app| App {
        name: app.name.to_owned(),
        says: says(app.name).map_or_else(String::new, |known| known.says.to_owned()),
        exclusive: app.exclusive,
        starts_on: app.starts.iter().map(|on| on.name().to_owned()).collect(),
        reads: names(&app.reads),
        publishes: names(&app.publishes),
        counted: None,
    });
    let sequences = graph
        .sequences
        .iter()
        .map(|(on, apps)| Sequence { on: on.name().to_owned(), apps: names(apps) });
    let world = graph.parts.iter().map(|part| WorldPart {
        name: part.name.to_owned(),
        publisher: part.publisher.to_owned(),
        made_of: names(&part.made_of),
    });
    Apps { apps: apps.collect(), sequences: sequences.collect(), world: world.collect() }
}

/// The same, with what they did until now.
pub(super) fn counted(mut apps: Apps, did: Vec<AppSnapshot>, world: &World) -> Apps {
    let mut did: BTreeMap<_, _> = did.into_iter().map(|did| (did.app, did)).collect();
    for app in &mut apps.apps {
        let Some(did) = did.remove(app.name.as_str()) else { continue };
        let in_words = |numbers: BTreeMap<&'static str, u64>| -> BTreeMap<String, u64> {
            numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
        };
        let (mut own, now) = published(&app.name, world);
        own.extend(did.own);
        app.counted = Some(Counted {
            events: in_words(did.events),
            bytes_out: did.bytes_out,
            own: in_words(own),
            now: in_words(now),
        });
    }
    apps
}

type Numbers = BTreeMap<&'static str, u64>;

/// What an application counts, and how much there is, by what it publishes.
fn published(app: &str, world: &World) -> (Numbers, Numbers) {
    let (mut own, mut now) = (Numbers::new(), Numbers::new());
    match app {
        Topology::NAME => {
            if let Some(search) = world.part::<Search>() {
                own.extend(probes(search.counters()));
            }
            if let Some(map) = world.part::<Map>() {
                let up = map.links().filter(|(_, peer)| peer.state == State::Up).count();
                now.extend([("links", map.links().count() as u64), ("links_up", up as u64)]);
            }
        }
        Lookout::NAME => {
            if let Some(table) = world.part::<hosts::Hosts>() {
                own.extend(sightings(table.counters()));
                now.insert("hosts", table.len() as u64);
            }
        }
        Routing::NAME => {
            if let Some(routes) = world.part::<Routes>() {
                let tally = routes.tally();
                own.extend([("searched", tally.searched), ("kept", tally.kept)]);
                own.insert("dropped", tally.dropped);
                now.insert("switches", routes.graph().switches().len() as u64);
            }
        }
        StaticFlows::NAME => now.extend(flows::<StaticFlows>(world)),
        Acl::NAME => now.extend(flows::<Acl>(world)),
        _ => {}
    }
    (own, now)
}

fn probes(counters: &topology::Counters) -> [(&'static str, u64); 10] {
    [
        ("probes_sent", counters.sent),
        ("probes_heard", counters.heard),
        ("probes_foreign", counters.foreign),
        ("probes_forged", counters.forged),
        ("probes_altered", counters.altered),
        ("probes_replayed", counters.replayed),
        ("probes_late", counters.late),
        ("probes_at_wrong_port", counters.wrong_port),
        ("probes_at_host_port", counters.host_port),
        ("links_slow", counters.slow),
    ]
}

fn sightings(counters: &hosts::Counters) -> [(&'static str, u64); 11] {
    [
        ("new", counters.new),
        ("moved", counters.moved),
        ("aged", counters.aged),
        ("evicted", counters.evicted),
        ("on_links", counters.on_links),
        ("on_down", counters.on_down),
        ("no_room", counters.no_room),
        ("claims_asked", counters.asked),
        ("claims_refuted", counters.refuted),
        ("claims_refused", counters.refused),
        ("claims_beyond_room", counters.disputes_full),
    ]
}

/// How many flows are on switches, over all of them, and how many should be and are not.
fn flows<W: Owner>(world: &World) -> [(&'static str, u64); 2] {
    let part = world.part::<FlowStatuses<W>>();
    let entries = part.into_iter().flat_map(FlowStatuses::iter).flat_map(|(_, entries)| entries);
    let (there, missing): (Vec<_>, Vec<_>) =
        entries.partition(|entry| entry.status == Status::There);
    [("flows_there", there.len() as u64), ("flows_missing", missing.len() as u64)]
}

/// Of the switches with the lowest datapath ids, as many as there is room for.
pub(super) fn ports_counted(statistics: &Statistics, max: usize) -> PortsCounted {
    let mut switches: Vec<_> = statistics.iter().collect();
    switches.sort_unstable_by_key(|(dpid, _)| *dpid);
    let mut counted = PortsCounted::default();
    for (dpid, switch) in switches {
        let (rows, room) = (&switch.ports.rows, max - counted.ports.len());
        counted.ports.extend(rows.iter().take(room).map(|row| (dpid, row.stats)));
        counted.left_out += switch.ports.left_out + rows.len().saturating_sub(room) as u64;
    }
    counted
}

pub(super) fn host(host: &hosts::Host) -> Host {
    let moment = |seconds: u32| Time(u64::from(seconds) * 1_000_000_000);
    Host {
        mac: host.mac(),
        vlan: host.id().vlan,
        ips: host.addresses().collect(),
        at: place(host.at()),
        attached: !host.is_nowhere(),
        first_seen: moment(host.first_seen_s()),
        last_seen: moment(host.last_seen_s()),
        router: host.is_router(),
    }
}

pub(super) fn design(config: &Config) -> Design {
    let design = &config.design;
    let mut knobs = BTreeMap::new();
    let mut say = |key: &str, value: String| drop(knobs.insert(key.to_owned(), value));
    say("max-read-bytes", design.read_max.to_string());
    say("core-binding", design.core_binding.to_string());
    say("request-binding", design.request_binding.to_string());
    say("output-batching", design.output_batching.to_string());
    say("prt", design.prt.map_or_else(|| "none".into(), |prt| prt.to_string()));
    let write = match design.write {
        Write::Batched => "batched",
        Write::Immediate => "immediate",
    };
    say("write", write.into());
    match design.batching {
        Batching::PerRead => say("batching", "per-read".into()),
        Batching::Fixed(ibt) => {
            say("batching", "fixed".into());
            say("ibt", ibt.requests().to_string());
        }
        Batching::Adaptive(bdu) => {
            say("batching", "adaptive".into());
            say("bdu-us", bdu.longest().as_micros().to_string());
        }
    }
    match design.read {
        Read::SharedQueue { io_threads, .. } => say("io-threads", io_threads.to_string()),
        Read::DynamicPartition { period } => say("period-ms", period.as_millis().to_string()),
        _ => {}
    }
    let (name, weighs) = (design.name.to_owned(), design.read.weighs());
    Design { design: name, weighs, workers: config.workers(), knobs }
}

/// Each link once, from its lower end.
pub(super) fn links(map: &Map) -> Vec<Link> {
    let mut links = Vec::new();
    for switch in map.switches() {
        for port in &switch.ports {
            let at = SwitchPort::of(switch.dpid, port.number);
            let cables = port.link.iter().map(|peer| (peer, true));
            let peers = cables.chain(port.far.iter().map(|peer| (peer, false)));
            let lower = peers.filter(|(peer, _)| at < peer.at);
            links.extend(lower.map(|(peer, cable)| link(at, peer, cable)));
        }
    }
    links
}

/// See [`aldis_http::Controller::ways`].
pub(super) fn ways(
    routes: &Routes,
    (from, to): (DatapathId, DatapathId),
    max: usize,
    hops_max: usize,
) -> Ways {
    let (graph, engine) = (routes.graph(), routes.engine().name().to_owned());
    let mut ways = Ways { engine, distance: None, paths: vec![], more: false };
    let (Some(from), Some(to)) = (graph.node(from), graph.node(to)) else { return ways };
    ways.distance = routes.distance(from, to);
    let mut hops = 0;
    for way in routes.equal_cost_paths(from, to) {
        hops += way.len();
        if ways.paths.len() == max || (hops > hops_max && !ways.paths.is_empty()) {
            ways.more = true;
            break;
        }
        ways.paths.push(crossings(routes, &way, to));
    }
    ways
}

fn crossings(routes: &Routes, way: &[Hop], to: Node) -> Vec<Crossing> {
    let dpid = |node| routes.graph().dpid(node).unwrap_or(DatapathId(0));
    let next = way.iter().skip(1).map(|hop| hop.node).chain([to]);
    let one = |(hop, next): (&Hop, Node)| Crossing {
        from: (dpid(hop.node), hop.out_port.0),
        to: (dpid(next), hop.in_port.0),
    };
    way.iter().zip(next).map(one).collect()
}

fn link(at: SwitchPort, peer: &Peer, cable: bool) -> Link {
    Link {
        ends: [place(at), place(peer.at)],
        state: match peer.state {
            State::Up => LinkState::Up,
            State::OneWay => LinkState::OneWay,
            State::Unproven => LinkState::Unproven,
        },
        since: peer.since,
        cable,
        slow: peer.slow,
        latency_us: (peer.latency_us > 0).then_some(peer.latency_us),
    }
}

fn place(at: SwitchPort) -> (DatapathId, u32) {
    (at.dpid, at.port.0)
}
