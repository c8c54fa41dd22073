//! The laws of histograms and of sets of counters.

extern crate std;

use super::histogram::{BUCKETS, bucket, lower, upper};
use super::*;
use crate::limits::RECORDED_MAX;
use crate::shed::Tally;
use crate::time::Time;
use aldis_wire::DatapathId;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::{align_of, size_of};
use core::sync::atomic::{AtomicBool, Ordering};
use proptest::prelude::*;

fn distribution(values: &[u64]) -> Distribution {
    let histogram = Histogram::default();
    values.iter().for_each(|value| histogram.record(*value));
    histogram.read()
}

/// Values of every size, few and many of a kind.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value = (any::<u64>(), 0..64u32).prop_map(|(value, shift)| value >> shift);
    prop::collection::vec(prop_oneof![value, 0..40u64, Just(u64::MAX)], 1..300)
}

#[test]
fn the_buckets_are_all_values_in_order() {
    assert_eq!(
        (lower(0), bucket(RECORDED_MAX), upper(BUCKETS - 1)),
        (0, BUCKETS - 1, RECORDED_MAX)
    );
    for at in 1..BUCKETS {
        assert_eq!(lower(at), upper(at - 1) + 1, "{at}");
    }
    assert!((0..32).all(|value| lower(bucket(value)) == value && upper(bucket(value)) == value));
}

#[test]
fn nothing_recorded_is_all_zeros() {
    let none = Histogram::default().read();
    assert_eq!(none, Distribution::default());
    assert_eq!((none.count(), none.min(), none.max(), none.quantile(500)), (0, 0, 0, 0));
    assert_eq!(none.buckets().count(), 0);
}

#[test]
fn the_median_of_an_even_number_is_the_lower_of_two() {
    let it = distribution(&[4, 1, 3, 2]);
    assert_eq!(
        [0, 250, 251, 500, 501, 750, 999, 1000, 9999].map(|q| it.quantile(q)),
        [1, 1, 2, 2, 3, 3, 4, 4, 4]
    );
}

#[test]
fn small_buckets_are_all_values_in_order() {
    let (mut it, mut other) = (Log2Distribution::default(), Log2Histogram::default());
    assert_eq!((it.count(), it.quantile(500), it.buckets().count()), (0, 0, 0));
    [0, 1, 2, 3, 4, 7, 8].iter().for_each(|value| other.record(*value));
    it.merge(&other.read());
    let buckets: Vec<_> = it.buckets().map(|bucket| (bucket.upper, bucket.count)).collect();
    assert_eq!(buckets, [(0, 1), (1, 1), (3, 2), (7, 2), (15, 1)]);
    assert_eq!([0, 500, 900, 1000].map(|q| it.quantile(q)), [0, 3, 15, 15]);
    other = Log2Histogram::default();
    [1 << 30, u64::MAX].iter().for_each(|value| other.record(*value));
    let buckets: Vec<_> = other.read().buckets().map(|one| (one.upper, one.count)).collect();
    assert_eq!(buckets, [(u64::MAX, 2)]);
}

#[test]
fn a_reading_in_the_middle_of_recording_is_put_right() {
    let caught = Distribution::new(vec![0, 0, 5, 0, 1, 0], 14, u64::MAX, 0);
    assert_eq!((caught.min(), caught.max(), caught.count()), (2, 4, 6));
    assert_eq!(caught.quantile(1000), 4);
}

#[test]
fn a_set_stands_alone_on_its_cache_lines_and_is_small() {
    assert_eq!((size_of::<SwitchStats>(), align_of::<SwitchStats>()), (128, 128));
    assert_eq!((size_of::<SwitchHistograms>(), align_of::<SwitchHistograms>()), (10 * 128, 128));
    assert_eq!(size_of::<Histogram>(), (BUCKETS + 3) * 8);
    assert!(size_of::<WorkerStats>() <= 36 * 1024 && align_of::<WorkerStats>() == 128);
}

#[test]
fn the_share_of_waiting_is_of_the_run_time() {
    let share = |lock_wait_ns, run_time_ns| {
        WorkerCounts { lock_wait_ns, run_time_ns, ..WorkerCounts::default() }.lock_wait_ppm()
    };
    assert_eq!([share(98, 100_000), share(0, 5), share(7, 0)], [980, 0, 0]);
    assert_eq!(share(u64::MAX, 1), u64::MAX);
}

fn switch(dpid: u64, worker: usize, write: impl Fn(&SwitchStats)) -> SwitchSnapshot {
    let stats = SwitchStats::default();
    write(&stats);
    SwitchSnapshot {
        dpid: DatapathId(dpid),
        worker,
        weight: 1,
        counts: stats.read(),
        spread: SwitchDistributions::default(),
        shed_ports: Tally::default(),
    }
}

