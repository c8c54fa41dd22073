//! What all workers know together: the paths that were installed, and what is on its way.
//!
//! A worker writes on a [`Page`] what a batch did, and hands it in. Whoever finds the keeper free
//! goes through all pages that were handed in; who finds it taken leaves its page and goes on, so
//! that no worker waits for another one's paths. Who acts on a change of the World goes through
//! what is left first: it comes after the last batch that knew the old one, so every path of that
//! is there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aldis_control::Commands;

use super::fleet::Fleet;
use super::flooded::Flooded;
use super::keeper::Keeper;
use super::paths::AT_ONCE;
use super::pen::Pen;
use super::planner::IN_FLIGHT;
use super::rule::{Key, Rule};
use crate::learning_switch::Seed;
use crate::recent_set::RecentSet;
use aldis_control::SwitchPort;

/// Requests whose flows may be on their way at once: what a core answers in [`IN_FLIGHT`]. Where
/// there are more, flows are sent twice. Two megabytes, a large page of memory.
const IN_FLIGHT_MAX: usize = 1 << 18;

/// Paths on pages that wait. While a batch is gone through, which takes milliseconds, others hand
/// in some thousands. Further ones are not remembered, and counted.
const WAITING_MAX: usize = 1 << 16;

/// Empty pages that are kept.
const SPARE_MAX: usize = 16;

/// Shared by the instances of the application.
#[derive(Debug)]
pub struct Book {
    seed: Seed,
    in_flight: Arc<RecentSet>,
    strays: RecentSet,
    flooded: Flooded,
    desk: Mutex<Desk>,
    keeper: Mutex<Keeper>,
}

#[derive(Debug, Default)]
struct Desk {
    waiting: VecDeque<Page>,
    notes: usize,
    spare: Vec<Page>,
    refused: u64,
}

/// What a batch did.
#[derive(Debug, Default)]
pub(super) struct Page {
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

impl Page {
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

impl Book {
    /// With room to remember `paths_max` paths.
    pub fn new(paths_max: usize) -> Book {
        Book {
            seed: Seed::random(),
            in_flight: Arc::new(RecentSet::new(IN_FLIGHT_MAX, IN_FLIGHT)),
            strays: RecentSet::new(IN_FLIGHT_MAX, IN_FLIGHT),
            flooded: Flooded::default(),
            desk: Mutex::default(),
            keeper: Mutex::new(Keeper::new(paths_max)),
        }
    }

    /// Paths that are remembered, and those for which there was no room. Waits for who goes through
    /// pages just now.
    pub fn tally(&self) -> (usize, u64) {
        let refused = taken(&self.desk).refused;
        let keeper = taken(&self.keeper);
        (keeper.paths().len(), keeper.paths().refused() + refused)
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

    /// Hands a page in; it is empty then. What is to be removed because of it is said to `commands`.
    pub(super) fn hand_in(
        &self,
        page: &mut Page,
        (pen, fleet): (&Pen, &Fleet),
        commands: &mut Commands,
    ) {
        self.leave(page);
        if let Ok(mut keeper) = self.keeper.try_lock() {
            self.go_through(&mut keeper, (pen, fleet), commands);
        }
    }

    /// The keeper, who knows of all that was handed in.
    pub(super) fn keeper(
        &self,
        (pen, fleet): (&Pen, &Fleet),
        commands: &mut Commands,
    ) -> MutexGuard<'_, Keeper> {
        let mut keeper = taken(&self.keeper);
        self.go_through(&mut keeper, (pen, fleet), commands);
        keeper
    }

    /// The keeper, if it has paths in doubt and nobody else has it.
    pub(super) fn keeper_in_doubt(&self) -> Option<MutexGuard<'_, Keeper>> {
        self.keeper.try_lock().ok().filter(|keeper| keeper.is_in_doubt())
    }

    fn leave(&self, page: &mut Page) {
        let mut desk = taken(&self.desk);
        if desk.notes + page.notes.len() > WAITING_MAX {
            desk.refused += page.notes.len() as u64;
            page.clear();
            return;
        }
        desk.notes += page.notes.len();
        let blank = desk.spare.pop().unwrap_or_default();
        desk.waiting.push_back(std::mem::replace(page, blank));
    }

    fn go_through(
        &self,
        keeper: &mut Keeper,
        (pen, fleet): (&Pen, &Fleet),
        commands: &mut Commands,
    ) {
        while let Some(mut page) = self.next() {
            let mut rules = &page.rules[..];
            for notes in page.notes.chunks(AT_ONCE) {
                keeper.foresee(notes.iter().map(Note::flow));
                for note in notes {
                    match *note {
                        Note::Installed { key, ends, rules: count } => {
                            let (these, others) = rules.split_at(count);
                            rules = others;
                            let remove = keeper.installed(key, ends, these);
                            pen.remove(fleet, &key, remove, commands);
                        }
                        Note::Expired { key, from } => keeper.expired(key, from),
                    }
                }
            }
            page.clear();
            let mut desk = taken(&self.desk);
            if desk.spare.len() < SPARE_MAX {
                desk.spare.push(page);
            }
        }
    }

    fn next(&self) -> Option<Page> {
        let mut desk = taken(&self.desk);
        let page = desk.waiting.pop_front()?;
        desk.notes -= page.notes.len();
        Some(page)
    }
}

/// Nothing is half done where somebody panicked: what was noted is noted.
fn taken<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
