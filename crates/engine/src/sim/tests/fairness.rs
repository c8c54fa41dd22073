//! Shares against weighted max-min shares (Maestro §4.1, figures 7 and 8).

use super::*;

/// The papers' number of switches.
const SWITCHES: usize = 79;

/// Each with its largest deviation that is allowed.
const FAIR: [(&str, f64); 3] =
    [("fair-rounds", 0.005), ("maestro-round-robin", 0.01), ("maestro-shared-queue", 0.01)];

fn judge(what: &str, loosely: f64, make: impl Fn(usize) -> (Vec<SimulatedSwitch>, design::Knobs)) {
    for (name, allowed) in FAIR {
        for workers in [2, 4, 16] {
            let (switches, knobs) = make(workers);
            // Fair rounds hand out hundreds of requests at a time, the others dozens. A queue's
            // batches grow slowly, each worker's by what it answers itself.
            let share = match name {
                "fair-rounds" => 48_000,
                "maestro-shared-queue" => 64_000,
                _ => 16_000,
            };
            let duration = Duration::from_millis(share / workers.min(12) as u64);
            let outcome =
                simulated(&SimPlan { knobs, duration, ..plan(named(name), workers, switches) });
            let deviation = outcome.deviation_max();
            let what = format!("{what}, {name} with {workers} workers: {deviation}");
            assert!(deviation < (loosely * allowed).min(0.01), "{what}");
        }
    }
}

#[test]
fn who_always_wants_more_gets_an_equal_share() {
    judge("all full", 1.0, |_| (full(SWITCHES), design::Knobs::default()));
}

/// Every fourth wants less than its share, and another fourth a little more. An equal share is
/// about 6,000 requests a second for each worker.
fn unequal(workers: usize) -> Vec<SimulatedSwitch> {
    let offer = |index: usize| match index % 4 {
        0 => Offer::Periodic(workers as f64 * (600.0 + 40.0 * index as f64)),
        1 => Offer::Periodic(workers as f64 * 8_000.0),
        _ => Offer::Full,
    };
    (0..SWITCHES).map(offer).map(SimulatedSwitch::new).collect()
}

#[test]
fn who_wants_less_gets_it_and_the_others_share_the_rest() {
    judge("some below", 1.0, |workers| (unequal(workers), design::Knobs::default()));
}

/// A max-min share needs no more of what a switch wants than whether it wants more than it gets.
#[test]
fn a_switch_that_wants_more_than_its_share_is_told_from_others() {
    for (name, _) in FAIR {
        let outcome = simulated(&plan(named(name), 2, unequal(2)));
        for (switch, counted) in outcome.snapshot.switches.iter().enumerate() {
            let counts = &counted.counts;
            let wants_more = switch % 4 != 0;
            let (full, visits) = (counts.full_visits, counts.visits);
            assert_eq!(2 * full > visits, wants_more, "{name}, {switch}: {full} of {visits}");
        }
    }
}

/// Requests that come one by one cost a visit each to a worker that serves them at once: those of
/// many switches that ask for little would be all that a worker has time for.
#[test]
fn who_asks_for_little_leaves_the_others_their_share() {
    let rate = |rank: usize| 800_000.0 / 5.0 / (1 + rank) as f64;
    let switches: Vec<SimulatedSwitch> =
        (0..SWITCHES).map(|rank| SimulatedSwitch::new(Offer::Poisson(rate(rank)))).collect();
    for name in ["fair-rounds", "maestro-static-partition"] {
        let outcome = simulated(&SimPlan::new(named(name), 1, switches.clone()));
        for (switch, served) in outcome.switches.iter().enumerate() {
            let (answered, demand) = (served.answered_measured as f64, served.demand);
            assert!(answered > 0.98 * demand - 100.0, "{name}, {switch}: {answered} of {demand}");
        }
    }
}

/// Some hundred requests a second are more than one a round, and still do not wait for the others'
/// visits.
#[test]
fn who_asks_for_little_is_served_between_two_visits_to_others() {
    let delay = |busy: usize| {
        let mut switches = full(busy);
        switches.push(SimulatedSwitch::new(Offer::Poisson(500.0)));
        let outcome = simulated(&SimPlan::new(named("fair-rounds"), 1, switches));
        outcome.switches[busy].delay_ns.quantile(900)
    };
    let (few, many) = (delay(4), delay(SWITCHES));
    assert!(many < 2 * few, "{many} ns beside {SWITCHES}, {few} ns beside 4");
}

/// What a static partition is criticised for: the test of the tests.
#[test]
fn a_static_partition_is_not_fair() {
    let outcome = simulated(&plan(named("maestro-static-partition"), 2, unequal(2)));
    assert!(outcome.deviation_max() > 0.1, "{}", outcome.deviation_max());
}

#[test]
fn weights_are_kept() {
    judge("weights 1:2:4", 2.0, |_| {
        let weights = "1-26 = 1\n27-52 = 2\n53-79 = 4".parse().expect("weights");
        (full(SWITCHES), design::Knobs { weights, ..Default::default() })
    });
}

/// Three of the four that are always full begin at one worker, which serves as much as the other
/// one: by what was served nothing would have to move.
#[test]
fn dynamic_partition_divides_by_what_is_offered_and_not_by_what_was_served() {
    let period = Duration::from_millis(10);
    let design = Design {
        read: design::Read::DynamicPartition { period, hysteresis: 5 },
        ..named("maestro-dynamic-partition")
    };
    let (always, seldom) = (Offer::Full, Offer::Periodic(1_000.0));
    let offers = [&always, &seldom, &always, &seldom, &always, &always].map(Clone::clone);
    let switches = offers.map(SimulatedSwitch::new).to_vec();
    let outcome = simulated(&SimPlan {
        warm_up: 5 * period,
        duration: 10 * period,
        ..plan(design, 2, switches)
    });
    let got = [0, 2, 4, 5].map(|at| outcome.switches[at].answered_measured);
    let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
    assert!(most - least < most / 10, "{got:?}");
    let moves = outcome.snapshot.total.moves;
    assert!((1..=3).contains(&moves), "{moves} moves: what is even stays");
}
