//! The search for links against a network whose cables are known: with switches that come and go,
//! and with liars in it.

mod churn;
mod doubt;
mod laws;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::{DatapathId, MacAddr};

use super::*;
use crate::testing::random::Random;

const MS: Duration = Duration::from_millis(1);
const KEY: [u8; 32] = [3; 32];

/// A network, and what the topology thinks of it.
struct TestNet {
    discovery: Discovery,
    cables: BTreeMap<SwitchPort, SwitchPort>,
    up: BTreeSet<SwitchPort>,
    /// Probes on their way: when they arrive, and where.
    wire: BTreeMap<(Time, u64), (SwitchPort, Vec<u8>)>,
    sent: u64,
    now: Time,
    /// The network as readers see it that are told which switches to look at again.
    seen_by_others: BTreeMap<DatapathId, Vec<map::MapPort>>,
    /// Every probe that left, and by which port.
    seen: Vec<(SwitchPort, Vec<u8>)>,
}

fn port(dpid: u64, port: u32) -> SwitchPort {
    SwitchPort::new(dpid, port)
}

impl TestNet {
    fn new(config: TopologyConfig) -> TestNet {
        TestNet {
            discovery: Discovery::new(config, TagKey::new(KEY)),
            cables: BTreeMap::new(),
            up: BTreeSet::new(),
            wire: BTreeMap::new(),
            sent: 0,
            now: Time::START + MS,
            seen_by_others: BTreeMap::new(),
            seen: Vec::new(),
        }
    }

    fn join(&mut self, dpid: u64) {
        self.discovery.switch_up(self.now, DatapathId(dpid));
    }

    fn leave(&mut self, dpid: u64) {
        self.discovery.switch_down(self.now, DatapathId(dpid));
        self.up.retain(|port| port.dpid.0 != dpid);
    }

    fn port_up(&mut self, at: SwitchPort) {
        self.discovery.port_up(self.now, at, MacAddr::from_u64(0x0600_0000_0000 | at.dpid.0 << 8));
        self.up.insert(at);
    }

    fn port_down(&mut self, at: SwitchPort) {
        self.discovery.port_down(self.now, at);
        self.up.remove(&at);
    }

    fn plug(&mut self, one: SwitchPort, other: SwitchPort) {
        self.cables.insert(one, other);
        self.cables.insert(other, one);
    }

    fn unplug(&mut self, one: SwitchPort) {
        if let Some(other) = self.cables.remove(&one) {
            self.cables.remove(&other);
        }
    }

    /// Two switches with a cable from port 1 to port 1, hosts behind their ports 2 and 3, and known
    /// for a while.
    fn of_two() -> TestNet {
        let mut net = TestNet::new(TopologyConfig::default());
        net.plug(port(1, 1), port(2, 1));
        for dpid in 1..3 {
            net.join(dpid);
            (1..4).for_each(|number| net.port_up(port(dpid, number)));
        }
        net.run(10_000);
        for dpid in 1..3 {
            (2..4).for_each(|number| net.discovery.host_shown(net.now, port(dpid, number)));
        }
        assert_eq!(net.states(), net.real());
        net
    }

    /// The links that there are.
    fn real(&self) -> BTreeMap<Ends, LinkState> {
        let both = self.cables.iter().filter(|(a, b)| self.up.contains(a) && self.up.contains(b));
        both.map(|(&one, &other)| (Ends::new(one, other), LinkState::Up)).collect()
    }

    /// The links that are found.
    fn states(&self) -> BTreeMap<Ends, LinkState> {
        self.discovery.links().map(|link| (link.ends, link.state)).collect()
    }

    /// No link was found that there is not.
    fn is_true(&self) -> bool {
        let real = self.real();
        self.discovery.links().all(|link| real.contains_key(&link.ends))
    }

    fn heard(&mut self, at: SwitchPort, frame: &[u8]) {
        self.discovery.hear(self.now, at, lldp::LldpProbe::read(&TagKey::new(KEY), frame));
    }

    /// Others see the network as it is.
    fn is_told(&mut self) -> bool {
        for dpid in self.discovery.take_touched() {
            self.seen_by_others.insert(dpid, self.discovery.ports_of(dpid).collect());
        }
        self.seen_by_others
            .iter()
            .all(|(dpid, ports)| self.discovery.ports_of(*dpid).eq(ports.iter().cloned()))
    }

