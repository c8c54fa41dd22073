//! What the applications, the World and the settings look like from outside.

use std::collections::BTreeMap;

use aldis_apps::routing::{Hop, Node, Routes};
use aldis_apps::topology::{Map, Peer, State};
use aldis_apps::{SwitchPort, hosts};
use aldis_control::Time;
use aldis_control::pipeline::Graph;
use aldis_engine::design::{Batching, Read, Write};
use aldis_http::api::apps::{App, Apps, Sequence, WorldPart};
use aldis_http::api::links::LinkState;
use aldis_http::api::weights::Design;
use aldis_http::source::{Crossing, Host, Link, Ways};
use aldis_wire::DatapathId;

use crate::catalogue;
use crate::run::Config;

/// What [`Graph`] says, as it is told.
pub(crate) fn apps(graph: &Graph) -> Apps {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let says = |name: &str| catalogue::ALL.iter().find(|known| known.name == name);
    let apps = graph.apps.iter().map(|app| App {
        name: app.name.to_owned(),
        says: says(app.name).map_or_else(String::new, |known| known.says.to_owned()),
        exclusive: app.exclusive,
        starts_on: app.starts.iter().map(|on| on.name().to_owned()).collect(),
        reads: names(&app.reads),
        publishes: names(&app.publishes),
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

pub(super) fn host(host: &hosts::Host) -> Host {
    let moment = |seconds: u32| Time(u64::from(seconds) * 1_000_000_000);
    Host {
        mac: host.mac(),
        vlan: host.id().vlan,
        ips: host.addresses().collect(),
        at: place(host.at()),
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
    for way in routes.ways(from, to) {
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
