//! The application lock: while it is wanted, one worker at a time runs applications.
//!
//! The applications of several workers share tables, as the paths of `route-flow`. Which worker
//! came to a table first is in no recording. So while a recording is made that is to be played
//! back, workers run applications one after the other, and the times in the recording say in which
//! order. They read, chop and write beside each other as ever. While it is not wanted, the lock is
//! a test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use aldis_control::stats::WorkerStats;

use crate::limits::APP_LOCK_WITHIN;

/// Shared by the workers.
#[derive(Debug, Default)]
pub(super) struct AppLock {
    wanted: AtomicBool,
    state: Mutex<AppLockState>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct AppLockState {
    held: bool,
    /// Workers that wait for it.
    waiting: usize,
}

impl AppLock {
    pub(super) fn want(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Waits for it, and counts in `stats` how long. Returns whether this worker has it: one that
    /// waited for [`APP_LOCK_WITHIN`] goes on without.
    pub(super) fn take(&self, stats: &WorkerStats) -> bool {
        let mut state = self.state();
        if state.held {
            let began = Instant::now();
            state.waiting += 1;
            let freed = self.freed.wait_timeout_while(state, APP_LOCK_WITHIN, |state| state.held);
            (state, _) = freed.unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            stats.lock_wait_ns.add(began.elapsed().as_nanos() as u64);
        }
        !std::mem::replace(&mut state.held, true)
    }

    /// The worker that has it gives it back.
    pub(super) fn release(&self) {
        let mut state = self.state();
        state.held = false;
        let waits = state.waiting > 0;
        drop(state);
        if waits {
            self.freed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, AppLockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn one_at_a_time_has_it() {
        let (lock, inside) = (AppLock::default(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let stats = WorkerStats::default();
                    for _ in 0..2000 {
                        // A thread that was put off for that long goes on without.
                        if lock.take(&stats) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                            lock.release();
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_worker_waits_no_longer_than_that_and_the_wait_is_counted() {
        let (lock, stats) = (AppLock::default(), WorkerStats::default());
        assert!(lock.take(&stats));
        assert_eq!(stats.lock_wait_ns.get(), 0);
        assert!(!lock.take(&stats));
        assert!(stats.lock_wait_ns.get() >= APP_LOCK_WITHIN.as_nanos() as u64);
        lock.release();
        assert!(lock.take(&stats));
    }
}
