//! What the steps of a worker cost: in a plan as `aldis lab calibrate` measures it, and as the
//! simulation reckons with it.

/// Costs, with the names and units of the file that `aldis lab calibrate` writes: `_ns`
/// nanoseconds, `_ps` picoseconds, `_pct` percent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// A poll that finds nothing.
    pub poll_ns: f64,
    /// Each event that a poll finds, on top.
    pub poll_event_ns: f64,
    /// A read that finds something.
    pub read_ns: f64,
    /// Each byte of it, on top.
    pub read_byte_ps: f64,
    /// A read that finds nothing.
    pub empty_read_ns: f64,
    /// A write.
    pub write_ns: f64,
    /// Each byte of it, on top.
    pub write_byte_ps: f64,
    /// A read that leaves some of what there is, from a sender that has still more to send.
    pub full_read_ns: f64,
    /// Each byte of it, on top.
    pub full_read_byte_ps: f64,
    /// A write to such a switch.
    pub full_write_ns: f64,
    /// Each byte of it, on top.
    pub full_write_byte_ps: f64,
    /// The same write, for each further visit whose answers it takes along.
    pub joined_ns: f64,
    /// From the beginning of a ring until the worker that slept runs.
    pub wake_ns: f64,
    /// What ringing costs the core that rings.
    pub ring_ns: f64,
    /// What one visit brings to a batch, whatever its size.
    pub batch_ns: f64,
    /// Each request, to chop and parse.
    pub gather_ns: f64,
    /// Each request, in the applications.
    pub request_ns: f64,
    /// A cache line that another core changed, until its content is here.
    pub line_transfer_ns: f64,
    /// A compare-and-swap on a word that no other core uses.
    pub cas_ns: f64,
    /// One request to the other end and one answer back, with no core asleep: two reads, two
    /// writes, and the way.
    pub round_trip_ns: f64,
    /// How much the same work takes longer or shorter than its mean, at most: adaptive batching
    /// climbs by what it measures.
    pub waver_pct: f64,
    /// What interruptions take besides, of the time that is worked: they come at moments of chance.
    pub away_pct: f64,
    /// How long each of them lasts, on average.
    pub away_ns: f64,
}

/// Measured at rest on 2026-11-21 on two cores of an Intel Xeon (family 6, model 207, virtual
/// machine), Linux 6.18; full reads and writes are taken for as dear as others, nothing wavers and
/// nothing interrupts.
impl Default for Costs {
    fn default() -> Costs {
        Costs {
            poll_ns: 146.5,
            poll_event_ns: 400.8,
            read_ns: 681.5,
            read_byte_ps: 83.5,
            empty_read_ns: 276.9,
            write_ns: 3052.6,
            write_byte_ps: 78.6,
            full_read_ns: 681.5,
            full_read_byte_ps: 83.5,
            full_write_ns: 3052.6,
            full_write_byte_ps: 78.6,
            joined_ns: 0.0,
            wake_ns: 41_435.0,
            ring_ns: 12_627.0,
            batch_ns: 196.5,
            gather_ns: 4.0,
            request_ns: 19.4,
            line_transfer_ns: 77.3,
            cas_ns: 10.7,
            round_trip_ns: 8201.0,
            waver_pct: 0.0,
            away_pct: 0.0,
            away_ns: 0.0,
        }
    }
}

/// A span of simulated time, or a moment behind the start, in picoseconds.
pub(super) type Ps = u64;

/// Cache lines of a connection that a worker needs one after the other, before it can read from it:
/// its claim, state, session, in_flight, counters and what goes out. Counted in `conn.rs`.
const VISIT_LINES: f64 = 8.0;

/// Lines of the applications' tables that a request needs, of which so many are on their way at a
/// time: the learning switch's two, and the depth at which it looks ahead.
const REQUEST_LINES: f64 = 2.0;
const LINES_AT_A_TIME: f64 = 8.0;

/// Lines of a batch that one worker hands to another: the queue's ends, and the batch's own lists.
const JOB_LINES: f64 = 6.0;

