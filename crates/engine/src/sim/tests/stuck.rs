//! Switches that do not read.

use super::*;

#[test]
fn a_switch_that_never_reads_is_dropped_and_costs_the_others_nothing() {
    for design in Design::ALL {
        let duration = Duration::from_secs(12);
        let costs = Costs { request_ns: 20_000.0, ..Costs::default() };
        // Without jitter a shared queue can fall into step with its readers, and out of it for no
        // reason.
        let alone = SimPlan { duration, costs, jitter: 0.2, ..plan(design, 2, full(7)) };
        let mut beside = alone.clone();
        beside.switches.insert(
            3,
            SimulatedSwitch { reads: ReadSpeed::Never, ..SimulatedSwitch::new(Offer::Full) },
        );
        let (alone, beside) = (simulated(&alone), simulated(&beside));
        let closed = beside.switches[3].closed.clone();
        assert!(matches!(closed, Some((_, Close::NotReading))), "{}: {closed:?}", design.name);
        let (at, _) = closed.expect("it was closed");
        // Before its first answer came its request may have waited a second behind those of the
        // others.
        assert!(at < Time(11_500_000_000), "{}: {at:?}", design.name);
        let stayed = beside.switches.iter().filter(|switch| switch.closed.is_none());
        assert_eq!(stayed.count(), 7, "{}", design.name);
        let ratio = beside.throughput() / alone.throughput();
        assert!(ratio > 0.98, "{}: {ratio}", design.name);
    }
}

/// The kernel of a switch that never reads takes a little more of what waits, seconds later: here 4
/// KiB within the first seven.
#[test]
fn a_switch_that_takes_next_to_nothing_is_dropped_as_if_it_took_nothing() {
    for design in Design::ALL {
        let next_to_nothing = ReadSpeed::BytesPerSecond(600.0);
        let stuck = SimulatedSwitch { reads: next_to_nothing, ..SimulatedSwitch::new(Offer::Full) };
        let duration = Duration::from_secs(12);
        let outcome = simulated(&SimPlan { duration, ..plan(design, 2, vec![stuck; 4]) });
        for switch in &outcome.switches {
            let closed = &switch.closed;
            let in_time =
                matches!(closed, Some((at, Close::NotReading)) if *at < Time(10_000_000_000));
            assert!(in_time, "{}: {closed:?}", design.name);
        }
    }
}

#[test]
fn a_switch_that_reads_slowly_is_answered_slowly_and_stays() {
    for design in Design::ALL {
        for workers in [2, 8] {
            let mut plan = plan(design, workers, full(6));
            plan.switches[2] = SimulatedSwitch {
                reads: ReadSpeed::BytesPerSecond(2e6),
                limit: Some(20_000),
                ..SimulatedSwitch::new(Offer::Full)
            };
            let slow = &simulated(&plan).switches[2];
            let what = format!("{} with {workers}", design.name);
            assert_eq!((slow.answered, &slow.closed), (20_000, &None), "{what}");
        }
    }
}

/// Every second all switches are told that it passed: one that never reads is not visited for that,
/// or a switch that asks would stand behind all of them. Nor is it visited again and again because
/// something of it was on its way when it got stuck.
#[test]
fn a_switch_that_never_reads_is_visited_only_when_something_came_up() {
    for design in Design::ALL {
        let stuck =
            SimulatedSwitch { reads: ReadSpeed::Never, ..SimulatedSwitch::new(Offer::Full) };
        let (warm_up, duration) = (Duration::from_secs(4), Duration::from_secs(8));
        let plan = SimPlan { warm_up, duration, ..SimPlan::new(design, 1, vec![stuck; 16]) };
        let outcome = simulated(&plan);
        let dropped = |switch: &SimServed| matches!(switch.closed, Some((_, Close::NotReading)));
        assert!(outcome.switches.iter().all(dropped), "{}", design.name);
        // When it got stuck, and when its time was over; where others work than read, also when
        // what was on its way had landed.
        let pauses: u64 = outcome.snapshot.workers.iter().map(|worker| worker.counts.pauses).sum();
        assert!(pauses <= 4 * 16, "{}: {pauses}", design.name);
    }
}
