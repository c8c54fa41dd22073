//! The part of the World that topology publishes: the switches that are up, their ports that are
//! up, and what those ports lead to.
//!
//! A copy costs a pointer. A version shares with the one before every switch of which nothing
//! changed, and two versions are compared by comparing pointers ([`Map::changes_since`]). A reader
//! that builds something of it (a graph of the links, the flood ports) begins with an empty map and
//! follows the changes.

use core::cmp::Ordering;
use std::sync::Arc;

use aldis_control::world::Counts;
use aldis_control::{Part, SwitchPort, Time};
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr, Version};

use super::link::{Ends, LinkState};

/// The network: its switches, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Map {
    switches: Arc<Vec<Arc<MapSwitch>>>,
    // Switches with a port of which it is not known what it leads to.
    unknown: usize,
}

impl Part for Map {
    /// It takes no reports: it is made of [`Search`](super::Search).
    type Report = ();
    const NAME: &'static str = "topology";

    fn counts(&self) -> Counts {
        let up = self.links().filter(|link| link.state == LinkState::Up).count() as u64;
        let now = vec![("links", self.links().count() as u64), ("links_up", up)];
        Counts { counters: vec![], now }
    }
}

/// A switch that can be programmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapSwitch {
    /// Its name.
    pub dpid: DatapathId,
    /// The version that it speaks.
    pub version: Version,
    /// Since when it is connected. One that connects again may have lost its flows.
    pub since: Time,
    /// Its ports that are up, by number; reserved ones, as LOCAL, are not among them.
    pub ports: Vec<MapPort>,
}

/// A port that is up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapPort {
    /// Its number.
    pub number: PortNo,
    /// Its own address.
    pub mac: MacAddr,
    /// Its speed in kilobits a second; 0 where the switch does not say.
    pub speed_kbps: u32,
    /// Whether it is known what it leads to: it has a cable to a switch of ours that works both
    /// ways, or else two LLDP probes and one that passes through other switches left it since it
    /// came up or a link of it vanished, and each had half a second to arrive.
    pub known: bool,
    /// Whether a host was seen here since it came up; it may be elsewhere by now.
    pub host: bool,
    /// The other end of its cable, where that is a port of a switch of ours.
    pub link: Option<LinkPeer>,
    /// Ports of ours behind a switch that is not ours. There are none where there is a cable.
    pub far: Vec<LinkPeer>,
}

/// What is at the other end of a link, and how far it can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkPeer {
    /// The port at the other end.
    pub at: SwitchPort,
    /// How far the link can be relied on: only one that is [`LinkState::Up`] should carry traffic.
    pub state: LinkState,
    /// Since when it has been in this state.
    pub since: Time,
    /// Whether probes from here arrive there.
    pub out: bool,
    /// Whether probes from there arrive here.
    pub back: bool,
    /// Whether it takes so much longer than other links that it may be a relay.
    pub slow: bool,
    /// What it takes from here to there, in microseconds, to a quarter; 0 where that is not known.
    pub latency_us: u32,
}

/// What is different in a version of the map. Of a switch that is up, each port comes by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapChange<'m> {
    /// A switch is up. Its ports follow.
    SwitchUp(&'m MapSwitch),
    /// A port is another than before, or is up now (`before` is none), or is not up any more (`now`
    /// is none).
    Port {
        /// The port.
        at: SwitchPort,
        /// As it was.
        before: Option<&'m MapPort>,
        /// The port now; none where it is not up any more.
        now: Option<&'m MapPort>,
    },
    /// A switch is gone. Its ports went before.
    SwitchDown(DatapathId),
}

/// A link, as readers of the map see it: without a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapLink {
    /// Its ends.
    pub ends: Ends,
    /// How far it can be relied on.
    pub state: LinkState,
    /// Since when it has been in this state.
    pub since: Time,
    /// Whether it is a cable, and does not lead through switches that are not ours.
    pub cable: bool,
    /// Whether it takes so much longer than other links that a device may be in between.
    pub slow: bool,
    /// What it takes from the lower end to the other, in microseconds, where that is known.
    pub latency_us: Option<u32>,
}

impl MapLink {
    fn of(at: SwitchPort, peer: &LinkPeer, cable: bool) -> MapLink {
        MapLink {
            ends: Ends::new(at, peer.at),
            state: peer.state,
            since: peer.since,
            cable,
            slow: peer.slow,
            latency_us: (peer.latency_us > 0).then_some(peer.latency_us),
        }
    }
}

