//! What a cost does to a simulation.

use super::*;
use aldis_control::batching::Ibt;
use aldis_control::stats::Distribution;

/// Round robin with batches of so many requests.
fn gathering(requests: usize) -> Design {
    let batching = design::Batching::Fixed(Ibt::new(requests).unwrap());
    Design { batching, ..named("maestro-round-robin") }
}

fn throughput(design: &str, costs: Costs) -> f64 {
    let plan = SimPlan { costs, ..plan(named(design), 1, full(4)) };
    let plan = SimPlan { duration: Duration::from_millis(200), ..plan };
    simulated(&plan).throughput()
}

#[test]
fn interruptions_take_their_part_of_the_time() {
    for design in ["fair-rounds", "maestro-static-partition"] {
        let undisturbed = throughput(design, dear());
        for away_ns in [5_000.0, 50_000.0] {
            let disturbed = throughput(design, Costs { away_pct: 25.0, away_ns, ..dear() });
            let part = undisturbed / disturbed - 1.0;
            assert!((part - 0.25).abs() < 0.05, "{design}, {away_ns} ns each: {part}");
        }
    }
}

#[test]
fn a_write_that_answers_several_visits_costs_for_each() {
    let throughput = |ibt, joined_ns| {
        let costs = Costs { joined_ns, ..Costs::default() };
        let duration = Duration::from_millis(50);
        simulated(&SimPlan { costs, duration, ..plan(gathering(ibt), 1, full(4)) }).throughput()
    };
    // Once around four switches is a hundred requests.
    assert!(throughput(90, 0.0) < 1.01 * throughput(90, 3_000.0));
    assert!(throughput(900, 0.0) > 1.2 * throughput(900, 3_000.0));
}

#[test]
fn what_a_visit_brings_to_a_batch_is_paid_for_each() {
    let of = |batch_ns| {
        let costs = Costs { batch_ns, request_ns: 0.0, ..Costs::default() };
        simulated(&SimPlan { costs, ..plan(gathering(1000), 1, full(4)) }).throughput()
    };
    // 25 requests a visit: a microsecond of each.
    let more_ns = (1.0 / of(25_000.0) - 1.0 / of(0.0)) * 1e9;
    assert!((900.0..1100.0).contains(&more_ns), "{more_ns} ns a request");
}

/// With a queue, either core has its part of a visit. Without one, the same core has both.
#[test]
fn the_end_of_a_visit_is_paid_by_the_core_that_answers() {
    let of = |name: &str, finish_pct| {
        let costs = Costs { visit_ns: 40_000.0, finish_pct, ..Costs::default() };
        simulated(&SimPlan { costs, ..plan(named(name), 1, full(4)) }).throughput()
    };
    // All of it by either of two cores, or a half by each, at the same time.
    let [read, half, answered] = [0.0, 50.0, 100.0].map(|part| of("maestro-shared-queue", part));
    assert!(half > 1.5 * read && half > 1.5 * answered, "{read}, {half}, {answered}");
    assert_eq!(of("maestro-round-robin", 0.0), of("maestro-round-robin", 100.0));
}

/// Adaptive batching goes by what a batch took, up to its last write.
#[test]
fn writes_waver_and_are_interrupted_before_their_batch_is_over() {
    let writing = |costs| {
        let duration = Duration::from_millis(200);
        let plan = SimPlan { costs, duration, ..plan(gathering(90), 1, full(4)) };
        simulated(&plan).snapshot.total.write_time_ns
    };
    let mean = |took: &Distribution| took.sum() as f64 / took.count() as f64;
    let even = writing(dear());
    let disturbed = writing(Costs { away_pct: 25.0, away_ns: 5_000.0, ..dear() });
    let part = mean(&disturbed) / mean(&even) - 1.0;
    assert!((part - 0.25).abs() < 0.05, "{part}");
    let wavering = writing(Costs { waver_pct: 50.0, ..dear() });
    assert!((mean(&wavering) / mean(&even) - 1.0).abs() < 0.02, "{}", mean(&wavering));
    let apart = |took: &Distribution| took.quantile(900) as f64 / took.quantile(100) as f64;
    assert!(apart(&even) < 1.1 && apart(&wavering) > 1.3, "{} {}", apart(&even), apart(&wavering));
}
