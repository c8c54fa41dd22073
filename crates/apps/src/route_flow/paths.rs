//! The paths that were installed: by flow, by the links that they go over, and by their hosts.
//!
//! Bounded, and all of it in a few arrays: a path holds one seat in the row of each port that it leaves a switch by, and in
//! the rows of its two hosts. Seats are linked to their neighbours in the row, so that a path leaves at
//! the same cost however many others there are.

use std::collections::HashMap;

use super::rule::{Key, Rule};
use crate::hosts::Identity;
use crate::place::SwitchPort;

/// No seat.
const NONE: u32 = u32::MAX;

/// What becomes of a path: install all of `install` in this order or none, then remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reroute<'p> {
    /// The flow.
    pub key: Key,
    /// Where it comes in.
    pub from: SwitchPort,
    /// Its new rules, the last hop's first; none where there is no way any more.
    pub install: &'p [Rule],
    /// Rules that no longer hold, the first hop's first. None of them matches what a new one matches: those are replaced.
    pub remove: &'p [Rule],
}

/// Installed paths.
#[derive(Debug)]
pub struct Paths {
    max: usize,
    by_flow: HashMap<(Key, SwitchPort), u32>,
    // The first seat of each row.
    rows: HashMap<Mark, u32>,
    paths: Vec<Option<Path>>,
    seats: Vec<Seat>,
    free_paths: Vec<u32>,
    free_seats: Vec<u32>,
    refused: u64,
}

/// By what a path is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mark {
    Port(SwitchPort),
    Host(Identity),
}

#[derive(Debug)]
struct Path {
    key: Key,
    from: SwitchPort,
    to: SwitchPort,
    // The last hop's first.
    rules: Box<[Rule]>,
    seats: Box<[u32]>,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    path: u32,
    mark: Mark,
    before: u32,
    after: u32,
}

impl Paths {
    /// With room for `max` of them.
    pub fn new(max: usize) -> Paths {
        Paths {
            max: max.min(NONE as usize),
            by_flow: HashMap::new(),
            rows: HashMap::new(),
            paths: Vec::new(),
            seats: Vec::new(),
            free_paths: Vec::new(),
            free_seats: Vec::new(),
            refused: 0,
        }
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.by_flow.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by_flow.is_empty()
    }

    /// Paths for which there was no room. Where a link of theirs goes, their packets are requests again at the switch before
    /// it, once the flows that lead there are removed.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Remembers the path of a flow, in place of another that it had. Appends to `remove` the rules of that which no new rule
    /// replaces.
    pub fn insert(
        &mut self,
        key: Key,
        (from, to): (SwitchPort, SwitchPort),
        rules: &[Rule],
        remove: &mut Vec<Rule>,
    ) {
        if let Some(path) = self.find(key, from) {
            if path.to == to && *path.rules == *rules {
                return;
            }
            let begun = remove.len();
            self.remove(key, from, remove);
            let matches = |a: &Rule, b: &Rule| (a.dpid, a.in_port) == (b.dpid, b.in_port);
            let mut at = begun;
            while at < remove.len() {
                if rules.iter().any(|rule| matches(rule, &remove[at])) {
                    remove.remove(at);
                } else {
                    at += 1;
                }
            }
        }
        if self.len() >= self.max {
            self.refused += 1;
            return;
        }
        let place = self.free_paths.pop().unwrap_or_else(|| {
            self.paths.push(None);
            self.paths.len() as u32 - 1
        });
        let ports = rules.iter().map(|rule| Mark::Port(SwitchPort::of(rule.dpid, rule.out_port)));
        let hosts =
            [key.src, key.dst].map(|mac| Mark::Host(Identity { mac, vlan: key.host_vlan() }));
        let seats = ports.chain(hosts).map(|mark| self.sit(place, mark)).collect();
        let path = Path { key, from, to, rules: rules.into(), seats };
        self.paths[place as usize] = Some(path);
        self.by_flow.insert((key, from), place);
    }

    /// Forgets the path of a flow. Appends its rules to `remove`, the first hop's first.
    pub fn remove(&mut self, key: Key, from: SwitchPort, remove: &mut Vec<Rule>) {
        let Some(place) = self.by_flow.remove(&(key, from)) else { return };
        let Some(path) = self.paths[place as usize].take() else { return };
        path.seats.iter().for_each(|&seat| self.stand(seat));
        remove.extend(path.rules.iter().rev());
        self.free_paths.push(place);
    }

    /// The rules of a flow's path, the last hop's first.
    pub fn rules(&self, key: Key, from: SwitchPort) -> Option<&[Rule]> {
        self.find(key, from).map(|path| &*path.rules)
    }

    /// The paths that leave a switch by this port.
    pub(super) fn leaving(&self, end: SwitchPort) -> impl Iterator<Item = u32> {
        self.row(Mark::Port(end))
    }

    /// The paths from a host and to it.
    pub(super) fn of_host(&self, host: Identity) -> impl Iterator<Item = u32> {
        self.row(Mark::Host(host))
    }

    /// All paths, with what [`Paths::ends`] says of each.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, Key, (SwitchPort, SwitchPort))> {
        let paths = self.paths.iter().zip(0..);
        paths
            .filter_map(|(path, at)| path.as_ref().map(|path| (at, path.key, (path.from, path.to))))
    }

    /// The flow of a path, and where it begins and ends.
    pub(super) fn ends(&self, path: u32) -> Option<(Key, (SwitchPort, SwitchPort))> {
        let path = self.paths.get(path as usize)?.as_ref()?;
        Some((path.key, (path.from, path.to)))
    }

    /// Whether no seat is taken.
    #[cfg(test)]
    pub(super) fn is_clear(&self) -> bool {
        self.rows.is_empty() && self.free_seats.len() == self.seats.len()
    }

    fn find(&self, key: Key, from: SwitchPort) -> Option<&Path> {
        let place = self.by_flow.get(&(key, from))?;
        self.paths[*place as usize].as_ref()
    }

    fn row(&self, mark: Mark) -> impl Iterator<Item = u32> {
        let first = self.rows.get(&mark).copied();
        let after =
            |seat: &u32| Some(self.seats[*seat as usize].after).filter(|&seat| seat != NONE);
        core::iter::successors(first, after).map(|seat| self.seats[seat as usize].path)
    }

    /// Takes the first seat of a row.
    fn sit(&mut self, path: u32, mark: Mark) -> u32 {
        let place = self.free_seats.pop().unwrap_or(self.seats.len() as u32);
        let after = self.rows.insert(mark, place).unwrap_or(NONE);
        if after != NONE {
            self.seats[after as usize].before = place;
        }
        let seat = Seat { path, mark, before: NONE, after };
        match self.seats.get_mut(place as usize) {
            Some(free) => *free = seat,
            None => self.seats.push(seat),
        }
        place
    }

    /// Leaves a seat; a row without any is forgotten.
    fn stand(&mut self, place: u32) {
        let Seat { mark, before, after, .. } = self.seats[place as usize];
        if after != NONE {
            self.seats[after as usize].before = before;
        }
        match (before, after) {
            (NONE, NONE) => _ = self.rows.remove(&mark),
            (NONE, _) => _ = self.rows.insert(mark, after),
            _ => self.seats[before as usize].after = after,
        }
        self.free_seats.push(place);
    }
}
