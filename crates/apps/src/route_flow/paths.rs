//! The paths that were installed: by flow, by the links that they go over, and by their hosts.
//!
//! Bounded, and all of it in a few arrays: a path holds one seat in the row of each port that it
//! leaves a switch by, and in the rows of its two hosts. It leaves at the same cost however many
//! others there are.

mod blocks;
mod flow_index;
mod rows;

use core::hash::BuildHasher;

use foldhash::fast::RandomState;

use aldis_control::SwitchPort;

use super::rule::{Key, Rule};
use crate::hosts::Identity;
use crate::learning_switch::simd::prefetch;
use blocks::{Block, Blocks};
use flow_index::FlowIndex;
use rows::{Mark, Rows};

/// Flows that are looked for together.
pub(super) const AT_ONCE: usize = 64;

/// Paths that can be told apart: what finds one by its flow has 32 bits for it, and to begin its
/// search by.
const PATHS_MAX: usize = 1 << 30;

/// What becomes of a path: install all of `install` in this order or none, then remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reroute<'p> {
    /// The flow.
    pub key: Key,
    /// Where it comes in.
    pub from: SwitchPort,
    /// Its new rules, the last hop's first; none where there is no way any more.
    pub install: &'p [Rule],
    /// Rules that no longer hold, the first hop's first. None of them matches what a new one
    /// matches: those are replaced.
    pub remove: &'p [Rule],
}

/// Installed paths.
#[derive(Debug)]
pub struct Paths {
    max: usize,
    hasher: RandomState,
    by_flow: FlowIndex,
    paths: Vec<Option<Path>>,
    free: Vec<u32>,
    rules: Blocks<Rule>,
    seats: Blocks<Seat>,
    rows: Rows,
    refused: u64,
}

#[derive(Debug)]
struct Path {
    key: Key,
    from: SwitchPort,
    to: SwitchPort,
    // The last hop's first.
    rules: Block,
    // One for each rule, and two for the hosts.
    seats: Block,
}

impl Path {
    /// Whether it is this flow's, which comes in there.
    #[inline]
    fn is_of(&self, key: Key, from: SwitchPort) -> bool {
        (self.key, self.from) == (key, from)
    }
}

/// A path's place in a row.
#[derive(Clone, Copy, Debug)]
struct Seat {
    path: u32,
    row: u32,
    place: u32,
}

