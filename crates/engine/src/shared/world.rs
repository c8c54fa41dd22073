//! The newest World, and who still works with an older one.
//!
//! ```text
//!   worker:     seat ← newest's number │ fence │ takes the newest World │ … its batch … │ seat ← none
//!   publisher:  newest ← the new World │ fence │ looks at all seats: who is there with an older number?
//! ```
//!
//! Whoever acts on a change of the World has to act after the last reader of the old one: a batch
//! that was begun on old routes must not write a flow after that flow was removed. So a worker has
//! a *seat*, which holds a number while it has a World in hand: from the first application that it
//! runs in a batch until all that they wrote is on its way. When no seat holds a number below that
//! of a World, nobody works with an older one, nor ever will: of the two fences one comes first, so
//! either the publisher sees the seat taken, or the worker sees the new World. An idle or sleeping
//! worker has no number, and is waited for by nobody; and no worker waits for anything. Modelled
//! with loom.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;

use aldis_control::World;
use arc_swap::ArcSwap;

use crate::sync::Atomic;

/// A seat that nobody has.
const NONE: u64 = u64::MAX;

/// On a cache line of its own, and without the neighbour that is fetched along.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// The numbers: of the newest World, and of those that workers have in hand.
#[derive(Debug)]
pub(crate) struct Readers<A = AtomicU64> {
    newest: Apart<A>,
    seats: Box<[Apart<A>]>,
}

impl<A: Atomic<u64>> Readers<A> {
    pub(crate) fn new(workers: usize, newest: u64) -> Self {
        let seats = (0..workers).map(|_| Apart(A::from(NONE))).collect();
        Readers { newest: Apart(A::from(newest)), seats }
    }

    /// The worker takes its seat. Whatever World was published before the number that is returned
    /// can be taken now.
    #[inline]
    pub(crate) fn enter(&self, worker: usize) -> u64 {
        self.seats[worker].0.store(self.newest.0.load());
        A::fence();
        self.newest.0.load()
    }

    /// What the worker did with the World in its hand is done, and on its way.
    #[inline]
    pub(crate) fn exit(&self, worker: usize) {
        self.seats[worker].0.store(NONE);
    }

    /// The World of this number is the newest: it can be taken already.
    pub(crate) fn publish(&self, number: u64) {
        self.newest.0.store(number);
        A::fence();
    }

    /// Whether nobody has an older World than that of this number, which is published, nor will
    /// again.
    pub(crate) fn has_grace_period_passed(&self, number: u64) -> bool {
        // For a number that was published some time ago, by the same thread.
        A::fence();
        self.seats.iter().all(|Apart(seat)| seat.load() >= number)
    }
}

/// Whether there is news that nobody has asked for.
#[derive(Debug, Default)]
struct Dirty<A = AtomicU32>(A);

impl<A: Atomic> Dirty<A> {
    /// There is. Returns whether there was none: then whoever asks has to be woken.
    fn come(&self) -> bool {
        self.0.swap(1) == 0
    }

    /// Whether there was, since this was last asked; what was done before it came can be seen now.
    fn take(&self) -> bool {
        self.0.swap(0) == 1
    }
}

/// The newest World.
#[derive(Debug)]
pub(crate) struct WorldCell {
    world: ArcSwap<World>,
    seats: Readers,
    /// The number of the last World whose publication was acted on.
    acted: AtomicU64,
    /// Whether there is something to publish, or a step on the way to act.
    news: Dirty,
    publisher: OnceLock<Thread>,
}

impl WorldCell {
    pub(crate) fn new(workers: usize, world: Arc<World>) -> Self {
        WorldCell {
            seats: Readers::new(workers, world.version()),
            acted: AtomicU64::new(world.version()),
            world: ArcSwap::new(world),
            news: Dirty::default(),
            publisher: OnceLock::new(),
        }
    }

    /// The worker begins a batch: sees to it that `world` is the newest.
    #[inline]
    pub(crate) fn enter(&self, worker: usize, world: &mut Arc<World>) {
        if self.seats.enter(worker) != world.version() {
            *world = self.world.load_full();
        }
    }

    /// The worker ended its batch, and all of it is on its way.
    #[inline]
    pub(crate) fn exit(&self, worker: usize) {
        self.seats.exit(worker);
    }

