//! What becomes of paths once they are installed.

use super::paths::{Paths, Reroute};
use super::rule::{Key, Rule};
use super::way::{Found, Way};
use crate::hosts::Identity;
use crate::place::SwitchPort;
use crate::routing::Routes;

/// Remembers the paths that were installed, and says which rules a change asks for.
#[derive(Debug)]
pub struct Keeper {
    paths: Paths,
    way: Way,
    remove: Vec<Rule>,
}

impl Keeper {
    /// With room to remember `paths_max` paths.
    pub fn new(paths_max: usize) -> Keeper {
        Keeper { paths: Paths::new(paths_max), way: Way::default(), remove: Vec::new() }
    }

    /// What it remembers.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Paths of these flows were installed, and are told of soon.
    pub(super) fn foresee(&self, flows: impl Iterator<Item = (Key, SwitchPort)>) {
        self.paths.foresee(flows);
    }

    /// A path was installed. The rules of the one that the flow had before, which no new rule replaces, are to be removed.
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

    /// Another version of the routes: plans every path again that went over a link which is gone. Those that still hold stay
    /// as they are, though a better way may have appeared.
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
            match self.way.find(routes, &key, ends) {
                Found::Way => self.paths.insert(key, ends, self.way.rules(), &mut self.remove),
                Found::Back | Found::Nothing => self.paths.remove(key, ends.0, &mut self.remove),
            }
            let (install, remove) = (self.way.rules(), &self.remove);
            each(&Reroute { key, from: ends.0, install, remove });
        }
    }

    /// The host is not where it was, or gone: forgets all paths from it and to it. `each` gets their rules, to be removed.
    pub fn forget_host(&mut self, host: Identity, each: impl FnMut(&Reroute<'_>)) {
        let paths = sorted(self.paths.of_host(host));
        self.forget(paths, each);
    }

    /// The port is down: forgets all paths that end there, likewise.
    pub fn forget_port(&mut self, end: SwitchPort, each: impl FnMut(&Reroute<'_>)) {
        let paths = sorted(self.paths.leaving(end));
        self.forget(paths, each);
    }

    /// Forgets all paths whose host is not said to be where they end, likewise.
    pub fn forget_unless(
        &mut self,
        stays: impl Fn(&Key, SwitchPort) -> bool,
        each: impl FnMut(&Reroute<'_>),
    ) {
        let paths = self.paths.all().filter(|(_, key, (_, to))| !stays(key, *to));
        let paths = paths.map(|(path, ..)| path).collect();
        self.forget(paths, each);
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
