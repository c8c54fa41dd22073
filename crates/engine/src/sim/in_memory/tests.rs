//! What the workers make of switches in memory, in every design.

use std::time::{Duration, Instant};

use aldis_control::batching::Ibt;

use super::*;
use crate::design::{Batching, Read};
use crate::sim::SimResponder;

/// Requests that each switch makes in all: many visits of 2 KB, and some of 64 KB.
const REQUESTS: u64 = 5_000;

/// A message that is no flow request waits for the requests before it, of its own switch alone: not
/// until the worker that reads has nothing at all in hand, which under load it may never have.
#[test]
fn a_fence_passes_though_batches_are_large() {
    let app_set = AppSet::default().with(SimResponder::default);
    let batching = Batching::Fixed(Ibt::new(3_000).unwrap());
    let queues = Design::ALL.into_iter().filter_map(|design| {
        let large = Design { batching, ..design };
        let queues = matches!(design.read, Read::SharedQueue { .. });
        (queues && large.check().is_ok()).then_some(large)
    });
    for design in queues {
        let plan =
            MemoryPlan { design, workers: 1, cores: vec![], switches: 79, hosts: 100, limit: None };
        let in_memory = InMemory::start(&plan, &app_set).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        // Its handshake ends with a barrier.
        while !in_memory.is_learnt() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let is_learnt = in_memory.is_learnt();
        in_memory.stop();
        assert!(is_learnt, "{}", design.name);
    }
}

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
