//! What a flow request costs that is answered with a whole path, up to where the engine sends: the
//! application in its pipeline, in a network of 79 switches in which everything is known.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-apps --bench route_flow [-- torus]
//! ```
//!
//! The network is grown by preferential attachment, two links for each new switch; `-- torus` takes
//! 64 switches in a torus of 8 by 8 instead. Each switch has a hundred hosts. A batch is 512
//! requests of random pairs. Of each figure the least of the rounds and their median are printed.
//! `-- again` measures paths that are installed again and nothing else, for profilers.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use core::net::IpAddr;
use core::time::Duration;
use std::hint::black_box;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use aldis_apps::SwitchPort;
use aldis_apps::hosts::{HostReport, Hosts, HostsConfig, Identity, Observation, Tracker};
use aldis_apps::learning_switch::Seed;
use aldis_apps::route_flow::{IN_FLIGHT, PathLog, RouteFlow, Style};
use aldis_apps::routing::{Routing, Shortest};
use aldis_apps::topology::{LinkPeer, LinkState, Map, MapPort, MapSwitch};

use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PublishCtx, Publishers, View};
use aldis_control::{
    App, AppSet, Batch, Event, EventKind, Output, Pipeline, Publisher, RequestHeader, Run, Tables,
    Time, World,
};
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER, Version};

#[allow(unused_imports, reason = "its tests do not run here")]
#[path = "../../../src/allocator.rs"]
mod memory;

/// As in `aldis run`.
#[global_allocator]
static MEMORY: memory::Pages = memory::Pages;

/// Switches of the network that is grown.
const GROWN: u64 = 79;
/// Switches on a side of the torus.
const SIDE: u64 = 8;
/// Hosts of a switch, from this port on.
const HOSTS: u64 = 100;
const HOST_PORT: u32 = 1000;
const BATCH: usize = 512;
/// Flows in a round.
const FLOWS: usize = 100_000;
const ROUNDS: usize = 9;
const AGAIN: usize = 60;
/// Like a random one.
const SECRET: &[u8; 16] = b"0123456789abcdef";
const FRAME: usize = 60;

/// A stream of numbers (xorshift).
struct BenchDraws(u64);

impl BenchDraws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Whether the network is the torus.
static IS_TORUS: LazyLock<bool> = LazyLock::new(|| std::env::args().any(|arg| arg == "torus"));

fn switch_count() -> u64 {
    if *IS_TORUS { SIDE * SIDE } else { GROWN }
}

/// The network, with its links and hosts' ports.
fn network() -> Map {
    let links = if *IS_TORUS { torus() } else { grown() };
    let mut ports = vec![vec![]; switch_count() as usize + 1];
    for (a, b) in links {
        let [from, to] =
            [a, b].map(|dpid: u64| SwitchPort::new(dpid, ports[dpid as usize].len() as u32 + 1));
        ports[a as usize].push(port(from.port, Some(to)));
        ports[b as usize].push(port(to.port, Some(from)));
    }
    let switch = |(dpid, mut links): (usize, Vec<MapPort>)| {
        links.extend((0..HOSTS as u32).map(|host| port(PortNo(HOST_PORT + host), None)));
        let (version, since) = (Version::V13, Time::START);
        MapSwitch { dpid: DatapathId(dpid as u64), version, since, ports: links }
    };
    ports.into_iter().enumerate().skip(1).map(switch).collect()
}

/// Each switch is linked to the next one of its row and of its column.
fn torus() -> Vec<(u64, u64)> {
    let name = |x: u64, y: u64| 1 + x % SIDE + SIDE * (y % SIDE);
    let of = |at: u64| {
        let (x, y) = (at % SIDE, at / SIDE);
        [(name(x, y), name(x + 1, y)), (name(x, y), name(x, y + 1))]
    };
    (0..SIDE * SIDE).flat_map(of).collect()
}

