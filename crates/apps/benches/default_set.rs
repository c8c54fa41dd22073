//! What a request costs the default applications, beside the learning switch alone: nanoseconds for
//! each, with 16 switches of so many hosts.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-apps --bench default_set [-- [default] [vlan|ipv6] HOSTS…]
//! ```
//!
//! A batch is 400 requests of one switch of OpenFlow 1.0, which holds the packets; the next batch
//! is the next switch's. Every host sends in turn, to another port of its switch, as under `aldis
//! bench --outstanding 400`. Everything is known but what is on its way: a request takes 100 ns of
//! the applications' clock, after a tenth of a second of which a flow is installed again. Discovery
//! and static flows, which a request passes by, are left out. Only the applications are timed. The
//! two sets take turns; the least of 15 rounds and their median are printed. `default` runs the
//! default applications alone, for profilers; frames are UDP over IPv4 without a tag, unless `vlan`
//! puts them into one, or `ipv6` makes them TCP over IPv6.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_apps::LearningSwitch;
use aldis_apps::arp_proxy::ArpProxy;
use aldis_apps::dhcp::{DhcpProxy, Trust};
use aldis_apps::hosts::{HostTracker, HostsConfig};
use aldis_apps::learning_switch::{LearningConfig, Seed};
use aldis_apps::nd_proxy::NdProxy;
use aldis_apps::route_flow::{PathLog, RouteFlow, Style};
use aldis_apps::routing::{Routing, Shortest};
use aldis_apps::spanning::{Repeats, Spanning};
use aldis_apps::topology::{Map, MapPort, MapSwitch};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PublishCtx, Publishers, View, WorldBuilder};
use aldis_control::{
    App, AppSet, Batch, Event, EventKind, Output, Pipeline, Publisher, RequestHeader, Run, Switch,
    Tables, Time, World,
};
use aldis_wire::msg::{Port, PortDetails, PortNo};
use aldis_wire::{DatapathId, FixedText, MacAddr, Version};

#[allow(unused_imports, reason = "its tests do not run here")]
#[path = "../../../src/allocator.rs"]
mod memory;

/// As in `aldis run`.
#[global_allocator]
static MEMORY: memory::Pages = memory::Pages;

const SWITCHES: usize = 16;
const PORTS: u32 = 4;
const BATCH: usize = 400;
const FRAME: usize = 64;
const REQUEST: Duration = Duration::from_nanos(100);
const ROUNDS: usize = 15;
/// Batches of a round.
const ROUND: usize = 4000;
const VERSION: Version = Version::V10;
/// Like a random one.
const SECRET: [u8; 16] = *b"0123456789abcdef";

fn main() {
    let counts: Vec<u32> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1000, 10_000, 100_000] } else { counts };
    let has = |word| std::env::args().any(|arg| arg == word);
    let is_alone = has("default");
    let frame = frame(has("vlan"), has("ipv6"));
    println!("{:>8}  {:>16}  {:>6}  {:>6}", "hosts", "applications", "least", "median");
    for hosts in counts {
        let mut sets = vec![("default", SetBench::new(hosts, &frame, default_set()))];
        if !is_alone {
            let config = LearningConfig::new(Seed::new(SECRET));
            let app_set = AppSet::default().with(move || LearningSwitch::new(config));
            sets.push(("learning-switch", SetBench::new(hosts, &frame, app_set)));
        }
        let mut took = vec![vec![]; sets.len()];
        for _ in 0..ROUNDS {
            for ((_, bench), took) in sets.iter_mut().zip(&mut took) {
                took.push(bench.round());
            }
        }
        for ((name, _), mut took) in sets.iter().zip(took) {
            took.sort_by(f64::total_cmp);
            println!("{hosts:>8}  {name:>16}  {:>6.1}  {:>6.1}", took[0], took[ROUNDS / 2]);
        }
    }
}

/// As it runs where nothing else is configured.
fn default_set() -> AppSet {
    let hosts = HostsConfig::new(Seed::new(SECRET));
    let style = Style::of_route_flow(60, Tables::One);
    let path_log = Arc::new(PathLog::new(2_000_000));
    let repeats = Arc::new(Repeats::with_room(Repeats::FRAMES_MAX));
    AppSet::default()
        .with(|| KnownPorts)
        .with(move || HostTracker::new(hosts))
        .with(|| ArpProxy)
        .with(|| NdProxy)
        .with(|| DhcpProxy::new(Trust::AnyServer))
        .with(|| Routing::new(Arc::new(Shortest::default()), false))
        .with(move || RouteFlow::new(style, Arc::clone(&path_log)))
        .with(move || Spanning::new(Arc::clone(&repeats)))
}

/// Publishes the switches, of which every port is a host's.
struct KnownPorts;

struct PortsPublisher(bool);

impl App for KnownPorts {
    type Slot = ();
    const NAME: &'static str = "known";
    const EVENTS: &'static [EventKind] = &[];

    fn publishers(&self) -> Publishers {
        Publishers::of(PortsPublisher(true))
    }
}

impl Publisher for PortsPublisher {
    type Part = Map;

    fn begin(&mut self) -> Map {
        Map::default()
    }

    fn revise(&mut self, _: Time, _: PublishCtx<'_, Map>) -> Option<Map> {
        core::mem::take(&mut self.0).then(|| {
            let (version, since) = (VERSION, Time::START);
            let switch =
                |dpid| MapSwitch { dpid: DatapathId(dpid), version, since, ports: ports() };
            (1..=SWITCHES as u64).map(switch).collect()
        })
    }

