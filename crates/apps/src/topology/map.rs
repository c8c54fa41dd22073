//! The part of the World that topology publishes: the switches that are up, their ports that are up, and what those ports
//! lead to.
//!
//! A version shares with the one before every switch of which nothing changed, and two versions are compared by comparing
//! pointers ([`Map::changes_since`]). Whoever builds something of it (a graph of the links, the ports that floods leave by)
//! begins with an empty map and follows the changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_control::{Part, Time};
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr, Version};

use crate::place::SwitchPort;

use super::link::State;

/// The network: its switches, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Map {
    switches: Vec<Arc<Switch>>,
}

impl Part for Map {
    /// Nobody reports to it: it is made of [`Search`](super::Search).
    type Report = ();
    const NAME: &'static str = "topology";
}

/// A switch that can be programmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Its name.
    pub dpid: DatapathId,
    /// The version that it speaks.
    pub version: Version,
    /// Since when it is connected. One that connects again may have lost its flows.
    pub since: Time,
    /// Its ports that are up, by number; reserved ones, as LOCAL, are not among them.
    pub ports: Vec<Port>,
}

/// A port that is up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Its number.
    pub number: PortNo,
    /// Its own address.
    pub mac: MacAddr,
    /// Its speed in kilobits a second; 0 where the switch does not say.
    pub speed_kbps: u32,
    /// Whether it is known what it leads to: it has a cable to a switch of ours that works both ways, or else two LLDP probes and one
    /// that passes through other switches left it since it came up or a link of it vanished, and each had half a second to arrive.
    pub known: bool,
    /// Whether a host was seen here since it came up; it may be elsewhere by now.
    pub host: bool,
    /// The other end of its cable, where that is a port of a switch of ours.
    pub link: Option<Peer>,
    /// Ports of ours behind a switch that is not ours. There are none where there is a cable.
    pub far: Vec<Peer>,
}

/// What is at the other end of a link, and how far it can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// The port at the other end.
    pub at: SwitchPort,
    /// How far the link can be relied on: only one that is [`State::Up`] should carry traffic.
    pub state: State,
    /// Since when it has been in this state.
    pub since: Time,
    /// Whether probes from here arrive there.
    pub out: bool,
    /// Whether probes from there arrive here.
    pub back: bool,
    /// Whether it takes so much longer than other links that somebody may be in between.
    pub slow: bool,
    /// What it takes from here to there, in microseconds, to a quarter; 0 where that is not known.
    pub latency_us: u32,
}

/// What is different in a version of the map. Of a switch that is up, each port comes by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change<'m> {
    /// A switch is up. Its ports follow.
    SwitchUp(&'m Switch),
    /// A port is another than before, or is up now (`before` is none), or is not up any more (`now` is none).
    Port {
        /// Which one.
        at: SwitchPort,
        /// As it was.
        before: Option<&'m Port>,
        /// As it is.
        now: Option<&'m Port>,
    },
    /// A switch is gone. Its ports went before.
    SwitchDown(DatapathId),
}

impl Port {
    /// Whether it leads to another switch of ours by a cable: hosts are not behind it. A link that cannot be relied on counts.
    pub fn is_link(&self) -> bool {
        self.link.is_some()
    }

    /// Every link that begins here.
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.link.iter().chain(&self.far)
    }
}

impl Switch {
    /// One of its ports that are up.
    pub fn port(&self, number: PortNo) -> Option<&Port> {
        let at = self.ports.binary_search_by_key(&number, |port| port.number).ok()?;
        self.ports.get(at)
    }
}

impl Map {
    /// A switch that is up.
    pub fn switch(&self, dpid: DatapathId) -> Option<&Switch> {
        self.place(dpid).ok().map(|at| &*self.switches[at])
    }

    /// A port that is up.
    pub fn port(&self, at: SwitchPort) -> Option<&Port> {
        self.switch(at.dpid)?.port(at.port)
    }

    /// All switches, in the order of their names.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = &Switch> {
        self.switches.iter().map(|switch| &**switch)
    }

    /// All links, each once, from its lower end.
    pub fn links(&self) -> impl Iterator<Item = (SwitchPort, &Peer)> {
        let ports = self.switches().flat_map(|switch| {
            switch.ports.iter().map(|port| (SwitchPort::of(switch.dpid, port.number), port))
        });
        let ends = ports.flat_map(|(at, port)| port.peers().map(move |peer| (at, peer)));
        ends.filter(|(at, peer)| *at < peer.at)
    }

    /// What is different from `before`, any other version: for switches in the order of their names.
    pub fn changes_since<'m>(&'m self, before: &'m Map) -> Vec<Change<'m>> {
        let mut changes = Vec::new();
        let (mut old, mut new) = (before.switches().peekable(), self.switches().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => core::cmp::Ordering::Less,
                (None, Some(_)) => core::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.dpid.cmp(&new.dpid),
            };
            let was = if order.is_le() { old.next() } else { None };
            let is = if order.is_ge() { new.next() } else { None };
            match (was, is) {
                (Some(was), Some(is)) if core::ptr::eq(was, is) => {}
                (Some(was), Some(is)) if was.since == is.since => ports(was, is, &mut changes),
                (was, is) => {
                    was.inspect(|was| went(was, &mut changes));
                    is.inspect(|is| came(is, &mut changes));
                }
            }
        }
    }

    /// Puts a switch in, in place of one with its name; whether that made a difference.
    pub(super) fn put(&mut self, switch: Switch) -> bool {
        match self.place(switch.dpid) {
            Ok(at) if *self.switches[at] == switch => return false,
            Ok(at) => self.switches[at] = Arc::new(switch),
            Err(at) => self.switches.insert(at, Arc::new(switch)),
        }
        true
    }

    /// Takes a switch away; whether it was there.
    pub(super) fn take(&mut self, dpid: DatapathId) -> bool {
        let place = self.place(dpid);
        place.map(|at| self.switches.remove(at)).is_ok()
    }

    fn place(&self, dpid: DatapathId) -> Result<usize, usize> {
        self.switches.binary_search_by_key(&dpid, |switch| switch.dpid)
    }
}

