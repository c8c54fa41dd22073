//! Maintenance of installed paths: they are led around links that go, and forgotten with their
//! hosts.

use aldis_control::SwitchPort;

use super::path::{Found, PathSearch};
use super::paths::{AT_ONCE, Paths, Reroute};
use super::rule::{Key, Rule};
use crate::hosts::Identity;
use crate::routing::Routes;

/// Remembers the paths that were installed, and says which rules a change asks for.
#[derive(Debug)]
pub struct Maintenance {
    paths: Paths,
    search: PathSearch,
    remove: Vec<Rule>,
    /// Places of paths of which it has to be looked whether their hosts are where they were: so
    /// many, from the place `doubt_at` on.
    doubted: u32,
    doubt_at: u32,
}

/// Places that are looked at in one go: half a millisecond.
const DOUBTED_AT_ONCE: u32 = 8192;

impl Maintenance {
    /// With room to remember `paths_max` paths.
    pub fn new(paths_max: usize) -> Maintenance {
        let (paths, search, remove) = (Paths::new(paths_max), PathSearch::default(), Vec::new());
        Maintenance { paths, search, remove, doubted: 0, doubt_at: 0 }
    }

    /// What it remembers.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Paths of these flows were installed, and are told of soon. Returns where each may be by now.
    pub(super) fn foresee(&self, flows: impl Iterator<Item = (Key, SwitchPort)>) -> [u32; AT_ONCE] {
        self.paths.foresee(flows)
    }

    /// A path was installed. The rules of the one that the flow had before, which no new rule
    /// replaces, are to be removed.
    pub fn installed(
        &mut self,
        key: Key,
        ends: (SwitchPort, SwitchPort),
        rules: &[Rule],
    ) -> &[Rule] {
        self.remove.clear();
        self.paths.insert(key, ends, rules, &mut self.remove);
        &self.remove
    }

    /// The flow of the first hop is gone, and so will be the others: forgets the path.
    pub fn expired(&mut self, key: Key, from: SwitchPort) {
        self.remove.clear();
        self.paths.remove(key, from, &mut self.remove);
    }

    /// Another version of the routes: plans every path again that went over a link which is gone.
    /// Those that still hold stay as they are, though a better way may have appeared.
    pub fn reroute(
        &mut self,
        before: &Routes,
        routes: &Routes,
        mut each: impl FnMut(&Reroute<'_>),
    ) {
        let lost = routes.graph().lost(before.graph());
        for path in sorted(lost.flat_map(|end| self.paths.leaving(end))) {
            let Some((key, ends)) = self.paths.ends(path) else { continue };
            self.remove.clear();
            match self.search.find(routes, &key, ends) {
                Found::Path => self.paths.insert(key, ends, self.search.rules(), &mut self.remove),
                Found::Back | Found::Nothing => self.paths.remove(key, ends.0, &mut self.remove),
            }
            let (install, remove) = (self.search.rules(), &self.remove);
            each(&Reroute { key, from: ends.0, install, remove });
        }
    }

    /// The host is not where it was, or gone: forgets all paths from it and to it. `each` gets
    /// their rules, to be removed.
    pub fn forget_host(&mut self, host: Identity, each: impl FnMut(&Reroute<'_>)) {
        let paths = sorted(self.paths.of_host(host));
        self.forget(paths, each);
    }

    /// The port is down: forgets all paths that end there, likewise.
    pub fn forget_port(&mut self, end: SwitchPort, each: impl FnMut(&Reroute<'_>)) {
        let paths = sorted(self.paths.leaving(end));
        self.forget(paths, each);
    }

    /// More happened to hosts than the log remembers: of every path it has to be checked whether it
    /// still leads to its host ([`Maintenance::look_again`]).
    pub fn doubt_all(&mut self) {
        self.doubted = self.paths.places();
    }

    /// Whether there are paths of which that has to be looked.
    pub fn is_in_doubt(&self) -> bool {
        self.doubted > 0
    }

    /// Looks at some of the paths that are in doubt, in turn. Forgets those whose receiver is not
    /// where they end, likewise; `places` appends where the receivers are.
    pub fn look_again(
        &mut self,
        mut places: impl FnMut(&[Identity], &mut Vec<Option<SwitchPort>>),
        mut each: impl FnMut(&Reroute<'_>),
    ) {
        let mut looked_at = self.doubted.min(DOUBTED_AT_ONCE);
        self.doubted -= looked_at;
        let (mut doubtful, mut receivers, mut found) = (vec![], vec![], vec![]);
        while looked_at > 0 {
            let some = looked_at.min(AT_ONCE as u32);
            looked_at -= some;
            for _ in 0..some {
                if self.doubt_at >= self.paths.places() {
                    self.doubt_at = 0;
                }
                if let Some((key, (_, to))) = self.paths.ends(self.doubt_at) {
                    doubtful.push((self.doubt_at, to));
                    receivers.push(Identity { mac: key.dst, vlan: key.host_vlan() });
                }
                self.doubt_at += 1;
            }
            places(&receivers, &mut found);
            let moved =
                doubtful.drain(..).zip(found.drain(..)).filter(|((_, to), at)| *at != Some(*to));
            let moved = moved.map(|((path, _), _)| path).collect();
            receivers.clear();
            self.forget(moved, &mut each);
        }
    }

    fn forget(&mut self, paths: Vec<u32>, mut each: impl FnMut(&Reroute<'_>)) {
        for path in paths {
            let Some((key, (from, _))) = self.paths.ends(path) else { continue };
            self.remove.clear();
            self.paths.remove(key, from, &mut self.remove);
            each(&Reroute { key, from, install: &[], remove: &self.remove });
        }
    }
}

/// Each once, in order.
fn sorted(paths: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut paths: Vec<u32> = paths.collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
