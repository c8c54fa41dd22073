//! What the steps of a worker cost on this machine, for a simulation of many workers.
//!
//! Each step is one file: system calls over loopback TCP and what two cores have to say to each
//! other, with everything else at rest; visits with requests through the applications, under load.
//! A step is repeated in rounds; the result is the median of the rounds, or under load the mean,
//! with the quartiles beside it ([`CostQuartiles`]). The measuring thread is bound to one core and
//! whatever is at the other end to another; where there is only one core, both ends take turns on
//! it, and what needs two is left out.
//!
//! Not measured: what more than two workers cost each other in shared caches and in memory, and
//! what any do in the locks of the kernel.

mod clock;
mod cores;
mod costs;
mod exchange;
mod file;
mod hand_over;
mod line;
mod loopback;
mod machine;
mod memory;
mod moved;
pub(crate) mod own;
mod poll;
mod round_trip;
mod rounds;
pub(crate) mod shared;
mod visit;
mod wake;

use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

pub use aldis_engine::sim::COST_MAX;
pub use costs::{CostRow, StepCosts};
pub use file::{COST_MIN, CostsFileError, check};
pub use machine::{MachineInfo, today};
pub use rounds::{CostQuartiles, Middle};

use aldis_engine::limits::DESCRIPTORS_SPARE;
use aldis_engine::sim::CROWD;
use clock::CalibratedClock;
use cores::CorePair;
use moved::Moved;
use rounds::StepPace;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use visit::Visits;

/// What was measured, where and when.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Calibration<T = f64> {
    /// The version of Aldis that measured.
    pub aldis: String,
    /// The day, UTC: `2026-11-21`.
    pub date: String,
    /// The machine.
    pub machine: MachineInfo,
    /// What each step costs there.
    pub costs: StepCosts<T>,
}

/// What is measured together, in the order in which it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CalibrationStep {
    /// Visits under load, with requests through the applications. First, so that they are behind
    /// what runs between two sittings and keeps both cores as busy.
    Visit,
    /// The same with so many connections that none is in a cache when its turn comes.
    Crowd,
    /// Polls.
    Poll,
    /// Reads and writes.
    Exchange,
    /// Waking a worker that sleeps.
    Wake,
    /// Cache lines that go from core to core.
    HandOver,
    /// One request at a time, there and back.
    RoundTrip,
    /// What the engine does itself.
    Own,
}

impl CalibrationStep {
    /// All of them, in order.
    pub const ALL: [CalibrationStep; 8] = [
        CalibrationStep::Visit,
        CalibrationStep::Crowd,
        CalibrationStep::Poll,
        CalibrationStep::Exchange,
        CalibrationStep::Wake,
        CalibrationStep::HandOver,
        CalibrationStep::RoundTrip,
        CalibrationStep::Own,
    ];

    /// What is measured, in words.
    pub fn words(self) -> &'static str {
        match self {
            CalibrationStep::Poll => "polls",
            CalibrationStep::Exchange => "reads and writes",
            CalibrationStep::Wake => "waking a sleeper",
            CalibrationStep::Visit => "visits under load",
            CalibrationStep::Crowd => "visits among a thousand switches",
            CalibrationStep::HandOver => "cache lines between two cores",
            CalibrationStep::RoundTrip => "round trips",
            CalibrationStep::Own => "the engine's own work",
        }
    }
}

/// Why there is no calibration.
#[derive(Debug)]
pub enum CalibrationFailure {
    /// It was told to stop.
    Stopped,
    /// The system refused something that the step needs.
    Refused(CalibrationStep, io::Error),
}

impl fmt::Display for CalibrationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CalibrationFailure::Stopped => f.write_str("stopped before everything was measured"),
            CalibrationFailure::Refused(step, error) => {
                write!(f, "cannot measure {}: {error}", step.words())
            }
        }
    }
}

/// Under what load visits are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conditions {
    /// Switches whose queues are full: 1 to 400, for both ends of their connections are in one
    /// process.
    pub switches: u32,
    /// Hosts of each that are known: 2 to 1,000,000.
    pub macs: u32,
}

impl Conditions {
    /// A crowd that knows as many hosts together, so that what differs are the connections.
    fn of_crowd(self) -> Conditions {
        let hosts = u64::from(self.switches) * u64::from(self.macs) / u64::from(CROWD);
        Conditions { switches: CROWD, macs: hosts.clamp(2, 1_000_000) as u32 }
    }

    /// Whether the process may have both ends of so many connections open.
    fn has_room(self) -> bool {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        u64::from(self.switches) * 2 + DESCRIPTORS_SPARE as u64 <= most
    }
}

/// What the goals of `docs/performance.md` are about.
impl Default for Conditions {
    fn default() -> Conditions {
        Conditions { switches: 16, macs: 100_000 }
    }
}

