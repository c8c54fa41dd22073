//! Counters: what a controller did, and how long it took.
//!
//! Each set of counters has one thread that writes it and any number that read it. The writer needs
//! no atomic addition for that: it loads and stores, and a reader sees some moment of each number.
//!
//! 1. [`WorkerStats`] — what one worker counts, distributions included;
//! 2. [`SwitchStats`] — what is counted for one connection of a switch, by the holder of its claim;
//! 3. [`AppStats`] — what one worker counts of one application;
//! 4. [`Snapshot`] — all of it at a moment, to be shown or written down.
//!
//! Rates are not here: two snapshots give one.

mod app;
mod count;
mod distribution;
mod histogram;
mod log2_histogram;
mod set;
mod snapshot;
mod switch;
mod worker;

pub use app::{AppSnapshot, AppStats};
pub use count::{Counter, Gauge, Max};
pub use distribution::{Bucket, Distribution};
pub use histogram::Histogram;
pub use log2_histogram::{Log2Distribution, Log2Histogram};
pub use set::Metric;
pub use snapshot::{Snapshot, SwitchSnapshot, WorkerSnapshot};
pub use switch::{SwitchCounts, SwitchDistributions, SwitchHistograms, SwitchStats};
pub use worker::{WorkerCounts, WorkerStats};

#[cfg(test)]
mod tests;