    fn next(&self) -> Time {
        if self.0 { Time::START } else { Time::NEVER }
    }
}

fn ports() -> Vec<MapPort> {
    let port = |number| MapPort {
        number: PortNo(number),
        mac: MacAddr::default(),
        speed_kbps: 0,
        known: true,
        host: true,
        link: None,
        far: vec![],
    };
    (1..=PORTS).map(port).collect()
}

struct SetBench {
    pipeline: Pipeline,
    world_builder: WorldBuilder,
    world: Arc<World>,
    switches: Vec<Arc<Switch>>,
    /// Hosts of a switch, and the next of each to send.
    hosts: u32,
    senders: Vec<u32>,
    bytes: Vec<u8>,
    requests: Vec<RequestHeader>,
    out: Output,
    now: Time,
}

impl SetBench {
    fn new(hosts: u32, frame: &[u8], app_set: AppSet) -> SetBench {
        let pipelines = app_set.build().expect("they work together");
        let (pipeline, out, world) =
            (pipelines.pipeline(0), pipelines.output(0), pipelines.world());
        let mut bench = SetBench {
            pipeline,
            world_builder: pipelines.world_builder(),
            world,
            switches: vec![],
            hosts,
            senders: vec![0; SWITCHES],
            bytes: frame.repeat(BATCH),
            requests: vec![],
            out,
            now: Time::START + Duration::from_secs(1),
        };
        for dpid in 1..=SWITCHES as u64 {
            let switch = bench.pipeline.join(bench.now, info(dpid));
            bench.pipeline.event(bench.now, &bench.world, &switch, &Event::Joining, &mut bench.out);
            bench.switches.push(switch);
        }
        bench.publish();
        // Each host sends twice: it is seen, and then its flow is installed.
        for batch in 0..2 * SWITCHES * (hosts as usize).div_ceil(BATCH) {
            bench.run(batch % SWITCHES);
            bench.publish();
        }
        bench
    }

    /// What was reported is published.
    fn publish(&mut self) {
        for _ in 0..3 {
            self.now = self.now + Duration::from_millis(2);
            if let Some(world) = self.world_builder.step(self.now) {
                self.world = world;
            }
        }
    }

    /// Nanoseconds a request.
    fn round(&mut self) -> f64 {
        let spent: Duration = (0..ROUND).map(|batch| self.run(batch % SWITCHES)).sum();
        // Hosts that were not seen for a while are reported.
        self.publish();
        spent.as_nanos() as f64 / (ROUND * BATCH) as f64
    }

    fn run(&mut self, switch: usize) -> Duration {
        self.fill(switch);
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: self.now,
            world: View::of(&self.world, &[]),
            bytes: &self.bytes,
            switches: &[&self.switches[switch]],
            runs: &[Run { switch: 0, requests: 0..BATCH }],
            requests: &mut self.requests,
        };
        self.out.clear();
        self.out.commands().clear();
        let begun = Instant::now();
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        let spent = begun.elapsed();
        self.now = self.now + REQUEST * BATCH as u32;
        spent
    }

    /// The next hosts of a switch send.
    fn fill(&mut self, switch: usize) {
        self.requests.clear();
        for (at, frame) in self.bytes.chunks_exact_mut(FRAME).enumerate() {
            let src = self.senders[switch];
            self.senders[switch] = (src + 1) % self.hosts;
            // Far away in the tables, and behind the next port.
            let dst = (src + self.hosts / 2 / PORTS * PORTS + 1) % self.hosts;
            let number = at as u32;
            frame[..6].copy_from_slice(&mac(switch, dst).0);
            frame[6..12].copy_from_slice(&mac(switch, src).0);
            self.requests.push(RequestHeader {
                frame_at: (at * FRAME) as u32,
                head_len: 0,
                frame_len: FRAME as u16,
                total_len: FRAME as u16,
                reason: 0,
                stopped: false,
                in_port: 1 + src % PORTS,
                buffer_id: number,
                xid: number,
            });
        }
    }
}

/// A UDP datagram without addresses, or a TCP segment over IPv6.
fn frame(is_tagged: bool, is_ipv6: bool) -> Vec<u8> {
    let mut frame = vec![0; 12];
    if is_tagged {
        frame.extend([0x81, 0, 0, 42]);
    }
    let behind = frame.len();
    frame.resize(FRAME, 0);
    let packet = &mut frame[behind..];
    if is_ipv6 {
        (packet[0], packet[1], packet[2], packet[2 + 6]) = (0x86, 0xdd, 0x60, 6);
    } else {
        (packet[0], packet[2], packet[2 + 9]) = (0x08, 0x45, 17);
    }
    frame
}

fn mac(switch: usize, host: u32) -> MacAddr {
    MacAddr::from_u64(0x02 << 40 | (switch as u64) << 24 | u64::from(host))
}

fn info(dpid: u64) -> SwitchInfo {
    let port = |number| Port {
        number: PortNo(number),
        hw_addr: MacAddr::from_u64(0x0600_0000_0000 | u64::from(number)),
        name: FixedText::default(),
        admin_down: false,
        link_down: false,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    let ports = (1..=PORTS).map(port).collect();
    SwitchInfo { dpid: DatapathId(dpid), version: VERSION, buffers: 256, tables: 1, ports }
}
