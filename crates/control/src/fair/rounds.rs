//! Deficit round robin over new and old switches.
//!
//! In each round every switch may use as much as its weight times the quantum. Those that were
//! idle, come with some of it left, and had little to say the last time, are served first, once a
//! round; so a switch that asks rarely waits neither for those that never stop nor for those that
//! come and go with much. A switch that comes again with little waits for the next round, for each
//! visit has a cost, and many small ones would take all of the round. It does not wait where no
//! other does, or where there is time ([`Rounds::let_again`]) and it used little of the round. A
//! switch that comes with much has a turn in the round that runs, unless such turns brought less
//! than half of what the one before did. Then it asks for less than its share, gets all of it with
//! a visit a round, and joins the next round behind the others. What was used beyond the quantum is
//! a debt, paid in later rounds. Debts and what was used of the round survive idleness: a switch
//! that goes idle and comes back, or hangs up and connects again, gains nothing.
//!
//! The new and the old are FQ-CoDel's (RFC 8290 §4.1 and §4.2, which hands every newcomer a fresh
//! quantum, and sends a queue that was new to the end of the old, for the same reason), the
//! deficits Shreedhar and Varghese's (*Efficient Fair Queuing using Deficit Round Robin*, §3), the
//! weights Maestro's (§3.2.4: a switch with weight w has w chances a round).
//!
//! ```text
//!  arrive ──▶ new ──┐
//!     │             ├─▶ pick ──▶ being visited ──▶ done ──▶ idle, or parked
//!     ├────▶ now ───┘                               │
//!     │       ▲ ▲                                   │ more, and something left of the round
//!     │       │ └───────────────────────────────────┤
//!     │       │ turn                                │ more, and nothing left
//!     └──▶  later  ◀────────────────────────────────┘
//! ```
//!
//! A round is over when nothing is left in `new` and `now`. Where each worker has `Rounds` of its
//! own, one that is through may [`Rounds::pick`] from another's; picking never begins a round.
//! [`Rounds::turn_to`] does, for all of them in step, and that keeps the shares max-min over all
//! workers.
//!
//! Every operation is O(1), and none allocates once the largest id has joined; `pick` passes over
//! those in debt, once a round each, so what a visit uses beyond its allowance should be less than
//! a quantum. For one thread: where it is shared, it stands behind a lock.

mod account;
mod list;
mod sparse;

use alloc::vec::Vec;

use super::Weight;
use account::Account;
use list::{Link, List};
use sparse::SparseState;

/// Names an entry: a small number, chosen by the caller, free again once the entry left. The
/// largest one that ever joined determines the memory, some 50 bytes each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id(pub u32);

/// The turn of one switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    /// The entry that is visited.
    pub id: Id,
    /// What it may use now, in the unit of the quantum; at least 1.
    pub allowance: u32,
}

/// The rounds of one worker, or those that all workers share.
#[derive(Clone, Debug)]
pub struct Rounds {
    entries: Vec<Entry>,
    links: Vec<Link>,
    /// Were idle, have something left of this round, and used little the last time.
    new: List,
    /// Have their turn in this round.
    now: List,
    /// Have their turn in another round.
    later: List,
    round: u64,
    /// The first round in which an entry of `later` is out of debt.
    soonest: u64,
    /// Of this round.
    quantum: u32,
    /// Of the rounds to come.
    next_quantum: u32,
    /// How many entries that had a turn in a round may come first in it once more.
    again: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    account: Account,
    state: EntryState,
    sparse: SparseState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EntryState {
    Absent,
    Idle,
    /// It has something to be served, and cannot be: it arrives when it can.
    Parked,
    New,
    /// In `now` when that round has come, and in `later` before.
    Old {
        due: u64,
    },
    /// Between `pick` and `done`. `again` says that it arrived meanwhile.
    Visited {
        again: bool,
    },
}

const NEVER: u64 = u64::MAX;

/// A visit is light if it used no more than one part in so many of the quantum. An entry that comes
/// first once more used no more than that part of its weight times the quantum in the round.
const LIGHT: u32 = 8;

/// How many may come first once more, at most, however long none did.
const AGAIN_MAX: u32 = 16;

impl Rounds {
    /// Without entries, in round 0. What a weight of 1 may use in a round is the `quantum`: in
    /// requests, bytes or anything else, at least 1.
    pub fn new(quantum: u32) -> Rounds {
        Rounds {
            entries: Vec::new(),
            links: Vec::new(),
            new: List::EMPTY,
            now: List::EMPTY,
            later: List::EMPTY,
            round: 0,
            soonest: NEVER,
            quantum: quantum.max(1),
            next_quantum: quantum.max(1),
            again: 0,
        }
    }

