//! Every interleaving of a switch that leaves, and of one that takes its number, with a worker that
//! knows the one that left.

use loom::sync::atomic::AtomicU32 as Watched;

use super::*;
use crate::conn::claim::{Claim, Events};
use crate::sync::models::Loom;

type ModelSwitch = Claim<Watched>;

/// A worker's look at the first number, as it is known to it.
fn look(shared: &Shared<ModelSwitch, Loom>, known: &Known<ModelSwitch>) {
    if shared.ready.next(0, known.switches.len()).is_none() {
        return;
    }
    match known.at(0).filter(|switch| switch.claim().is_some()) {
        Some(switch) if switch.release(false) => shared.ready.set(0),
        _ => shared.forget(known, 0, Claim::is_queued),
    }
}

/// A connection that is queued at the end is in the ready set, and every worker that looks knows
/// it.
#[test]
fn who_takes_a_number_is_not_forgotten_with_who_had_it() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    let stats = Arc::<WorkerStats>::default();
    model.check(move || {
        let shared = loom::sync::Arc::new(Shared::<ModelSwitch, Loom>::with_room(1));
        let mut known = Known { switches: Vec::new(), version: versioned::UNSEEN };
        shared.enter(0, &Arc::default());
        shared.ready.set(0);
        shared.refresh(&mut known, &stats);
        let newcomer = Arc::new(ModelSwitch::default());
        let home = (loom::sync::Arc::clone(&shared), Arc::clone(&newcomer));
        let home = loom::thread::spawn(move || {
            let (shared, newcomer) = home;
            shared.erase(0);
            shared.enter(0, &newcomer);
            for _ in 0..2 {
                if newcomer.announce(Events::READABLE) {
                    shared.ready.set(0);
                }
            }
        });
        look(&shared, &known);
        shared.refresh(&mut known, &stats);
        look(&shared, &known);
        look(&shared, &known);
        home.join().unwrap();
        assert!(!newcomer.is_queued() || shared.ready.next(0, 1).is_some(), "forgotten");
        shared.refresh(&mut known, &stats);
        assert!(known.at(0).is_some_and(|it| Arc::ptr_eq(it, &newcomer)), "unknown");
    });
}