    fn send(&mut self, after: Duration, to: SwitchPort, frame: Vec<u8>) {
        self.sent += 1;
        self.wire.insert((self.now + after, self.sent), (to, frame));
    }

    /// Lets some time pass: probes leave, and arrive a millisecond later where a cable leads.
    fn run(&mut self, ms: u64) {
        self.run_with(ms, |_, _, _| {});
    }

    /// The same; `sees` is called with each probe that leaves.
    fn run_with(&mut self, ms: u64, mut sees: impl FnMut(&mut TestNet, SwitchPort, &[u8])) {
        let end = self.now + MS * ms as u32;
        loop {
            let probe = self.discovery.next();
            let arrival = self.wire.first_key_value().map(|(&(time, _), _)| time);
            let Some(next) = probe.into_iter().chain(arrival).min().filter(|&next| next <= end)
            else {
                break;
            };
            self.now = self.now.max(next);
            if arrival.is_some_and(|arrival| arrival <= self.now)
                && let Some((_, (to, frame))) = self.wire.pop_first()
                && self.up.contains(&to)
            {
                self.heard(to, &frame);
            }
            let mut frame = Vec::new();
            while let Some(from) = self.discovery.probe(self.now, &mut frame) {
                if let Some(&to) = self.cables.get(&from) {
                    self.send(MS, to, frame.clone());
                }
                sees(self, from, &frame);
            }
        }
        self.now = end;
    }
}

#[test]
fn a_link_is_found_both_ways_and_gone_with_its_port() {
    let mut net = TestNet::new(TopologyConfig::default());
    let ends = Ends::new(port(1, 1), port(2, 1));
    net.plug(port(1, 1), port(2, 1));
    net.join(1);
    net.port_up(port(1, 1));
    net.run(20_000);
    assert!(!net.discovery.is_link(port(1, 1)));
    net.join(2);
    net.port_up(port(2, 1));
    net.run(10);
    assert_eq!(net.states(), BTreeMap::from([(ends, LinkState::Up)]));
    assert!(net.discovery.is_link(port(1, 1)) && net.discovery.is_link(port(2, 1)));
    net.port_down(port(1, 1));
    assert!(!net.discovery.is_link(port(2, 1)) && net.discovery.links().next().is_none());
}

#[test]
fn a_cable_that_is_cut_where_no_port_sees_it_is_missed_after_some_probes() {
    let mut net = TestNet::of_two();
    net.unplug(port(1, 1));
    net.run(14_000);
    assert_eq!(net.states(), BTreeMap::new());
    net.plug(port(1, 1), port(2, 1));
    net.run(7_000);
    assert_eq!(net.states(), net.real());
}

#[test]
fn a_cable_that_works_one_way_is_no_link() {
    let mut net = TestNet::new(TopologyConfig::default());
    net.cables.insert(port(1, 1), port(2, 1));
    for dpid in 1..3 {
        net.join(dpid);
        net.port_up(port(dpid, 1));
    }
    net.run(30_000);
    let link = net.discovery.links().next().unwrap();
    assert_eq!((link.state, link.seen_from(port(2, 1))), (LinkState::OneWay, None));
}

#[test]
fn where_a_cable_leads_is_not_known_before_it_works_both_ways_or_had_its_time_to() {
    let mut net = TestNet::new(TopologyConfig::default());
    net.cables.insert(port(1, 1), port(2, 1));
    for dpid in 1..3 {
        net.join(dpid);
        net.port_up(port(dpid, 1));
    }
    net.run(20);
    let known = |net: &TestNet| [port(1, 1), port(2, 1)].map(|port| net.discovery.is_known(port));
    assert!(net.discovery.is_link(port(2, 1)));
    assert_eq!(known(&net), [false; 2]);
    // One that never works the other way is left out in the end.
    net.run(10_000);
    assert_eq!(known(&net), [true; 2]);
    let mut net = TestNet::new(TopologyConfig::default());
    net.plug(port(1, 1), port(2, 1));
    for dpid in 1..3 {
        net.join(dpid);
        net.port_up(port(dpid, 1));
    }
    net.run(20);
    assert_eq!(known(&net), [true; 2]);
}