    /// Adds an entry, idle, which has nothing to spend before the next round. One of that id that
    /// was there goes.
    pub fn join(&mut self, id: Id, weight: Weight) {
        self.leave(id);
        let at = id.0 as usize;
        if at >= self.entries.len() {
            let nobody = Entry {
                account: Account::new(Weight::ONE, 0),
                state: EntryState::Absent,
                sparse: SparseState::default(),
            };
            self.entries.resize(at + 1, nobody);
            self.links.resize(at + 1, Link::NONE);
        }
        let account = Account::new(weight, self.round);
        self.entries[at] =
            Entry { account, state: EntryState::Idle, sparse: SparseState::default() };
    }

    /// Removes an entry, wherever it is; a visit of it needs no `done` any more.
    pub fn leave(&mut self, id: Id) {
        let Some(entry) = self.entries.get_mut(id.0 as usize) else { return };
        match core::mem::replace(&mut entry.state, EntryState::Absent) {
            EntryState::New => self.new.unlink(&mut self.links, id),
            EntryState::Old { due } if due <= self.round => self.now.unlink(&mut self.links, id),
            EntryState::Old { .. } => self.later.unlink(&mut self.links, id),
            EntryState::Absent
            | EntryState::Idle
            | EntryState::Parked
            | EntryState::Visited { .. } => {}
        }
        self.check();
    }

    /// Removes all entries, and gives their memory back.
    pub fn clear(&mut self) {
        let (round, next_quantum) = (self.round, self.next_quantum);
        *self = Rounds::new(self.quantum);
        (self.round, self.next_quantum) = (round, next_quantum);
    }

    /// The entry has something to be served: its socket became readable. Calls beyond the first
    /// change nothing.
    #[inline]
    pub fn arrive(&mut self, id: Id) {
        let anyone_waits = self.now.len() + self.later.len() > 0;
        let Some(entry) = self.entries.get_mut(id.0 as usize) else { return };
        match &mut entry.state {
            EntryState::Visited { again } => *again = true,
            EntryState::Parked => self.resume(id),
            EntryState::Idle => {
                let once_more = anyone_waits && entry.account.round() == self.round;
                entry.account.idled_until(self.round, self.quantum);
                let may_again = self.again > 0 && entry.account.used_little(self.quantum, LIGHT);
                let light = entry.sparse.is_light(self.quantum / LIGHT);
                match (entry.account.may_spend(), light) {
                    (true, true) if !once_more || may_again => {
                        self.again -= u32::from(once_more);
                        entry.state = EntryState::New;
                        self.new.push_back(&mut self.links, id);
                    }
                    (true, false) if !anyone_waits || entry.sparse.may_come_early() => {
                        entry.state = EntryState::Old { due: self.round };
                        self.now.push_back(&mut self.links, id);
                    }
                    _ => self.postpone(id),
                }
            }
            EntryState::Absent | EntryState::New | EntryState::Old { .. } => {}
        }
        self.check();
    }

    /// The next turn in this round, the new entries first. None if the round is over, or only waits
    /// for visits to be done. What is picked must be [`Rounds::done`].
    #[inline]
    pub fn pick(&mut self) -> Option<Visit> {
        if let Some(id) = self.new.pop_front(&mut self.links) {
            return Some(self.visit(id));
        }
        while let Some(id) = self.now.pop_front(&mut self.links) {
            let account = &mut self.entries[id.0 as usize].account;
            account.waited_until(self.round, self.quantum);
            if account.may_spend() {
                return Some(self.visit(id));
            }
            self.postpone(id);
        }
        None
    }

    /// [`Rounds::pick`], beginning the next round where this one is over: for rounds that keep step
    /// with no others.
    pub fn pick_or_turn(&mut self) -> Option<Visit> {
        loop {
            if let Some(visit) = self.pick() {
                return Some(visit);
            }
            if !self.turn() {
                return None;
            }
        }
    }

    /// A visit is over. It used so much, which may be more than its allowance; `more` says that
    /// something is left to be served.
    #[inline]
    pub fn done(&mut self, id: Id, used: u32, more: bool) {
        let Some(entry) = self.entries.get_mut(id.0 as usize) else { return };
        let EntryState::Visited { again } = entry.state else { return };
        entry.account.spend(used);
        entry.sparse.visited(used);
        if !(more || again) {
            entry.state = EntryState::Idle;
            return;
        }
        entry.account.waited_until(self.round, self.quantum);
        if entry.account.may_spend() {
            entry.state = EntryState::Old { due: self.round };
            self.now.push_back(&mut self.links, id);
        } else {
            self.postpone(id);
        }
        self.check();
    }

