//! Every interleaving of something that comes for a switch with two workers that serve it: its
//! claim and the rounds, behind the lock of its home, say the same in the end.

use aldis_control::fair::Weight;
use loom::sync::atomic::AtomicU32 as Watched;
use loom::sync::{Arc, Mutex};

use super::*;
use crate::conn::claim::{Claim, Events};

const ID: Id = Id(0);

struct Shared {
    claim: Claim<Watched>,
    rounds: Mutex<Rounds>,
}

impl Shared {
    fn announce(&self) {
        if self.claim.announce(Events::READABLE) {
            self.rounds.lock().unwrap().arrive(ID);
        }
    }

    /// A worker serves the switch, if it is its turn. Where it has more to say that cannot be
    /// served now, it is parked.
    fn serve(&self, parks: bool) {
        let mut rounds = self.rounds.lock().unwrap();
        let Some(visit) = rounds.pick_or_turn() else { return };
        if self.claim.claim().is_none() {
            return rounds.done(visit.id, 0, false);
        }
        drop(rounds);
        let queued = self.claim.release(false);
        let mut rounds = self.rounds.lock().unwrap();
        match parks && !queued {
            true => rounds.park(ID, 1),
            false => rounds.done(ID, 1, queued),
        }
    }
}

/// A connection that is queued when all is quiet has a turn: whether it was announced before,
/// during or after a visit that was its last.
#[test]
fn nobody_who_is_queued_is_without_a_turn() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let mut rounds = Rounds::new(10);
        rounds.join(ID, Weight::ONE);
        let shared = Arc::new(Shared { claim: Claim::default(), rounds: Mutex::new(rounds) });
        shared.announce();
        let [comes, helps] = [0; 2].map(|_| Arc::clone(&shared));
        let comes = loom::thread::spawn(move || (0..2).for_each(|_| comes.announce()));
        let helps = loom::thread::spawn(move || helps.serve(true));
        shared.serve(false);
        comes.join().unwrap();
        helps.join().unwrap();
        let has_turn = shared.rounds.lock().unwrap().pick_or_turn().is_some();
        assert!(has_turn || !shared.claim.is_queued(), "forgotten");
    });
}
