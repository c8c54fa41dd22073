//! The table of hosts as its users see it: where hosts are, which claims are not believed, and what
//! a version costs.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};
use proptest::prelude::*;

use super::*;
use crate::learning_switch::Seed;
use crate::testing::random::Random;

const HERE: SwitchPort = SwitchPort::new(1, 1);
const THERE: SwitchPort = SwitchPort::new(2, 5);

fn config() -> HostsConfig {
    HostsConfig::new(Seed::new(
        *b"\x1b\x8f\x35\xd2\x6c\xe0\x47\xa9\x53\xf1\x0d\x96\x7e\x2b\xc4\x68",
    ))
}

fn at(ms: u64) -> Time {
    Time::START + Duration::from_millis(ms)
}

fn id(host: u64) -> Identity {
    Identity { mac: MacAddr::from_u64(0x0200_0000_0000 | host), vlan: 0 }
}

fn ip(host: u64) -> IpAddr {
    IpAddr::from([10, (host >> 16) as u8, (host >> 8) as u8, host as u8])
}

fn seen(host: u64, at: SwitchPort) -> Observation {
    Observation { id: id(host), at, ip: None, router: None }
}

fn says(host: u64, at: SwitchPort, ip: IpAddr) -> Observation {
    Observation { ip: Some(ip), ..seen(host, at) }
}

/// A tracker with what it said.
struct HostLab {
    tracker: Tracker,
    said: Vec<Effect>,
}

impl HostLab {
    fn new(config: HostsConfig) -> HostLab {
        HostLab { tracker: Tracker::new(config), said: Vec::new() }
    }

    fn see(&mut self, ms: u64, observation: Observation) -> Vec<Effect> {
        self.tracker.see(at(ms), &observation, &mut self.said);
        std::mem::take(&mut self.said)
    }

    fn port(&mut self, ms: u64, place: SwitchPort, state: PortState) -> Vec<Effect> {
        self.tracker.port(at(ms), place, state, &mut self.said);
        std::mem::take(&mut self.said)
    }

    fn tick(&mut self, ms: u64) -> Vec<Effect> {
        self.tracker.tick(at(ms), &mut self.said);
        std::mem::take(&mut self.said)
    }

    fn place(&self, host: u64) -> Option<SwitchPort> {
        self.tracker.hosts().by_mac(id(host).mac, 0).map(Host::at)
    }

    fn owner(&self, ip: IpAddr) -> Option<Identity> {
        self.tracker.hosts().by_ip(ip, 0).map(Host::id)
    }
}

#[test]
fn a_host_is_found_by_all_it_is_known_by() {
    let mut lab = HostLab::new(config());
    let learnt = [Effect::New(id(1), HERE), Effect::Learnt(id(1), ip(1))];
    assert_eq!(lab.see(5000, says(1, HERE, ip(1))), learnt);
    lab.see(6000, Observation { id: Identity { vlan: 7, ..id(1) }, ..says(1, THERE, ip(1)) });
    let hosts = lab.tracker.publish(at(6000)).unwrap();
    assert_eq!((hosts.len(), hosts.by_mac(id(1).mac, 0).unwrap().first_seen_s()), (2, 5));
    assert_eq!(hosts.by_ip(ip(1), 7).unwrap().at(), THERE);
    assert_eq!(hosts.by_ip(ip(1), 0).unwrap().at(), HERE);
    assert!(hosts.by_ip(ip(2), 0).is_none() && hosts.by_mac(id(1).mac, 8).is_none());
    assert_eq!((hosts.on_port(HERE).count(), hosts.on_switch(DatapathId(2)).count()), (1, 1));
}