/// How often everything is to be measured at least, each time with new connections and in new
/// memory: on some machines the kernel's part of the same visits differs by a third, and more, from
/// one second or minute to the next.
const SITTINGS: usize = 12;

/// What a sitting takes where there is more time.
const SITTING: Duration = Duration::from_secs(5);

/// How many sittings are to share so much time, and how long each is: twelve, or as many of five
/// seconds as there is time for. A sitting has a least length, so that in less than twelve seconds
/// there is one a second, and two at least.
pub fn sittings(all: Duration) -> (usize, Duration) {
    let least = SITTINGS.min(all.as_secs() as usize).max(2);
    let count = least.max((all.as_secs() / SITTING.as_secs()) as usize);
    (count, all / count as u32)
}

/// How much longer visits under load take than any other step, and how much of it does not count: a
/// machine whose cores have been busy for a second or two may be slower than one that was at rest.
const LOADED: u32 = 15;
const NOT_COUNTED: u32 = 10;

/// How much longer visits in a crowd take than another step.
const CROWDED: u32 = 3;

impl Calibration<CostQuartiles> {
    /// Of several sittings, one at least, at one machine: the median of their medians or the mean
    /// of their means, and their quartiles.
    pub fn of(sittings: &[Calibration<CostQuartiles>]) -> Calibration<CostQuartiles> {
        let fields = |sitting: &Calibration<CostQuartiles>| {
            let mut fields = Vec::new();
            let _ = sitting.costs.map(|cost| fields.push(cost));
            fields
        };
        let sat: Vec<Vec<CostQuartiles>> = sittings.iter().map(fields).collect();
        let mut fields = 0..;
        let costs = sittings[0].costs.map(|_| {
            let field = fields.next().expect("it has no end");
            let of_all: Vec<_> =
                sat.iter().filter_map(|fields| fields.get(field).copied()).collect();
            CostQuartiles::over(&of_all)
        });
        Calibration { costs, ..sittings[0].clone() }
    }
}

/// One sitting. Measures everything in about `length`, and as long as switches take to tell where
/// their hosts live; says through `tell` which step begins, and ends early when `stop` becomes
/// true. The caller's thread stays where it is: a thread of its own is bound to a core.
///
/// # Errors
/// [`CalibrationFailure`]; nothing is left running then.
pub fn run(
    length: Duration,
    conditions: Conditions,
    stop: &AtomicBool,
    tell: &mut (dyn FnMut(CalibrationStep) + Send),
) -> Result<Calibration<CostQuartiles>, CalibrationFailure> {
    let measured = thread::scope(|scope| {
        scope
            .spawn(|| measure(length, conditions, stop, tell))
            .join()
            .expect("measuring does not panic")
    })?;
    Ok(Calibration {
        aldis: env!("CARGO_PKG_VERSION").into(),
        date: machine::today(),
        machine: MachineInfo::here(),
        costs: measured,
    })
}

fn measure(
    length: Duration,
    conditions: Conditions,
    stop: &AtomicBool,
    tell: &mut (dyn FnMut(CalibrationStep) + Send),
) -> Result<StepCosts<CostQuartiles>, CalibrationFailure> {
    let cores = CorePair::choose();
    cores::pin(Some(cores.near));
    let share = length / (CalibrationStep::ALL.len() as u32 - 2 + LOADED + CROWDED);
    let (middle, clock) = (Middle::Median, CalibratedClock::new());
    let pace = StepPace { warm_up: Duration::ZERO, length: share, middle, stop, clock };
    let warm_up = share * NOT_COUNTED;
    let length = share * (LOADED - NOT_COUNTED);
    let loaded = StepPace { warm_up, length, middle: Middle::Mean, ..pace };
    let crowded = StepPace { warm_up: share, length: share * (CROWDED - 1), ..loaded };
    let mut begin = |step: CalibrationStep| {
        tell(step);
        move |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => CalibrationFailure::Stopped,
            _ => CalibrationFailure::Refused(step, error),
        }
    };
    let failed = begin(CalibrationStep::Visit);
    let visits = visit::measure(&loaded, cores, conditions).map_err(failed)?;
    let failed = begin(CalibrationStep::Crowd);
    let crowd = crowd(&crowded, cores, conditions, &visits).map_err(failed)?;
    let failed = begin(CalibrationStep::Poll);
    let poll = poll::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::Exchange);
    let exchange = exchange::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::Wake);
    let wake = wake::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::HandOver);
    let [cas] = hand_over::alone(&pace).map_err(failed)?;
    let two = hand_over::between(&pace, cores).map_err(failed)?;
    let moved = moved::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::RoundTrip);
    let [round_trip] = round_trip::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::Own);
    let own = own::measure(&pace, cores).map_err(failed)?;
    let moved_visit = own::moved_visits(&pace, cores).map_err(failed)?;
    let steps = Steps {
        visits,
        crowd,
        poll,
        exchange,
        wake,
        cas,
        two,
        moved,
        round_trip,
        own,
        moved_visit,
    };
    Ok(steps.costs())
}

