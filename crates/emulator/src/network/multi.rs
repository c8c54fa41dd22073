//! Several networks in one run, each on a thread of its own.

mod joined;

use super::run::{NetworkRun, admit};
use super::{NetworkFailure, NetworkMoment, NetworkPlan, NetworkReport};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Networks that begin together: none acts before all are ready, and where one cannot go on all
/// end.
#[derive(Debug)]
pub(super) struct StartBarrier<'a> {
    /// Told from outside.
    stop: &'a AtomicBool,
    /// How many are not ready.
    missing: AtomicUsize,
    /// One cannot go on.
    broken: AtomicBool,
}

impl<'a> StartBarrier<'a> {
    pub(super) fn of(networks: usize, stop: &'a AtomicBool) -> StartBarrier<'a> {
        StartBarrier { stop, missing: AtomicUsize::new(networks), broken: AtomicBool::new(false) }
    }

    /// One of them is ready. Each says so once.
    pub(super) fn arrive(&self) {
        self.missing.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing.load(Ordering::Relaxed) == 0
    }

    /// Whether all are to end.
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.broken.load(Ordering::Relaxed)
    }
}

/// Ends all networks when it goes, unless it was [forgotten](std::mem::forget): so where one
/// panics, too.
struct Breaker<'a>(&'a StartBarrier<'a>);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::Relaxed);
    }
}

/// Runs networks beside each other as [`super::run`] runs one, each on a thread of its own; what
/// each is to do begins when all are ready. `tell` is called on their threads, with the network's
/// place among the plans. The reports are in the same order; [`NetworkReport::joined`] makes one of
/// them.
///
/// # Errors
/// The first failure, and the place of whose it is where that is one network's; the others have
/// ended by then.
pub fn run_together(
    plans: &[NetworkPlan],
    stop: &AtomicBool,
    tell: &(dyn Fn(usize, NetworkMoment<'_>) + Sync),
) -> Result<Vec<NetworkReport>, (Option<usize>, NetworkFailure)> {
    admit(plans).map_err(|failure| (None, failure))?;
    let barrier = &StartBarrier::of(plans.len(), stop);
    let one = |index: usize, plan: &NetworkPlan| {
        let mut tell = |moment: NetworkMoment<'_>| tell(index, moment);
        let breaker = Breaker(barrier);
        let report = NetworkRun::new(plan, barrier, &mut tell)?.run()?;
        std::mem::forget(breaker);
        Ok(report)
    };
    let one = &one;
    let reports: Vec<Result<NetworkReport, NetworkFailure>> = thread::scope(|scope| {
        let started = plans.iter().enumerate();
        let started: Vec<_> =
            started.map(|(index, plan)| scope.spawn(move || one(index, plan))).collect();
        let ended = started.into_iter().map(|thread| thread.join());
        ended.map(|report| report.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let reports = reports.into_iter().enumerate();
    reports.map(|(index, report)| report.map_err(|failure| (Some(index), failure))).collect()
}
