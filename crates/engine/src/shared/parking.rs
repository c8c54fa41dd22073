//! Parking: workers that sleep in their poll, and waking them.
//!
//! A worker prepares to park, looks for work once more, and sleeps. Work that is made after that
//! look finds the worker parked and wakes it. A worker that lingers looks again and again before
//! that: it is found first, and needs no ring. Modelled with loom.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use crate::sync::Atomic;

/// What is added where there is one less.
const LESS: u32 = 0_u32.wrapping_sub(1);

/// What a worker does.
const WORKS: u32 = 0;
const PARKED: u32 = 1;
const LINGERS: u32 = 2;

/// Which workers park or linger.
#[derive(Debug)]
pub(crate) struct Parking<A = AtomicU32> {
    /// Whether each worker is [`PARKED`], in its poll or about to be, or [`LINGERS`].
    states: Box<[A]>,
    /// How many do either, or more: a worker is counted before it can be found, and until it works.
    count: A,
}

impl<A: Atomic> Parking<A> {
    /// So many workers, all awake.
    pub(crate) fn new(workers: usize) -> Self {
        Parking { states: (0..workers).map(|_| A::default()).collect(), count: A::default() }
    }

    /// The worker is about to sleep. It has to look for work once more after this: work that is
    /// made after that look wakes it. A worker that consumes a ring in between may have been
    /// unparked already, and has to prepare again before it looks.
    pub(crate) fn prepare(&self, worker: usize) {
        self.wait(worker, PARKED);
    }

    /// The worker has nothing to do and looks again at once.
    pub(crate) fn linger(&self, worker: usize) {
        if self.states[worker].load() != LINGERS {
            self.wait(worker, LINGERS);
        }
    }

    fn wait(&self, worker: usize, how: u32) {
        self.count.add(1);
        if self.states[worker].swap(how) != WORKS {
            self.count.add(LESS);
        }
    }

    /// The worker works.
    pub(crate) fn cancel(&self, worker: usize) {
        let _ = self.unpark(worker);
    }

    /// There is work that the caller will not do at once. Returns a worker among these that was
    /// parked and has to be woken; none where one lingers, which will find it.
    #[inline]
    #[must_use]
    pub(crate) fn unpark_one(&self, among: Range<usize>) -> Option<usize> {
        // Writes what it reads: of this and the sleeper's own count, the later one sees the earlier
        // one and all that was done before it. A mere load could miss the sleeper while that misses
        // the work.
        match self.count.add(0) {
            0 => None,
            _ => self.unpark_first(among),
        }
    }

    #[cold]
    fn unpark_first(&self, among: Range<usize>) -> Option<usize> {
        // One that is not seen to linger is taken, not only looked at: see above.
        let seen = |worker: &usize| self.states[*worker].load() == LINGERS;
        for worker in among.clone().filter(seen).chain(among) {
            match self.take(worker) {
                WORKS => {}
                PARKED => return Some(worker),
                // It lingers.
                _ => return None,
            }
        }
        None
    }

    /// Whether the worker was parked. It counts as one that works from now on.
    #[must_use]
    pub(crate) fn unpark(&self, worker: usize) -> bool {
        self.take(worker) == PARKED
    }

    /// What the worker did before: it works from now on.
    fn take(&self, worker: usize) -> u32 {
        let before = self.states[worker].swap(WORKS);
        if before != WORKS {
            self.count.add(LESS);
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, AtomicU32 as Watched, Ordering};

    #[test]
    fn each_sleeper_is_woken_once() {
        let parking = Parking::<AtomicU32>::new(3);
        assert_eq!(parking.unpark_one(0..3), None);
        parking.prepare(1);
        parking.prepare(2);
        parking.prepare(2);
        assert_eq!(parking.unpark_one(2..3), Some(2));
        assert_eq!(parking.unpark_one(2..3), None);
        parking.cancel(1);
        assert_eq!(parking.unpark_one(0..3), None);
    }

    /// Work is made while the worker `waits`, with a last look at the end: either a look finds it,
    /// or the worker that made it finds the parked one.
    fn none_misses_the_other(waits: fn(&Parking<Watched>, &AtomicBool) -> bool) {
        loom::model(move || {
            let parking = Arc::new(Parking::<Watched>::new(1));
            let work = Arc::new(AtomicBool::new(false));
            let maker = (Arc::clone(&parking), Arc::clone(&work));
            let maker = loom::thread::spawn(move || {
                maker.1.store(true, Ordering::Relaxed);
                maker.0.unpark_one(0..1).is_some()
            });
            let found = waits(&parking, &work);
            let woken = maker.join().unwrap();
            assert!(found || woken);
        });
    }

    #[test]
    fn work_and_sleeper_do_not_miss_each_other() {
        none_misses_the_other(|parking, work| {
            parking.prepare(0);
            work.load(Ordering::Relaxed)
        });
    }

    #[test]
    fn work_and_one_that_lingers_and_then_sleeps_do_not_miss_each_other() {
        none_misses_the_other(|parking, work| {
            parking.linger(0);
            let found = work.load(Ordering::Relaxed);
            parking.prepare(0);
            found | work.load(Ordering::Relaxed)
        });
    }

    #[test]
    fn one_that_lingers_is_found_before_one_that_sleeps() {
        let parking = Parking::<AtomicU32>::new(3);
        parking.prepare(0);
        parking.linger(2);
        assert_eq!(parking.unpark_one(0..3), None);
        assert_eq!(parking.unpark_one(0..3), Some(0));
        assert_eq!(parking.unpark_one(0..3), None);
        parking.linger(1);
        parking.prepare(1);
        assert_eq!(parking.unpark_one(0..3), Some(1));
        parking.cancel(1);
        assert_eq!(Atomic::load(&parking.count), 0);
    }

    /// A worker that is unparked while it prepares takes no other from the count.
    #[test]
    fn a_sleeper_roused_at_once_hides_nobody() {
        loom::model(|| {
            let parking = Arc::new(Parking::<Watched>::new(2));
            parking.prepare(1);
            let both = Arc::clone(&parking);
            let reader = loom::thread::spawn(move || both.prepare(0));
            let _ = parking.unpark(0);
            assert_eq!(parking.unpark_one(1..2), Some(1));
            reader.join().unwrap();
            parking.cancel(0);
            assert_eq!(Atomic::load(&parking.count), 0);
        });
    }

    /// A ring that comes late, for work that was found without it, does not hide the parked worker
    /// from more work.
    #[test]
    fn a_ring_that_was_answered_before_sleeping_hides_nobody() {
        loom::model(|| {
            let parking = Arc::new(Parking::<Watched>::new(1));
            let (work, bell) = (Arc::new(Watched::new(1)), Arc::new(AtomicBool::new(false)));
            parking.prepare(0);
            let maker = (Arc::clone(&parking), Arc::clone(&work), Arc::clone(&bell));
            let maker = loom::thread::spawn(move || {
                let (parking, work, bell) = maker;
                let ring = || {
                    if parking.unpark_one(0..1).is_some() {
                        bell.swap(true, Ordering::AcqRel);
                    }
                };
                // For the work that is there already.
                ring();
                work.fetch_add(1, Ordering::Relaxed);
                ring();
            });
            let look = || work.swap(0, Ordering::Relaxed);
            let mut done = look();
            parking.prepare(0);
            if bell.swap(false, Ordering::AcqRel) {
                parking.prepare(0);
            }
            done += look();
            maker.join().unwrap();
            assert!(done == 2 || bell.swap(false, Ordering::AcqRel), "it sleeps beside work");
        });
    }
}
