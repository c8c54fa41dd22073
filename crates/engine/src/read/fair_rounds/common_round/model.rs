//! Every interleaving of two workers, each at home with some switches, that serve one another's
//! too. The switches are always full.

use std::collections::{BTreeMap, BTreeSet};

use aldis_control::fair::{Id, Visit, Weight};
use loom::sync::atomic::AtomicU64 as Watched;
use loom::sync::{Arc, Mutex};

use super::*;

const QUANTUM: u32 = 10;

struct ModelHome {
    rounds: Rounds,
    /// The connections being visited, and since which round.
    visited: BTreeMap<Id, u64>,
    /// Whether a connection came into this round late, from a visit that had begun in an earlier
    /// one.
    is_joined: bool,
}

impl ModelHome {
    fn new(switches: u32) -> Mutex<ModelHome> {
        let mut rounds = Rounds::new(QUANTUM);
        for id in (0..switches).map(Id) {
            rounds.join(id, Weight::ONE);
            rounds.arrive(id);
        }
        Mutex::new(ModelHome { rounds, visited: BTreeMap::new(), is_joined: false })
    }

    fn pick(&mut self) -> Option<Visit> {
        let visit = self.rounds.pick()?;
        self.visited.insert(visit.id, self.rounds.round());
        Some(visit)
    }

    fn done(&mut self, visit: Visit) {
        let began = self.visited.remove(&visit.id);
        self.is_joined |= began != Some(self.rounds.round());
        self.rounds.done(visit.id, visit.allowance, true);
    }
}

struct Shared {
    common: CommonRound<Watched>,
    homes: [Mutex<ModelHome>; 2],
}

impl Shared {
    /// Does something with a home, which follows the common round first.
    fn with<T>(&self, home: usize, act: impl FnOnce(&mut ModelHome) -> T) -> T {
        let mut home = self.homes[home].lock().unwrap();
        let (round, left) = (home.rounds.round(), home.rounds.left_of_round());
        self.common.follow(&mut home.rounds, || QUANTUM);
        assert!(round <= Atomic::load(&self.common.0), "the round went back");
        if home.rounds.round() > round {
            assert!(left == 0 || home.is_joined, "a round began before the end of the one before");
            home.is_joined = false;
        }
        act(&mut home)
    }

    /// A worker serves: its own switches first, then the other's, each for as much as it may use.
    fn serve(&self, worker: usize, mut visits: usize) {
        while visits > 0 {
            let mut order = [worker, 1 - worker].into_iter();
            let found = order.find_map(|home| Some((home, self.with(home, ModelHome::pick)?)));
            if let Some((home, visit)) = found {
                self.with(home, |home| home.done(visit));
                visits -= 1;
                continue;
            }
            let turned = self.common.turn(2, |home| {
                self.with(home, |home| (home.rounds.left_of_round(), home.rounds.next_round()))
            });
            assert_ne!(turned, Turned::Idle, "there is always one that waits");
        }
    }

    /// The connections to be served, when none is being visited.
    fn all(&self, home: usize) -> BTreeSet<u32> {
        let all = |home: &mut ModelHome| {
            assert!(home.visited.is_empty());
            std::iter::from_fn(|| home.rounds.pick_or_turn()).map(|visit| visit.id.0).collect()
        };
        self.with(home, all)
    }
}

/// Two workers with so many switches at home make so many visits each.
fn check(switches: [u32; 2], visits: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let homes = switches.map(ModelHome::new);
        let shared = Arc::new(Shared { common: CommonRound::default(), homes });
        let other = Arc::clone(&shared);
        let other = loom::thread::spawn(move || other.serve(1, visits));
        shared.serve(0, visits);
        other.join().unwrap();
        for (home, switches) in switches.into_iter().enumerate() {
            assert_eq!(shared.all(home), (0..switches).collect(), "a switch was lost");
        }
    });
}

/// Both come to the end of a round at once, while the other may be far ahead: the round is turned
/// once, and never back.
#[test]
fn a_round_never_goes_back() {
    check([1, 1], 3);
}

/// No worker begins a round while a switch that waited has not had its turn in the one before,
/// wherever it is at home; and no switch is lost.
#[test]
fn nobody_begins_the_next_round_early_and_no_switch_is_lost() {
    check([2, 1], 2);
}