impl Paths {
    /// With room for `max` of them.
    pub fn new(max: usize) -> Paths {
        Paths {
            max: max.min(PATHS_MAX),
            hasher: RandomState::default(),
            by_flow: FlowIndex::default(),
            paths: Vec::new(),
            free: Vec::new(),
            rules: Blocks::default(),
            seats: Blocks::default(),
            rows: Rows::default(),
            refused: 0,
        }
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.by_flow.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Paths for which there was no room. Where a link of theirs goes, their packets are requests
    /// again at the switch before it, once the flows that lead there are removed.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Remembers the path of a flow, in place of another that it had. Appends to `remove` the rules
    /// of that which no new rule replaces.
    pub fn insert(
        &mut self,
        key: Key,
        ends: (SwitchPort, SwitchPort),
        rules: &[Rule],
        remove: &mut Vec<Rule>,
    ) {
        let (from, to) = ends;
        let hash = self.hash(key, from);
        if let Some(path) = self.find(hash, key, from).and_then(|at| self.path(at)) {
            if self.is_same(path, ends, rules) {
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
        let at = self.free.pop().unwrap_or_else(|| {
            self.paths.push(None);
            self.paths.len() as u32 - 1
        });
        let nowhere = Seat { path: at, row: 0, place: 0 };
        let seats = self.seats.take((0..rules.len() + 2).map(|_| nowhere));
        let ports = rules.iter().map(|rule| Mark::Port(SwitchPort::of(rule.dpid, rule.out_port)));
        let hosts =
            [key.src, key.dst].map(|mac| Mark::Host(Identity { mac, vlan: key.host_vlan() }));
        for (seat, mark) in seats.places().zip(ports.chain(hosts)) {
            let (row, place) = self.rows.join(mark, seat);
            *self.seats.item_mut(seat) = Seat { path: at, row, place };
        }
        let rules = self.rules.take(rules.iter().copied());
        self.paths[at as usize] = Some(Path { key, from, to, rules, seats });
        self.by_flow.insert(hash, at);
    }

    /// Whether the path of a flow is just this one, and stands where [`Paths::foresee`] said.
    #[inline]
    pub(super) fn has(
        &self,
        near: u32,
        key: Key,
        ends: (SwitchPort, SwitchPort),
        rules: &[Rule],
    ) -> bool {
        self.path(near)
            .is_some_and(|path| path.is_of(key, ends.0) && self.is_same(path, ends, rules))
    }

    /// Paths of these flows will be inserted soon: what is known of them is on its way until then.
    /// Returns at which place each may be. At most [`AT_ONCE`] are heeded.
    pub(super) fn foresee(&self, flows: impl Iterator<Item = (Key, SwitchPort)>) -> [u32; AT_ONCE] {
        let mut hashes = [0; AT_ONCE];
        let mut count = 0;
        for (place, (key, from)) in hashes.iter_mut().zip(flows) {
            *place = self.hash(key, from);
            self.by_flow.ask_for(*place);
            count += 1;
        }
        let mut near = [0; AT_ONCE];
        for (place, hash) in near.iter_mut().zip(&hashes[..count]) {
            *place = self.by_flow.glance(*hash).number;
            if let Some(path) = self.paths.get(*place as usize) {
                prefetch(path);
            }
        }
        let found = near[..count].iter().filter_map(|&at| self.path(at));
        for path in found.filter(|path| path.from.dpid != path.to.dpid) {
            if let Some(rule) = self.rules.of(path.rules).first() {
                prefetch(rule);
            }
        }
        near
    }

    /// Forgets the path of a flow. Appends its rules to `remove`, the first hop's first.
    pub fn remove(&mut self, key: Key, from: SwitchPort, remove: &mut Vec<Rule>) {
        let hash = self.hash(key, from);
        let Some(at) = self.find(hash, key, from) else { return };
        self.by_flow.remove(hash, at);
        let Some(path) = self.paths[at as usize].take() else { return };
        for seat in path.seats.places() {
            let Seat { row, place, .. } = *self.seats.item(seat);
            if let Some(moved) = self.rows.leave((row, place)) {
                self.seats.item_mut(moved).place = place;
            }
        }
        remove.extend(self.rules.of(path.rules).iter().rev());
        self.rules.give_back(path.rules);
        self.seats.give_back(path.seats);
        self.free.push(at);
    }

    /// The rules of a flow's path, the last hop's first.
    pub fn rules(&self, key: Key, from: SwitchPort) -> Option<&[Rule]> {
        let at = self.find(self.hash(key, from), key, from)?;
        self.path(at).map(|path| self.rules.of(path.rules))
    }

    /// The paths that leave a switch by this port.
    pub(super) fn leaving(&self, end: SwitchPort) -> impl Iterator<Item = u32> {
        self.row(Mark::Port(end))
    }

    /// The paths from a host and to it.
    pub(super) fn of_host(&self, host: Identity) -> impl Iterator<Item = u32> {
        self.row(Mark::Host(host))
    }

    /// Places of paths, those counted that none has just now.
    pub(super) fn places(&self) -> u32 {
        self.paths.len() as u32
    }

    /// The flow of a path, and where it begins and ends.
    pub(super) fn ends(&self, path: u32) -> Option<(Key, (SwitchPort, SwitchPort))> {
        let path = self.path(path)?;
        Some((path.key, (path.from, path.to)))
    }

    /// Whether no seat is taken.
    #[cfg(test)]
    pub(super) fn is_clear(&self) -> bool {
        self.rows.is_empty() && self.seats.taken() + self.rules.taken() == 0
    }

    fn hash(&self, key: Key, from: SwitchPort) -> u64 {
        self.hasher.hash_one((key, from))
    }

    fn find(&self, hash: u64, key: Key, from: SwitchPort) -> Option<u32> {
        self.by_flow.find(hash, |at| self.path(at).is_some_and(|path| path.is_of(key, from)))
    }

    /// Whether it goes this way: within a switch there is one rule, and the ends say which.
    #[inline]
    fn is_same(&self, path: &Path, (from, to): (SwitchPort, SwitchPort), rules: &[Rule]) -> bool {
        path.to == to && (from.dpid == to.dpid || self.rules.of(path.rules) == rules)
    }

    #[inline]
    fn path(&self, at: u32) -> Option<&Path> {
        self.paths.get(at as usize)?.as_ref()
    }

    fn row(&self, mark: Mark) -> impl Iterator<Item = u32> {
        self.rows.of(mark).iter().map(|&seat| self.seats.item(seat).path)
    }
}
