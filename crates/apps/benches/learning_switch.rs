//! What a request costs the learning switch: nanoseconds for each, with 1, 16 and 64 switches of
//! 100,000 hosts.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-apps --bench learning_switch [-- SWITCHES…]
//! ```
//!
//! A batch is 400 requests of one switch for frames of 64 bytes, from and to hosts drawn at random,
//! behind different ports; the next batch is the next switch's. Only the application is timed, and
//! the frames are written anew before each batch into the same bytes, as a worker's receive buffer
//! is. The least of 101 rounds and their median are printed.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{LearningConfig, Seed};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{AppSet, Batch, EventKind, Output, Pipeline, RequestHeader, Run, Switch, Time};
use aldis_wire::msg::{Port, PortDetails, PortNo};
use aldis_wire::{DatapathId, FixedText, MacAddr, NO_BUFFER, Version};

#[allow(unused_imports, reason = "its tests do not run here")]
#[path = "../../../src/allocator.rs"]
mod memory;

/// As in `aldis run`.
#[global_allocator]
static MEMORY: memory::Pages = memory::Pages;

const HOSTS: u64 = 100_000;
const BATCH: usize = 400;
const FRAME: usize = 64;
const PORTS: u64 = 48;
const ROUNDS: usize = 101;
const ROUND: usize = 100_000 / BATCH;

fn main() {
    let counts: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1, 16, 64] } else { counts };
    println!(
        "{:>8}  {:>8}  {:>9}  {:>6}  {:>6}",
        "switches", "version", "buffered", "min", "median"
    );
    for switches in counts {
        for version in Version::ALL {
            let mut bench = LearningBench::new(switches, version);
            for buffered in [true, false] {
                let (min, median) = bench.measure(buffered);
                let version = format!("{version:?}");
                println!("{switches:>8}  {version:>8}  {buffered:>9}  {min:>6.2}  {median:>6.2}");
            }
        }
    }
}

struct LearningBench {
    pipeline: Pipeline,
    switches: Vec<Arc<Switch>>,
    bytes: Vec<u8>,
    requests: Vec<RequestHeader>,
    out: Output,
    random: u64,
}

impl LearningBench {
    fn new(switches: usize, version: Version) -> LearningBench {
        let config = LearningConfig::new(Seed::new(*b"0123456789abcdef"));
        let app_set = AppSet::default().with(move || LearningSwitch::new(config));
        let mut pipeline = app_set.build().expect("it works alone").pipeline(0);
        let join = |dpid| pipeline.join(Time::START, info(dpid as u64, version));
        let mut bench = LearningBench {
            switches: (0..switches).map(join).collect(),
            pipeline,
            bytes: vec![0; BATCH * FRAME],
            requests: Vec::new(),
            out: Output::default(),
            random: 0x9e37_79b9_7f4a_7c15,
        };
        for switch in 0..switches {
            for first in (0..HOSTS).step_by(BATCH) {
                bench.fill(true, |at, _| (first + at as u64, 0));
                bench.run(switch);
            }
        }
        bench
    }

    /// Nanoseconds a request: the least and the median of the rounds.
    fn measure(&mut self, buffered: bool) -> (f64, f64) {
        let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| self.round(buffered)).collect();
        rounds.sort_by(f64::total_cmp);
        (rounds[0], rounds[ROUNDS / 2])
    }

    fn round(&mut self, buffered: bool) -> f64 {
        let mut spent = Duration::ZERO;
        for batch in 0..ROUND {
            self.fill(buffered, |_, random| two(random));
            spent += self.run(batch % self.switches.len());
        }
        spent.as_nanos() as f64 / (ROUND * BATCH) as f64
    }

    fn fill(&mut self, buffered: bool, hosts: impl Fn(usize, &mut u64) -> (u64, u64)) {
        self.requests.clear();
        for (at, frame) in self.bytes.chunks_exact_mut(FRAME).enumerate() {
            let (src, dst) = hosts(at, &mut self.random);
            frame[0..6].copy_from_slice(&mac(dst).0);
            frame[6..12].copy_from_slice(&mac(src).0);
            frame[12..14].copy_from_slice(&[0x08, 0x00]);
            self.requests.push(RequestHeader {
                frame_at: (at * FRAME) as u32,
                head_len: 0,
                frame_len: FRAME as u16,
                total_len: FRAME as u16,
                reason: 0,
                stopped: false,
                in_port: (src % PORTS) as u32 + 1,
                buffer_id: if buffered { at as u32 } else { NO_BUFFER },
                xid: at as u32,
            });
        }
    }

    fn run(&mut self, switch: usize) -> Duration {
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: Time::START,
            world: View::nothing(),
            bytes: &self.bytes,
            switches: &[&self.switches[switch]],
            runs: &[Run { switch: 0, requests: 0..self.requests.len() }],
            requests: &mut self.requests,
        };
        self.out.clear();
        let begun = Instant::now();
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        begun.elapsed()
    }
}

/// Two hosts that are not behind the same port, at random.
fn two(random: &mut u64) -> (u64, u64) {
    let (src, dst) = (draw(random), draw(random));
    if src % PORTS == dst % PORTS { (src, (dst + 1) % HOSTS) } else { (src, dst) }
}

/// One of the hosts of a switch, at random (xorshift64).
fn draw(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random % HOSTS
}

fn mac(host: u64) -> MacAddr {
    MacAddr::from_u64(0x0200_0000_0000 | host)
}

fn info(dpid: u64, version: Version) -> SwitchInfo {
    let port = |number: u64| Port {
        number: PortNo(number as u32 + 1),
        hw_addr: MacAddr::from_u64(0x0600_0000_0000 | number),
        name: FixedText::default(),
        admin_down: false,
        link_down: false,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    let ports = (0..PORTS).map(port).collect();
    SwitchInfo { dpid: DatapathId(dpid), version, buffers: 256, tables: 1, ports }
}