fn two_workers_and_two_switches() -> Snapshot {
    let workers = [WorkerStats::default(), WorkerStats::default()];
    for (stats, requests) in workers.iter().zip([30, 12]) {
        stats.requests.add(requests);
        stats.batch_size.record(requests);
        stats.ibt_now.set(10);
        stats.run_time_ns.add(1_000);
    }
    workers[1].lock_wait_ns.add(2);
    let main = switch(7, 1, |stats| {
        stats.requests.add(40);
        stats.queue_wait_ns_max.raise(900);
        stats.queue_wait_ns_max.raise(500);
        stats.bytes_waiting.set(64);
    });
    let auxiliary = switch(7, 0, |stats| {
        stats.requests.add(2);
        stats.queue_wait_ns_max.raise(700);
        stats.bytes_waiting.set(1);
        stats.evictions.add(1);
    });
    let spreads = SwitchHistograms::default();
    spreads.batch_size.record(2);
    let auxiliary = SwitchSnapshot { spread: spreads.read(), ..auxiliary };
    let other = switch(3, 0, |_| {});
    Snapshot::new(Time(5), &workers, vec![main, other, auxiliary])
}

#[test]
fn a_snapshot_adds_up_workers_and_the_connections_of_a_switch() {
    let it = two_workers_and_two_switches();
    assert_eq!((it.at_ns, it.lock_wait_ppm), (5, 1_000));
    assert_eq!((it.total.requests, it.total.ibt_now), (42, 20));
    assert_eq!(it.total.batch_size, distribution(&[12, 30]));
    let waits: Vec<_> = it.workers.iter().map(|one| (one.worker, one.lock_wait_ppm)).collect();
    assert_eq!(waits, [(0, 0), (1, 2_000)]);
    let switches: Vec<_> = it.switches.iter().map(|one| (one.dpid.0, one.worker)).collect();
    assert_eq!(switches, [(3, 0), (7, 1)]);
    let counts = &it.switches[1].counts;
    assert_eq!((counts.requests, counts.queue_wait_ns_max), (42, 900));
    assert_eq!((counts.bytes_waiting, counts.evictions), (65, 1));
    assert_eq!(it.switches[1].spread.batch_size.count(), 1);
    assert_eq!(it.switches[0].counts, SwitchCounts::default());
}

#[cfg(feature = "serde")]
#[test]
fn a_snapshot_reads_well_as_json() {
    use serde_json::{json, to_value};
    let mut snapshot = two_workers_and_two_switches();
    let (mut shed, stream) = (crate::shed::Shed::new(7), [9, 9, 9, 9, 9, 9, 9, 4, 4, 4]);
    shed.weigh(stream.into_iter(), 2);
    assert_eq!(stream.iter().filter(|port| shed.keep(**port)).count(), 2);
    snapshot.switches[1].shed_ports.add(shed.ports());
    let it = to_value(snapshot).unwrap();
    assert_eq!(it["total"]["requests"], 42);
    let size = json!({
        "count": 2, "sum": 42, "min": 12, "max": 30, "p50": 12, "p90": 30, "p99": 30, "p999": 30,
        "buckets": [{ "upper": 12, "count": 1 }, { "upper": 30, "count": 1 }],
    });
    assert_eq!(it["total"]["batch_size"], size);
    assert_eq!(it["workers"][1]["worker"], 1);
    assert_eq!(it["workers"][1]["requests"], 12);
    let none = json!({ "count": 0, "p50": 0, "p90": 0, "p99": 0, "buckets": [] });
    let one = json!({ "count": 1, "p50": 3, "p90": 3, "p99": 3, "buckets": [{ "upper": 3, "count": 1 }] });
    let switch = json!({
        "dpid": "0000000000000007", "worker": 1, "weight": 1, "requests": 42, "bytes_in": 0, "bytes_out": 0,
        "batches": 0, "visits": 0, "full_visits": 0, "queue_wait_ns": 0, "queue_wait_ns_max": 900, "skips": 0, "revisits": 0,
        "pauses": 0, "sheds": 0, "moves": 0, "bytes_waiting": 65, "evictions": 1, "batch_size": one,
        "queue_waits_ns": none, "handling_time_ns": none, "write_time_ns": none, "batching_delay_ns": none,
        "shed_ports": [{ "port": 4, "sheds": 2 }, { "port": 9, "sheds": 6 }],
    });
    assert_eq!(it["switches"][1], switch);
}

