//! What the simulation shows of the designs: one scenario a file, over every design that it
//! concerns.

use std::time::Duration;

use aldis_control::stats::SwitchSnapshot;

use super::*;
use crate::design::{self, Design};

mod costs;
mod fairness;
mod order;
mod scaling;
mod stuck;

fn app_set() -> AppSet {
    AppSet::default().with(SimResponder::default)
}

/// As the papers' machines had it, nearly: requests cost microseconds. It also makes simulated time
/// cheap.
fn dear() -> Costs {
    Costs { request_ns: 2_000.0, ..Costs::default() }
}

fn named(name: &str) -> Design {
    name.parse().expect("a design of that name")
}

fn full(count: usize) -> Vec<SimulatedSwitch> {
    vec![SimulatedSwitch::new(Offer::Full); count]
}

fn plan(design: Design, workers: usize, switches: Vec<SimulatedSwitch>) -> SimPlan {
    SimPlan { costs: dear(), ..SimPlan::new(design, workers, switches) }
}

fn simulated(plan: &SimPlan) -> SimOutcome {
    run(plan, &app_set()).expect("a plan that makes sense")
}

#[test]
fn the_same_plan_has_the_same_outcome_and_another_seed_another() {
    for design in Design::ALL {
        let mut switches = vec![SimulatedSwitch::new(Offer::Poisson(9e4)); 5];
        switches.extend(full(3));
        let duration = Duration::from_millis(30);
        let one = SimPlan { duration, jitter: 0.5, ..plan(design, 3, switches) };
        let first = simulated(&one);
        assert_eq!(first, simulated(&one), "{}", design.name);
        assert_ne!(first, simulated(&SimPlan { seed: 2, ..one }), "{}", design.name);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let good = plan(Design::default(), 1, full(1));
    let refused = |plan: SimPlan| run(&plan, &app_set()).err();
    assert_eq!(refused(SimPlan { workers: 0, ..good.clone() }), Some(SimPlanError::Workers(0)));
    assert_eq!(refused(SimPlan { workers: 65, ..good.clone() }), Some(SimPlanError::Workers(65)));
    assert_eq!(
        refused(SimPlan { switches: vec![], ..good.clone() }),
        Some(SimPlanError::Switches(0))
    );
    assert_eq!(refused(SimPlan { jitter: 2.0, ..good.clone() }), Some(SimPlanError::Jitter(2.0)));
    for rate in [0.0, -1.0, f64::INFINITY] {
        let switches = vec![SimulatedSwitch::new(Offer::Periodic(rate))];
        assert_eq!(refused(SimPlan { switches, ..good.clone() }), Some(SimPlanError::Rate(rate)));
    }
    let switches = vec![SimulatedSwitch::new(Offer::Steps(vec![]))];
    assert!(matches!(refused(SimPlan { switches, ..good.clone() }), Some(SimPlanError::Rate(_))));
    let [first, every] = [Duration::ZERO; 2];
    let steps = vec![(1.0, Duration::MAX)];
    let switches =
        vec![SimulatedSwitch::new(Offer::Turns { steps, first, every, makes_up_for: every })];
    assert_eq!(refused(SimPlan { switches, ..good.clone() }), Some(SimPlanError::Turns(every)));
    let design = Design { write: design::Write::Immediate, ..Design::default() };
    assert!(matches!(refused(SimPlan { design, ..good }), Some(SimPlanError::Design(_))));
}

/// One worker, one request at a time: every cost that the answer needs, and nothing else, is in its
/// delay.
#[test]
fn a_lonely_request_takes_what_it_costs() {
    let one = SimPlan::new(named("beacon"), 1, vec![SimulatedSwitch::new(Offer::Periodic(100.0))]);
    let delay = &simulated(&one).switches[0].delay_ns;
    assert_eq!(delay.count(), 100);
    let Costs { wake_ns, poll_ns, poll_event_ns, read_ns, request_ns, write_ns, .. } = one.costs;
    let least = wake_ns + poll_ns + poll_event_ns + read_ns + request_ns + write_ns;
    let (min, max) = (delay.min() as f64, delay.max() as f64);
    assert!(min > least && max < least + 3_000.0, "{min} to {max}, more than {least}");
}

/// Also where others answer than read. At most 400 requests wait, of 2 µs each, and a batch takes
/// some 150 µs.
#[test]
fn the_batching_delay_begins_with_the_first_read() {
    for name in ["maestro-shared-queue", "maestro-round-robin"] {
        let total = simulated(&plan(named(name), 2, full(4))).snapshot.total;
        let delay = total.batching_delay_ns;
        let least = total.handling_time_ns.quantile(500);
        assert!(least > 0 && delay.quantile(500) >= least, "{name}: {delay:?}");
        assert!(delay.quantile(999) < 10_000_000, "{name}: {delay:?}");
    }
}

#[test]
fn counters_are_shown_while_it_goes_on_and_at_the_end() {
    let long =
        SimPlan { duration: Duration::from_millis(50), ..plan(Design::default(), 2, full(5)) };
    let mut seen = Vec::new();
    let mut watch = |at, snapshot: &Snapshot| seen.push((at, snapshot.total.requests));
    let outcome = run_and_watch(&long, &app_set(), Duration::from_millis(10), &mut watch).unwrap();
    assert!((5..=6).contains(&seen.len()), "{seen:?}");
    assert!(seen[0].0 < Duration::from_millis(1) && seen[0].1 > 0, "{seen:?}");
    assert!(seen.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{seen:?}");
    assert_eq!(seen.last(), Some(&(long.duration, outcome.snapshot.total.requests)));
    // No other switch was disturbed.
    assert_eq!(Some(outcome), run(&long, &app_set()).ok());
}

/// What is counted of switches is what their workers count, seen from the other side.
#[test]
fn switches_and_workers_count_the_same() {
    for design in Design::ALL {
        let short = Duration::from_millis(30);
        let it = simulated(&SimPlan { duration: short, ..plan(design, 3, full(5)) }).snapshot;
        let (name, total) = (design.name, &it.total);
        let of = |count: fn(&SwitchSnapshot) -> u64| -> u64 { it.switches.iter().map(count).sum() };
        // The first visits are those of the handshake.
        let (visits, waits) =
            (of(|it| it.counts.visits), of(|it| it.spread.queue_waits_ns.count()));
        assert!(waits > 0 && (waits..=waits + 50).contains(&visits), "{name}: {waits} of {visits}");
        assert_eq!(of(|it| it.counts.batches), of(|it| it.spread.batch_size.count()), "{name}");
        assert_eq!(of(|it| it.counts.revisits), total.revisits, "{name}");
        // A switch that is skipped at the end was not revisited yet.
        assert!(of(|it| it.counts.skips) <= total.skips, "{name}");
        if name == "maestro-round-robin" {
            assert!(of(|it| it.counts.skips) > 0, "{name}: nobody was skipped");
        }
        let written = of(|it| it.spread.write_time_ns.count());
        assert!(written > 0 && written <= total.writes, "{name}: {written} of {}", total.writes);
        assert_eq!(written, of(|it| it.spread.handling_time_ns.count()), "{name}");
        assert_eq!(written, of(|it| it.spread.batching_delay_ns.count()), "{name}");
    }
}