impl MapPort {
    /// Whether it leads to another switch of ours by a cable: hosts are not behind it. A link that
    /// cannot be relied on counts.
    pub fn is_link(&self) -> bool {
        self.link.is_some()
    }

    /// Every link that begins here.
    pub fn peers(&self) -> impl Iterator<Item = &LinkPeer> {
        self.link.iter().chain(&self.far)
    }
}

impl MapSwitch {
    /// Whether it is known of each of its ports what it leads to.
    pub fn is_known(&self) -> bool {
        self.ports.iter().all(|port| port.known)
    }

    /// One of its ports that are up.
    pub fn port(&self, number: PortNo) -> Option<&MapPort> {
        let at = self.ports.binary_search_by_key(&number, |port| port.number).ok()?;
        self.ports.get(at)
    }
}

impl Map {
    /// Whether it is known of every port what it leads to.
    pub fn is_known(&self) -> bool {
        self.unknown == 0
    }

    /// A switch that is up.
    pub fn switch(&self, dpid: DatapathId) -> Option<&MapSwitch> {
        self.place(dpid).ok().map(|at| &*self.switches[at])
    }

    /// A port that is up.
    pub fn port(&self, at: SwitchPort) -> Option<&MapPort> {
        self.switch(at.dpid)?.port(at.port)
    }

    /// All switches, in the order of their names.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = &MapSwitch> {
        self.switches.iter().map(|switch| &**switch)
    }

    /// All links, each once, from its lower end.
    pub fn links(&self) -> impl Iterator<Item = MapLink> {
        let ports = self.switches().flat_map(|switch| {
            switch.ports.iter().map(|port| (SwitchPort::of(switch.dpid, port.number), port))
        });
        let ends = ports.flat_map(|(at, port)| {
            let cables = port.link.iter().map(|peer| (peer, true));
            let all = cables.chain(port.far.iter().map(|peer| (peer, false)));
            all.map(move |(peer, cable)| (at, peer, cable))
        });
        let lower = ends.filter(|(at, peer, _)| *at < peer.at);
        lower.map(|(at, peer, cable)| MapLink::of(at, peer, cable))
    }

    /// What is different from `before`, any other version: for switches in the order of their
    /// names.
    pub fn changes_since<'m>(&'m self, before: &'m Map) -> Vec<MapChange<'m>> {
        let mut changes = Vec::new();
        if self.is(before) {
            return changes;
        }
        let by_name = |switch: &Arc<MapSwitch>| switch.dpid;
        for pair in differences(&before.switches, &self.switches, Arc::ptr_eq, by_name) {
            match pair {
                (Some(was), Some(is)) if was.since == is.since => {
                    changes.extend(ports(is.dpid, &was.ports, &is.ports));
                }
                (was, is) => {
                    if let Some(was) = was {
                        changes.extend(ports(was.dpid, &was.ports, &[]));
                        changes.push(MapChange::SwitchDown(was.dpid));
                    }
                    if let Some(is) = is {
                        changes.push(MapChange::SwitchUp(is));
                        changes.extend(ports(is.dpid, &[], &is.ports));
                    }
                }
            }
        }
        changes
    }

    /// Whether it is the same version.
    pub(super) fn is(&self, other: &Map) -> bool {
        Arc::ptr_eq(&self.switches, &other.switches)
    }

    /// Puts a switch in, in place of one with its name; whether that made a difference.
    pub(super) fn put(&mut self, switch: MapSwitch) -> bool {
        let place = self.place(switch.dpid);
        if place.is_ok_and(|at| *self.switches[at] == switch) {
            return false;
        }
        self.unknown += usize::from(!switch.is_known());
        match place {
            Ok(at) => {
                self.unknown -= usize::from(!self.switches[at].is_known());
                self.change()[at] = Arc::new(switch);
            }
            Err(at) => self.change().insert(at, Arc::new(switch)),
        }
        true
    }

    /// Takes a switch away; whether it was there.
    pub(super) fn take(&mut self, dpid: DatapathId) -> bool {
        let Ok(at) = self.place(dpid) else { return false };
        self.unknown -= usize::from(!self.switches[at].is_known());
        self.change().remove(at);
        true
    }

    fn change(&mut self) -> &mut Vec<Arc<MapSwitch>> {
        Arc::make_mut(&mut self.switches)
    }

    fn place(&self, dpid: DatapathId) -> Result<usize, usize> {
        self.switches.binary_search_by_key(&dpid, |switch| switch.dpid)
    }
}

/// Of these switches; of two with one name the later counts.
impl FromIterator<MapSwitch> for Map {
    fn from_iter<I: IntoIterator<Item = MapSwitch>>(switches: I) -> Map {
        let mut map = Map::default();
        for switch in switches {
            map.put(switch);
        }
        map
    }
}