/// Two workers that take turns by a claim write one set and lose nothing; a third thread reads, and
/// what it sees only grows.
#[test]
fn a_claim_passes_the_right_to_count_on() {
    const TURNS: u64 = 1_000_000;
    let shared = Arc::new((AtomicBool::new(false), SwitchStats::default()));
    let start = Arc::new(std::sync::Barrier::new(2));
    let worker = || {
        let (shared, start) = (Arc::clone(&shared), Arc::clone(&start));
        std::thread::spawn(move || {
            let (claim, stats) = &*shared;
            start.wait();
            for _ in 0..TURNS {
                while claim.swap(true, Ordering::Acquire) {
                    std::thread::yield_now();
                }
                stats.requests.add(3);
                stats.visits.add(1);
                claim.store(false, Ordering::Release);
            }
        })
    };
    let workers = [worker(), worker()];
    let mut seen = 0;
    while workers.iter().any(|worker| !worker.is_finished()) {
        let now = shared.1.read().requests;
        assert!(now >= seen);
        seen = now;
        std::thread::yield_now();
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let counts = shared.1.read();
    assert_eq!((counts.requests, counts.visits), (6 * TURNS, 2 * TURNS));
}

proptest! {
    #[test]
    fn a_value_is_within_its_bucket_which_is_narrow(value: u64, shift in 0..64u32) {
        let value = (value >> shift).min(RECORDED_MAX);
        let (lower, upper) = (lower(bucket(value)), upper(bucket(value)));
        prop_assert!(lower <= value && value <= upper);
        prop_assert!((upper - lower) * 16 < lower.max(1));
    }

    #[test]
    fn a_quantile_is_the_exact_one_or_up_to_a_sixteenth_more(values in values(), thousandths in 0..1001u32) {
        let it = distribution(&values);
        let mut exact: Vec<u64> = values.iter().map(|value| *value.min(&RECORDED_MAX)).collect();
        exact.sort_unstable();
        let rank = (exact.len() * thousandths as usize).div_ceil(1000).max(1);
        let (exact, found) = (exact[rank - 1], it.quantile(thousandths));
        prop_assert!(found >= exact && (found - exact) * 16 <= exact, "{} for {}", found, exact);
    }

    #[test]
    fn a_quantile_of_a_small_one_is_less_than_twice_the_exact_one(values in values(), thousandths in 0..1001u32) {
        let small = Log2Histogram::default();
        values.iter().for_each(|value| small.record(*value));
        let mut values = values;
        values.sort_unstable();
        let rank = (values.len() * thousandths as usize).div_ceil(1000).max(1);
        let (exact, found) = (values[rank - 1], small.read().quantile(thousandths));
        prop_assert!(found >= exact, "{} for {}", found, exact);
        prop_assert!(exact >= 1 << 30 || found / 2 < exact.max(1), "{} for {}", found, exact);
    }

    #[test]
    fn the_extremes_and_the_sum_are_exact(values in values()) {
        let it = distribution(&values);
        let counted = values.iter().map(|value| *value.min(&RECORDED_MAX));
        prop_assert_eq!(it.count(), values.len() as u64);
        prop_assert_eq!(it.min(), counted.clone().min().unwrap());
        prop_assert_eq!(it.max(), counted.clone().max().unwrap());
        prop_assert_eq!(it.quantile(1000), it.max());
        prop_assert_eq!(it.sum(), counted.sum::<u64>());
        prop_assert_eq!(it.buckets().map(|bucket| bucket.count).sum::<u64>(), it.count());
        prop_assert!(it.buckets().map(|bucket| bucket.upper).is_sorted());
    }

    #[test]
    fn merging_is_recording_both(mut one in values(), other in values(), empty: bool) {
        if empty {
            one.clear();
        }
        let mut merged = distribution(&one);
        merged.merge(&distribution(&other));
        let mut backwards = distribution(&other);
        backwards.merge(&distribution(&one));
        one.extend(&other);
        prop_assert_eq!(&merged, &distribution(&one));
        prop_assert_eq!(&merged, &backwards);
    }

    #[test]
    fn no_number_breaks_a_set(a: u64, b: u64) {
        let all = [a, b, u64::MAX, u64::MAX];
        let worker = WorkerStats::default();
        let switch = SwitchStats::default();
        for value in all {
            worker.requests.add(value);
            worker.batch_size.record(value);
            worker.ibt_now.set(value);
            switch.queue_wait_ns_max.raise(value);
        }
        let mut counts = worker.read();
        counts.merge(&worker.read());
        let sum = all.iter().fold(0u64, |sum, value| sum.wrapping_add(*value));
        prop_assert_eq!(counts.requests, sum.wrapping_mul(2));
        prop_assert_eq!((counts.batch_size.count(), counts.ibt_now), (8, u64::MAX));
        prop_assert_eq!(switch.read().queue_wait_ns_max, u64::MAX);
    }
}