#[test]
fn one_lost_probe_in_three_loses_no_link() {
    let mut net = TestNet::of_two();
    let mut random = Random::new(5);
    let since = net.discovery.links().next().map(|link| link.since);
    for _ in 0..200 {
        net.run(1000);
        if random.below(3) == 0 {
            net.wire.clear();
        }
    }
    assert_eq!(net.states(), net.real());
    assert_eq!(net.discovery.links().next().map(|link| link.since), since, "it was never lost");
}

#[test]
fn a_link_through_a_switch_that_is_not_ours_is_found_by_broadcasts() {
    for far_with_hosts in [false, true] {
        let mut net = TestNet::new(TopologyConfig { far_with_hosts, ..TopologyConfig::default() });
        let segment = [port(1, 1), port(2, 1), port(3, 1)];
        for at in segment {
            net.join(at.dpid.0);
            net.port_up(at);
        }
        let everywhere = |net: &mut TestNet, from: SwitchPort, frame: &[u8]| {
            if frame[12..14] == FAR_ETHERTYPE.to_be_bytes() {
                segment
                    .iter()
                    .filter(|&&to| to != from)
                    .for_each(|&to| net.send(MS, to, frame.to_vec()));
            }
        };
        net.run_with(6000, everywhere);
        assert!(
            net.discovery
                .links()
                .all(|link| (link.reach, link.state) == (Reach::Far, LinkState::Up))
        );
        assert_eq!((net.discovery.links().count(), net.discovery.is_link(port(1, 1))), (3, false));
        net.port_down(port(1, 1));
        assert_eq!(net.discovery.links().count(), 1);
        // Hosts of that switch show behind it.
        segment.iter().for_each(|&at| net.discovery.host_shown(net.now, at));
        net.run_with(20_000, everywhere);
        net.port_up(port(1, 1));
        net.run(10_000);
        net.discovery.host_shown(net.now, port(1, 1));
        net.run_with(40_000, everywhere);
        assert_eq!(net.discovery.links().count(), if far_with_hosts { 3 } else { 1 });
    }
}

#[test]
fn a_link_through_others_that_is_cut_where_no_port_sees_it_is_missed_after_more_probes() {
    let mut net = TestNet::new(TopologyConfig::default());
    let ends = [port(1, 1), port(2, 1)];
    for at in ends {
        net.join(at.dpid.0);
        net.port_up(at);
    }
    net.run_with(30_000, |net, from, frame| {
        if frame[12..14] == FAR_ETHERTYPE.to_be_bytes() {
            net.send(MS, Ends::new(ends[0], ends[1]).across(from), frame.to_vec());
        }
    });
    assert_eq!(net.discovery.links().map(|link| link.reach).collect::<Vec<_>>(), [Reach::Far]);
    net.run(41_000);
    assert_eq!(net.states(), BTreeMap::new());
}

#[test]
fn a_cable_takes_the_place_of_a_link_through_others() {
    let mut net = TestNet::new(TopologyConfig::default());
    for at in [port(1, 1), port(2, 1)] {
        net.join(at.dpid.0);
        net.port_up(at);
    }
    let across = |net: &mut TestNet, from: SwitchPort, frame: &[u8]| {
        let to = if from == port(1, 1) { port(2, 1) } else { port(1, 1) };
        net.send(MS, to, frame.to_vec());
    };
    let far = FAR_ETHERTYPE.to_be_bytes();
    net.run_with(20_000, |net, from, frame| {
        if frame[12..14] == far {
            across(net, from, frame);
        }
    });
    assert_eq!(net.discovery.links().next().map(|link| link.reach), Some(Reach::Far));
    net.plug(port(1, 1), port(2, 1));
    net.run(20_000);
    let link = net.discovery.links().next().unwrap();
    assert_eq!(
        (link.reach, link.state, net.discovery.links().count()),
        (Reach::Direct, LinkState::Up, 1)
    );
}