/// Each switch is linked to two earlier ones.
fn grown() -> Vec<(u64, u64)> {
    let (mut draws, mut drawn) = (BenchDraws(0x9e37_79b9_7f4a_7c15), vec![1, 2]);
    let mut links = vec![(1, 2)];
    for dpid in 3..=GROWN {
        let mut peers: Vec<u64> = vec![];
        while peers.len() < 2 {
            let peer = drawn[draws.below(drawn.len() as u64) as usize];
            if !peers.contains(&peer) {
                peers.push(peer);
            }
        }
        links.extend(peers.iter().map(|&peer| (peer, dpid)));
        drawn.extend(peers.into_iter().flat_map(|peer| [peer, dpid]));
    }
    links
}

fn port(number: PortNo, to: Option<SwitchPort>) -> MapPort {
    let (state, since, latency_us) = (LinkState::Up, Time::START, 0);
    let peer = |at| LinkPeer { at, state, since, out: true, back: true, slow: false, latency_us };
    MapPort {
        number,
        mac: MacAddr::default(),
        speed_kbps: 0,
        known: true,
        host: to.is_none(),
        link: to.map(peer),
        far: vec![],
    }
}

fn host(number: u64) -> (MacAddr, SwitchPort) {
    let at =
        SwitchPort::new(1 + number % switch_count(), HOST_PORT + (number / switch_count()) as u32);
    (MacAddr::from_u64(0x0200_0000_0000 | number), at)
}

/// Publishes the map and the hosts, as they are.
struct KnownNetwork;

struct Maps(bool);
struct Tableau(bool);

impl App for KnownNetwork {
    type Slot = ();
    const NAME: &'static str = "known";
    const EVENTS: &'static [EventKind] = &[];

    fn publishers(&self) -> Publishers {
        Publishers::of(Maps(true)).and(Tableau(true))
    }
}

impl Publisher for Maps {
    type Part = Map;

    fn begin(&mut self) -> Map {
        Map::default()
    }

    fn revise(&mut self, _: Time, _: PublishCtx<'_, Map>) -> Option<Map> {
        core::mem::take(&mut self.0).then(network)
    }

    fn next(&self) -> Time {
        if self.0 { Time::START } else { Time::NEVER }
    }
}

impl Publisher for Tableau {
    type Part = Hosts;

    fn begin(&mut self) -> Hosts {
        Tracker::new(HostsConfig::new(Seed::new(*SECRET))).hosts().clone()
    }

    fn revise(&mut self, now: Time, mut ctx: PublishCtx<'_, Hosts>) -> Option<Hosts> {
        while let Some(HostReport { .. }) = ctx.report() {}
        core::mem::take(&mut self.0).then(|| {
            let mut tracker = Tracker::new(HostsConfig::new(Seed::new(*SECRET)));
            for number in 0..switch_count() * HOSTS {
                let (mac, at) = host(number);
                let (id, ip) = (Identity { mac, vlan: 0 }, IpAddr::from([10, 0, 0, 1]));
                let ip = (number == 0).then_some(ip);
                tracker.see(now, &Observation { id, at, ip, router: None }, &mut vec![]);
            }
            tracker.hosts().clone()
        })
    }

    fn next(&self) -> Time {
        if self.0 { Time::START } else { Time::NEVER }
    }
}

struct FlowBench {
    pipeline: Pipeline,
    world: Arc<World>,
    out: Output,
    switches: Vec<Arc<aldis_control::Switch>>,
    flows: Vec<(u64, u64)>,
    now: Time,
}

