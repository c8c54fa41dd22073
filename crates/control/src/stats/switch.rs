//! What is counted for a switch, from its joining.
//!
//! Several workers may serve a switch, one after the other. Each connection has one claim, and a
//! set of counters that goes with it: the holder of the claim writes the set, and passing the claim
//! on, by a release and an acquire, passes on the right to write. Auxiliary connections have
//! claims, and so sets, of their own; [`Snapshot`](super::Snapshot) adds them up. A switch may be
//! idle, and there may be thousands: its distributions are small ones ([`Log2Histogram`]), kept
//! apart ([`SwitchHistograms`]) and written by the same rights. What waits on the way of a request
//! is a worker, and so the time that is waited for locks is counted with workers alone, as is the
//! IBT, which is theirs.

use super::set::set;
use super::{Counter, Gauge, Log2Histogram, Max};

set! {
    /// One connection's counters: two cache lines, shared with nothing else.
    SwitchStats;

    /// What was counted for a switch until a moment.
    SwitchCounts;

    /// Flow requests that were handed on to batches. What is shed is not among them.
    requests: Counter,
    /// Bytes that were read from it.
    bytes_in: Counter,
    /// Bytes that were to be written to it. The holder of the right to write to the socket counts
    /// them; see `bytes_waiting`.
    bytes_out: Counter,
    /// Batches, or parts of batches, that its requests made.
    batches: Counter,
    /// Visits, empty-handed ones included.
    visits: Counter,
    /// Visits that read as much as they might: the switch had more to say. Where most of them do it
    /// asks for more than it gets.
    full_visits: Counter,
    /// Nanoseconds from its becoming ready to its visit, summed over its visits.
    queue_wait_ns: Counter,
    /// The longest of these waits, in nanoseconds.
    queue_wait_ns_max: Max,
    /// Visits that were put off, because another worker held the claim. The worker that skipped it
    /// adds them when it revisits: before, it has no right to write here.
    skips: Counter,
    /// Visits, later in the same round, of workers that had skipped it.
    revisits: Counter,
    /// Times that reading from it paused.
    pauses: Counter,
    /// Flow requests that were dropped on purpose, before the applications.
    sheds: Counter,
    /// Times that it went to another worker for good, counted by the new one.
    moves: Counter,
    /// Bytes that wait for its socket. Where others than the claimant write to the socket, the
    /// right to write to it is the right to write this and `bytes_out`, and it is passed on in the
    /// same way.
    bytes_waiting: Gauge,
    /// Times that an earlier connection of it was dropped because the switch did not read; of so
    /// many switches as the engine remembers.
    evictions: Counter,
}

set! {
    /// The distributions of one connection, 1.3 KB on cache lines of their own: of one that never
    /// says which switch it is there are none.
    SwitchHistograms;

    /// What was counted for a switch until a moment, in distributions.
    SwitchDistributions;

    /// Requests of each batch, or part of a batch, that it made.
    batch_size: Log2Histogram,
    /// Each of the waits that [`SwitchStats::queue_wait_ns`] is the sum of, in nanoseconds, from
    /// its joining.
    queue_waits_ns: Log2Histogram,
    /// Handling time, in nanoseconds: the run of the applications over each batch with whose output
    /// it was written to. This and the next two are counted by the worker that writes, with the
    /// right to write to the socket; not where the output is left to another worker that is
    /// writing.
    handling_time_ns: Log2Histogram,
    /// Write time, in nanoseconds: handing its part of each batch's output to its socket.
    write_time_ns: Log2Histogram,
    /// Batching delay, in nanoseconds: from the first read of each such batch to the end of the
    /// write to this switch.
    batching_delay_ns: Log2Histogram,
}
