//! Throughput over workers, and the writes it takes.

use aldis_control::batching::Ibt;

use super::*;
use crate::design::Batching;

fn throughput(name: &str, workers: usize, switches: usize) -> f64 {
    let duration = Duration::from_millis(200);
    let outcome = simulated(&SimPlan { duration, ..plan(named(name), workers, full(switches)) });
    outcome.throughput()
}

/// Maestro's figure 16.
#[test]
fn four_switches_keep_more_than_four_workers_busy_where_workers_share_them() {
    for name in ["fair-rounds", "maestro-round-robin"] {
        let [four, eight] = [4, 8].map(|workers| throughput(name, workers, 4));
        assert!(eight > 1.5 * four, "{name}: {four} and {eight}");
    }
    let [four, eight] = [4, 8].map(|workers| throughput("maestro-static-partition", workers, 4));
    assert!(eight < 1.01 * four, "static partition: {four} and {eight}");
}

#[test]
fn throughput_grows_with_the_workers() {
    for name in ["fair-rounds", "maestro-static-partition", "maestro-dynamic-partition"] {
        let [one, sixteen] = [1, 16].map(|workers| throughput(name, workers, 80));
        assert!(sixteen > 14.0 * one, "{name}: {one} and {sixteen}");
    }
}

/// Several visits of a switch in one batch: the answers are one write, unless the knob says
/// otherwise.
#[test]
fn output_batching_writes_once_a_batch_to_each_switch() {
    let writes_a_batch = |output_batching| {
        let design = Design {
            batching: Batching::Fixed(Ibt::new(1000).unwrap()),
            output_batching,
            ..named("maestro-round-robin")
        };
        let total = simulated(&plan(design, 1, full(4))).snapshot.total;
        total.writes as f64 / total.batches as f64
    };
    let (with, without) = (writes_a_batch(true), writes_a_batch(false));
    assert!(with < 5.0 && without > 30.0, "{with} with, {without} without");
}

/// A thread that reads and a worker that answers hand each other batches of some microseconds. They
/// look on meanwhile: in turn asleep, each would wait for the other to wake up.
#[test]
fn workers_that_wait_for_the_queue_between_them_hardly_sleep() {
    let batching = Batching::Fixed(Ibt::new(400).unwrap());
    let design = Design { batching, ..named("maestro-shared-queue") };
    let duration = Duration::from_millis(50);
    let plan = SimPlan { duration, ..SimPlan::new(design, 1, full(79)) };
    let total = simulated(&plan).snapshot.total;
    let (batches, wakeups) = (total.batches, total.wakeups);
    assert!(wakeups * 5 < batches, "{wakeups} times in {batches} batches");
}

/// The default's batches: of one switch that has more to say than was read, or very little; of
/// several where each has said all that it had to say.
#[test]
fn a_batch_is_of_several_switches_unless_one_has_more_to_say_or_little() {
    let visits_a_batch = |count, offer: Offer| {
        let switches = vec![SimulatedSwitch::new(offer); count];
        let duration = Duration::from_millis(50);
        let plan = SimPlan { duration, ..SimPlan::new(named("fair-rounds"), 1, switches) };
        let total = simulated(&plan).snapshot.total;
        total.visits as f64 / total.batches as f64
    };
    let (full, little) = (visits_a_batch(64, Offer::Full), visits_a_batch(64, Offer::Poisson(1e4)));
    let some = visits_a_batch(8, Offer::Poisson(2.5e6));
    assert!(full < 1.1 && little < 1.2 && some > 1.5, "{full}, {little} and {some}");
}

/// Threads that read are what a shared queue is short of: with request binding less goes from their
/// cores to the others.
#[test]
fn a_shared_queue_serves_more_where_requests_are_bound_to_the_worker_that_pulls_them() {
    let served = |request_binding| {
        let design = Design { request_binding, ..named("maestro-shared-queue") };
        let duration = Duration::from_millis(100);
        let plan = SimPlan { duration, ..SimPlan::new(design, 7, full(79)) };
        simulated(&plan).throughput()
    };
    let (bound, unbound) = (served(true), served(false));
    assert!(bound > unbound, "{bound} bound, {unbound} unbound");
}
