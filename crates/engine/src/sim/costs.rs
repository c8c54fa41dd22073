//! What the steps of a worker cost: in a plan as `aldis lab calibrate` measures it, and as the
//! simulation reckons with it.

use aldis_control::RequestHeader;

use super::stream::REQUEST_LEN;
use crate::design::{Design, Read};

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
    /// What the engine itself does around a visit that no other core has a part in: its claim, its
    /// place in the lists, its state, counters and clocks.
    pub visit_ns: f64,
    /// What of that comes with the answers, in percent: where another core answers, it has that
    /// part.
    pub finish_pct: f64,
    /// The same around a batch, whatever visits are in it.
    pub run_ns: f64,
    /// The same around a write.
    pub send_ns: f64,
    /// Each request, to chop and parse.
    pub gather_ns: f64,
    /// Each request, in the applications.
    pub request_ns: f64,
    /// A cache line that another core changed, until its content is here.
    pub line_transfer_ns: f64,
    /// What a visit takes more where another core made the last one to the connection: the words of
    /// the claim, the session, the counters and the sending side, and the word of the ready set.
    pub moved_visit_ns: f64,
    /// What a request takes more where another core answered the last one of its switch: lines of
    /// the applications' tables.
    pub moved_request_ns: f64,
    /// What a worker that reads takes to hand a batch to another core: the words of the queue, and
    /// the buffer that it gets back.
    pub hand_ns: f64,
    /// What each visit of it takes that worker more than one that it answers itself.
    pub handed_visit_ns: f64,
    /// Each byte of it, which goes into a buffer that the other core had.
    pub handed_byte_ps: f64,
    /// What a worker takes to pull a batch that another core read.
    pub pull_ns: f64,
    /// What each visit of it takes that worker more than one that it read itself.
    pub pulled_visit_ns: f64,
    /// Each byte of it, which comes from the other core.
    pub pulled_byte_ps: f64,
    /// A compare-and-swap on a word that no other core uses.
    pub cas_ns: f64,
    /// One request to the other end and one answer back, with no core asleep: two reads, two
    /// writes, and the way.
    pub round_trip_ns: f64,
    /// A read that finds something takes this more where [`CROWD`] connections take turns: what it
    /// needs of its own has fallen out of the caches since its last one.
    pub crowd_read_ns: f64,
    /// Each byte of it, on top of that.
    pub crowd_read_byte_ps: f64,
    /// A write there takes this more.
    pub crowd_write_ns: f64,
    /// Each byte of it, on top of that.
    pub crowd_write_byte_ps: f64,
    /// What one visit brings to a batch takes this more.
    pub crowd_batch_ns: f64,
    /// Each request of it takes this more.
    pub crowd_request_ns: f64,
    /// How much the same work takes longer or shorter than its mean, at most: adaptive batching
    /// climbs by what it measures.
    pub waver_pct: f64,
    /// By how much the last core is slower than the mean of all, and the first one faster; the
    /// others are evenly in between. Less than nothing where the first one is the slowest.
    pub uneven_pct: f64,
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
            visit_ns: 85.6,
            finish_pct: 38.6,
            run_ns: 0.0,
            send_ns: 0.0,
            gather_ns: 4.0,
            request_ns: 19.4,
            line_transfer_ns: 77.3,
            moved_visit_ns: 618.4,
            moved_request_ns: 19.3,
            hand_ns: 463.8,
            handed_visit_ns: 309.2,
            handed_byte_ps: 151.0,
            pull_ns: 463.8,
            pulled_visit_ns: 309.2,
            pulled_byte_ps: 151.0,
            cas_ns: 10.7,
            round_trip_ns: 8201.0,
            crowd_read_ns: 0.0,
            crowd_read_byte_ps: 0.0,
            crowd_write_ns: 0.0,
            crowd_write_byte_ps: 0.0,
            crowd_batch_ns: 0.0,
            crowd_request_ns: 0.0,
            waver_pct: 0.0,
            uneven_pct: 0.0,
            away_pct: 0.0,
            away_ns: 0.0,
        }
    }
}

/// Connections that take turns while the costs of a visit are measured.
const FEW: f64 = 16.0;

/// Connections that take turns while the costs of a visit in a crowd are measured.
pub const CROWD: u32 = 1_024;

/// A span of simulated time, or a moment behind the start, in picoseconds.
pub(super) type Ps = u64;

/// The greatest cost, in its field's unit: a second, where that is nanoseconds. What is measured or
/// read may be greater; a simulation takes this much, so that its sums stay in range.
pub const COST_MAX: f64 = 1e9;

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
    /// The engine's part of a visit, of a batch, and of a write.
    pub(super) visit: Ps,
    pub(super) run: Ps,
    /// What of a visit's part comes with its answers.
    pub(super) finish: Ps,
    pub(super) send: Ps,
    /// One line that another core changed.
    pub(super) line: Ps,
    /// On top of a visit, where another core made the last one.
    pub(super) moved_visit: Ps,
    /// On top of a request, where another core answered the last one of its switch.
    pub(super) moved_request: Ps,
    /// A batch that another core is to answer, each visit of it, and each byte.
    pub(super) hand: BatchPrices,
    /// The same of a batch that another core read.
    pub(super) pull: BatchPrices,
    /// Each request of it, where the core that pulls parses it.
    pub(super) parse_pulled: Ps,
    /// From one end of the wire to the other.
    pub(super) way: Ps,
    /// On top where a crowd takes turns.
    pub(super) crowd: CrowdPrices,
    /// By which part of itself a step takes more or less, at most.
    pub(super) waver: f64,
    /// By which part the last core takes longer.
    pub(super) uneven: f64,
    /// How often it is interrupted, a picosecond of work, and for how long on average.
    pub(super) away_often: f64,
    pub(super) away: f64,
}

