//! The tracker keeps the table of hosts: one for the whole controller. Workers report observations
//! to it; it decides what they change, and makes the versions of the table that workers read.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use crate::learning_switch::Seed;

use super::host::{Host, Identity};
use super::index::NUMBER_MAX;
use super::lru::{LruLinks, LruList};
use super::move_check::{Decision, MoveChecks, MoveClaim, MoveDue, Subject};
use super::observation::Observation;
use super::probe::HostProbe;
use super::shares::Shares;
use super::table::{Hosts, seconds};

/// Between two versions of the table: workers that read a pointer each time a version comes out
/// would read little else.
const PUBLISH_EVERY: Duration = Duration::from_millis(1);

/// Hosts that are forgotten at once. The rest waits for the next call, so that none takes long.
const AGED_AT_ONCE: usize = 1024;

/// Addresses by which a host is asked whether it is still there: one of each family.
const ASKED_BY: usize = 2;

/// Parts of the ageing time after which a host that is seen again is news.
const EPOCHS: u32 = 8;

/// The settings of the table of hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostsConfig {
    /// Spreads hosts over the table: random.
    pub seed: Seed,
    /// Hosts that there is room for; 16,777,214 at most. Where there is no more, one of the switch
    /// that has most goes for each that comes, there one of the port that has most: the one that
    /// was not seen for longest.
    pub hosts_max: usize,
    /// Of which so many may be behind one port, so that a port that makes them up leaves room for
    /// others.
    pub port_hosts_max: usize,
    /// A host that was silent for so long is forgotten; 8 s at least.
    pub ageing: Duration,
}

impl HostsConfig {
    /// A million hosts, half of them behind one port, forgotten after five minutes of silence (IEEE
    /// 802.1Q, table 8-7).
    pub fn new(seed: Seed) -> HostsConfig {
        let ageing = Duration::from_secs(300);
        HostsConfig { seed, hosts_max: 1_000_000, port_hosts_max: 500_000, ageing }
    }
}

/// What is known of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PortState {
    /// Hosts may be behind it.
    #[default]
    Edge,
    /// A link to another switch: frames that come in there say nothing about where their senders
    /// are.
    Link,
    /// Down or gone, or its switch is: a host that was there may be anywhere, and is nowhere until
    /// it is seen.
    Down,
}

/// Why a host is not in the table any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// It was silent for the ageing time.
    Aged,
    /// Others needed the room.
    Evicted,
    /// Its port turned out to be a link between switches.
    Link,
    /// Its switch is gone: what connects under its name next may be another, with other hosts.
    Switch,
}

/// What happened to the table, and what it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A host was seen for the first time.
    New(Identity, SwitchPort),
    /// A host is at another port than before.
    Moved {
        /// The host.
        id: Identity,
        /// Where it was.
        from: SwitchPort,
        /// Where it is.
        to: SwitchPort,
    },
    /// A host has an address more.
    Learnt(Identity, IpAddr),
    /// A host has an address less: another has it now.
    Lost(Identity, IpAddr),
    /// A host is forgotten.
    Gone(Identity, SwitchPort, Gone),
    /// A host claimed to be one that answered from elsewhere, or to have its address.
    Refused(MoveClaim),
    /// A question is to be sent out of a port.
    Probe(HostProbe),
}

/// What was done since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Hosts seen for the first time.
    pub new: u64,
    /// Hosts that moved.
    pub moved: u64,
    /// Hosts forgotten because they were silent.
    pub aged: u64,
    /// Hosts forgotten because others needed the room.
    pub evicted: u64,
    /// Observations by a link between switches, of which nothing was learnt.
    pub on_links: u64,
    /// Observations by a port that is down: late, and not believed.
    pub on_down: u64,
    /// Observations at a port with as many hosts as it may have, or at one that is none.
    pub no_room: u64,
    /// Claims that were opened: the owner was asked.
    pub probed: u64,
    /// Claims that the owner's answer refuted.
    pub refuted: u64,
    /// Claims refused without asking: refuted shortly before, or no address to ask by.
    pub refused: u64,
    /// Claims refused because too many others were open.
    pub checks_full: u64,
}

