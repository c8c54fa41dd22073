//! The publisher: it makes the versions of the World beside the workers, and says when a change is
//! to be acted on.
//!
//! A step function, as a worker is: a thread of its own makes its steps, or the simulation does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aldis_control::world::WorldBuilder;
use aldis_control::{Time, World};

use crate::clock::Clock;
use crate::limits::PASSED_LOOK_EVERY;
use crate::messages::WorkerMessage;
use crate::net::Net;
use crate::shared::Shared;
use crate::tap::TapWriter;

/// The worker that acts on publications, and has the timers that fire on one worker.
pub(crate) const ACTOR: usize = 0;

/// Makes the World.
#[derive(Debug)]
pub(crate) struct Publisher {
    world_builder: WorldBuilder,
    /// Whether any application acts on publications.
    acts: bool,
    /// The World whose publication was acted on last.
    before: Arc<World>,
    /// The World that is to be acted on next, once its grace period has passed.
    target: Option<Arc<World>>,
    /// Whether the worker was told to.
    told: bool,
    replaced: Replaced<World>,
}

/// Worlds that newer ones were published in place of, and that workers may still read. To free one
/// takes a millisecond where many hosts changed, which no worker is to spend: the publisher is the
/// last that has it.
#[derive(Debug)]
struct Replaced<T>(Vec<Arc<T>>);

impl<T> Replaced<T> {
    fn keep(&mut self, replaced: Arc<T>) {
        self.0.push(replaced);
    }

    /// Frees those that are read no more. No worker takes one that was replaced.
    fn free(&mut self) {
        self.0.retain(|replaced| Arc::strong_count(replaced) > 1);
    }
}

impl Publisher {
    pub(crate) fn new(world_builder: WorldBuilder, acts: bool) -> Publisher {
        let before = Arc::clone(world_builder.world());
        Publisher {
            world_builder,
            acts,
            before,
            target: None,
            told: false,
            replaced: Replaced(vec![]),
        }
    }

    /// Whether it has nothing to do, ever.
    pub(crate) fn is_idle(&self) -> bool {
        self.world_builder.is_idle()
    }

    /// Publishes what is new, and sees to it that it is acted on. Says when it has something to do
    /// next, unless it is rung for before.
    pub(crate) fn step<N: Net>(&mut self, now: Time, shared: &Shared<N>) -> Time {
        if let Some(world) = self.world_builder.step(now) {
            self.replaced.keep(shared.world.publish(world));
        }
        if self.acts {
            self.follow(shared);
        }
        self.replaced.free();
        match &self.target {
            None => self.world_builder.next(),
            Some(_) => self.world_builder.next().min(now + PASSED_LOOK_EVERY),
        }
    }

    /// What a step may change for others.
    fn progress(&self) -> (u64, bool) {
        (self.world_builder.world().version(), self.told)
    }

    /// Each World that is acted on is a step further; those that are published meanwhile are one
    /// step together.
    fn follow<N: Net>(&mut self, shared: &Shared<N>) {
        if self.told
            && let Some(world) = self.target.take_if(|world| shared.world.has_acted(world))
        {
            self.before = world;
            self.told = false;
        }
        let newest = self.world_builder.world();
        let is_newer = newest.version() > self.before.version();
        let target = match &self.target {
            Some(target) => target,
            None if is_newer => self.target.insert(Arc::clone(newest)),
            None => return,
        };
        if !self.told && shared.world.has_grace_period_passed(target) {
            let (before, after) = (Arc::clone(&self.before), Arc::clone(target));
            // Where its inbox is full, it is told with the next step.
            self.told =
                shared.inboxes[ACTOR].post(WorkerMessage::Published { before, after }).is_ok();
        }
    }

    /// Makes its steps until it is stopped.
    pub(crate) fn run<N: Net>(mut self, clock: Clock, shared: &Shared<N>, stop: &AtomicBool) {
        let mut tap = TapWriter::new(Arc::clone(&shared.tap), shared.inboxes.len());
        shared.world.set_publisher(std::thread::current());
        while !stop.load(Ordering::Relaxed) {
            // What is rung for from here on is seen by the next step.
            shared.world.take_dirty();
            tap.wake();
            let now = clock.now();
            tap.woke(now);
            let before = self.progress();
            let until = self.step(now, shared);
            let taken = self.world_builder.taken();
            if tap.is_on() && (self.progress() != before || taken.did_something()) {
                tap.published(clock.now(), now, self.world_builder.world().version(), taken);
            }
            let until = until.min(tap.flush(now));
            match until {
                Time::NEVER => std::thread::park(),
                // A publisher that leaves its reports where they are does not keep a core busy.
                until => std::thread::park_timeout(until.since(now).max(PASSED_LOOK_EVERY)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_read_last_is_freed_by_the_publisher() {
        let (mut replaced, read) = (Replaced(vec![]), Arc::new(7));
        let is_there = Arc::downgrade(&read);
        replaced.keep(Arc::clone(&read));
        replaced.free();
        drop(read);
        assert!(is_there.upgrade().is_some(), "the worker does not free it");
        replaced.free();
        assert!(is_there.upgrade().is_none() && replaced.0.is_empty());
    }
}