/// Some stand in another line of the index than where their search begins.
#[test]
fn of_many_that_are_looked_for_together_each_is_found() {
    const HOSTS: u64 = 2000;
    let mut lab = HostLab::new(config());
    for host in 1..=HOSTS {
        lab.see(0, says(host, SwitchPort::new(host % 16, 1), ip(host)));
    }
    let hosts = lab.tracker.hosts();
    let (ids, ips): (Vec<_>, Vec<_>) = (1..=2 * HOSTS).map(|n| (id(n), (ip(n), 0))).unzip();
    let (mut by_mac, mut by_ip) = (vec![], vec![]);
    hosts.by_macs(&ids, &mut by_mac);
    hosts.by_ips(&ips, &mut by_ip);
    for found in [by_mac, by_ip] {
        let ids = found.iter().map(|host| host.map(Host::id));
        assert!(ids.eq((1..=2 * HOSTS).map(|n| (n <= HOSTS).then(|| id(n)))));
    }
}

/// Those that are looked for together are compared with a host that has another address, or with a
/// place where none is.
#[test]
fn the_addresses_of_no_host_are_not_found() {
    let mut lab = HostLab::new(config());
    for host in 1..=64 {
        lab.see(0, seen(host, HERE));
        let hosts = lab.tracker.hosts();
        let (mut by_mac, mut by_ip) = (vec![], vec![]);
        let none = Identity { mac: MacAddr([0; 6]), vlan: 0 };
        hosts.by_macs(&[none, id(host), none, id(99)], &mut by_mac);
        let ips = [IpAddr::from([0; 4]), IpAddr::from([0; 16]), ip(1)];
        hosts.by_ips(&ips.map(|ip| (ip, 0)), &mut by_ip);
        let is_there: Vec<bool> = by_mac.iter().chain(&by_ip).map(Option::is_some).collect();
        assert_eq!(is_there, [false, true, false, false, false, false, false], "{host}");
    }
}

#[test]
fn workers_report_what_is_news_only() {
    let mut lab = HostLab::new(config());
    lab.see(1000, says(1, HERE, ip(1)));
    let hosts = lab.tracker.hosts();
    assert!(!hosts.is_news(&says(1, HERE, ip(1)), at(2000)));
    assert!(hosts.is_news(&says(1, HERE, ip(1)), at(1000 + 300_000 / 8)));
    assert!(hosts.is_news(&seen(1, THERE), at(2000)) && hosts.is_news(&seen(2, HERE), at(2000)));
    assert!(hosts.is_news(&says(1, HERE, ip(2)), at(2000)));
}

#[test]
fn nothing_is_learnt_on_links() {
    let mut lab = HostLab::new(config());
    lab.see(0, says(1, HERE, ip(1)));
    let gone = [Effect::Gone(id(1), HERE, Gone::Link)];
    assert_eq!(lab.port(1, HERE, PortState::Link), gone);
    assert_eq!(lab.see(2, says(1, HERE, ip(1))), []);
    assert_eq!(lab.see(3, seen(1, THERE)), [Effect::New(id(1), THERE)]);
    lab.port(4, HERE, PortState::Edge);
    assert_eq!((lab.tracker.counters().on_links, lab.tracker.hosts().len()), (1, 1));
}

#[test]
fn a_host_whose_port_went_down_moves_at_once() {
    let mut lab = HostLab::new(config());
    lab.see(0, says(1, HERE, ip(1)));
    lab.port(10, HERE, PortState::Down);
    let moved = [Effect::Moved { id: id(1), from: HERE, to: THERE }];
    assert_eq!(lab.see(20, seen(1, THERE)), moved);
    assert_eq!(lab.see(30, seen(1, HERE)), []);
    assert_eq!((lab.place(1), lab.owner(ip(1))), (Some(THERE), Some(id(1))));
    assert_eq!((lab.tracker.behind(HERE), lab.tracker.behind(THERE)), (0, 1));
}

