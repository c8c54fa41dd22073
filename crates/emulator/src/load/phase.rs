//! Where a run stands: what the generator threads and the thread that leads them tell each other.
//!
//! Threads look at two atomics between visits; only the leading thread ever waits here.

use super::Load;
use super::roles::Crew;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What every switch has to do before any may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PhaseStep {
    /// Connect and shake hands.
    Connected = 0,
    /// Tell where its addresses live.
    Taught = 1,
}

pub(super) struct PhaseBarrier {
    /// The step that switches may take now.
    current: AtomicU8,
    start: OnceLock<Instant>,
    stop: AtomicBool,
    over: AtomicBool,
    tally: Mutex<PhaseTally>,
    changed: Condvar,
}

struct PhaseTally {
    /// Switches that have taken each step.
    done: [u32; 2],
    /// Threads of the load that have not left yet.
    threads: usize,
}

impl PhaseBarrier {
    pub(super) fn new(load: &Load) -> PhaseBarrier {
        PhaseBarrier {
            current: AtomicU8::new(PhaseStep::Connected as u8),
            start: OnceLock::new(),
            stop: AtomicBool::new(false),
            over: AtomicBool::new(false),
            tally: Mutex::new(PhaseTally { done: [0; 2], threads: load.threads }),
            changed: Condvar::new(),
        }
    }

    // What a generator thread says and asks.

    /// `switches` more have taken the step.
    pub(super) fn arrive(&self, step: PhaseStep, switches: u32) {
        self.tally().done[step as usize] += switches;
        self.changed.notify_all();
    }

    /// Whether the step may be taken.
    pub(super) fn allows(&self, step: PhaseStep) -> bool {
        self.current.load(Ordering::Acquire) >= step as u8
    }

    /// When offering began, once it may.
    pub(super) fn start(&self) -> Option<Instant> {
        self.start.get().copied()
    }

    /// Whether the run is to end at once, because another thread failed.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether all threads of the load have left, so that there is nothing to do beside it.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The thread is at its end; when it failed, so are all the others.
    pub(super) fn left(&self, crew: Crew, failed: bool) {
        if failed {
            self.abort();
        }
        if crew == Crew::Load {
            let mut tally = self.tally();
            tally.threads -= 1;
            self.over.store(tally.threads == 0, Ordering::Relaxed);
        }
        self.changed.notify_all();
    }

    // What the leading thread does.

    pub(super) fn abort(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Allows every switch to take the step.
    pub(super) fn begin(&self, step: PhaseStep) {
        self.current.store(step as u8, Ordering::Release);
    }

    /// Allows offering from now on.
    pub(super) fn start_offering(&self) -> Instant {
        *self.start.get_or_init(Instant::now)
    }

    /// How many switches have taken the step.
    pub(super) fn done(&self, step: PhaseStep) -> u32 {
        self.tally().done[step as usize]
    }

    /// Waits until more than `done` switches have taken the step or `timeout` has passed; false
    /// when the run has ended.
    pub(super) fn await_change(&self, step: PhaseStep, done: u32, timeout: Duration) -> bool {
        let same =
            |tally: &mut PhaseTally| tally.done[step as usize] == done && self.goes_on(tally);
        let waited = self.changed.wait_timeout_while(self.tally(), timeout, same);
        let (tally, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.goes_on(&tally)
    }

    /// Lets the time until `deadline` pass; false when the run ended before.
    pub(super) fn pass(&self, deadline: Instant) -> bool {
        let timeout = deadline.saturating_duration_since(Instant::now());
        let waited =
            self.changed.wait_timeout_while(self.tally(), timeout, |tally| self.goes_on(tally));
        let (tally, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.goes_on(&tally)
    }

    fn goes_on(&self, tally: &PhaseTally) -> bool {
        tally.threads > 0 && !self.is_stopped()
    }

    fn tally(&self) -> MutexGuard<'_, PhaseTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
