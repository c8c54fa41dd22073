//! The keeper of the table, beside the workers: it takes their sightings, and learns from the topology which ports are links
//! and which are down.

use aldis_control::world::{News, PartId};
use aldis_control::{Part, Publisher, Time};

use crate::log::Log;
use crate::topology::{Change, Map, Port};

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
    changes: Log<Effect>,
}

impl Keeper {
    pub(super) fn new(config: Config) -> Keeper {
        Keeper { ledger: Ledger::new(config), map: Map::default(), changes: Log::default() }
    }

    fn follow(&mut self, now: Time, map: &Map, effects: &mut Vec<Effect>) {
        for change in map.changes_since(&self.map) {
            match change {
                Change::Port { at, before, now: is } if state(before) != state(is) => {
                    self.ledger.port(now, at, state(is), effects);
                }
                Change::SwitchDown(dpid) => self.ledger.switch_gone(now, dpid, effects),
                Change::Port { .. } | Change::SwitchUp(_) => {}
            }
        }
        self.map = map.clone();
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

    fn revise(&mut self, now: Time, mut news: News<'_, Hosts>) -> Option<Hosts> {
        let mut effects = Vec::new();
        if news.changed::<Map>() {
            self.follow(now, news.world().part::<Map>(), &mut effects);
        }
        while let Some(Seen { now, sighting }) = news.report() {
            self.ledger.see(now, &sighting, &mut effects);
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