/// Of these switches; of two with one name the later counts.
impl FromIterator<Switch> for Map {
    fn from_iter<I: IntoIterator<Item = Switch>>(switches: I) -> Map {
        let mut map = Map::default();
        for switch in switches {
            map.put(switch);
        }
        map
    }
}

fn came<'m>(switch: &'m Switch, changes: &mut Vec<Change<'m>>) {
    changes.push(Change::SwitchUp(switch));
    changes.extend(switch.ports.iter().map(|port| {
        let at = SwitchPort::of(switch.dpid, port.number);
        Change::Port { at, before: None, now: Some(port) }
    }));
}

fn went<'m>(switch: &'m Switch, changes: &mut Vec<Change<'m>>) {
    changes.extend(switch.ports.iter().map(|port| {
        let at = SwitchPort::of(switch.dpid, port.number);
        Change::Port { at, before: Some(port), now: None }
    }));
    changes.push(Change::SwitchDown(switch.dpid));
}

/// The ports of one switch that differ.
fn ports<'m>(was: &'m Switch, is: &'m Switch, changes: &mut Vec<Change<'m>>) {
    let mut pairs: BTreeMap<PortNo, (Option<&Port>, Option<&Port>)> = BTreeMap::new();
    was.ports.iter().for_each(|port| pairs.entry(port.number).or_default().0 = Some(port));
    is.ports.iter().for_each(|port| pairs.entry(port.number).or_default().1 = Some(port));
    let differ = pairs.into_iter().filter(|(_, (before, now))| before != now);
    changes.extend(differ.map(|(number, (before, now))| {
        let at = SwitchPort::of(is.dpid, number);
        Change::Port { at, before, now }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn port(number: u32, known: bool) -> Port {
        let (mac, link) = (MacAddr::from_u64(u64::from(number)), None);
        let number = PortNo(number);
        Port { number, mac, speed_kbps: 0, known, host: false, link, far: vec![] }
    }

    fn switch(dpid: u64, since: u64, ports: impl IntoIterator<Item = (u32, bool)>) -> Switch {
        let ports = ports.into_iter().map(|(number, known)| port(number, known)).collect();
        Switch { dpid: DatapathId(dpid), version: Version::V13, since: Time(since), ports }
    }

    fn map() -> impl Strategy<Value = Map> {
        let ports = prop::collection::btree_map(1u32..6, any::<bool>(), 0..5);
        let switches = prop::collection::btree_map(1u64..8, (0u64..2, ports), 0..7);
        switches.prop_map(|switches| {
            let mut map = Map::default();
            for (dpid, (since, ports)) in switches {
                map.put(switch(dpid, since, ports));
            }
            map
        })
    }

    proptest! {
        /// Who follows the changes has the map.
        #[test]
        fn the_changes_lead_from_one_map_to_the_other(before in map(), mut after in map(), keep in any::<[bool; 8]>()) {
            for dpid in (1..8).map(DatapathId) {
                match before.place(dpid) {
                    Ok(at) if keep[dpid.0 as usize] => {
                        after.take(dpid);
                        let at_after = after.place(dpid).unwrap_err();
                        after.switches.insert(at_after, Arc::clone(&before.switches[at]));
                    }
                    _ => {}
                }
            }
            let nothing = Map::default();
            let mut ports: BTreeMap<SwitchPort, &Port> = BTreeMap::new();
            let mut switches: BTreeMap<DatapathId, ()> = BTreeMap::new();
            for change in before.changes_since(&nothing).into_iter().chain(after.changes_since(&before)) {
                match change {
                    Change::SwitchUp(switch) => prop_assert!(switches.insert(switch.dpid, ()).is_none()),
                    Change::SwitchDown(dpid) => {
                        prop_assert!(switches.remove(&dpid).is_some());
                        prop_assert!(ports.range(SwitchPort::all_of(dpid)).next().is_none());
                    }
                    Change::Port { at, before, now } => {
                        prop_assert!(switches.contains_key(&at.dpid) && before != now);
                        let was = match now {
                            Some(port) => ports.insert(at, port),
                            None => ports.remove(&at),
                        };
                        prop_assert_eq!(was, before);
                    }
                }
            }
            let all = after.switches().flat_map(|switch| switch.ports.iter().map(|port| (SwitchPort::of(switch.dpid, port.number), port)));
            prop_assert!(ports.into_iter().eq(all));
            prop_assert!(switches.into_keys().eq(after.switches().map(|switch| switch.dpid)));
        }
    }

    #[test]
    fn a_switch_that_connected_again_went_and_came() {
        let (mut old, mut new) = (Map::default(), Map::default());
        assert!(old.put(switch(1, 5, [(1, true)])) && !old.put(switch(1, 5, [(1, true)])));
        new.put(switch(1, 9, [(1, true)]));
        let changes = new.changes_since(&old);
        let [Change::Port { now: None, .. }, Change::SwitchDown(_), up, back] = changes[..] else {
            panic!("{changes:?}")
        };
        assert!(matches!(up, Change::SwitchUp(_)));
        assert!(matches!(back, Change::Port { before: None, now: Some(_), .. }));
        assert!(new.take(DatapathId(1)) && !new.take(DatapathId(1)));
    }
}
