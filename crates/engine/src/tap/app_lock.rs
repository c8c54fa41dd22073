//! The application lock: while it is wanted, one worker at a time runs applications.
//!
//! The applications of several workers share tables, as the paths of `route-flow`. Which worker
//! came to a table first is in no recording. So while a recording is made that is to be played
//! back, workers run applications one after the other, and the times in the recording say in which
//! order. They read, chop and write beside each other as ever. While it is not wanted, the lock is
//! a test.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use aldis_control::stats::WorkerStats;

use crate::limits::APP_LOCK_WITHIN;

/// How often a worker looks again before it sleeps: for some microseconds, as long as most batches
/// take.
const LOOKS: usize = 200;

/// Shared by the workers.
#[derive(Debug, Default)]
pub(super) struct AppLock {
    wanted: AtomicBool,
    held: AtomicBool,
    /// Whether a worker waited in vain for the one that holds it. The others do not, until that one
    /// comes back.
    given_up: AtomicBool,
    /// Workers that sleep until it is released.
    sleeping: AtomicUsize,
    sleep: Mutex<()>,
    released: Condvar,
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
    /// waited for [`APP_LOCK_WITHIN`] goes on without, and so do the others after that, for as long
    /// as an application hangs.
    pub(super) fn take(&self, stats: &WorkerStats) -> bool {
        self.take_if_free() || (!self.given_up.load(Ordering::Relaxed) && self.wait(stats))
    }

    fn take_if_free(&self) -> bool {
        !self.held.swap(true, Ordering::SeqCst)
    }

    fn wait(&self, stats: &WorkerStats) -> bool {
        let began = Instant::now();
        let took = self.look_again() || self.wait_asleep();
        stats.lock_wait_ns.add(began.elapsed().as_nanos() as u64);
        took
    }

    fn look_again(&self) -> bool {
        (0..LOOKS).any(|_| {
            spin_loop();
            !self.held.load(Ordering::Relaxed) && self.take_if_free()
        })
    }

    /// Either this worker is seen asleep as the lock is released, or it sees that it was: it says
    /// that it sleeps before it looks, and the other one looks behind the release.
    fn wait_asleep(&self) -> bool {
        let asleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        let mut took = false;
        let is_held = |(): &mut ()| {
            took = self.take_if_free();
            !took
        };
        let woken = self.released.wait_timeout_while(asleep, APP_LOCK_WITHIN, is_held);
        drop(woken.unwrap_or_else(PoisonError::into_inner));
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        if !took {
            self.given_up.store(true, Ordering::Relaxed);
        }
        took
    }

    /// The worker that has it gives it back.
    pub(super) fn release(&self) {
        self.given_up.store(false, Ordering::Relaxed);
        self.held.store(false, Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            // One that is about to sleep does so first.
            drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.released.notify_one();
        }
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
        let waited_ns = stats.lock_wait_ns.get();
        assert!(waited_ns >= APP_LOCK_WITHIN.as_nanos() as u64);
        assert!(!lock.take(&stats) && stats.lock_wait_ns.get() == waited_ns, "once is enough");
        lock.release();
        assert!(lock.take(&stats));
    }
}