/// What the steps of a calibration measured, as each of them returns it.
struct Steps {
    visits: Visits,
    crowd: Option<[CostQuartiles; 6]>,
    poll: [CostQuartiles; 2],
    exchange: [CostQuartiles; 5],
    wake: [CostQuartiles; 2],
    cas: CostQuartiles,
    two: Option<[CostQuartiles; 2]>,
    moved: Option<Moved>,
    round_trip: CostQuartiles,
    own: [CostQuartiles; 3],
    moved_visit: Option<CostQuartiles>,
}

impl Steps {
    /// The same by the names of the costs.
    fn costs(self) -> StepCosts<CostQuartiles> {
        let Steps { visits, crowd, moved, two, own, moved_visit, .. } = self;
        let [[full_read, full_read_byte], [full_write, full_write_byte]] =
            [visits.read, visits.write];
        let [batch, gather, request] = visits.requests;
        let [poll, poll_event] = self.poll;
        let [read, read_byte, empty_read, write, write_byte] = self.exchange;
        let [wake, ring] = self.wake;
        StepCosts {
            poll_ns: poll,
            poll_event_ns: poll_event,
            read_ns: read,
            read_byte_ps: read_byte,
            empty_read_ns: empty_read,
            write_ns: write,
            write_byte_ps: write_byte,
            full_read_ns: full_read,
            full_read_byte_ps: full_read_byte,
            full_write_ns: full_write,
            full_write_byte_ps: full_write_byte,
            joined_ns: visits.joined,
            wake_ns: wake,
            ring_ns: ring,
            batch_ns: batch,
            gather_ns: gather,
            request_ns: request,
            visit_ns: Some(own[0]),
            finish_pct: moved.map(|it| it.finish),
            run_ns: Some(own[1]),
            send_ns: Some(own[2]),
            crowd_read_ns: crowd.map(|it| it[0]),
            crowd_read_byte_ps: crowd.map(|it| it[1]),
            crowd_write_ns: crowd.map(|it| it[2]),
            crowd_write_byte_ps: crowd.map(|it| it[3]),
            crowd_batch_ns: crowd.map(|it| it[4]),
            crowd_request_ns: crowd.map(|it| it[5]),
            waver_pct: visits.waver,
            away_pct: visits.away[0],
            away_ns: visits.away[1],
            line_transfer_ns: two.map(|[transfer, _]| transfer),
            moved_visit_ns: moved_visit,
            hand_ns: moved.map(|it| it.hand[0]),
            handed_visit_ns: moved.map(|it| it.hand[1]),
            handed_byte_ps: moved.map(|it| it.hand[2]),
            pull_ns: moved.map(|it| it.pull[0]),
            pulled_visit_ns: moved.map(|it| it.pull[1]),
            pulled_byte_ps: moved.map(|it| it.pull[2]),
            cas_ns: self.cas,
            contended_cas_ns: two.map(|[_, contended]| contended),
            round_trip_ns: self.round_trip,
        }
    }
}

/// What visits in a crowd take more than `few` do: a read, each byte of it, a write, each byte of
/// it, a visit's part of a batch, each request of it. None where so many descriptors may not be
/// open.
fn crowd(
    pace: &StepPace<'_>,
    cores: CorePair,
    conditions: Conditions,
    few: &Visits,
) -> io::Result<Option<[CostQuartiles; 6]>> {
    let conditions = conditions.of_crowd();
    if !conditions.has_room() {
        return Ok(None);
    }
    let many = visit::measure(pace, cores, conditions)?;
    let costs = |visits: &Visits| {
        let [[read, read_byte], [write, write_byte]] = [visits.read, visits.write];
        let [batch, _, request] = visits.requests;
        [read, read_byte, write, write_byte, batch, request]
    };
    let (many, few) = (costs(&many), costs(few));
    Ok(Some(std::array::from_fn(|at| many[at].beyond(few[at]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_time_is_more_sittings_and_less_is_fewer_or_shorter_ones() {
        for (seconds, count, millis) in [
            (1, 2, 500),
            (6, 6, 1_000),
            (24, 12, 2_000),
            (60, 12, 5_000),
            (64, 12, 5_333),
            (600, 120, 5_000),
        ] {
            let (sittings, each) = sittings(Duration::from_secs(seconds));
            assert_eq!((sittings, each.as_millis()), (count, millis), "{seconds} s");
        }
    }
}