/// Replayed, relayed, forged and changed probes come in at all ports of two switches. Nothing comes
/// of them.
fn attack(
    seed: u64,
    mut lie: impl FnMut(&mut Random, &mut TestNet, SwitchPort, &[u8]),
) -> TopologyCounters {
    let (mut random, mut net) = (Random::new(seed), TestNet::of_two());
    net.run_with(15_000, |net, from, frame| {
        net.seen.push((from, frame.to_vec()));
        lie(&mut random, net, from, frame);
        assert!(net.is_true(), "seed {seed}");
    });
    net.run(2500);
    assert_eq!(net.states(), net.real(), "seed {seed}");
    *net.discovery.counters()
}

fn any_port(random: &mut Random) -> SwitchPort {
    port(1 + random.below(2), 1 + random.below(3) as u32)
}

#[test]
fn nothing_forged_is_believed() {
    for seed in 0..1000 {
        let counters = attack(seed, |random, net, _, _| {
            let said = any_port(random);
            let (sequence, nonce) = (random.below(200), [random.next() as u8; 16]);
            let probe = lldp::LldpProbe { from: said, reach: Reach::Direct, sequence, nonce };
            let mut frame = Vec::new();
            probe.write(
                &TagKey::new([random.next() as u8 | 4; 32]),
                MacAddr::from_u64(2),
                &mut frame,
            );
            let at = any_port(random);
            net.send(MS * random.below(3) as u32, at, frame);
        });
        assert!(counters.forged > 0);
    }
}

#[test]
fn nothing_replayed_is_believed() {
    let mut late = 0;
    for seed in 0..1000 {
        let counters = attack(seed, |random, net, _, _| {
            let (_, frame) = net.seen[random.below(net.seen.len() as u64) as usize].clone();
            let at = any_port(random);
            // What crossed the cable is heard once; then it comes again.
            net.send(MS * (2 + random.below(4000) as u32), at, frame);
        });
        assert!(counters.replayed > 0);
        late += counters.late;
    }
    assert!(late > 0);
}

#[test]
fn nothing_relayed_between_hosts_is_believed() {
    for seed in 0..1000 {
        let counters = attack(seed, |random, net, from, frame| {
            let to = port(1 + random.below(2), 2 + random.below(2) as u32);
            if from.port.0 != 1 && to != from {
                net.send(Duration::from_micros(random.below(5000)), to, frame.to_vec());
            }
        });
        assert!(counters.host_port > 0);
    }
}

#[test]
fn nothing_with_a_changed_bit_is_believed() {
    for seed in 0..1000 {
        let counters = attack(seed, |random, net, _, frame| {
            let mut frame = frame.to_vec();
            let bit = random.below(8 * frame.len() as u64) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
            let at = any_port(random);
            net.send(MS * random.below(2) as u32, at, frame);
        });
        assert!(counters.altered + counters.forged > 0);
    }
}

#[test]
fn a_port_that_went_down_to_be_forgotten_has_to_prove_itself() {
    let mut net = TestNet::of_two();
    let (one, other) = (port(1, 2), port(2, 2));
    for at in [one, other] {
        net.port_down(at);
        net.run(100);
        net.port_up(at);
    }
    net.plug(one, other);
    net.run(10_000);
    assert_eq!(net.states()[&Ends::new(one, other)], LinkState::Unproven);
    assert!(net.discovery.is_link(one));
    net.run(80_000);
    assert_eq!(net.states(), net.real());
}

#[test]
fn a_relay_that_never_showed_a_host_is_pointed_out_by_what_it_takes() {
    let mut net = TestNet::new(TopologyConfig::default());
    for dpid in 1..8 {
        net.join(dpid);
        (1..3).for_each(|number| net.port_up(port(dpid, number)));
        (0..20).for_each(|_| net.discovery.control_rtt(DatapathId(dpid), MS / 2));
        net.plug(port(dpid, 2), port(dpid + 1, 1));
    }
    let relay = Ends::new(port(1, 1), port(7, 2));
    net.cables.remove(&port(7, 2));
    net.run_with(120_000, |net, from, frame| {
        if relay.ports().contains(&from) {
            net.send(MS * 4, relay.across(from), frame.to_vec());
        }
    });
    let slow: Vec<Ends> =
        net.discovery.links().filter(|link| link.slow).map(|link| link.ends).collect();
    assert_eq!((slow, net.discovery.counters().slow), (vec![relay], 1));
    let latency = net.discovery.link(relay).unwrap().latency_from(port(1, 1));
    assert_eq!(latency, Some(Duration::from_micros(3500)));
}