#[derive(Debug, Default)]
struct TrackedPort {
    state: PortState,
    /// The hosts behind it, those not seen for longest first.
    hosts: LruList,
}

/// Keeps the table of hosts.
#[derive(Debug)]
pub struct Tracker {
    config: HostsConfig,
    hosts: Hosts,
    free: Vec<u32>,
    /// All hosts, those not seen for longest first.
    seen: LruList,
    by_seen: LruLinks,
    by_port: LruLinks,
    ports: BTreeMap<SwitchPort, TrackedPort>,
    shares: Shares,
    move_checks: MoveChecks,
    counters: Counters,
    changed: bool,
    publish_at: Time,
}

impl Tracker {
    /// An empty table.
    pub fn new(mut config: HostsConfig) -> Tracker {
        config.hosts_max = config.hosts_max.clamp(1, NUMBER_MAX);
        let ageing_s = u32::try_from(config.ageing.as_secs()).unwrap_or(u32::MAX);
        Tracker {
            hosts: Hosts::new(config.seed, config.hosts_max, (ageing_s / EPOCHS).max(1)),
            config,
            free: Vec::new(),
            seen: LruList::default(),
            by_seen: LruLinks::default(),
            by_port: LruLinks::default(),
            ports: BTreeMap::new(),
            shares: Shares::default(),
            move_checks: MoveChecks::default(),
            counters: Counters::default(),
            changed: false,
            publish_at: Time::START,
        }
    }

    /// The table as it is now.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// What was done since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The hosts behind a port, how many.
    pub fn behind(&self, at: SwitchPort) -> usize {
        self.ports.get(&at).map_or(0, |port| port.hosts.len())
    }

    /// A new version of the table, if something changed and the last one is a millisecond old.
    pub fn publish(&mut self, now: Time) -> Option<Hosts> {
        if !self.changed || now < self.publish_at {
            return None;
        }
        (self.changed, self.publish_at) = (false, now + PUBLISH_EVERY);
        Some(self.hosts.clone())
    }

    /// When [`Tracker::tick`] or [`Tracker::publish`] has something to do.
    pub fn next(&self) -> Option<Time> {
        let oldest = self.seen.first().map(|number| self.ages_at(number));
        let publish = self.changed.then_some(self.publish_at);
        [self.move_checks.next(), oldest, publish].into_iter().flatten().min()
    }

