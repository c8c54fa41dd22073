//! Taking a lock on the path of a request, and counting how long that waits.

use std::time::Instant;

use aldis_control::stats::WorkerStats;

use super::Lock;

/// Takes a lock. A wait for it counts in `stats`.
#[inline]
pub(crate) fn lock<'m, T, L: Lock<T>>(lock: &'m L, stats: &WorkerStats) -> L::Guard<'m> {
    lock.take_if_free().unwrap_or_else(|| wait(lock, stats))
}

#[cold]
fn wait<'m, T, L: Lock<T>>(lock: &'m L, stats: &WorkerStats) -> L::Guard<'m> {
    let began = Instant::now();
    let there = lock.take();
    stats.lock_wait_ns.add(began.elapsed().as_nanos() as u64);
    there
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn a_wait_is_counted_and_no_wait_is_not() {
        let (mutex, stats) = (Mutex::new(0), WorkerStats::default());
        drop(lock(&mutex, &stats));
        assert_eq!(stats.lock_wait_ns.get(), 0);
        let deadline = Instant::now() + Duration::from_secs(30);
        // The other thread may come too late to wait.
        while stats.lock_wait_ns.get() == 0 {
            assert!(Instant::now() < deadline, "nobody waited");
            let comes = AtomicBool::new(false);
            let held = mutex.lock().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    comes.store(true, Ordering::Release);
                    *lock(&mutex, &stats) += 1;
                });
                while !comes.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                std::thread::park_timeout(Duration::from_millis(1));
                drop(held);
            });
        }
        assert!(*mutex.lock().unwrap() > 0);
    }
}
