//! What the steps of a worker cost on this machine, for a simulation of many workers.
//!
//! Each step is one file: system calls over loopback TCP and what two cores have to say to each
//! other, with everything else at rest; visits with requests through the applications, under load.
//! A step is repeated in rounds; the result is the median of the rounds, or under load the mean,
//! with the quartiles beside it ([`CostQuartiles`]). The measuring thread is bound to one core and
//! whatever is at the other end to another; where there is only one core, both ends take turns on
//! it, and what needs two is left out.
//!
//! Not measured: what several workers cost each other in shared caches, in memory, and in the locks
//! of the kernel.

mod clock;
mod cores;
mod costs;
mod exchange;
mod file;
mod hand_over;
mod line;
mod loopback;
mod machine;
mod poll;
mod round_trip;
mod rounds;
mod visit;
mod wake;

use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

pub use costs::{CostRow, StepCosts};
pub use file::{COST_MAX, COST_MIN, CostsFileError, check};
pub use machine::{MachineInfo, today};
pub(crate) use rounds::median;
pub use rounds::{CostQuartiles, Middle};

use clock::CalibratedClock;
use cores::CorePair;
use rounds::StepPace;
use serde::Serialize;

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
}

impl CalibrationStep {
    /// All of them, in order.
    pub const ALL: [CalibrationStep; 6] = [
        CalibrationStep::Visit,
        CalibrationStep::Poll,
        CalibrationStep::Exchange,
        CalibrationStep::Wake,
        CalibrationStep::HandOver,
        CalibrationStep::RoundTrip,
    ];

    /// What is measured, in words.
    pub fn words(self) -> &'static str {
        match self {
            CalibrationStep::Poll => "polls",
            CalibrationStep::Exchange => "reads and writes",
            CalibrationStep::Wake => "waking a sleeper",
            CalibrationStep::Visit => "visits under load",
            CalibrationStep::HandOver => "cache lines between two cores",
            CalibrationStep::RoundTrip => "round trips",
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
/// seconds as there is time for.
pub fn sittings(all: Duration) -> (usize, Duration) {
    let count = SITTINGS.max((all.as_secs() / SITTING.as_secs()) as usize);
    (count, all / count as u32)
}

/// How much longer visits under load take than any other step, and how much of it does not count: a
/// machine whose cores have been busy for a second or two may be slower than one that was at rest.
const LOADED: u32 = 15;
const NOT_COUNTED: u32 = 10;

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
    let share = length / (CalibrationStep::ALL.len() as u32 - 1 + LOADED);
    let (middle, clock) = (Middle::Median, CalibratedClock::new());
    let pace = StepPace { warm_up: Duration::ZERO, length: share, middle, stop, clock };
    let warm_up = share * NOT_COUNTED;
    let length = share * (LOADED - NOT_COUNTED);
    let loaded = StepPace { warm_up, length, middle: Middle::Mean, ..pace };
    let mut begin = |step: CalibrationStep| {
        tell(step);
        move |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => CalibrationFailure::Stopped,
            _ => CalibrationFailure::Refused(step, error),
        }
    };
    let failed = begin(CalibrationStep::Visit);
    let visits = visit::measure(&loaded, cores, conditions).map_err(failed)?;
    let [[full_read, full_read_byte], [full_write, full_write_byte]] = [visits.read, visits.write];
    let [batch, gather, request] = visits.requests;
    let failed = begin(CalibrationStep::Poll);
    let [poll, poll_event] = poll::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::Exchange);
    let [read, read_byte, empty_read, write, write_byte] =
        exchange::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::Wake);
    let [wake, ring] = wake::measure(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::HandOver);
    let [cas] = hand_over::alone(&pace).map_err(failed)?;
    let two = hand_over::between(&pace, cores).map_err(failed)?;
    let failed = begin(CalibrationStep::RoundTrip);
    let [round_trip] = round_trip::measure(&pace, cores).map_err(failed)?;
    Ok(StepCosts {
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
        waver_pct: visits.waver,
        away_pct: visits.away[0],
        away_ns: visits.away[1],
        line_transfer_ns: two.map(|[transfer, _]| transfer),
        cas_ns: cas,
        contended_cas_ns: two.map(|[_, contended]| contended),
        round_trip_ns: round_trip,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_time_is_more_sittings_and_less_is_shorter_ones() {
        for (seconds, count, millis) in
            [(6, 12, 500), (60, 12, 5_000), (64, 12, 5_333), (600, 120, 5_000)]
        {
            let (sittings, each) = sittings(Duration::from_secs(seconds));
            assert_eq!((sittings, each.as_millis()), (count, millis), "{seconds} s");
        }
    }
}
