//! What the workers make of canned switches, in every design.

use std::time::{Duration, Instant};

use super::*;
use crate::sim::Responder;

/// Requests that each switch makes in all: many visits of 2 KB, and some of 64 KB.
const REQUESTS: u64 = 5_000;

#[test]
fn every_request_is_answered_with_one_flow() {
    let recipe = Recipe::default().with(Responder::default);
    for design in Design::ALL {
        let plan = Plan {
            design,
            workers: 2,
            cores: vec![],
            switches: 5,
            hosts: 100,
            limit: Some(REQUESTS),
        };
        let canned = Canned::start(&plan, &recipe).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !canned.answered().all(|answers| answers >= REQUESTS) {
            assert!(Instant::now() < deadline, "{}: {canned:?}", design.name);
            std::thread::yield_now();
        }
        assert!(canned.is_learnt(), "{}", design.name);
        let (total, switches) = (canned.snapshot().total, canned.switches.clone());
        canned.stop();
        let answered: Vec<u64> = switches.iter().map(|switch| switch.answered()).collect();
        assert_eq!(answered, [REQUESTS; 5], "{}", design.name);
        assert_eq!(total.requests, 5 * REQUESTS, "{}", design.name);
    }
}