#[test]
fn a_host_whose_port_went_down_is_nowhere_until_it_is_seen() {
    let mut lab = HostLab::new(config());
    (1..100).for_each(|host| drop(lab.see(0, says(host, HERE, ip(host)))));
    lab.see(0, says(200, THERE, ip(200)));
    lab.tracker.publish(at(0));
    assert_eq!(lab.port(0, HERE, PortState::Down), []);
    let hosts = lab.tracker.publish(at(0)).expect("it is published with the port");
    let place = |hosts: &Hosts, host| hosts.by_ip(ip(host), 0).and_then(Host::place);
    assert!((1..100).all(|host| place(&hosts, host).is_none()));
    assert_eq!(place(&hosts, 200), Some(THERE));
    lab.port(1, HERE, PortState::Edge);
    assert_eq!(lab.see(2, seen(1, HERE)), []);
    let learnt = [Effect::Lost(id(3), ip(3)), Effect::Learnt(id(2), ip(3))];
    assert_eq!(lab.see(2, says(2, HERE, ip(3))), learnt, "nobody stands against it");
    let hosts = lab.tracker.publish(at(2)).unwrap();
    let places = [1, 2, 4].map(|host| place(&hosts, host));
    assert_eq!(places, [Some(HERE), Some(HERE), None]);
    assert!(hosts.is_news(&seen(4, HERE), at(2)) && !hosts.is_news(&seen(1, HERE), at(2)));
    let from = HERE;
    assert_eq!(lab.see(3, seen(4, THERE)), [Effect::Moved { id: id(4), from, to: THERE }]);
    lab.tracker.switch_gone(at(4), DatapathId(2), &mut lab.said);
    assert_eq!((lab.tracker.behind(THERE), place(lab.tracker.hosts(), 4)), (0, None));
}

#[test]
fn a_port_that_goes_down_decides_a_move_check() {
    let mut lab = HostLab::new(config());
    lab.see(0, says(1, HERE, ip(1)));
    assert!(matches!(lab.see(10, seen(1, THERE))[..], [Effect::Probe(_)]));
    let moved = [Effect::Moved { id: id(1), from: HERE, to: THERE }];
    lab.tracker.switch_gone(at(20), DatapathId(1), &mut lab.said);
    assert_eq!(std::mem::take(&mut lab.said), moved);
    assert_eq!((lab.tick(5000), lab.place(1)), (vec![], Some(THERE)));
}

#[test]
fn the_hosts_of_a_switch_that_is_gone_are_forgotten() {
    let mut lab = HostLab::new(config());
    let (beside, own) = (SwitchPort::new(1, 7), SwitchPort::of(DatapathId(1), PortNo::LOCAL));
    let all = [(1, HERE), (2, beside), (3, own), (4, THERE)];
    for (host, place) in all {
        lab.see(0, says(host, place, ip(host)));
    }
    lab.tracker.switch_gone(at(10), DatapathId(1), &mut lab.said);
    let gone = all[..3].iter().map(|&(host, at)| Effect::Gone(id(host), at, Gone::Switch));
    assert!(gone.eq(std::mem::take(&mut lab.said)));
    assert_eq!(lab.tracker.hosts().len(), 1);
    // In the next network another host has the address, and the first one is elsewhere.
    assert_eq!(lab.see(20, seen(3, own)), [Effect::New(id(3), own)]);
    let learnt = [Effect::New(id(5), HERE), Effect::Learnt(id(5), ip(1))];
    assert_eq!(lab.see(20, says(5, HERE, ip(1))), learnt);
    assert_eq!(lab.see(20, seen(1, THERE)), [Effect::New(id(1), THERE)]);
}

#[test]
fn a_host_that_does_not_answer_any_more_has_moved() {
    let mut lab = HostLab::new(config());
    lab.see(0, says(1, HERE, ip(1)));
    let probe = Effect::Probe(HostProbe { at: HERE, id: id(1), ip: ip(1) });
    assert_eq!(lab.see(10, seen(1, THERE)), [probe]);
    assert_eq!(lab.see(20, seen(1, THERE)), []);
    assert_eq!((lab.tick(129), lab.tick(130), lab.tick(250)), (vec![], vec![probe], vec![probe]));
    assert_eq!(lab.tick(369), []);
    assert!(lab.tracker.next().is_some_and(|next| next <= at(370)), "nobody wakes it in time");
    assert_eq!(lab.tick(370), [Effect::Moved { id: id(1), from: HERE, to: THERE }]);
}

