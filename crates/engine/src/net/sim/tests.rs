//! What the simulation shows of the designs: one scenario a file, over every design that it concerns.

use std::time::Duration;

use super::*;
use crate::design::{self, Design};

mod costs;
mod fairness;
mod order;
mod scaling;
mod stuck;

fn recipe() -> Recipe {
    Recipe::default().with(Responder::default)
}

/// As the papers' machines had it, nearly: requests cost microseconds. It also makes simulated time cheap.
fn dear() -> Costs {
    Costs { request_ns: 2_000.0, ..Costs::default() }
}

fn named(name: &str) -> Design {
    name.parse().expect("a design of that name")
}

fn full(count: usize) -> Vec<Switch> {
    vec![Switch::new(Offer::Full); count]
}

fn plan(design: Design, workers: usize, switches: Vec<Switch>) -> Plan {
    Plan { costs: dear(), ..Plan::new(design, workers, switches) }
}

fn simulated(plan: &Plan) -> Outcome {
    run(plan, &recipe()).expect("a plan that makes sense")
}

#[test]
fn the_same_plan_has_the_same_outcome_and_another_seed_another() {
    for design in Design::ALL {
        let mut switches = vec![Switch::new(Offer::Poisson(9e4)); 5];
        switches.extend(full(3));
        let duration = Duration::from_millis(30);
        let one = Plan { duration, jitter: 0.5, ..plan(design, 3, switches) };
        let first = simulated(&one);
        assert_eq!(first, simulated(&one), "{}", design.name);
        assert_ne!(first, simulated(&Plan { seed: 2, ..one }), "{}", design.name);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let good = plan(Design::default(), 1, full(1));
    let refused = |plan: Plan| run(&plan, &recipe()).err();
    assert_eq!(refused(Plan { workers: 0, ..good.clone() }), Some(Refused::Workers(0)));
    assert_eq!(refused(Plan { workers: 65, ..good.clone() }), Some(Refused::Workers(65)));
    assert_eq!(refused(Plan { switches: vec![], ..good.clone() }), Some(Refused::Switches(0)));
    assert_eq!(refused(Plan { jitter: 2.0, ..good.clone() }), Some(Refused::Jitter(2.0)));
    for rate in [0.0, -1.0, f64::INFINITY] {
        let switches = vec![Switch::new(Offer::Periodic(rate))];
        assert_eq!(refused(Plan { switches, ..good.clone() }), Some(Refused::Rate(rate)));
    }
    let switches = vec![Switch::new(Offer::Steps(vec![]))];
    assert!(matches!(refused(Plan { switches, ..good.clone() }), Some(Refused::Rate(_))));
    let design = Design { write: design::Write::Immediate, ..Design::default() };
    assert!(matches!(refused(Plan { design, ..good }), Some(Refused::Design(_))));
}

/// One worker, one request at a time: every cost that the answer needs, and nothing else, is in its delay.
#[test]
fn a_lonely_request_takes_what_it_costs() {
    let one = Plan::new(named("beacon"), 1, vec![Switch::new(Offer::Periodic(100.0))]);
    let delay = &simulated(&one).switches[0].delay_ns;
    assert_eq!(delay.count(), 100);
    let Costs { wake_ns, poll_ns, poll_event_ns, read_ns, request_ns, write_ns, .. } = one.costs;
    let least = wake_ns + poll_ns + poll_event_ns + read_ns + request_ns + write_ns;
    let (min, max) = (delay.min() as f64, delay.max() as f64);
    assert!(min > least && max < least + 3_000.0, "{min} to {max}, more than {least}");
}