/// Atomic words that a visit takes and lets go of: its claim, its visits in flight, its state, its
/// place in the lists.
const VISIT_WORDS: f64 = 8.0;

/// The costs as the simulation adds them up, in whole picoseconds, so that no sum depends on its
/// command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    pub(super) poll: Ps,
    pub(super) poll_event: Ps,
    pub(super) read: Ps,
    pub(super) read_byte: Ps,
    pub(super) empty_read: Ps,
    pub(super) write: Ps,
    pub(super) write_byte: Ps,
    pub(super) full_read: Ps,
    pub(super) full_read_byte: Ps,
    pub(super) full_write: Ps,
    pub(super) full_write_byte: Ps,
    pub(super) joined: Ps,
    pub(super) wake: Ps,
    pub(super) ring: Ps,
    pub(super) batch: Ps,
    pub(super) gather: Ps,
    pub(super) request: Ps,
    /// Looking round: what every step costs at least.
    pub(super) step: Ps,
    /// The words of a visit.
    pub(super) visit: Ps,
    /// One line that another core changed.
    pub(super) line: Ps,
    /// On top of a visit, where another core made the last one.
    pub(super) moved_visit: Ps,
    /// On top of a request, where another core answered the last one of its switch.
    pub(super) moved_request: Ps,
    /// A batch that another core read.
    pub(super) job: Ps,
    /// On top of each request of it: its own bytes.
    pub(super) job_byte: Ps,
    /// From one end of the wire to the other.
    pub(super) way: Ps,
    /// By which part of itself a step takes more or less, at most.
    pub(super) waver: f64,
    /// How often it is interrupted, a picosecond of work, and for how long on average.
    pub(super) away_often: f64,
    pub(super) away: f64,
}

impl Prices {
    pub(super) fn new(costs: &Costs) -> Prices {
        let ps = |ns: f64| (ns.max(0.0) * 1000.0).round() as Ps;
        let Costs { read_ns, write_ns, line_transfer_ns, cas_ns, round_trip_ns, .. } = *costs;
        Prices {
            poll: ps(costs.poll_ns),
            poll_event: ps(costs.poll_event_ns),
            read: ps(read_ns),
            read_byte: ps(costs.read_byte_ps / 1000.0),
            empty_read: ps(costs.empty_read_ns),
            write: ps(write_ns),
            write_byte: ps(costs.write_byte_ps / 1000.0),
            full_read: ps(costs.full_read_ns),
            full_read_byte: ps(costs.full_read_byte_ps / 1000.0),
            full_write: ps(costs.full_write_ns),
            full_write_byte: ps(costs.full_write_byte_ps / 1000.0),
            joined: ps(costs.joined_ns),
            wake: ps(costs.wake_ns),
            ring: ps(costs.ring_ns),
            batch: ps(costs.batch_ns),
            gather: ps(costs.gather_ns),
            request: ps(costs.request_ns),
            // Time always passes.
            step: ps(cas_ns).max(1000),
            visit: ps(cas_ns * VISIT_WORDS),
            line: ps(line_transfer_ns),
            moved_visit: ps(line_transfer_ns * VISIT_LINES),
            moved_request: ps(line_transfer_ns * REQUEST_LINES / LINES_AT_A_TIME),
            job: ps(line_transfer_ns * JOB_LINES),
            job_byte: ps(line_transfer_ns / 64.0 / LINES_AT_A_TIME),
            way: ps((round_trip_ns - 2.0 * read_ns - 2.0 * write_ns) / 2.0),
            waver: (costs.waver_pct / 100.0).clamp(0.0, 1.0),
            away_often: costs.away_pct.max(0.0) / 100.0 / (costs.away_ns.max(1.0) * 1000.0),
            away: costs.away_ns.max(1.0) * 1000.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_two_reads_two_writes_and_the_way() {
        let costs = Costs::default();
        let prices = Prices::new(&costs);
        let both = 2 * (prices.read + prices.write + prices.way);
        assert_eq!(both, (costs.round_trip_ns * 1000.0) as Ps);
        let short = Prices::new(&Costs { round_trip_ns: 1.0, ..costs });
        assert_eq!(short.way, 0);
    }
}