#[test]
fn a_host_that_answers_where_it_was_has_not() {
    let mut lab = HostLab::new(config());
    lab.see(0, says(1, HERE, ip(1)));
    lab.see(10, seen(1, THERE));
    let claim = MoveClaim { what: Subject::Place(id(1)), by: id(1), at: THERE };
    assert_eq!(lab.see(20, says(1, HERE, ip(1))), [Effect::Refused(claim)]);
    assert_eq!(lab.see(30, seen(1, THERE)), []);
    assert_eq!((lab.tick(9000), lab.place(1)), (vec![], Some(HERE)));
    lab.tick(10_020);
    assert!(matches!(lab.see(10_030, seen(1, THERE))[..], [Effect::Probe(_)]));
    assert_eq!((lab.tracker.counters().refuted, lab.tracker.counters().refused), (1, 1));
}

#[test]
fn a_host_that_cannot_be_asked_stays() {
    let mut lab = HostLab::new(config());
    lab.see(0, seen(1, HERE));
    assert!(matches!(lab.see(10, seen(1, THERE))[..], [Effect::Refused(_)]));
    lab.tick(5000);
    assert_eq!(lab.place(1), Some(HERE));
    lab.port(6000, HERE, PortState::Down);
    lab.see(20_000, seen(1, THERE));
    assert_eq!(lab.place(1), Some(THERE));
}

#[test]
fn an_address_is_taken_over_from_the_silent_only() {
    let mut lab = HostLab::new(config());
    lab.see(0, says(1, HERE, ip(1)));
    let asked = lab.see(10, says(2, THERE, ip(1)));
    assert_eq!(asked[0], Effect::New(id(2), THERE));
    assert_eq!(asked[1], Effect::Probe(HostProbe { at: HERE, id: id(1), ip: ip(1) }));
    let claim = MoveClaim { what: Subject::Address(ip(1), 0), by: id(2), at: THERE };
    assert_eq!(lab.see(20, says(1, HERE, ip(1))), [Effect::Refused(claim)]);
    lab.tick(15_000);
    assert_eq!(lab.owner(ip(1)), Some(id(1)));
    lab.see(15_000, says(2, THERE, ip(1)));
    let taken = (1..4).flat_map(|n| lab.tick(15_000 + n * 350)).collect::<Vec<_>>();
    assert_eq!(taken[2..], [Effect::Lost(id(1), ip(1)), Effect::Learnt(id(2), ip(1))]);
    assert_eq!(lab.owner(ip(1)), Some(id(2)));
}

#[test]
fn the_silent_are_forgotten_and_the_oldest_make_room() {
    let mut lab = HostLab::new(HostsConfig { hosts_max: 3, port_hosts_max: 2, ..config() });
    lab.see(0, says(1, HERE, ip(1)));
    lab.see(1000, seen(2, HERE));
    assert_eq!(lab.see(2000, seen(3, HERE)), []);
    lab.see(3000, seen(3, THERE));
    lab.see(4000, seen(1, HERE));
    let evicts = [Effect::Gone(id(2), HERE, Gone::Evicted), Effect::New(id(4), THERE)];
    assert_eq!(lab.see(5000, seen(4, THERE)), evicts);
    assert_eq!(lab.tracker.next(), Some(Time::START));
    assert!(lab.tracker.publish(at(5000)).is_some() && lab.tracker.publish(at(6000)).is_none());
    assert_eq!((lab.tracker.next(), lab.tick(302_999)), (Some(at(303_000)), vec![]));
    assert_eq!(lab.tick(304_000).len(), 2);
    assert_eq!(lab.tick(305_000), [Effect::Gone(id(4), THERE, Gone::Aged)]);
    assert!(lab.owner(ip(1)).is_none() && lab.tracker.hosts().is_empty());
    assert_eq!((lab.tracker.counters().no_room, lab.tracker.counters().evicted), (1, 1));
}