    /// Time passed: asks again, decides claims, forgets hosts that were silent for too long.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Effect>) {
        while let Some(due) = self.move_checks.due(now) {
            match due {
                MoveDue::Probe(claim) => self.probe(claim, out),
                MoveDue::Granted(claim) => self.grant(now, claim, out),
            }
        }
        for _ in 0..AGED_AT_ONCE {
            let silent = self.seen.first().filter(|&number| self.ages_at(number) <= now);
            let Some(number) = silent else { return };
            self.counters.aged += 1;
            self.forget(number, Gone::Aged, out);
        }
    }

    /// A worker saw a host.
    pub fn see(&mut self, now: Time, observation: &Observation, out: &mut Vec<Effect>) {
        match self.state(observation.at) {
            PortState::Link => self.counters.on_links += 1,
            PortState::Down => self.counters.on_down += 1,
            PortState::Edge if self.is_there(now, observation, out) => {
                if let Some(number) = self.hosts.find(observation.id) {
                    self.hear(now, number, observation, out);
                }
            }
            PortState::Edge => {}
        }
    }

    /// A port is a link, or none any more, or went down, or came up. Ports that nothing was said of
    /// are edges.
    pub fn port(&mut self, now: Time, at: SwitchPort, state: PortState, out: &mut Vec<Effect>) {
        self.ports.entry(at).or_default().state = state;
        match state {
            PortState::Edge => self.tidy(at),
            PortState::Link => {
                while let Some(number) = self.ports.get(&at).and_then(|port| port.hosts.first()) {
                    self.forget(number, Gone::Link, out);
                }
            }
            PortState::Down => self.left(now, at, out),
        }
    }

    /// A switch is gone: its ports are down, and its hosts are forgotten. So is what its ports
    /// were.
    pub fn switch_gone(&mut self, now: Time, dpid: DatapathId, out: &mut Vec<Effect>) {
        for at in self.ports_of(dpid) {
            self.port(now, at, PortState::Down, out);
            while let Some(number) = self.ports.get(&at).and_then(|port| port.hosts.first()) {
                self.forget(number, Gone::Switch, out);
            }
            self.port(now, at, PortState::Edge, out);
        }
    }

    /// The hosts of a switch that have an address, each with one of them.
    pub(super) fn can_be_probed(&self, dpid: DatapathId) -> impl Iterator<Item = HostProbe> {
        let ports = self.ports.range(SwitchPort::all_of(dpid));
        let numbers = ports.flat_map(|(_, port)| self.by_port.of(&port.hosts));
        numbers.filter_map(|number| {
            let host = self.hosts.host(number);
            let ip = host.addresses().next()?;
            Some(HostProbe { at: host.at(), id: host.id(), ip })
        })
    }

    fn ports_of(&self, dpid: DatapathId) -> Vec<SwitchPort> {
        self.ports.range(SwitchPort::all_of(dpid)).map(|(&at, _)| at).collect()
    }

    /// Whether a host is where it can be asked, and that is another port than this one.
    pub(super) fn is_elsewhere(&self, id: Identity, at: SwitchPort) -> bool {
        self.hosts
            .by_mac(id.mac, id.vlan)
            .is_some_and(|host| host.is_elsewhere(at) && self.state(host.at()) == PortState::Edge)
    }

    fn state(&self, at: SwitchPort) -> PortState {
        self.ports.get(&at).map_or(PortState::Edge, |port| port.state)
    }

    fn ages_at(&self, number: u32) -> Time {
        let seen = Duration::from_secs(self.hosts.host(number).last_seen_s().into());
        // Its last second may have been a whole one.
        Time::START + seen + self.config.ageing.max(Duration::from_secs(EPOCHS.into()))
    }

    /// Whether the host is where it was seen, or is believed to be from now on.
    fn is_there(&mut self, now: Time, observation: &Observation, out: &mut Vec<Effect>) -> bool {
        let Some(number) = self.hosts.find(observation.id) else {
            return self.learn(now, observation, out);
        };
        let what = Subject::Place(observation.id);
        if self.hosts.host(number).at() == observation.at {
            self.touch(now, number);
            self.refute(now, what, out);
            return true;
        }
        if !self.is_elsewhere(observation.id, observation.at) {
            return self.relocate(now, number, observation.at, out);
        }
        self.check_move(now, MoveClaim { what, by: observation.id, at: observation.at }, out);
        false
    }

    /// What a host that is where it should be says of itself.
    fn hear(&mut self, now: Time, number: u32, observation: &Observation, out: &mut Vec<Effect>) {
        if let Some(router) = observation.router.filter(|_| {
            let host = self.hosts.host(number);
            host.is_router() != observation.router
        }) {
            self.hosts.host_mut(number).say_router(router);
            self.changed = true;
        }
        let Some(ip) = observation.ip else { return };
        let what = Subject::Address(ip, observation.id.vlan);
        match self.hosts.find((ip, observation.id.vlan)) {
            None => self.bind(number, ip, out),
            Some(owner) if owner == number => self.refute(now, what, out),
            Some(owner) => {
                let claim = MoveClaim { what, by: observation.id, at: observation.at };
                let owner = self.hosts.host(owner);
                match self.state(owner.at()) {
                    PortState::Edge if !owner.is_nowhere() => self.check_move(now, claim, out),
                    _ => self.grant(now, claim, out),
                }
            }
        }
    }

    fn learn(&mut self, now: Time, observation: &Observation, out: &mut Vec<Effect>) -> bool {
        let at = observation.at;
        if !self.has_room(at) {
            return false;
        }
        if self.hosts.len() >= self.config.hosts_max {
            self.make_room(at, out);
        }
        if self.free.is_empty() {
            self.free.extend(self.hosts.widen().rev());
        }
        let Some(number) = self.free.pop() else { return false };
        if !self.hosts.put(number, Host::new(observation.id, at, seconds(now))) {
            self.free.push(number);
            self.counters.no_room += 1;
            return false;
        }
        self.by_seen.push(&mut self.seen, number);
        self.arrive(number, at);
        self.counters.new += 1;
        self.changed = true;
        out.push(Effect::New(observation.id, at));
        self.check(at);
        true
    }

    /// Every host is in the list of all and in that of its port, whose length is its share of the
    /// table; there are no more than there is room for.
    #[inline]
    fn check(&self, at: SwitchPort) {
        debug_assert_eq!(self.seen.len(), self.hosts.len());
        debug_assert!(self.hosts.len() <= self.config.hosts_max);
        debug_assert!(self.shares.are(at, self.behind(at)));
        let is_there = |number| self.hosts.find(self.hosts.host(number).id()) == Some(number);
        debug_assert!(self.seen.first().is_none_or(is_there));
    }

    /// Whether one host more may be behind a port; counts where not.
    fn has_room(&mut self, at: SwitchPort) -> bool {
        let is_port = at.port.is_real() || at.port == PortNo::LOCAL;
        let has_room = is_port && self.behind(at) < self.config.port_hosts_max;
        self.counters.no_room += u64::from(!has_room);
        has_room
    }

    fn forget(&mut self, number: u32, why: Gone, out: &mut Vec<Effect>) {
        let host = self.hosts.take(number);
        self.by_seen.remove(&mut self.seen, number);
        self.leave(number, host.at());
        self.free.push(number);
        self.changed = true;
        self.move_checks.end(Subject::Place(host.id()));
        for ip in host.addresses() {
            self.move_checks.end(Subject::Address(ip, host.id().vlan));
        }
        out.push(Effect::Gone(host.id(), host.at(), why));
        self.check(host.at());
    }

    /// Forgets a host of the port that has most of the table, for one more at a port.
    fn make_room(&mut self, at: SwitchPort, out: &mut Vec<Effect>) {
        let greediest = self.shares.greediest(at, self.behind(at));
        let port = greediest.and_then(|greediest| self.ports.get(&greediest));
        if let Some(oldest) = port.and_then(|port| port.hosts.first()) {
            self.counters.evicted += 1;
            self.forget(oldest, Gone::Evicted, out);
        }
    }

    /// Puts a host into the list of its port.
    fn arrive(&mut self, number: u32, at: SwitchPort) {
        let hosts = &mut self.ports.entry(at).or_default().hosts;
        self.by_port.push(hosts, number);
        self.shares.port(at, hosts.len() - 1, hosts.len());
    }

    /// Takes a host out of the list of its port.
    fn leave(&mut self, number: u32, at: SwitchPort) {
        if let Some(TrackedPort { hosts, .. }) = self.ports.get_mut(&at) {
            self.by_port.remove(hosts, number);
            self.shares.port(at, hosts.len() + 1, hosts.len());
        }
        self.tidy(at);
    }

    /// Forgets a port of which there is nothing to be known.
    fn tidy(&mut self, at: SwitchPort) {
        let is_idle = |port: &TrackedPort| port.hosts.len() == 0 && port.state == PortState::Edge;
        if self.ports.get(&at).is_some_and(is_idle) {
            self.ports.remove(&at);
        }
    }

    /// A host was seen where it was.
    fn touch(&mut self, now: Time, number: u32) {
        let now_s = seconds(now);
        let (at, is_back) = (self.hosts.host(number).at(), self.hosts.host(number).is_nowhere());
        if is_back {
            self.hosts.move_to(number, at);
            self.changed = true;
        }
        if self.hosts.host(number).last_seen_s() < now_s {
            self.hosts.host_mut(number).seen(now_s);
            self.changed = true;
            self.by_seen.remove(&mut self.seen, number);
            self.by_seen.push(&mut self.seen, number);
            if let Some(TrackedPort { hosts, .. }) = self.ports.get_mut(&at) {
                self.by_port.remove(hosts, number);
                self.by_port.push(hosts, number);
            }
        }
    }

    fn bind(&mut self, number: u32, ip: IpAddr, out: &mut Vec<Effect>) {
        if !self.hosts.bind(number, ip) {
            self.counters.no_room += 1;
            return;
        }
        self.changed = true;
        out.push(Effect::Learnt(self.hosts.host(number).id(), ip));
    }

    /// Moves a host to a port, where there is room for it.
    fn relocate(&mut self, now: Time, number: u32, to: SwitchPort, out: &mut Vec<Effect>) -> bool {
        if !self.has_room(to) {
            return false;
        }
        let (id, from) = (self.hosts.host(number).id(), self.hosts.host(number).at());
        self.move_checks.end(Subject::Place(id));
        self.leave(number, from);
        self.hosts.move_to(number, to);
        self.arrive(number, to);
        self.touch(now, number);
        self.counters.moved += 1;
        self.changed = true;
        out.push(Effect::Moved { id, from, to });
        true
    }

    /// The owner of what is claimed is there.
    fn refute(&mut self, now: Time, what: Subject, out: &mut Vec<Effect>) {
        if let Some(claim) = self.move_checks.answered(now, what) {
            self.counters.refuted += 1;
            out.push(Effect::Refused(claim));
        }
    }

    fn check_move(&mut self, now: Time, claim: MoveClaim, out: &mut Vec<Effect>) {
        match self.move_checks.claim(now, claim) {
            Decision::Probe if self.asks(claim).next().is_some() => {
                self.counters.probed += 1;
                self.probe(claim, out);
            }
            Decision::Probe => {
                // A host that never said its address cannot be probed: it stays where it is until
                // it is silent for the ageing time, or its port goes down.
                self.move_checks.answered(now, claim.what);
                self.counters.refused += 1;
                out.push(Effect::Refused(claim));
            }
            Decision::Waits => {}
            Decision::Refused => self.counters.refused += 1,
            Decision::Full => self.counters.checks_full += 1,
        }
    }

    fn probe(&self, claim: MoveClaim, out: &mut Vec<Effect>) {
        out.extend(self.asks(claim).map(Effect::Probe));
    }

    /// What is to be asked about a claim.
    fn asks(&self, claim: MoveClaim) -> impl Iterator<Item = HostProbe> {
        let (owner, only) = match claim.what {
            Subject::Place(id) => (self.hosts.find(id), None),
            Subject::Address(ip, vlan) => (self.hosts.find((ip, vlan)), Some(ip)),
        };
        let asks = owner.map(|number| self.hosts.host(number)).into_iter().flat_map(move |host| {
            let by = host.addresses().filter(move |&ip| only.is_none_or(|only| only == ip));
            by.map(move |ip| HostProbe { at: host.at(), id: host.id(), ip })
        });
        asks.take(ASKED_BY)
    }

    /// A claim is not contested any more.
    fn grant(&mut self, now: Time, claim: MoveClaim, out: &mut Vec<Effect>) {
        let Some(number) = self.hosts.find(claim.by) else { return };
        if self.state(claim.at) != PortState::Edge {
            return;
        }
        match claim.what {
            Subject::Place(_) => {
                self.relocate(now, number, claim.at, out);
            }
            Subject::Address(ip, vlan) if self.hosts.host(number).at() == claim.at => {
                if let Some(owner) = self.hosts.find((ip, vlan)) {
                    self.hosts.unbind(owner, ip);
                    out.push(Effect::Lost(self.hosts.host(owner).id(), ip));
                }
                self.move_checks.end(claim.what);
                self.bind(number, ip, out);
            }
            Subject::Address(..) => {}
        }
    }

    /// A port went down: a host that was there and is claimed elsewhere is there, and all others
    /// are nowhere. That is published with the next version of the World, whenever the last one
    /// was, for nothing is to be sent there any more.
    fn left(&mut self, now: Time, at: SwitchPort, out: &mut Vec<Effect>) {
        let Some(port) = self.ports.get(&at) else { return };
        for number in self.by_port.of(&port.hosts) {
            self.hosts.lose(number);
            (self.changed, self.publish_at) = (true, Time::START);
        }
        let at_port = |tracker: &Tracker, claim: &MoveClaim| {
            match claim.what {
                Subject::Place(id) => tracker.hosts.by_mac(id.mac, id.vlan),
                Subject::Address(ip, vlan) => tracker.hosts.by_ip(ip, vlan),
            }
            .is_some_and(|host| host.at() == at)
        };
        let open: Vec<MoveClaim> =
            self.move_checks.open().filter(|claim| at_port(self, claim)).collect();
        for claim in open {
            self.move_checks.end(claim.what);
            self.grant(now, claim, out);
        }
    }
}
