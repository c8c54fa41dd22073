//! Nothing is lost, nothing is answered twice, nothing waits for ever, and fences stay in their
//! place.

use super::*;

/// Everything that was offered was answered, once, in the order that fences ask for; and nothing is
/// left unread. The fences here are echo requests, which are none where they pass requests.
fn all_is_well(outcome: &SimOutcome, design: &Design, what: &str) {
    for (index, switch) in outcome.switches.iter().enumerate() {
        let what = format!("{what}, switch {index}: {switch:?}");
        assert!(switch.up && switch.closed.is_none(), "{what}");
        assert_eq!(switch.answered, switch.offered, "{what}");
        assert_eq!((switch.strays, switch.unread), (0, 0), "{what}");
        assert!(switch.disorder == 0 || design.passes_requests(), "{what}");
    }
}

/// A world of chance: designs, workers, switches of every kind, and costs that waver.
fn any_plan(seed: u64) -> SimPlan {
    let mut dice = dice::Dice::new(seed);
    let mut one_of = |count: usize| (dice.next() % count as u64) as usize;
    let design = Design::ALL[seed as usize % Design::ALL.len()];
    let workers = [1, 2, 2, 3, 4, 7, 16, 64][one_of(8)];
    let switches = (0..1 + one_of(12)).map(|_| {
        let offer = match one_of(4) {
            0 => Offer::Full,
            1 => Offer::Periodic([1e4, 1e5, 1e6][one_of(3)]),
            _ => Offer::Poisson([1e4, 1e5, 1e6][one_of(3)]),
        };
        SimulatedSwitch {
            limit: Some([1, 30, 200][one_of(3)]),
            fence_every: [None, Some(1), Some(7), Some(40)][one_of(4)],
            reads: [ReadSpeed::AtOnce, ReadSpeed::AtOnce, ReadSpeed::BytesPerSecond(1e6)]
                [one_of(3)],
            offer,
        }
    });
    let switches = switches.collect();
    let costs = if one_of(2) == 0 { dear() } else { Costs::default() };
    let spin = workers < 4 && one_of(3) == 0;
    SimPlan { costs, jitter: 0.5, spin, seed, ..plan(design, workers, switches) }
}

#[test]
fn every_request_of_every_world_is_answered_once_and_in_order() {
    for seed in 0..440 {
        let plan = any_plan(seed);
        let what = format!("seed {seed}, {} with {}", plan.design.name, plan.workers);
        all_is_well(&simulated(&plan), &plan.design, &what);
    }
}

#[test]
fn fences_stay_in_their_place_however_many_workers_there_are() {
    for design in Design::ALL {
        for workers in [2, 4, 16, 64] {
            let switch = SimulatedSwitch {
                limit: Some(2_000),
                fence_every: Some(37),
                ..SimulatedSwitch::new(Offer::Full)
            };
            let world = SimPlan { jitter: 0.3, ..plan(design, workers, vec![switch; 5]) };
            let outcome = simulated(&world);
            all_is_well(&outcome, &design, &format!("{} with {workers}", design.name));
            assert!(outcome.switches.iter().all(|switch| switch.fences == 2_000 / 37));
        }
    }
}

#[test]
fn a_switch_that_moves_loses_nothing_and_keeps_its_order() {
    let design = Design {
        read: design::Read::DynamicPartition { period: Duration::from_millis(10), hysteresis: 5 },
        ..named("maestro-dynamic-partition")
    };
    for workers in [2, 5] {
        // Every 35 ms chance says which core is busy.
        let mut dice = dice::Dice::new(workers as u64);
        let mut step = |_| {
            let rate = if dice.next().is_multiple_of(3) { 6e4 } else { 2e3 };
            (rate, Duration::from_millis(35))
        };
        let switch = |_| SimulatedSwitch {
            limit: Some(8_000),
            fence_every: Some(5),
            ..SimulatedSwitch::new(Offer::Steps((0..30).map(&mut step).collect()))
        };
        let switches = (0..12).map(switch).collect();
        let outcome = simulated(&SimPlan { jitter: 0.2, ..plan(design, workers, switches) });
        all_is_well(&outcome, &design, &format!("{workers} workers"));
        let moves = outcome.snapshot.total.moves;
        assert!(moves > 20, "{moves} moves");
    }
}