/// Fifty switches of ten ports with a host each, in a table with room for four times as many.
fn honest() -> (HostLab, Vec<(u64, SwitchPort)>) {
    let mut lab = HostLab::new(HostsConfig { hosts_max: 2000, ..config() });
    let place = |host: u64| (host, SwitchPort::new(1 + host / 10, 1 + (host % 10) as u32));
    let hosts: Vec<_> = (0..500).map(place).collect();
    hosts.iter().for_each(|&(host, at)| drop(lab.see(0, says(host, at, ip(host)))));
    (lab, hosts)
}

/// Whether all of them are where they are, and what was evicted besides them is told.
fn all_stay(lab: &HostLab, hosts: &[(u64, SwitchPort)]) -> bool {
    let stays = |&(host, at): &(u64, SwitchPort)| {
        lab.place(host) == Some(at) && lab.owner(ip(host)) == Some(id(host))
    };
    hosts.iter().all(stays)
}

#[test]
fn a_port_that_makes_hosts_up_pushes_out_its_own() {
    // At a switch of its own, and beside honest hosts.
    for liar in [SwitchPort::new(1000, 1), SwitchPort::new(7, 11)] {
        let (mut lab, honest) = honest();
        for host in 0..50_000 {
            lab.see(host / 100, seen(1_000_000 + host, liar));
        }
        assert!(all_stay(&lab, &honest));
        assert_eq!((lab.tracker.hosts().len(), lab.tracker.behind(liar)), (2000, 1500));
        // A host that comes later finds room, and is not pushed out either.
        lab.see(5000, says(700, SwitchPort::new(3, 1), ip(700)));
        (0..10_000).for_each(|host| drop(lab.see(5000, seen(2_000_000 + host, liar))));
        assert!(lab.place(700).is_some() && all_stay(&lab, &honest));
        assert_eq!(lab.tracker.behind(liar), 1499);
        // It goes for those that were not seen for longest.
        assert!(lab.place(2_000_000 + 9_999).is_some() && lab.place(2_000_000).is_none());
    }
}

#[test]
fn a_switch_that_makes_ports_up_pushes_out_its_own_hosts() {
    let (mut lab, honest) = honest();
    for host in 0..100_000 {
        let at = SwitchPort::new(1000, 1 + (host % 5000) as u32);
        lab.see(host / 100, seen(1_000_000 + host, at));
    }
    assert!(all_stay(&lab, &honest));
    assert_eq!(lab.tracker.hosts().on_switch(DatapathId(1000)).count(), 1500);
}

