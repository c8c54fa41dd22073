//! What counting costs: nanoseconds for one addition, for one recorded value, and for all that a
//! batch records.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-control --bench stats
//! ```
//!
//! The values are drawn beforehand, between 1 and a million. The least of 101 rounds of 100,000 is
//! printed, and what it takes to read a worker's counters.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aldis_control::stats::{Histogram, WorkerStats};

const ROUNDS: usize = 101;
const ROUND: usize = 100_000;

fn main() {
    let values = values();
    let stats = Box::new(WorkerStats::default());
    let stats = black_box(&*stats);
    let each = |value: fn(&WorkerStats, u64)| {
        nanoseconds(ROUND, || values.iter().for_each(|&it| value(black_box(stats), it)))
    };
    println!("add one number      {:>7.2} ns", each(|stats, value| stats.requests.add(value)));
    println!("record one value    {:>7.2} ns", each(|stats, value| stats.batch_size.record(value)));
    println!("count one batch     {:>7.2} ns", each(batch));
    println!("read a worker's     {:>7.0} ns", nanoseconds(1, || drop(black_box(stats.read()))));
}

/// What a worker counts once a batch of one visit.
fn batch(stats: &WorkerStats, value: u64) {
    let counts = [&stats.requests, &stats.bytes_in, &stats.bytes_out, &stats.run_time_ns];
    counts.iter().for_each(|count| count.add(value));
    let ones = [&stats.batches, &stats.reads, &stats.writes, &stats.visits, &stats.polls];
    ones.iter().for_each(|count| count.add(1));
    stats.ibt_now.set(value);
    let distributions: [&Histogram; 6] = [
        &stats.batch_size,
        &stats.ibt,
        &stats.batching_delay_ns,
        &stats.queue_wait_ns,
        &stats.handling_time_ns,
        &stats.write_time_ns,
    ];
    distributions.iter().zip(0..).for_each(|(histogram, size)| histogram.record(value >> size));
}

fn nanoseconds(items: usize, mut round: impl FnMut()) -> f64 {
    let took = |_| {
        let start = Instant::now();
        round();
        start.elapsed()
    };
    let least = (0..ROUNDS).map(took).min().unwrap_or(Duration::ZERO);
    least.as_nanos() as f64 / items as f64
}

/// Marsaglia's xorshift, cut to sizes between 1 and a million.
fn values() -> Vec<u64> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        1 + (state >> 44) % 1_000_000
    };
    (0..ROUND).map(|_| next()).collect()
}
