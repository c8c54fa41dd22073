//! The publisher of the hosts, beside the workers: it takes their observations, and learns from the
//! topology which ports are links and which are down.

use aldis_control::world::{PartId, PublishCtx};
use aldis_control::{Part, Publisher, SwitchPort, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use crate::log::Log;
use crate::topology::{Map, MapChange, MapPort};

use super::absent::Absent;
use super::observation::Observation;
use super::pending::{Pending, is_fresh};
use super::table::Hosts;
use super::tracker::{Effect, HostsConfig, PortState, Tracker};

/// What a worker reports: a host was seen, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostReport {
    /// When.
    pub now: Time,
    /// What its frame said.
    pub observation: Observation,
}

/// The publisher of [`Hosts`].
#[derive(Debug)]
pub(super) struct HostPublisher {
    tracker: Tracker,
    /// The network as the tracker was told of it.
    map: Map,
    /// Observations that the map does not say enough about.
    pending: Pending,
    absent: Absent,
    changes: Log<Effect>,
}

impl HostPublisher {
    pub(super) fn new(config: HostsConfig) -> HostPublisher {
        let (tracker, map, absent) = (Tracker::new(config), Map::default(), Absent::default());
        HostPublisher { tracker, map, pending: Pending::default(), absent, changes: Log::default() }
    }

    fn follow(&mut self, now: Time, map: &Map, effects: &mut Vec<Effect>) {
        let old = std::mem::replace(&mut self.map, map.clone());
        let (mut again, mut some_went_down) = (Vec::new(), false);
        for change in map.changes_since(&old) {
            match change {
                MapChange::Port { at, before, now: is } => {
                    if went_down(before, is) {
                        some_went_down = true;
                        self.tracker.port(now, at, PortState::Down, effects);
                    }
                    if state(before) != state(is) || went_down(before, is) {
                        self.tracker.port(now, at, state(is), effects);
                    }
                    if let Some(port) = is.filter(|port| port.known) {
                        self.probe_returning(now, at, port, effects);
                    }
                    self.pending.take_port(at, &mut again);
                }
                MapChange::SwitchDown(dpid) => self.leave(now, dpid, &old, effects),
                MapChange::SwitchUp(switch) => {
                    let local = SwitchPort::of(switch.dpid, PortNo::LOCAL);
                    self.pending.take_port(local, &mut again);
                }
            }
        }
        if some_went_down {
            // A host that is nowhere now is believed wherever it was seen.
            self.pending.take_all(&mut again);
        }
        for seen in again.into_iter().filter(|seen| is_fresh(now, seen)) {
            if self.is_of_this_session(&seen) {
                self.see(now, seen, effects);
            }
        }
    }

    /// Whether what was seen was seen since its switch connected: under its name there may have
    /// been another one before.
    fn is_of_this_session(&self, seen: &HostReport) -> bool {
        let switch = self.map.switch(seen.observation.at.dpid);
        switch.is_none_or(|switch| seen.now >= switch.since)
    }

    /// A worker saw a host; it may have been a while ago.
    fn see(&mut self, now: Time, seen: HostReport, effects: &mut Vec<Effect>) {
        if self.can_judge(&seen.observation) {
            self.tracker.see(seen.now.max(now), &seen.observation, effects);
        } else {
            self.pending.keep(now, seen);
        }
    }

    /// Whether enough is known of the port where a host was seen. One that is elsewhere is not
    /// believed there before it is known what the port leads to, for a broadcast comes in by links
    /// too.
    fn can_judge(&self, observation: &Observation) -> bool {
        let Observation { id, at, .. } = *observation;
        let Some(switch) = self.map.switch(at.dpid) else { return false };
        let is_clear =
            |port: &MapPort| port.known || port.is_link() || !self.tracker.is_elsewhere(id, at);
        at.port == PortNo::LOCAL || switch.port(at.port).is_some_and(is_clear)
    }

    /// A switch is gone. Its hosts are asked for where it comes back, behind the ports that were up
    /// to the end.
    fn leave(&mut self, now: Time, dpid: DatapathId, old: &Map, effects: &mut Vec<Effect>) {
        let hosts = self.tracker.can_be_probed(dpid);
        let hosts = hosts.filter_map(|probe| Some((old.port(probe.at)?.mac, probe)));
        self.absent.leave(now, hosts);
        self.tracker.switch_gone(now, dpid, effects);
    }

    fn probe_returning(
        &mut self,
        now: Time,
        at: SwitchPort,
        port: &MapPort,
        effects: &mut Vec<Effect>,
    ) {
        let asks = self.absent.back(now, at, port.mac);
        if !port.is_link() {
            effects.extend(asks.into_iter().map(Effect::Probe));
        }
    }
}

/// Whether a port went down, though it may be up again: it lost what makes a port settle, and no
/// link, or is another.
fn went_down(before: Option<&MapPort>, now: Option<&MapPort>) -> bool {
    match (before, now) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(before), Some(now)) => {
            let unsettled = before.known && !now.known && before.peers().next().is_none();
            let is_unshown = before.host && !now.host;
            before.mac != now.mac || !now.is_link() && (is_unshown || unsettled)
        }
    }
}

/// What a port is to hosts. Behind a switch that is not ours there may be some.
fn state(port: Option<&MapPort>) -> PortState {
    match port {
        None => PortState::Down,
        Some(port) if port.is_link() => PortState::Link,
        Some(_) => PortState::Edge,
    }
}

impl Publisher for HostPublisher {
    type Part = Hosts;

    const READS: &'static [PartId] = &[Map::ID];

    fn begin(&mut self) -> Hosts {
        self.tracker.hosts().clone()
    }

    fn revise(&mut self, now: Time, mut ctx: PublishCtx<'_, Hosts>) -> Option<Hosts> {
        let mut effects = Vec::new();
        if ctx.changed::<Map>() {
            self.follow(now, ctx.world().part::<Map>(), &mut effects);
        }
        while let Some(seen) = ctx.report() {
            self.see(seen.now, seen, &mut effects);
        }
        self.tracker.tick(now, &mut effects);
        let table = self.tracker.publish(now);
        let table =
            table.or_else(|| (!effects.is_empty()).then(|| self.tracker.hosts().clone()))?;
        self.changes.push(effects);
        Some(table.with_changes(self.changes.clone(), *self.tracker.counters()))
    }

    fn next(&self) -> Time {
        self.tracker.next().unwrap_or(Time::NEVER)
    }
}