impl FlowBench {
    fn new() -> FlowBench {
        let book = Arc::new(PathLog::new(FLOWS));
        let style = Style::of_route_flow(60, Tables::One);
        let app_set = AppSet::default()
            .with(|| KnownNetwork)
            .with(|| Routing::new(Arc::new(Shortest::default()), false))
            .with(move || RouteFlow::new(style, Arc::clone(&book)));
        let pipelines = app_set.build().expect("they work together");
        let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
        let mut world = pipelines.world();
        let mut switches = vec![];
        for dpid in 1..=switch_count() {
            let (dpid, version) = (DatapathId(dpid), Version::V13);
            let info = SwitchInfo { dpid, version, buffers: 0, tables: 1, ports: vec![] };
            let switch = pipeline.join(Time::START, info);
            pipeline.event(Time::START, &world, &switch, &Event::Joining, &mut out);
            switches.push(switch);
        }
        let (mut world_builder, mut now) = (pipelines.world_builder(), Time::START);
        for _ in 0..100 {
            now = now + Duration::from_millis(2);
            if let Some(next) = world_builder.step(now) {
                world = next;
            }
        }
        let mut draws = BenchDraws(88_172_645_463_325_252);
        let hosts = switch_count() * HOSTS;
        let flows = (0..FLOWS).map(|_| {
            let src = draws.below(hosts);
            (src, (src + 1 + draws.below(hosts - 1)) % hosts)
        });
        FlowBench { pipeline, world, out, switches, flows: flows.collect(), now }
    }

    /// All flows are asked for; nanoseconds, and messages that are to be sent.
    fn round(&mut self) -> (f64, usize) {
        let (mut took, mut messages) = (Duration::ZERO, 0);
        for at in (0..FLOWS).step_by(BATCH) {
            let flows = &self.flows[at..FLOWS.min(at + BATCH)];
            let (mut bytes, mut requests, mut runs) = (vec![], vec![], vec![]);
            for (at, &(src, dst)) in flows.iter().enumerate() {
                let ((src, from), (dst, _)) = (host(src), host(dst));
                let frame_at = bytes.len() as u32;
                bytes.extend_from_slice(&dst.0);
                bytes.extend_from_slice(&src.0);
                bytes.extend_from_slice(&[8, 0]);
                bytes.resize(frame_at as usize + FRAME, 0);
                requests.push(RequestHeader {
                    frame_at,
                    head_len: 0,
                    frame_len: FRAME as u16,
                    total_len: FRAME as u16,
                    reason: 0,
                    stopped: false,
                    in_port: from.port.0,
                    buffer_id: NO_BUFFER,
                    xid: at as u32,
                });
                runs.push(Run { switch: from.dpid.0 as usize - 1, requests: at..at + 1 });
            }
            let switches: Vec<_> = self.switches.iter().map(|switch| &**switch).collect();
            let mut batch = Batch {
                kind: EventKind::FlowRequest,
                now: self.now,
                world: View::of(&self.world, &[]),
                bytes: &bytes,
                switches: &switches,
                runs: &runs,
                requests: &mut requests,
            };
            let begun = Instant::now();
            self.pipeline.packet_ins(&mut batch, &mut self.out);
            took += begun.elapsed();
            assert!(batch.requests.iter().all(|request| request.stopped));
            let (bytes, pieces) = self.out.commands().pieces();
            messages += pieces.len();
            black_box(bytes);
            self.out.commands().clear();
            self.out.clear();
        }
        (took.as_nanos() as f64 / FLOWS as f64, messages)
    }
}

fn main() {
    println!("{:<56} {:>8} {:>8}", "a request, ns", "least", "median");
    let (mut fresh, mut known, mut sent) = (vec![], vec![], vec![]);
    let mut pieces = 0;
    if std::env::args().any(|arg| arg == "again") {
        let mut bench = FlowBench::new();
        for _ in 0..AGAIN {
            known.push(bench.round().0);
            bench.now = bench.now + 2 * IN_FLIGHT;
        }
        show("of one that was answered before", known);
        return;
    }
    for _ in 0..ROUNDS {
        let mut bench = FlowBench::new();
        let (took, count) = bench.round();
        pieces = count;
        fresh.push(took);
        sent.push(bench.round().0);
        bench.now = bench.now + 2 * IN_FLIGHT;
        known.push(bench.round().0);
    }
    show("of a new flow: planned, said, noted", fresh);
    show("of one that was answered before", known);
    show("of one whose flows are on their way", sent);
    println!(
        "switches a path is said to, with the last twice: {:.2}",
        pieces as f64 / FLOWS as f64
    );
}

fn show(figure: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    println!("{figure:<56} {:>8.0} {:>8.0}", values[0], values[values.len() / 2]);
}
