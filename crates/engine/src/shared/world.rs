//! The World cell: the newest World, and its readers (read-copy-update with a grace period).
//!
//! ```text
//!   worker:     reader ← newest's number │ fence │ newest World │ … its batch … │ reader ← none
//!   publisher:  newest ← the new World │ fence │ is any reader's number older?
//! ```
//!
//! The applications act on a change of the World after the last reader of the old one: a batch that
//! was begun on old routes must not write a flow after that flow was removed. So each worker has a
//! *reader* word. It holds a number from the first application that runs in a batch until all
//! output of the batch is sent. Once no reader holds a number below that of a World, the *grace
//! period* of that World has passed: no worker reads an older one, nor ever will. Of the two fences
//! one comes first, so either the publisher sees the reader, or the worker sees the new World. An
//! idle worker has no number, and no worker waits for another. Modelled with loom.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;

use aldis_control::World;
use arc_swap::ArcSwap;

use crate::sync::Atomic;

/// A worker that reads no World.
const NONE: u64 = u64::MAX;

/// On a cache line of its own, and without the neighbour that is fetched along.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// The numbers: of the newest World, and of those that workers read.
#[derive(Debug)]
pub(crate) struct Readers<A = AtomicU64> {
    newest: Apart<A>,
    readers: Box<[Apart<A>]>,
}

impl<A: Atomic<u64>> Readers<A> {
    pub(crate) fn new(workers: usize, newest: u64) -> Self {
        let readers = (0..workers).map(|_| Apart(A::from(NONE))).collect();
        Readers { newest: Apart(A::from(newest)), readers }
    }

    /// The worker enters. Any World that was published before the number that is returned can be
    /// taken now.
    #[inline]
    pub(crate) fn enter(&self, worker: usize) -> u64 {
        self.readers[worker].0.store(self.newest.0.load());
        A::fence();
        self.newest.0.load()
    }

    /// The worker exits: all output that it made of its World is sent.
    #[inline]
    pub(crate) fn exit(&self, worker: usize) {
        self.readers[worker].0.store(NONE);
    }

    /// The World of this number is the newest: it can be taken already.
    pub(crate) fn publish(&self, number: u64) {
        self.newest.0.store(number);
        A::fence();
    }

    /// Whether no worker reads an older World than that of this number, which is published, nor
    /// will.
    pub(crate) fn has_grace_period_passed(&self, number: u64) -> bool {
        // For a number that was published some time ago, by the same thread.
        A::fence();
        self.readers.iter().all(|Apart(seat)| seat.load() >= number)
    }
}

/// Whether there are reports that the publisher has not asked for.
#[derive(Debug, Default)]
struct Dirty<A = AtomicU32>(A);

impl<A: Atomic> Dirty<A> {
    /// There are. Returns whether there were none: then the publisher has to be woken.
    fn set(&self) -> bool {
        self.0.swap(1) == 0
    }

    /// Whether there were, since this was last asked. What was done before `set` can be seen now.
    fn take(&self) -> bool {
        self.0.swap(0) == 1
    }
}

/// The newest World.
#[derive(Debug)]
pub(crate) struct WorldCell {
    world: ArcSwap<World>,
    readers: Readers,
    /// The number of the last World whose publication was acted on.
    acted: AtomicU64,
    /// Whether there is something to publish, or a step on the way to act.
    dirty: Dirty,
    publisher: OnceLock<Thread>,
}

impl WorldCell {
    pub(crate) fn new(workers: usize, world: Arc<World>) -> Self {
        WorldCell {
            readers: Readers::new(workers, world.version()),
            acted: AtomicU64::new(world.version()),
            world: ArcSwap::new(world),
            dirty: Dirty::default(),
            publisher: OnceLock::new(),
        }
    }

    /// The worker begins a batch: makes `world` the newest. Returns whether it was another.
    #[inline]
    pub(crate) fn enter(&self, worker: usize, world: &mut Arc<World>) -> bool {
        let is_other = self.readers.enter(worker) != world.version();
        if is_other {
            *world = self.world.load_full();
        }
        is_other
    }

    /// The worker ended its batch, and all of it is on its way.
    #[inline]
    pub(crate) fn exit(&self, worker: usize) {
        self.readers.exit(worker);
    }

    /// Every batch that begins from now on has this World. Returns the one in whose place it is,
    /// which others may still have.
    #[must_use = "a worker that has it last frees it"]
    pub(crate) fn publish(&self, world: Arc<World>) -> Arc<World> {
        let number = world.version();
        let replaced = self.world.swap(world);
        self.readers.publish(number);
        replaced
    }

    /// The newest World, without entering: the publisher does not wait for the caller.
    pub(crate) fn newest(&self) -> Arc<World> {
        self.world.load_full()
    }

    /// Whether no worker reads an older World, nor will.
    pub(crate) fn has_grace_period_passed(&self, world: &World) -> bool {
        self.readers.has_grace_period_passed(world.version())
    }

    /// The applications have acted on the publication of this World, and all that they said is on
    /// its way.
    pub(crate) fn set_acted(&self, world: &World) {
        self.acted.store(world.version(), Ordering::Release);
        self.wake_publisher();
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
    pub(crate) fn wake_publisher(&self) {
        if self.dirty.set() {
            self.publisher.get().into_iter().for_each(Thread::unpark);
        }
    }

    /// Whether the publisher was woken since this was last asked.
    pub(crate) fn take_dirty(&self) -> bool {
        self.dirty.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::atomic::{AtomicU32 as Flag, AtomicU64 as Watched};

    #[test]
    fn only_readers_of_an_older_world_are_waited_for() {
        let readers = Readers::<AtomicU64>::new(3, 1);
        assert_eq!(readers.enter(1), 1);
        readers.publish(2);
        assert!(!readers.has_grace_period_passed(2) && readers.has_grace_period_passed(1));
        assert_eq!(readers.enter(2), 2);
        assert!(!readers.has_grace_period_passed(2));
        readers.exit(1);
        assert!(readers.has_grace_period_passed(2), "the one has none, and the other the newest");
    }

    /// A switch has one flow, made of the World. Workers set it to what their World says; one that
    /// acts on the new World removes it once. What the old one says is never there at the end.
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
                let (readers, world, flow) = &*other;
                for _ in 0..2 {
                    readers.enter(0);
                    flow.store(world.load(Ordering::Acquire), Ordering::Relaxed);
                    readers.exit(0);
                }
            });
            let (readers, world, flow) = &*shared;
            world.store(NEW, Ordering::Release);
            readers.publish(NEW);
            let passed = readers.has_grace_period_passed(NEW);
            if passed {
                flow.store(REMOVED, Ordering::Relaxed);
            }
            worker.join().unwrap();
            assert!(!passed || flow.load(Ordering::Relaxed) != OLD);
        });
    }

    /// Workers report, and the publisher takes what they reported, or parks: not beside a report.
    /// If it were never woken, loom would report a deadlock.
    #[test]
    fn the_publisher_does_not_park_beside_a_report() {
        loom::model(|| {
            let shared = loom::sync::Arc::new((Dirty::<Flag>::default(), [0, 0].map(Flag::new)));
            let publisher = loom::thread::current();
            for worker in 0..2 {
                let (shared, publisher) = (loom::sync::Arc::clone(&shared), publisher.clone());
                loom::thread::spawn(move || {
                    shared.1[worker].store(1, Ordering::Relaxed);
                    if shared.0.set() {
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
