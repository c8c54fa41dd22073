//! The application lock: while it is wanted, one worker at a time runs applications.
//!
//! The applications of several workers share tables, as the paths of `route-flow`. Which worker
//! came to a table first is in no recording. So while a recording is made that is to be played
//! back, workers run applications one after the other, and the times in the recording say in which
//! order. They read, chop and write beside each other as ever. While it is not wanted, the lock is
//! a test. Modelled with loom.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use aldis_control::stats::WorkerStats;

use crate::limits::APP_LOCK_WITHIN;
use crate::sync::Atomic;

/// How often a worker looks again before it sleeps: for some microseconds, as long as most batches
/// take.
const LOOKS: usize = 200;

/// What is added where there is one less.
const LESS: u32 = 0_u32.wrapping_sub(1);

/// Shared by the workers.
#[derive(Debug, Default)]
pub(super) struct AppLock {
    wanted: AtomicBool,
    words: AppLockWords,
    /// Whether a worker waited in vain for the one that holds it. The others do not, until that one
    /// comes back.
    given_up: AtomicBool,
    sleep: Mutex<()>,
    released: Condvar,
}

/// Whether a worker has it, and whether any sleeps until it is released.
#[derive(Debug, Default)]
struct AppLockWords<A = AtomicU32> {
    /// 1 while a worker has it.
    held: A,
    /// Workers that sleep, or are about to.
    sleeping: A,
}

impl<A: Atomic> AppLockWords<A> {
    fn take_if_free(&self) -> bool {
        self.held.swap(1) == 0
    }

    /// The worker is about to sleep, and has to look once more after this.
    fn fall_asleep(&self) {
        self.sleeping.add(1);
    }

    fn wake_up(&self) {
        self.sleeping.add(LESS);
    }

    /// Releases it. Returns whether a worker sleeps, and has to be woken.
    fn release(&self) -> bool {
        self.held.store(0);
        // Writes what it reads: of this and the sleeper's own count, the later one sees the earlier
        // one and all that was done before it.
        self.sleeping.add(0) != 0
    }
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
        self.words.take_if_free() || (!self.given_up.load(Ordering::Relaxed) && self.wait(stats))
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
            Atomic::load(&self.words.held) == 0 && self.words.take_if_free()
        })
    }

    fn wait_asleep(&self) -> bool {
        let asleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.words.fall_asleep();
        let mut took = false;
        let is_held = |(): &mut ()| {
            took = self.words.take_if_free();
            !took
        };
        let woken = self.released.wait_timeout_while(asleep, APP_LOCK_WITHIN, is_held);
        drop(woken.unwrap_or_else(PoisonError::into_inner));
        self.words.wake_up();
        if !took {
            self.given_up.store(true, Ordering::Relaxed);
        }
        took
    }

    /// The worker that has it gives it back.
    pub(super) fn release(&self) {
        self.given_up.store(false, Ordering::Relaxed);
        if self.words.release() {
            // One that is about to sleep does so first.
            drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.released.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Watched;

    /// Either the last look takes it, or the worker that releases it finds the sleeper.
    #[test]
    fn a_release_and_a_sleeper_do_not_miss_each_other() {
        loom::model(|| {
            let words = Arc::new(AppLockWords::<Watched>::default());
            assert!(words.take_if_free());
            let holder = Arc::clone(&words);
            let holder = loom::thread::spawn(move || holder.release());
            words.fall_asleep();
            let took = words.take_if_free();
            let woken = holder.join().unwrap();
            assert!(took || woken);
        });
    }

    /// What one worker did while it had the lock, the next one sees.
    #[test]
    fn one_after_the_other_has_it() {
        loom::model(|| {
            let shared = Arc::new((AppLockWords::<Watched>::default(), Watched::new(0)));
            let work = |(words, value): &(AppLockWords<Watched>, Watched)| {
                let took = words.take_if_free();
                if took {
                    let there = value.load(Ordering::Relaxed);
                    value.store(there + 1, Ordering::Relaxed);
                    words.release();
                }
                u32::from(took)
            };
            let other = Arc::clone(&shared);
            let other = loom::thread::spawn(move || work(&other));
            let took = work(&shared) + other.join().unwrap();
            assert_eq!(shared.1.load(Ordering::Relaxed), took);
        });
    }

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
