//! The path log: the paths that all workers installed, and the flows that are on their way.
//!
//! A worker writes down what a batch did ([`PathUpdates`]), and commits it. A worker
//! that finds the maintenance free applies all updates that were committed; one that finds it taken
//! leaves its updates and goes on, so that no worker waits for another one's paths. A worker that
//! acts on a change of the World applies what is left first: it comes after the last batch that
//! knew the old one, so every path of that is there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aldis_control::{Commands, SwitchPort};

use super::encoder::Encoder;
use super::flooded::Flooded;
use super::maintenance::Maintenance;
use super::paths::AT_ONCE;
use super::planner::IN_FLIGHT;
use super::rule::{Key, Rule};
use super::switches::ConnectedSwitches;
use crate::learning_switch::Seed;
use crate::recent_set::RecentSet;

/// Requests whose flows may be on their way at once: what a core answers in [`IN_FLIGHT`]. Where
/// there are more, flows are sent twice. Two megabytes, a large page of memory.
const IN_FLIGHT_MAX: usize = 1 << 18;

/// Paths of updates that wait. While a batch is applied, which takes milliseconds, others commit
/// some thousands. Further ones are not remembered, but counted.
const WAITING_MAX: usize = 1 << 16;

/// Empty updates that are kept for reuse.
const SPARE_MAX: usize = 16;

/// Shared by the instances of the application.
#[derive(Debug)]
pub struct PathLog {
    seed: Seed,
    in_flight: Arc<RecentSet>,
    strays: RecentSet,
    flooded: Flooded,
    queue: Mutex<UpdateQueue>,
    maintenance: Mutex<Maintenance>,
}

#[derive(Debug, Default)]
struct UpdateQueue {
    waiting: VecDeque<PathUpdates>,
    notes: usize,
    spare: Vec<PathUpdates>,
    refused: u64,
}

/// The updates of a batch: the paths that it installed, and those that expired.
#[derive(Debug, Default)]
pub(super) struct PathUpdates {
    notes: Vec<Note>,
    rules: Vec<Rule>,
}

#[derive(Clone, Copy, Debug)]
enum Note {
    Installed { key: Key, ends: (SwitchPort, SwitchPort), rules: usize },
    Expired { key: Key, from: SwitchPort },
}

impl Note {
    /// The flow that it is about, and where that begins.
    fn flow(&self) -> (Key, SwitchPort) {
        match *self {
            Note::Installed { key, ends: (from, _), .. } | Note::Expired { key, from } => {
                (key, from)
            }
        }
    }
}

impl PathUpdates {
    /// A path is being installed.
    pub(super) fn installed(&mut self, key: Key, ends: (SwitchPort, SwitchPort), rules: &[Rule]) {
        self.notes.push(Note::Installed { key, ends, rules: rules.len() });
        self.rules.extend_from_slice(rules);
    }

    /// The flow of a path's first hop is gone.
    pub(super) fn expired(&mut self, key: Key, from: SwitchPort) {
        self.notes.push(Note::Expired { key, from });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    fn clear(&mut self) {
        self.notes.clear();
        self.rules.clear();
    }
}

impl PathLog {
    /// With room to remember `paths_max` paths.
    pub fn new(paths_max: usize) -> PathLog {
        PathLog {
            seed: Seed::random(),
            in_flight: Arc::new(RecentSet::new(IN_FLIGHT_MAX, IN_FLIGHT)),
            strays: RecentSet::new(IN_FLIGHT_MAX, IN_FLIGHT),
            flooded: Flooded::default(),
            queue: Mutex::default(),
            maintenance: Mutex::new(Maintenance::new(paths_max)),
        }
    }

    /// Paths that are remembered, and those for which there was no room. Waits for the worker that
    /// applies updates just now.
    pub fn tally(&self) -> (usize, u64) {
        let refused = taken(&self.queue).refused;
        let maintenance = taken(&self.maintenance);
        (maintenance.paths().len(), maintenance.paths().refused() + refused)
    }

    /// What the caches of all workers spread flows by.
    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// The flows that are on their way.
    pub(super) fn in_flight(&self) -> Arc<RecentSet> {
        Arc::clone(&self.in_flight)
    }

    /// What was flooded a moment ago.
    pub(super) fn flooded(&self) -> &Flooded {
        &self.flooded
    }

    /// The packets that were met between switches.
    pub(super) fn strays(&self) -> &RecentSet {
        &self.strays
    }

    /// Commits updates, which are empty then. What is to be removed because of them is written to
    /// `commands`.
    pub(super) fn commit(
        &self,
        updates: &mut PathUpdates,
        (encoder, switches): (&Encoder, &ConnectedSwitches),
        commands: &mut Commands,
    ) {
        self.leave(updates);
        if let Ok(mut maintenance) = self.maintenance.try_lock() {
            self.go_through(&mut maintenance, (encoder, switches), commands);
        }
    }

    /// The maintenance, with all updates applied.
    pub(super) fn maintenance(
        &self,
        (encoder, switches): (&Encoder, &ConnectedSwitches),
        commands: &mut Commands,
    ) -> MutexGuard<'_, Maintenance> {
        let mut maintenance = taken(&self.maintenance);
        self.go_through(&mut maintenance, (encoder, switches), commands);
        maintenance
    }

    /// The maintenance, if it has paths in doubt and is free.
    pub(super) fn maintenance_in_doubt(&self) -> Option<MutexGuard<'_, Maintenance>> {
        self.maintenance.try_lock().ok().filter(|maintenance| maintenance.is_in_doubt())
    }

    fn leave(&self, updates: &mut PathUpdates) {
        let mut queue = taken(&self.queue);
        if queue.notes + updates.notes.len() > WAITING_MAX {
            queue.refused += updates.notes.len() as u64;
            updates.clear();
            return;
        }
        queue.notes += updates.notes.len();
        let blank = queue.spare.pop().unwrap_or_default();
        queue.waiting.push_back(std::mem::replace(updates, blank));
    }

    fn go_through(
        &self,
        maintenance: &mut Maintenance,
        (encoder, switches): (&Encoder, &ConnectedSwitches),
        commands: &mut Commands,
    ) {
        while let Some(mut updates) = self.next() {
            let mut rules = &updates.rules[..];
            for notes in updates.notes.chunks(AT_ONCE) {
                let near = maintenance.foresee(notes.iter().map(Note::flow));
                for (note, near) in notes.iter().zip(near) {
                    match *note {
                        Note::Installed { key, ends, rules: count } => {
                            let (these, others) = rules.split_at(count);
                            rules = others;
                            if !maintenance.paths().has(near, key, ends, these) {
                                let remove = maintenance.installed(key, ends, these);
                                encoder.remove(switches, &key, remove, commands);
                            }
                        }
                        Note::Expired { key, from } => maintenance.expired(key, from),
                    }
                }
            }
            updates.clear();
            let mut queue = taken(&self.queue);
            if queue.spare.len() < SPARE_MAX {
                queue.spare.push(updates);
            }
        }
    }

    fn next(&self) -> Option<PathUpdates> {
        let mut queue = taken(&self.queue);
        let updates = queue.waiting.pop_front()?;
        queue.notes -= updates.notes.len();
        Some(updates)
    }
}

/// Nothing is half done where a worker panicked: what was noted is noted.
fn taken<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