impl Prices {
    pub(super) fn new(costs: &Costs) -> Prices {
        let ps = |ns: f64| (ns.clamp(0.0, COST_MAX) * 1000.0).round() as Ps;
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
            visit: ps(costs.visit_ns),
            finish: ps(costs.visit_ns * (costs.finish_pct / 100.0).clamp(0.0, 1.0)),
            run: ps(costs.run_ns),
            send: ps(costs.send_ns),
            line: ps(line_transfer_ns),
            moved_visit: ps(costs.moved_visit_ns),
            moved_request: ps(costs.moved_request_ns),
            hand: BatchPrices {
                batch: ps(costs.hand_ns),
                visit: ps(costs.handed_visit_ns),
                byte: ps(costs.handed_byte_ps / 1000.0),
            },
            pull: BatchPrices {
                batch: ps(costs.pull_ns),
                visit: ps(costs.pulled_visit_ns),
                byte: ps(costs.pulled_byte_ps / 1000.0),
            },
            parse_pulled: 0,
            way: ps((round_trip_ns - 2.0 * read_ns - 2.0 * write_ns) / 2.0),
            crowd: CrowdPrices {
                read: ps(costs.crowd_read_ns + costs.crowd_batch_ns) as f64,
                read_byte: costs.crowd_read_byte_ps.max(0.0),
                request: ps(costs.crowd_request_ns) as f64,
                write: ps(costs.crowd_write_ns) as f64,
                write_byte: costs.crowd_write_byte_ps.max(0.0),
            },
            waver: (costs.waver_pct / 100.0).clamp(0.0, 1.0),
            uneven: (costs.uneven_pct / 100.0).clamp(-0.99, 0.99),
            away_often: costs.away_pct.max(0.0) / 100.0 / (costs.away_ns.max(1.0) * 1000.0),
            away: costs.away_ns.max(1.0) * 1000.0,
        }
    }
}

impl Prices {
    /// Those of a design. What goes through a queue is measured with all that is made of each
    /// request. With request binding only the messages go through a shared queue; the core that
    /// reads looks at each of them to chop, and the one that pulls looks again to parse.
    pub(super) fn of_design(mut self, design: &Design) -> Prices {
        let queues = matches!(design.read, Read::SharedQueue { .. });
        if queues && design.request_binding {
            let both = REQUEST_LEN + size_of::<RequestHeader>();
            for prices in [&mut self.hand, &mut self.pull] {
                prices.byte = prices.byte * REQUEST_LEN as Ps / both as Ps;
            }
            self.parse_pulled = self.gather;
        }
        self
    }
}

/// What a batch takes that goes from one core to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchPrices {
    pub(super) batch: Ps,
    pub(super) visit: Ps,
    pub(super) byte: Ps,
}

/// What visits take more in a crowd, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrowdPrices {
    /// A read, and what the visit brings to its batch.
    pub(super) read: f64,
    pub(super) read_byte: f64,
    pub(super) request: f64,
    pub(super) write: f64,
    pub(super) write_byte: f64,
}

impl CrowdPrices {
    /// A read of so many bytes, what they are parsed to and answered with.
    pub(super) fn read(&self, cold: f64, bytes: usize) -> Ps {
        let requests = (bytes / REQUEST_LEN) as f64;
        (cold * (self.read + bytes as f64 * self.read_byte + requests * self.request)) as Ps
    }

    /// A write of so many bytes.
    pub(super) fn write(&self, cold: f64, bytes: usize) -> Ps {
        (cold * (self.write + bytes as f64 * self.write_byte)) as Ps
    }
}

/// How much of that a visit takes before which so many other visits were made since the last one to
/// the same connection: nothing among few, all of it in a crowd, and in between as much for each
/// doubling.
pub(super) fn coldness(visits: u64) -> f64 {
    ((visits as f64 / FEW).log2() / (f64::from(CROWD) / FEW).log2()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_cold_after_the_visits_of_a_crowd() {
        assert_eq!([0, 1, 16, 1_024, 5_000].map(coldness), [0.0, 0.0, 0.0, 1.0, 1.0]);
        assert_eq!(coldness(128), 0.5);
    }

    #[test]
    fn a_round_trip_is_two_reads_two_writes_and_the_way() {
        let costs = Costs::default();
        let prices = Prices::new(&costs);
        let both = 2 * (prices.read + prices.write + prices.way);
        assert_eq!(both, (costs.round_trip_ns * 1000.0) as Ps);
        let short = Prices::new(&Costs { round_trip_ns: 1.0, ..costs });
        assert_eq!(short.way, 0);
    }

    #[test]
    fn a_cost_that_could_not_be_measured_is_nothing_or_a_second() {
        let costs = Costs { run_ns: f64::INFINITY, send_ns: f64::NAN, ..Costs::default() };
        let prices = Prices::new(&costs);
        assert_eq!((prices.run, prices.send), (1_000_000_000_000, 0));
    }
}
