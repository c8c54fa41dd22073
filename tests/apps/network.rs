//! The applications that know the network, on a real engine, over the emulator's networks: every
//! link is found and no other, a link that is cut is gone and comes back, and hosts are where they
//! are.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use aldis::apps::SwitchPort;
use aldis::apps::hosts::{self, HostTracker, Hosts};
use aldis::apps::learning_switch::Seed;
use aldis::apps::topology::{self, Ends, LinkState, Map, TagKey};
use aldis::prelude::*;
use aldis_emulator::network::{self, NetworkMoment as Told, NetworkPlan};
use aldis_emulator::topology::{End, Shape, Topology};

/// Longer than anything here takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(60);

type Links = BTreeSet<Ends>;

/// What was published, newest last.
#[derive(Default)]
struct Seen {
    links: Vec<Links>,
    hosts: BTreeSet<(u64, SwitchPort)>,
}

#[derive(Clone, Default)]
struct Record(Arc<(Mutex<Seen>, Condvar)>);

impl Record {
    fn add(&self, links: Links, hosts: BTreeSet<(u64, SwitchPort)>) {
        let (seen, more) = &*self.0;
        let mut seen = seen.lock().unwrap();
        seen.hosts = hosts;
        if seen.links.last() != Some(&links) {
            seen.links.push(links);
        }
        more.notify_all();
    }

    /// Waits until it is as it should be.
    fn wait(&self, what: &str, mut is: impl FnMut(&Seen) -> bool) {
        let (seen, more) = &*self.0;
        let deadline = Instant::now() + PATIENCE;
        let mut seen = seen.lock().unwrap();
        while !is(&seen) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what}: {:?} and {:?}", seen.links.last(), seen.hosts);
            seen = more.wait_timeout(seen, left).unwrap().0;
        }
    }
}

impl Record {
    /// No other link was ever found.
    fn has_none_but(&self, real: &Links) {
        let seen = self.0.0.lock().unwrap();
        let mut others = seen.links.iter().flat_map(|links| links.difference(real));
        assert_eq!(others.next(), None);
    }
}

/// Says what is published.
struct Witness(Record);

impl App for Witness {
    type Slot = ();
    const NAME: &'static str = "witness";
    const EVENTS: &'static [EventKind] = &[EventKind::Publication];
    const READS: &'static [PartId] = &[Map::ID, Hosts::ID];

    fn published(&mut self, _: View<'_>, ctx: TickCtx<'_>, _: &mut Commands) {
        let (map, hosts) = (ctx.world.part::<Map>(), ctx.world.part::<Hosts>());
        let up = map.links().filter(|link| link.state == LinkState::Up);
        let links = up.map(|link| link.ends).collect();
        let hosts = hosts.iter().map(|host| (host.mac().to_u64(), host.at())).collect();
        self.0.add(links, hosts);
    }
}

/// The links between the switches of a topology.
fn real(topology: &Topology) -> Links {
    let end = |end: End| SwitchPort::new(u64::from(end.switch), end.port);
    topology.links().iter().map(|link| Ends::new(end(link.a), end(link.b))).collect()
}

/// Plays a network under a controller with both applications, until `test` is through with what it
/// publishes.
fn play(shape: &str, version: Version, script: &str, test: impl FnOnce(&Record, &Links)) {
    let record = Record::default();
    let (witness, key) = (record.clone(), TagKey::new([5; 32]));
    let seed = Seed::new(*b"sixteen bytes :)");
    let running = aldis::Controller::new()
        .listen(([127, 0, 0, 1], 0).into())
        .configure(|config| config.workers = 2)
        .with(move || topology::Topology::new(topology::TopologyConfig::default(), key.clone()))
        .with(move || HostTracker::new(hosts::HostsConfig::new(seed)))
        .with(move || Witness(witness.clone()))
        .start()
        .unwrap();
    let topology = shape.parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
    let real = real(&topology);
    let plan = NetworkPlan {
        script: network::script::parse(script).unwrap(),
        connect_within: PATIENCE,
        length: Some(PATIENCE),
        ..NetworkPlan::new(running.listening()[0], version, topology)
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let network = scope.spawn(|| {
            network::run(&plan, &stop, &mut |told| {
                if let Told::Did(action, Some(note)) = told {
                    panic!("{action:?}: {note}");
                }
            })
        });
        let stop = Stop(&stop);
        test(&record, &real);
        drop(stop);
        network.join().unwrap().unwrap();
    });
    running.stop();
}

/// The network ends with this, however the test does.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_link_is_found_and_no_other() {
    for (shape, version) in [
        ("ring,6", Version::V10),
        ("torus,3,4", Version::V13),
        ("fat-tree,4", Version::V10),
        ("preferential,40,2", Version::V13),
    ] {
        play(shape, version, "", |record, real| {
            record.wait(shape, |seen| seen.links.last() == Some(real));
            record.has_none_but(real);
        });
    }
}

#[test]
fn a_link_that_is_cut_is_gone_and_comes_back() {
    let cycle = |at: u32| format!("{at}s link-down s1 s2\n{}s link-up s1 s2", at + 3);
    let script: Vec<String> = (1..9).map(|number| cycle(6 * number - 5)).collect();
    play("ring,5", Version::V13, &script.join("\n"), |record, real| {
        let cut = |links: &Links| {
            let gone: Vec<_> = real.difference(links).collect();
            let [gone] = gone[..] else { return false };
            gone.ports().iter().all(|port| [1, 2].contains(&port.dpid.0))
        };
        record.wait("cut and whole again", |seen| {
            let mut links = seen.links.iter();
            links.any(|links| links == real) && links.any(cut) && links.any(|links| links == real)
        });
        record.has_none_but(real);
    });
}

#[test]
fn hosts_are_seen_where_they_are() {
    // No flow leads anywhere: what a host sends comes to the controller, from its own switch alone.
    let script: Vec<String> =
        (1..30).map(|at| format!("{at}s broadcast h{}", at % 4 + 1)).collect();
    play("ring,4", Version::V13, &script.join("\n"), |record, _| {
        let all: BTreeSet<_> = (1..=4).map(|host| (host, SwitchPort::new(host, 1))).collect();
        record.wait("four hosts", |seen| seen.hosts == all);
    });
}