    /// Every batch that begins from now on has this World.
    pub(crate) fn publish(&self, world: Arc<World>) {
        let number = world.version();
        self.world.store(world);
        self.seats.publish(number);
    }

    /// The newest World, for those who only look at it: nobody waits for them.
    pub(crate) fn world(&self) -> Arc<World> {
        self.world.load_full()
    }

    /// Whether nobody has an older World, nor will again.
    pub(crate) fn has_grace_period_passed(&self, world: &World) -> bool {
        self.seats.has_grace_period_passed(world.version())
    }

    /// The applications have acted on the publication of this World, and all that they said is on
    /// its way.
    pub(crate) fn set_acted(&self, world: &World) {
        self.acted.store(world.version(), Ordering::Release);
        self.ring();
    }

    /// Whether they have.
    pub(crate) fn has_acted(&self, world: &World) -> bool {
        self.acted.load(Ordering::Acquire) >= world.version()
    }

    /// This thread is to be woken when there is something to publish.
    pub(crate) fn set_publisher(&self, thread: Thread) {
        let _ = self.publisher.set(thread);
    }

    /// There may be something to publish.
    pub(crate) fn ring(&self) {
        if self.news.come() {
            self.publisher.get().into_iter().for_each(Thread::unpark);
        }
    }

    /// Whether it rang since this was last asked.
    pub(crate) fn take_dirty(&self) -> bool {
        self.news.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::atomic::{AtomicU32 as Flag, AtomicU64 as Watched};

    #[test]
    fn only_those_with_an_older_world_are_waited_for() {
        let seats = Readers::<AtomicU64>::new(3, 1);
        assert_eq!(seats.enter(1), 1);
        seats.publish(2);
        assert!(!seats.has_grace_period_passed(2) && seats.has_grace_period_passed(1));
        assert_eq!(seats.enter(2), 2);
        assert!(!seats.has_grace_period_passed(2));
        seats.exit(1);
        assert!(seats.has_grace_period_passed(2), "the one has none, and the other the newest");
    }

    /// A switch has one flow, made of the World. Workers set it to what their World says; whoever
    /// acts on the new World removes it once. What the old one says is never there at the end,
    /// whoever was idle, late or in the middle.
    #[test]
    fn what_is_removed_after_the_last_reader_stays_removed() {
        const OLD: u64 = 1;
        const NEW: u64 = 2;
        const REMOVED: u64 = 3;
        loom::model(|| {
            let shared = loom::sync::Arc::new((
                Readers::<Watched>::new(1, OLD),
                Watched::new(OLD),
                Watched::new(0),
            ));
            let other = loom::sync::Arc::clone(&shared);
            let worker = loom::thread::spawn(move || {
                let (seats, world, flow) = &*other;
                for _ in 0..2 {
                    seats.enter(0);
                    flow.store(world.load(Ordering::Acquire), Ordering::Relaxed);
                    seats.exit(0);
                }
            });
            let (seats, world, flow) = &*shared;
            world.store(NEW, Ordering::Release);
            seats.publish(NEW);
            let passed = seats.has_grace_period_passed(NEW);
            if passed {
                flow.store(REMOVED, Ordering::Relaxed);
            }
            worker.join().unwrap();
            assert!(!passed || flow.load(Ordering::Relaxed) != OLD);
        });
    }

    /// Workers report, and one thread takes what they reported, or lies down: not beside a report.
    /// Otherwise nobody would ever wake it, which is what loom calls a deadlock.
    #[test]
    fn nobody_sleeps_beside_news() {
        loom::model(|| {
            let shared = loom::sync::Arc::new((Dirty::<Flag>::default(), [0, 0].map(Flag::new)));
            let publisher = loom::thread::current();
            for worker in 0..2 {
                let (shared, publisher) = (loom::sync::Arc::clone(&shared), publisher.clone());
                loom::thread::spawn(move || {
                    shared.1[worker].store(1, Ordering::Relaxed);
                    if shared.0.come() {
                        publisher.unpark();
                    }
                });
            }
            loop {
                shared.0.take();
                if shared.1.iter().all(|report| report.load(Ordering::Relaxed) == 1) {
                    return;
                }
                loom::thread::park();
            }
        });
    }
}
