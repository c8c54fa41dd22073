//! What the table of hosts costs: bytes a host, nanoseconds a look-up, microseconds a version.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-apps --bench hosts [-- HOSTS]
//! ```
//!
//! The table has 1,000,000 hosts unless told otherwise, each with an IPv4 address, then each with
//! an IPv6 address besides. Look-ups draw hosts at random: 64 at a time, and one after the other,
//! each when the one before is found. A version is made with the one before still in a reader's
//! hands, after so many hosts drawn at random were seen again. The least of eleven rounds and their
//! median are printed.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::hint::black_box;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use aldis_apps::SwitchPort;
use aldis_apps::hosts::{Hosts, HostsConfig, Identity, Observation, Tracker};
use aldis_apps::learning_switch::Seed;
use aldis_control::Time;
use aldis_wire::MacAddr;

#[allow(unused_imports, reason = "its tests do not run here")]
#[path = "../../../src/allocator.rs"]
mod memory;

/// As in `aldis run`.
#[global_allocator]
static MEMORY: memory::Pages = memory::Pages;

const BATCH: usize = 64;
const ROUNDS: usize = 11;
const ROUND: usize = 100_000 / BATCH;
const PORTS: u64 = 10_000;

fn main() {
    let hosts = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let mut bench = HostsBench::new(hosts);
    let before = resident();
    let begun = Instant::now();
    bench.learn(ipv4);
    let spent = begun.elapsed();
    println!("hosts                             {:>8}", bench.tracker.hosts().len());
    println!("bytes a host, IPv4                {:>8}", (resident() - before) / hosts);
    println!("ns to learn a host                {:>8}", spent.as_nanos() as u64 / hosts);
    bench.look_up();
    for changes in [1, 10, 100, 1000] {
        bench.publish(changes);
    }
    bench.learn(ipv6);
    println!("bytes a host, IPv4 and IPv6       {:>8}", (resident() - before) / hosts);
}

struct HostsBench {
    tracker: Tracker,
    hosts: u64,
    random: u64,
    now: Time,
}

impl HostsBench {
    fn new(hosts: u64) -> HostsBench {
        let mut config = HostsConfig::new(Seed::new(*b"0123456789abcdef"));
        config.hosts_max = hosts as usize;
        config.ageing = Duration::from_secs(1_000_000);
        HostsBench {
            tracker: Tracker::new(config),
            hosts,
            random: 0x9e37_79b9_7f4a_7c15,
            now: Time::START,
        }
    }

    /// All hosts are seen, and a version is made after every thousand.
    fn learn(&mut self, ip: fn(u64) -> IpAddr) {
        let mut effects = Vec::new();
        for host in 0..self.hosts {
            self.tracker.see(self.now, &observation(host, ip), &mut effects);
            if host % 1000 == 999 {
                self.now = self.now + Duration::from_millis(1);
                black_box(self.tracker.publish(self.now));
                effects.clear();
            }
        }
    }

    fn look_up(&mut self) {
        let hosts = self.tracker.hosts().clone();
        let batch = |bench: &mut HostsBench| {
            let keys: Vec<u64> = (0..BATCH).map(|_| bench.draw()).collect();
            let macs: Vec<Identity> = keys.iter().map(|&host| identity(host)).collect();
            let ips: Vec<(IpAddr, u16)> = keys.iter().map(|&host| (ipv4(host), 0)).collect();
            (macs, ips)
        };
        measure("ns by MAC, 64 at a time", || {
            timed(self, batch, |(macs, _)| by_macs(&hosts, &macs))
        });
        measure("ns by MAC, alone", || timed(self, batch, |(macs, _)| by_mac(&hosts, &macs)));
        measure("ns by IP, 64 at a time", || timed(self, batch, |(_, ips)| by_ips(&hosts, &ips)));
        measure("ns by IP, alone", || timed(self, batch, |(_, ips)| by_ip(&hosts, &ips)));
    }

    /// Microseconds a version after so many changes.
    fn publish(&mut self, changes: usize) {
        let (mut effects, mut last) = (Vec::new(), None);
        measure(&format!("us a version, {changes} changed"), || {
            self.now = self.now + Duration::from_secs(1);
            let seen: Vec<_> = (0..changes).map(|_| observation(self.draw(), ipv4)).collect();
            let begun = Instant::now();
            seen.iter().for_each(|seen| self.tracker.see(self.now, seen, &mut effects));
            last = self.tracker.publish(self.now);
            begun.elapsed().as_nanos() as f64 / 1000.0
        });
        black_box(last);
    }

    /// One of the hosts, at random (xorshift64).
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % self.hosts
    }
}

/// Nanoseconds a look-up, over a round of batches.
fn timed<B>(
    bench: &mut HostsBench,
    batch: fn(&mut HostsBench) -> B,
    mut run: impl FnMut(B),
) -> f64 {
    let mut spent = Duration::ZERO;
    for _ in 0..ROUND {
        let keys = batch(bench);
        let begun = Instant::now();
        run(keys);
        spent += begun.elapsed();
    }
    spent.as_nanos() as f64 / (ROUND * BATCH) as f64
}

fn measure(what: &str, mut round: impl FnMut() -> f64) {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    println!("{what:<32}  {:>8.1}  {:>8.1}", rounds[0], rounds[ROUNDS / 2]);
}

fn by_macs(hosts: &Hosts, keys: &[Identity]) {
    let mut found = Vec::with_capacity(BATCH);
    hosts.by_macs(keys, &mut found);
    assert!(black_box(found).iter().all(Option::is_some));
}

fn by_ips(hosts: &Hosts, keys: &[(IpAddr, u16)]) {
    let mut found = Vec::with_capacity(BATCH);
    hosts.by_ips(keys, &mut found);
    assert!(black_box(found).iter().all(Option::is_some));
}

/// Each look-up needs what the one before found.
fn by_mac(hosts: &Hosts, keys: &[Identity]) {
    keys.iter().fold(0, |vlan, id| hosts.by_mac(id.mac, black_box(vlan)).unwrap().id().vlan);
}

fn by_ip(hosts: &Hosts, keys: &[(IpAddr, u16)]) {
    keys.iter().fold(0, |vlan, ask| hosts.by_ip(ask.0, black_box(vlan)).unwrap().id().vlan);
}

fn identity(host: u64) -> Identity {
    Identity { mac: MacAddr::from_u64(0x0200_0000_0000 | host), vlan: 0 }
}

fn observation(host: u64, ip: fn(u64) -> IpAddr) -> Observation {
    let at = SwitchPort::new(host % PORTS / 10, (host % 10) as u32 + 1);
    Observation { id: identity(host), at, ip: Some(ip(host)), router: None }
}

fn ipv4(host: u64) -> IpAddr {
    IpAddr::from([10, (host >> 16) as u8, (host >> 8) as u8, host as u8])
}

fn ipv6(host: u64) -> IpAddr {
    IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, (host >> 16) as u16, host as u16])
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("pages")
        * 4096
}