/// The goal of a cold start: a ring with chords, of as many switches as the papers' largest
/// topology.
#[test]
fn the_links_of_1347_switches_are_found_within_three_seconds() {
    const SWITCHES: u64 = 1347;
    let (mut net, mut random) = (TestNet::new(TopologyConfig::default()), Random::new(1));
    for dpid in 0..SWITCHES {
        net.plug(port(dpid, 1), port((dpid + 1) % SWITCHES, 2));
    }
    for chord in 0..2 * SWITCHES {
        let (one, other) = (random.below(SWITCHES), random.below(SWITCHES));
        let free = 3 + chord as u32;
        net.plug(port(one, free), port(other, 10_000 + free));
    }
    for dpid in 0..SWITCHES {
        net.join(dpid);
        let cabled: Vec<_> = net.cables.keys().copied().filter(|at| at.dpid.0 == dpid).collect();
        cabled.into_iter().for_each(|at| net.port_up(at));
        (20_000..20_010).for_each(|host| net.port_up(port(dpid, host)));
    }
    net.run(3000);
    assert_eq!(net.states().len(), 3 * SWITCHES as usize);
    assert_eq!(net.states(), net.real());
    let sent = net.discovery.counters().sent;
    net.run(10_000);
    let more = net.discovery.counters().sent - sent;
    let ports = net.up.len() as u64;
    assert!(
        more <= 2 * ports + ports / 2 + 40_000,
        "{more} probes of {ports} ports in two intervals"
    );
}

/// Ports of hosts are most of a network's ports. A link that comes to one unnoticed, for example
/// through a media converter, is found all the same.
#[test]
fn a_port_that_leads_nowhere_is_probed_at_a_third_of_the_pace_until_a_link_is_there() {
    let mut net = TestNet::new(TopologyConfig::default());
    net.plug(port(1, 1), port(2, 1));
    for dpid in 1..3 {
        net.join(dpid);
        net.port_up(port(dpid, 1));
    }
    net.run(60_000);
    let before = net.discovery.counters().sent;
    net.run(60_000);
    let of_links = net.discovery.counters().sent - before;
    for dpid in 1..3 {
        net.port_up(port(dpid, 2));
    }
    net.run(60_000);
    let before = net.discovery.counters().sent;
    net.run(60_000);
    let of_hosts = net.discovery.counters().sent - before - of_links;
    assert!((20..=30).contains(&of_links) && (6..=10).contains(&of_hosts), "{of_links} {of_hosts}");
    net.plug(port(1, 2), port(2, 2));
    net.run(18_500);
    assert_eq!(net.states(), net.real());
    assert_eq!(net.states().len(), 2);
}

/// Each moment at which a probe leaves wakes two threads, and each switch that it leaves by is a
/// write.
#[test]
fn the_ports_of_a_switch_are_probed_together_and_few_moments_are_used() {
    const SWITCHES: u64 = 50;
    // Ports of links, and those of hosts, which are probed at a third of the pace.
    for (has_links, rounds, probes_min) in [(true, 60 / 4, 9), (false, 60 / 12, 3)] {
        let mut net = TestNet::new(TopologyConfig::default());
        // Each port comes up at another time than the others.
        for number in 1..5 {
            for dpid in 0..SWITCHES {
                if number == 1 {
                    net.join(dpid);
                }
                if has_links && dpid % 2 == 0 {
                    net.plug(port(dpid, number), port(dpid + 1, number));
                }
                net.port_up(port(dpid, number));
                net.run(31);
            }
        }
        net.run(60_000);
        let (mut moments, mut writes) = (BTreeSet::new(), BTreeSet::new());
        let mut probes: BTreeMap<SwitchPort, u32> = BTreeMap::new();
        net.run_with(60_000, |net, from, _| {
            moments.insert(net.now);
            writes.insert((net.now, from.dpid));
            *probes.entry(from).or_default() += 1;
        });
        assert!(moments.len() <= 600, "{} moments in a minute", moments.len());
        assert!(writes.len() <= rounds * SWITCHES as usize, "{} writes in a minute", writes.len());
        assert_eq!(probes.len(), 4 * SWITCHES as usize);
        assert!(probes.values().all(|&sent| sent >= probes_min), "{probes:?}");
    }
}