/// The ports of one switch that differ.
fn ports<'m>(
    dpid: DatapathId,
    was: &'m [MapPort],
    is: &'m [MapPort],
) -> impl Iterator<Item = MapChange<'m>> {
    let pairs = differences(was, is, MapPort::eq, |port| port.number);
    pairs.map(move |(before, now)| {
        let number = now.or(before).map_or(PortNo(0), |port| port.number);
        MapChange::Port { at: SwitchPort::of(dpid, number), before, now }
    })
}

/// Where two lists differ that are in the order of their keys: what is there under a key, before
/// and now.
fn differences<'m, T, K: Ord>(
    mut was: &'m [T],
    mut is: &'m [T],
    same: fn(&T, &T) -> bool,
    key: fn(&T) -> K,
) -> impl Iterator<Item = (Option<&'m T>, Option<&'m T>)> {
    std::iter::from_fn(move || {
        while let (Some(before), Some(now)) = (was.first(), is.first())
            && same(before, now)
        {
            (was, is) = (&was[1..], &is[1..]);
        }
        let order = match (was.first(), is.first()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(before), Some(now)) => key(before).cmp(&key(now)),
        };
        let before = if order.is_le() { was.split_off_first() } else { None };
        let now = if order.is_ge() { is.split_off_first() } else { None };
        Some((before, now))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn port(number: u32, known: bool) -> MapPort {
        let (mac, link) = (MacAddr::from_u64(u64::from(number)), None);
        let number = PortNo(number);
        MapPort { number, mac, speed_kbps: 0, known, host: false, link, far: vec![] }
    }

    fn switch(dpid: u64, since: u64, ports: impl IntoIterator<Item = (u32, bool)>) -> MapSwitch {
        let ports = ports.into_iter().map(|(number, known)| port(number, known)).collect();
        MapSwitch { dpid: DatapathId(dpid), version: Version::V13, since: Time(since), ports }
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
        /// To follow the changes leads to the same map.
        #[test]
        fn the_changes_lead_from_one_map_to_the_other(before in map(), mut after in map(), keep in any::<[bool; 8]>()) {
            for dpid in (1..8).map(DatapathId) {
                match before.place(dpid) {
                    Ok(at) if keep[dpid.0 as usize] => {
                        after.take(dpid);
                        let at_after = after.place(dpid).unwrap_err();
                        after.change().insert(at_after, Arc::clone(&before.switches[at]));
                    }
                    _ => {}
                }
            }
            let nothing = Map::default();
            let mut ports: BTreeMap<SwitchPort, &MapPort> = BTreeMap::new();
            let mut switches: BTreeMap<DatapathId, ()> = BTreeMap::new();
            for change in before.changes_since(&nothing).into_iter().chain(after.changes_since(&before)) {
                match change {
                    MapChange::SwitchUp(switch) => prop_assert!(switches.insert(switch.dpid, ()).is_none()),
                    MapChange::SwitchDown(dpid) => {
                        prop_assert!(switches.remove(&dpid).is_some());
                        prop_assert!(ports.range(SwitchPort::all_of(dpid)).next().is_none());
                    }
                    MapChange::Port { at, before, now } => {
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
    fn what_is_put_in_as_it_was_makes_no_version() {
        let mut map: Map = (1..4).map(|dpid| switch(dpid, 5, [(1, true)])).collect();
        let before = map.clone();
        assert!(!map.put(switch(2, 5, [(1, true)])) && !map.take(DatapathId(4)));
        assert!(map.is(&before));
        assert!(map.put(switch(2, 5, [(1, false)])) && !map.is(&before));
        assert_eq!((map.changes_since(&before).len(), before.changes_since(&map).len()), (1, 1));
    }

    #[test]
    fn a_switch_that_connected_again_went_and_came() {
        let (mut old, mut new) = (Map::default(), Map::default());
        assert!(old.put(switch(1, 5, [(1, true)])) && !old.put(switch(1, 5, [(1, true)])));
        new.put(switch(1, 9, [(1, true)]));
        let changes = new.changes_since(&old);
        let [MapChange::Port { now: None, .. }, MapChange::SwitchDown(_), up, back] = changes[..]
        else {
            panic!("{changes:?}")
        };
        assert!(matches!(up, MapChange::SwitchUp(_)));
        assert!(matches!(back, MapChange::Port { before: None, now: Some(_), .. }));
        assert!(new.take(DatapathId(1)) && !new.take(DatapathId(1)));
    }
}
