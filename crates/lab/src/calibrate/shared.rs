//! What several workers over switches in memory cost each other, all that a simulation of them
//! needs: bare loops on all cores at once, the engine's own work, and what moves between two cores.

use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use aldis_engine::sim::Costs;

use super::clock::CalibratedClock;
use super::cores::{CorePair, pin};
use super::memory::{self, MemoryVisits};
use super::own::OwnCosts;
use super::rounds::{Middle, StepPace};
use super::{hand_over, moved, own, wake};

/// Switches in memory that are always full, and the hosts of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryLoad {
    /// Switches, 1 to 10,000.
    pub switches: usize,
    /// Hosts of each, 2 to 65,536.
    pub hosts: u32,
}

/// As many switches as the papers have.
impl Default for MemoryLoad {
    fn default() -> MemoryLoad {
        MemoryLoad { switches: 79, hosts: 1_000 }
    }
}

/// How many times shorter each of the steps is than all bare loops.
const STEPS: u32 = 5;

/// What was measured at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCosts {
    visits: MemoryVisits,
    own: OwnCosts,
    /// What is left of the costs: nothing else of them is meant.
    between: Costs,
}

impl SharedCosts {
    /// On these cores, two at least, for about three times `length`.
    pub(crate) fn measure(
        load: MemoryLoad,
        cores: &[usize],
        length: Duration,
        stop: &AtomicBool,
    ) -> io::Result<SharedCosts> {
        let (visits, uneven_pct) = SharedCosts::visits(load, cores, length);
        let shared = MemoryVisits::mean(&memory::visits(cores, load, true, length));
        let own = OwnCosts::beyond(&visits, load, cores, length / STEPS)?;
        let between = SharedCosts::between(load, cores, length / STEPS, stop)?;
        let moved_request_ns = (shared.request_ns() - visits.request_ns()).max(0.0);
        Ok(SharedCosts { visits, own, between: Costs { moved_request_ns, uneven_pct, ..between } })
    }

    /// Bare loops on all cores at once, and how far their speeds are from each other.
    fn visits(load: MemoryLoad, cores: &[usize], length: Duration) -> (MemoryVisits, f64) {
        let each = memory::visits(cores, load, false, length);
        (MemoryVisits::mean(&each), MemoryVisits::uneven_pct(&each))
    }

    /// What two cores cost each other, at this moment: a virtual machine's may be near each other
    /// or far apart, and change from second to second. Each step takes `length`.
    fn between(
        load: MemoryLoad,
        cores: &[usize],
        length: Duration,
        stop: &AtomicBool,
    ) -> io::Result<Costs> {
        let pair = CorePair::choose();
        let moved_visit_ns = own::moved_visit(load, cores, length)?;
        let costs = thread::scope(|scope| {
            let measure = || {
                pin(Some(pair.near));
                let (warm_up, middle) = (Duration::ZERO, Middle::Median);
                let clock = CalibratedClock::new();
                between(&StepPace { warm_up, length, middle, stop, clock }, pair)
            };
            scope.spawn(measure).join().expect("measuring does not panic")
        })?;
        Ok(Costs { moved_visit_ns, ..costs })
    }

    /// The same with the bare loops of now, and with what two cores cost each other now.
    pub(crate) fn now(
        self,
        load: MemoryLoad,
        cores: &[usize],
        length: Duration,
        stop: &AtomicBool,
    ) -> io::Result<SharedCosts> {
        let moved_request_ns = self.between.moved_request_ns;
        let (visits, uneven_pct) = SharedCosts::visits(load, cores, length);
        let between = SharedCosts::between(load, cores, length / STEPS, stop)?;
        let between = Costs { moved_request_ns, uneven_pct, ..between };
        Ok(SharedCosts { visits, between, ..self })
    }

    /// The mean of several, one at least, as a simulation takes it.
    pub(crate) fn costs(all: &[SharedCosts]) -> Costs {
        let visits: Vec<MemoryVisits> = all.iter().map(|it| it.visits).collect();
        let mean = |of: &dyn Fn(&SharedCosts) -> f64| {
            (all.iter().map(of).sum::<f64>() / all.len() as f64).max(0.0)
        };
        MemoryVisits::mean(&visits).costs(Costs {
            visit_ns: mean(&|it| it.own.visit),
            finish_pct: mean(&|it| it.between.finish_pct),
            run_ns: mean(&|it| it.own.run),
            send_ns: mean(&|it| it.own.send),
            poll_ns: mean(&|it| it.between.cas_ns),
            empty_read_ns: mean(&|it| it.between.cas_ns),
            cas_ns: mean(&|it| it.between.cas_ns),
            wake_ns: mean(&|it| it.between.wake_ns),
            uneven_pct: mean(&|it| it.between.uneven_pct),
            ring_ns: mean(&|it| it.between.ring_ns),
            line_transfer_ns: mean(&|it| it.between.line_transfer_ns),
            moved_visit_ns: mean(&|it| it.between.moved_visit_ns),
            moved_request_ns: mean(&|it| it.between.moved_request_ns),
            hand_ns: mean(&|it| it.between.hand_ns),
            handed_visit_ns: mean(&|it| it.between.handed_visit_ns),
            handed_byte_ps: mean(&|it| it.between.handed_byte_ps),
            pull_ns: mean(&|it| it.between.pull_ns),
            pulled_visit_ns: mean(&|it| it.between.pulled_visit_ns),
            pulled_byte_ps: mean(&|it| it.between.pulled_byte_ps),
            ..Costs::default()
        })
    }
}

/// What two cores cost each other.
fn between(pace: &StepPace<'_>, pair: CorePair) -> io::Result<Costs> {
    let needs_two = || io::Error::other("two cores are needed");
    let [cas] = hand_over::alone(pace)?;
    let [line, _] = hand_over::between(pace, pair)?.ok_or_else(needs_two)?;
    let moved = moved::measure(pace, pair)?.ok_or_else(needs_two)?;
    let [wake, ring] = wake::measure(pace, pair)?;
    let ([hand, handed, handed_byte], [pull, pulled, pulled_byte]) = (moved.hand, moved.pull);
    Ok(Costs {
        cas_ns: cas.value,
        line_transfer_ns: line.value,
        wake_ns: wake.value,
        ring_ns: ring.value,
        finish_pct: moved.finish.value,
        hand_ns: hand.value,
        handed_visit_ns: handed.value,
        handed_byte_ps: handed_byte.value,
        pull_ns: pull.value,
        pulled_visit_ns: pulled.value,
        pulled_byte_ps: pulled_byte.value,
        ..Costs::default()
    })
}