    /// A visit is over, as in [`Rounds::done`], and the entry cannot be served now, though it may
    /// have more to say: too much of it is on its way with others. It arrives when it can be, goes
    /// on before others of its kind, and is owed the rounds between.
    pub fn park(&mut self, id: Id, used: u32) {
        match self.entries.get_mut(id.0 as usize) {
            Some(entry) if entry.state == (EntryState::Visited { again: false }) => {
                entry.account.spend(used);
                entry.state = EntryState::Parked;
            }
            _ => self.done(id, used, false),
        }
    }

    /// Begins the next round, if this one is over and an entry waits for it. Rounds in which all
    /// would have been in debt are skipped.
    pub fn turn(&mut self) -> bool {
        match self.next_round() {
            Some(next) if self.left_of_round() == 0 => {
                self.turn_to(next);
                true
            }
            _ => false,
        }
    }

    /// Begins this round, if it is later than the one that runs. What is left of that comes first,
    /// and keeps what it had.
    pub fn turn_to(&mut self, round: u64) {
        if round <= self.round {
            return;
        }
        self.round = round;
        self.soonest = NEVER;
        self.quantum = self.next_quantum;
        self.now.append(&mut self.links, &mut self.later);
        self.check();
    }

    /// The number of the round that runs.
    #[inline]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The first round in which an entry that waits for another round has a turn; none if none
    /// waits.
    pub fn next_round(&self) -> Option<u64> {
        (self.later.len() > 0).then(|| self.soonest.max(self.round + 1))
    }

    /// How many may still have a turn in this round, without those that are being visited.
    #[inline]
    pub fn left_of_round(&self) -> usize {
        self.new.len() + self.now.len()
    }

    /// What a weight of 1 may use in the round that runs.
    #[inline]
    pub fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Lets so many come first once more, of the entries that had a turn in the round and come
    /// again with little: for each time in which others were served for so long that such a visit
    /// is cheap beside it.
    #[inline]
    pub fn let_again(&mut self, more: u32) {
        self.again = self.again.saturating_add(more).min(AGAIN_MAX);
    }

    /// Changes what a weight of 1 may use in a round, from the next round on; at least 1.
    pub fn set_quantum(&mut self, quantum: u32) {
        self.next_quantum = quantum.max(1);
    }

    /// Changes an entry's weight, from its next round on.
    pub fn set_weight(&mut self, id: Id, weight: Weight) {
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            entry.account.set_weight(weight);
        }
    }

    /// The laws of the lists, as far as their ends show them: an entry is in the list that its
    /// state names, and in no other.
    #[inline]
    fn check(&self) {
        let lists = [&self.new, &self.now, &self.later];
        lists.iter().for_each(|list| list.check(&self.links));
        debug_assert!(lists.map(List::len).iter().sum::<usize>() <= self.entries.len());
        let all = |list: &List, is: fn(EntryState, u64) -> bool| {
            list.ends().all(|id| is(self.entries[id.0 as usize].state, self.round))
        };
        debug_assert!(all(&self.new, |state, _| state == EntryState::New));
        debug_assert!(all(&self.now, |state, round| {
            matches!(state, EntryState::Old { due } if due <= round)
        }));
        debug_assert!(all(&self.later, |state, round| {
            matches!(state, EntryState::Old { due } if due > round)
        }));
        debug_assert!(self.quantum > 0 && self.next_quantum > 0 && self.again <= AGAIN_MAX);
    }

    #[inline]
    fn visit(&mut self, id: Id) -> Visit {
        let entry = &mut self.entries[id.0 as usize];
        entry.state = EntryState::Visited { again: false };
        let visit = Visit { id, allowance: entry.account.allowance() };
        self.check();
        visit
    }

    /// It was parked in the middle of its turn, and so it comes before others of its kind.
    fn resume(&mut self, id: Id) {
        let entry = &mut self.entries[id.0 as usize];
        entry.account.waited_until(self.round, self.quantum);
        if entry.account.may_spend() {
            entry.state = EntryState::Old { due: self.round };
            self.now.push_front(&mut self.links, id);
        } else {
            self.postpone(id);
        }
    }

    #[inline]
    fn postpone(&mut self, id: Id) {
        let entry = &mut self.entries[id.0 as usize];
        entry.state = EntryState::Old { due: self.round + 1 };
        let wait = entry.account.rounds_in_debt(self.quantum);
        self.soonest = self.soonest.min(self.round.saturating_add(wait));
        self.later.push_back(&mut self.links, id);
    }
}

#[cfg(test)]
mod tests;