#[test]
fn the_oldest_of_the_greediest_goes_first() {
    let mut lab = HostLab::new(HostsConfig { hosts_max: 4, ..config() });
    (1..=3).for_each(|host| drop(lab.see(host * 1000, seen(host, HERE))));
    lab.see(4000, seen(4, THERE));
    lab.see(5000, seen(1, HERE));
    let gone = |lab: &mut HostLab, ms, host| match lab.see(ms, seen(host, THERE))[..] {
        [Effect::Gone(gone, _, Gone::Evicted), Effect::New(..)] => gone,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(gone(&mut lab, 6000, 5), id(2), "host 1 was seen since");
    assert_eq!(gone(&mut lab, 7000, 6), id(4), "both have two now");
}

#[test]
fn a_version_shares_what_did_not_change() {
    let mut lab = HostLab::new(config());
    for host in 0..50_000 {
        lab.see(0, says(host, SwitchPort::new(host / 100, 1), ip(host)));
    }
    let before = lab.tracker.publish(at(1)).unwrap();
    assert_eq!(before.own_pages(lab.tracker.hosts()), 0);
    lab.see(1, says(50_000, HERE, ip(50_000)));
    let after = lab.tracker.publish(at(2)).unwrap();
    // The host's page, and of each index the page of its key and the two of a split.
    assert!(after.own_pages(&before) <= 7, "{}", after.own_pages(&before));
    assert!(before.by_ip(ip(50_000), 0).is_none() && after.by_ip(ip(50_000), 0).is_some());

    let ids: Vec<Identity> = (0..50_200).step_by(3).map(id).collect();
    let mut found = Vec::new();
    after.by_macs(&ids, &mut found);
    let asked_ips: Vec<_> = (0..50_200).step_by(3).map(|host| (ip(host), 0)).collect();
    let mut found_ips = Vec::new();
    after.by_ips(&asked_ips, &mut found_ips);
    for (host, (by_mac, by_ip)) in (0..50_200).step_by(3).zip(found.iter().zip(&found_ips)) {
        assert_eq!(by_mac.map(Host::id), (host <= 50_000).then_some(id(host)));
        assert_eq!(by_ip.map(Host::id), by_mac.map(Host::id));
    }
}

/// An attacker that says, at any port but the victim's and at any time, to be the victim or to have
/// its address. The victim answers what it is asked, and is silent otherwise.
fn attack(seed: u64, lie: impl Fn(&mut Random) -> Observation) -> HostLab {
    let (mut random, mut lab) = (Random::new(seed), HostLab::new(config()));
    lab.see(0, says(1, HERE, ip(1)));
    let mut now = 1000;
    for _ in 0..60 {
        now += random.below(1500);
        let mut said = lab.tick(now);
        said.extend(lab.see(now, lie(&mut random)));
        let asked =
            said.iter().any(|effect| matches!(effect, Effect::Probe(probe) if probe.at == HERE));
        if asked {
            let due = now + random.below(300);
            said.extend(lab.tick(due));
            said.extend(lab.see(due, says(1, HERE, ip(1))));
            now = due;
        }
        assert_eq!((lab.place(1), lab.owner(ip(1))), (Some(HERE), Some(id(1))), "seed {seed}");
        assert!(lab.tracker.hosts().len() <= 2);
    }
    lab
}

#[test]
fn no_host_is_hijacked_by_its_mac() {
    for seed in 0..1000 {
        let lab = attack(seed, |random| {
            let place = SwitchPort::new(1 + random.below(3), 2 + random.below(4) as u32);
            Observation { ip: (random.below(2) == 0).then_some(ip(1)), ..seen(1, place) }
        });
        assert!(lab.tracker.counters().refuted > 0 && lab.tracker.counters().moved == 0);
    }
}

#[test]
fn no_host_is_hijacked_by_its_address() {
    for seed in 0..1000 {
        let lab = attack(seed, |_| says(2, THERE, ip(1)));
        assert!(lab.tracker.counters().refuted > 0);
    }
}

#[test]
fn a_port_cannot_open_all_move_checks() {
    let mut lab = HostLab::new(config());
    (0..2000).for_each(|host| drop(lab.see(0, says(host, HERE, ip(host)))));
    (0..1000).for_each(|host| drop(lab.see(10, seen(host, THERE))));
    assert_eq!(lab.tracker.counters().probed, PORT_CHECKS_MAX as u64);
    for host in 100..2000 {
        lab.see(20, seen(host, SwitchPort::new(3, host as u32)));
    }
    assert_eq!(lab.tracker.counters().probed, CHECKS_MAX as u64);
}

/// What may happen to a table.
#[derive(Clone, Debug)]
enum HostStep {
    See { host: u64, port: u32, ip: Option<u64> },
    Port { port: u32, state: PortState },
    Pass { ms: u64 },
}

fn step() -> impl Strategy<Value = HostStep> {
    let state = prop_oneof![Just(PortState::Edge), Just(PortState::Link), Just(PortState::Down)];
    prop_oneof![
        8 => (0u64..40, 1u32..6, prop::option::of(0u64..40))
            .prop_map(|(host, port, ip)| HostStep::See { host, port, ip }),
        1 => (1u32..6, state).prop_map(|(port, state)| HostStep::Port { port, state }),
        1 => (0u64..40_000).prop_map(|ms| HostStep::Pass { ms }),
    ]
}

/// Takes a step at a time in milliseconds, which it may let pass.
fn take(lab: &mut HostLab, now: &mut u64, step: HostStep) -> Vec<Effect> {
    let at = |port| SwitchPort::new(1, port);
    match step {
        HostStep::See { host, port, ip: None } => lab.see(*now, seen(host, at(port))),
        HostStep::See { host, port, ip: Some(of) } => lab.see(*now, says(host, at(port), ip(of))),
        HostStep::Port { port, state } => lab.port(*now, at(port), state),
        HostStep::Pass { ms } => {
            *now += ms;
            lab.tick(*now)
        }
    }
}

proptest! {
    /// What a reader remembers of a host holds as long as its generation stays: where it is, and
    /// until when it is no news there.
    #[test]
    fn while_its_generation_stays_a_host_is_where_it_was_and_no_news(steps in prop::collection::vec(step(), 1..400)) {
        let mut lab = HostLab::new(HostsConfig { hosts_max: 24, port_hosts_max: 12, ..config() });
        let (mut now, mut remembered) = (0, BTreeMap::new());
        for step in steps {
            take(&mut lab, &mut now, step);
            let hosts = lab.tracker.hosts();
            for host in 0..40 {
                let id = id(host);
                let Some((place, no_news_until_s)) = remembered.get(&(id, hosts.generation(id.mac))) else {
                    continue;
                };
                let found = hosts.by_mac(id.mac, 0).and_then(Host::place);
                prop_assert_eq!(found, Some(*place));
                let is_news = hosts.is_news(&seen(host, *place), at(now));
                prop_assert!(!is_news || *no_news_until_s <= now / 1000);
            }
            for host in hosts.iter() {
                let Some(place) = host.place() else { continue };
                let observation = Observation { id: host.id(), at: place, ip: None, router: None };
                if let Some(left_s) = hosts.no_news_for(Some(host), &observation, at(now)) {
                    let until_s = now / 1000 + u64::from(left_s);
                    remembered.insert((host.id(), hosts.generation(host.mac())), (place, until_s));
                }
            }
        }
    }

    /// Whatever happens: what the effects say is what the table holds, each address belongs to one
    /// host, no host is behind a link, and the bounds are kept.
    #[test]
    fn the_effects_tell_the_table(steps in prop::collection::vec(step(), 1..400)) {
        let mut lab = HostLab::new(HostsConfig { hosts_max: 24, port_hosts_max: 12, ..config() });
        let (mut now, mut places, mut owners) = (0, BTreeMap::new(), BTreeMap::new());
        for step in steps {
            let said = take(&mut lab, &mut now, step);
            for effect in said {
                match effect {
                    Effect::New(id, at) => prop_assert!(places.insert(id, at).is_none()),
                    Effect::Moved { id, from, to } => prop_assert_eq!(places.insert(id, to), Some(from)),
                    Effect::Learnt(id, ip) => {
                        let others = owners.range((ip, id)..).take_while(|((had, _), ())| *had == ip);
                        prop_assert_eq!(others.count(), 0);
                        owners.insert((ip, id), ());
                    }
                    Effect::Lost(id, ip) => prop_assert!(owners.remove(&(ip, id)).is_some()),
                    Effect::Gone(id, at, _) => {
                        prop_assert_eq!(places.remove(&id), Some(at));
                        owners.retain(|(_, owner), ()| *owner != id);
                    }
                    Effect::Refused(_) | Effect::Probe(_) => {}
                }
            }
            let hosts = lab.tracker.hosts();
            prop_assert!(hosts.iter().map(|host| (host.id(), host.at())).collect::<BTreeMap<_, _>>() == places);
            for host in hosts.iter() {
                for had in host.addresses() {
                    prop_assert_eq!(hosts.by_ip(had, 0).map(Host::id), Some(host.id()));
                }
            }
            let most = (1..6).map(|port| lab.tracker.behind(SwitchPort::new(1, port))).max();
            prop_assert!(hosts.len() <= 24 && most <= Some(12));
            let dropped = hosts.iter().map(|host| host.addresses().count()).sum::<usize>();
            prop_assert!(dropped <= owners.len());
        }
    }
}
