//! The keeper of the table, beside the workers: it takes their sightings, and learns from the
//! topology which ports are links and which are down.

use aldis_control::world::{PartId, PublishCtx};
use aldis_control::{Part, Publisher, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use crate::log::Log;
use crate::topology::{Change, Map, Port};
use aldis_control::SwitchPort;

use super::absent::Absent;
use super::held::{Held, is_fresh};
use super::ledger::{Config, Effect, Ledger, PortState};
use super::sighting::Sighting;
use super::table::Hosts;

/// What a worker reports: a host was seen, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// When.
    pub now: Time,
    /// What its frame said.
    pub sighting: Sighting,
}

/// The publisher of [`Hosts`].
#[derive(Debug)]
pub(super) struct Keeper {
    ledger: Ledger,
    /// The network as the ledger was told of it.
    map: Map,
    /// Sightings that the map does not say enough about.
    held: Held,
    absent: Absent,
    changes: Log<Effect>,
}

impl Keeper {
    pub(super) fn new(config: Config) -> Keeper {
        let (ledger, map, absent) = (Ledger::new(config), Map::default(), Absent::default());
        Keeper { ledger, map, held: Held::default(), absent, changes: Log::default() }
    }

    fn follow(&mut self, now: Time, map: &Map, effects: &mut Vec<Effect>) {
        let old = std::mem::replace(&mut self.map, map.clone());
        let (mut again, mut some_went_down) = (Vec::new(), false);
        for change in map.changes_since(&old) {
            match change {
                Change::Port { at, before, now: is } => {
                    if went_down(before, is) {
                        some_went_down = true;
                        self.ledger.port(now, at, PortState::Down, effects);
                    }
                    if state(before) != state(is) || went_down(before, is) {
                        self.ledger.port(now, at, state(is), effects);
                    }
                    if let Some(port) = is.filter(|port| port.known) {
                        self.ask_who_is_back(now, at, port, effects);
                    }
                    self.held.take_port(at, &mut again);
                }
                Change::SwitchDown(dpid) => self.leave(now, dpid, &old, effects),
                Change::SwitchUp(switch) => {
                    let local = SwitchPort::of(switch.dpid, PortNo::LOCAL);
                    self.held.take_port(local, &mut again);
                }
            }
        }
        if some_went_down {
            // Whose hosts are nowhere now is believed wherever it was seen.
            self.held.take_all(&mut again);
        }
        for seen in again.into_iter().filter(|seen| is_fresh(now, seen)) {
            if self.is_of_this_session(&seen) {
                self.see(now, seen, effects);
            }
        }
    }

    /// Whether what was seen was seen since its switch connected: under its name there may have
    /// been another one before.
    fn is_of_this_session(&self, seen: &Seen) -> bool {
        let switch = self.map.switch(seen.sighting.at.dpid);
        switch.is_none_or(|switch| seen.now >= switch.since)
    }

    /// A worker saw a host; it may have been a while ago.
    fn see(&mut self, now: Time, seen: Seen, effects: &mut Vec<Effect>) {
        if self.can_judge(&seen.sighting) {
            self.ledger.see(seen.now.max(now), &seen.sighting, effects);
        } else {
            self.held.keep(now, seen);
        }
    }

    /// Whether enough is known of the port where a host was seen. One that is elsewhere is not
    /// believed there before it is known what the port leads to, for a broadcast comes in by links
    /// too.
    fn can_judge(&self, sighting: &Sighting) -> bool {
        let Sighting { id, at, .. } = *sighting;
        let Some(switch) = self.map.switch(at.dpid) else { return false };
        let is_clear =
            |port: &Port| port.known || port.is_link() || !self.ledger.is_elsewhere(id, at);
        at.port == PortNo::LOCAL || switch.port(at.port).is_some_and(is_clear)
    }

    /// A switch is gone. Its hosts are asked for where it comes back, behind the ports that were up
    /// to the end.
    fn leave(&mut self, now: Time, dpid: DatapathId, old: &Map, effects: &mut Vec<Effect>) {
        let hosts = self.ledger.can_be_asked(dpid);
        let hosts = hosts.filter_map(|ask| Some((old.port(ask.at)?.mac, ask)));
        self.absent.leave(now, hosts);
        self.ledger.switch_gone(now, dpid, effects);
    }

    fn ask_who_is_back(
        &mut self,
        now: Time,
        at: SwitchPort,
        port: &Port,
        effects: &mut Vec<Effect>,
    ) {
        let asks = self.absent.back(now, at, port.mac);
        if !port.is_link() {
            effects.extend(asks.into_iter().map(Effect::Ask));
        }
    }
}

/// Whether a port went down, though it may be up again: it lost what makes a port settle, and no
/// link, or is another.
fn went_down(before: Option<&Port>, now: Option<&Port>) -> bool {
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
fn state(port: Option<&Port>) -> PortState {
    match port {
        None => PortState::Down,
        Some(port) if port.is_link() => PortState::Link,
        Some(_) => PortState::Edge,
    }
}

impl Publisher for Keeper {
    type Part = Hosts;

    const READS: &'static [PartId] = &[Map::ID];

    fn begin(&mut self) -> Hosts {
        self.ledger.hosts().clone()
    }

    fn revise(&mut self, now: Time, mut ctx: PublishCtx<'_, Hosts>) -> Option<Hosts> {
        let mut effects = Vec::new();
        if ctx.changed::<Map>() {
            self.follow(now, ctx.world().part::<Map>(), &mut effects);
        }
        while let Some(seen) = ctx.report() {
            self.see(seen.now, seen, &mut effects);
        }
        self.ledger.tick(now, &mut effects);
        let table = self.ledger.publish(now);
        let table = table.or_else(|| (!effects.is_empty()).then(|| self.ledger.hosts().clone()))?;
        self.changes.push(effects);
        Some(table.with_changes(self.changes.clone(), *self.ledger.counters()))
    }

    fn next(&self) -> Time {
        self.ledger.next().unwrap_or(Time::NEVER)
    }
}
