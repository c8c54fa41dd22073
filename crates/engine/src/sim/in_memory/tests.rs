//! What the workers make of switches in memory, in every design.

use std::time::{Duration, Instant};

use super::*;
use crate::sim::SimResponder;

/// Requests that each switch makes in all: many visits of 2 KB, and some of 64 KB.
const REQUESTS: u64 = 5_000;

#[test]
fn every_request_is_answered_with_one_flow() {
    let app_set = AppSet::default().with(SimResponder::default);
    for design in Design::ALL {
        let plan = MemoryPlan {
            design,
            workers: 2,
            cores: vec![],
            switches: 5,
            hosts: 100,
            limit: Some(REQUESTS),
        };
        let in_memory = InMemory::start(&plan, &app_set).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !in_memory.answered().all(|answers| answers >= REQUESTS) {
            assert!(Instant::now() < deadline, "{}: {in_memory:?}", design.name);
            std::thread::yield_now();
        }
        assert!(in_memory.is_learnt(), "{}", design.name);
        let (total, switches) = (in_memory.snapshot().total, in_memory.switches.clone());
        in_memory.stop();
        let answered: Vec<u64> = switches.iter().map(|switch| switch.answered()).collect();
        assert_eq!(answered, [REQUESTS; 5], "{}", design.name);
        assert_eq!(total.requests, 5 * REQUESTS, "{}", design.name);
    }
}
