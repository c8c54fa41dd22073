//! What one worker counts, from its start. The worker alone writes it.

use super::set::set;
use super::{Counter, Gauge, Histogram};

set! {
    /// One worker's counters, some 35 KB on cache lines of their own: allocate it once and share
    /// the pointer.
    ///
    /// What comes once a request is added once a batch; distributions are recorded once a batch or
    /// once a visit, from times that the worker reads anyway.
    WorkerStats;

    /// What one worker, or several together, counted until a moment.
    WorkerCounts;

    /// Flow requests that were handed to the applications.
    requests: Counter,
    /// Bytes that were read from sockets.
    bytes_in: Counter,
    /// Bytes that were to be written to sockets.
    bytes_out: Counter,
    /// Runs of the applications over a batch.
    batches: Counter,
    /// Requests of each batch.
    batch_size: Histogram,
    /// The IBT that was in force when each batch ended, in requests.
    ibt: Histogram,
    /// The IBT in force now, in requests; of several workers, the sum.
    ibt_now: Gauge,
    /// Batching delay, in nanoseconds: from the first read of a batch to its last write.
    batching_delay_ns: Histogram,
    /// Queue wait, in nanoseconds: from a connection's becoming ready to the visit that it gets.
    queue_wait_ns: Histogram,
    /// Handling time, in nanoseconds: one run of the applications over one batch.
    handling_time_ns: Histogram,
    /// Write time, in nanoseconds: handing the output of one batch to the sockets.
    write_time_ns: Histogram,
    /// Line-up pause, in nanoseconds: what a change of the applications that run keeps the worker
    /// from its switches, between two batches. To tell applications of many switches takes several.
    line_up_pause_ns: Histogram,
    /// Nanoseconds spent on waiting for a lock or for a claim that another worker holds, a failed
    /// try included.
    lock_wait_ns: Counter,
    /// Nanoseconds that the worker ran, waiting for locks included: all but its sleep in the poll.
    run_time_ns: Counter,
    /// Reads from sockets, empty ones included.
    reads: Counter,
    /// Visits that ended with something to write.
    writes: Counter,
    /// Times the kernel was asked what is ready.
    polls: Counter,
    /// Polls that slept, and were woken by a socket, a note or a timer.
    wakeups: Counter,
    /// Visits to connections, empty-handed ones included.
    visits: Counter,
    /// Visits that were put off, because another worker held the claim.
    skips: Counter,
    /// Visits, later in the same round, to connections that were skipped.
    revisits: Counter,
    /// Visits to connections whose home is with another worker.
    helped_visits: Counter,
    /// Connections that were taken over from another worker for good.
    moves: Counter,
    /// Times that reading from a connection paused, because of what waits before or behind the
    /// applications.
    pauses: Counter,
    /// Flow requests that were dropped on purpose, before the applications.
    sheds: Counter,
    /// Messages for other switches than those of a batch that were not sent, because the switch, or
    /// one on the same path, is not there or does not read.
    unsent: Counter,
    /// Connections that were dropped, because the switch did not read.
    evictions: Counter,
    /// Connections that were adopted from the listener.
    connections: Counter,
}

impl WorkerCounts {
    /// Time spent on waiting for locks and claims, in millionths of the run time; 0 where nothing
    /// ran.
    pub fn lock_wait_ppm(&self) -> u64 {
        let waited = u128::from(self.lock_wait_ns) * 1_000_000;
        let ppm = waited.checked_div(u128::from(self.run_time_ns)).unwrap_or(0);
        u64::try_from(ppm).unwrap_or(u64::MAX)
    }
}
