//! What is known of the network as a whole: one immutable root, made of typed parts.
//!
//! ```text
//!   applications ──reports──▶ publishers ──▶ World, the next version ──▶ every later batch
//!   (on workers)   bounded    (one thread)   one pointer
//! ```
//!
//! A [`Part`] is a value of some type: the hosts, the links, the routes. Its [`Publisher`] makes
//! the versions of it, out of what applications report and of other parts. Which parts there are is
//! fixed at the start. A batch holds one World from its start to its end, so that all that it reads
//! fits together; no worker waits for a version, and no publisher for a worker.

mod builder;
mod queue;
mod shards;
mod taken;

pub use builder::{PUBLISH_EVERY, WorldBuilder};
pub use queue::{PublishCtx, Queues};
pub use shards::Shards;
pub use taken::TakenReports;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use core::fmt;

use crate::time::Time;
pub(crate) use builder::AnyPublisher;
use builder::Erased;

/// A part of the World. Where it is large, it is made of [`Shards`], so that the next version
/// shares with this one what did not change.
pub trait Part: Sized + Send + Sync + 'static {
    /// What applications report to its publisher.
    type Report: Send + 'static;

    /// The name by which it is shown.
    const NAME: &'static str;

    /// Reports that may wait for its publisher: fewer where few come, for room is taken at the
    /// start.
    const REPORTS_MAX: usize = crate::limits::REPORTS_MAX;

    /// What names it in [`crate::App::READS`] and [`Publisher::READS`].
    const ID: PartId =
        PartId { name: Self::NAME, of: TypeId::of::<Self>(), counts: counts_of::<Self> };

    /// What its publisher counted since the start, and how much there is in this version.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// Numbers that a part of the World has about itself, each with its name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Counters: they only grow.
    pub counters: Vec<(&'static str, u64)>,
    /// How much there is now.
    pub now: Vec<(&'static str, u64)>,
}

fn counts_of<P: Part>(part: &(dyn Any + Send + Sync)) -> Counts {
    part.downcast_ref().map_or_else(Counts::default, P::counts)
}

/// Names a part of the World.
#[derive(Clone, Copy, Debug)]
pub struct PartId {
    /// The part's [`Part::NAME`].
    pub name: &'static str,
    pub(crate) of: TypeId,
    counts: fn(&(dyn Any + Send + Sync)) -> Counts,
}

impl PartialEq for PartId {
    fn eq(&self, other: &PartId) -> bool {
        self.of == other.of
    }
}

impl Eq for PartId {}

/// Makes the versions of one part of the World. There is one instance, and it runs beside the
/// workers: what takes long here delays the next version and no request.
pub trait Publisher: Send + 'static {
    /// What it makes.
    type Part: Part;

    /// The other parts that it is made of. They are made before it, of the same version.
    const READS: &'static [PartId] = &[];

    /// The part as it is before anything was reported.
    fn begin(&mut self) -> Self::Part;

    /// Something was reported, a part that it reads has changed, or the time came that it asked
    /// for: the part as it is now; nothing where it did not change. What is not taken from `news`
    /// stays for the next time, which then comes soon.
    fn revise(&mut self, now: Time, ctx: PublishCtx<'_, Self::Part>) -> Option<Self::Part>;

    /// When it wants to be called though nothing was reported.
    fn next(&self) -> Time {
        Time::NEVER
    }
}

/// The publishers that an application brings along.
#[derive(Default)]
pub struct Publishers(pub(crate) Vec<Box<dyn AnyPublisher>>);

impl fmt::Debug for Publishers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|maker| maker.part().name)).finish()
    }
}

impl Publishers {
    /// One publisher.
    pub fn of(publisher: impl Publisher) -> Publishers {
        Publishers::default().and(publisher)
    }

    /// Adds another one.
    pub fn and(mut self, publisher: impl Publisher) -> Publishers {
        self.0.push(Box::new(Erased::new(publisher)));
        self
    }
}

/// What is known of the network, at one moment.
pub struct World {
    version: u64,
    parts: Vec<Published>,
}

/// A part as it was published.
#[derive(Clone)]
struct Published {
    id: PartId,
    /// The version of the World in which it last changed.
    since: u64,
    value: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.parts.iter().map(|part| part.id.name);
        write!(f, "version {} of ", self.version)?;
        f.debug_list().entries(names).finish()
    }
}

impl World {
    /// Nothing is known, and nothing will be.
    pub const NOTHING: World = World { version: 0, parts: Vec::new() };

    /// Counts up from 1 with every change.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A part of it, where it is published: for readers outside the workers. Applications ask their
    /// [`View`].
    pub fn part<P: Part>(&self) -> Option<&P> {
        self.find(P::ID).and_then(|part| part.value.downcast_ref())
    }

    /// What the part of this name has counted; nothing where no application publishes it.
    pub fn counts(&self, name: &str) -> Option<Counts> {
        let part = self.parts.iter().find(|part| part.id.name == name)?;
        Some((part.id.counts)(&*part.value))
    }

    fn find(&self, id: PartId) -> Option<&Published> {
        self.parts.iter().find(|part| part.id == id)
    }
}

static NOTHING: World = World::NOTHING;

/// The World as one application sees it: the parts that it said it reads.
#[derive(Clone, Copy, Debug)]
pub struct View<'w> {
    world: &'w World,
    reads: &'static [PartId],
}

impl<'w> View<'w> {
    /// Of a World in which nothing is known.
    pub fn nothing() -> View<'static> {
        View::of(&NOTHING, &[])
    }

    /// Of these parts of this World.
    pub fn of(world: &'w World, reads: &'static [PartId]) -> View<'w> {
        View { world, reads }
    }

    /// The same World, but these parts of it.
    #[inline]
    pub(crate) fn reading(self, reads: &'static [PartId]) -> View<'w> {
        View { reads, ..self }
    }

    /// The version of the World in which one of these parts last changed: what was made of them
    /// need not be made again before the next. For example, a probe that leaves makes another
    /// World, and leaves the hosts as they are.
    pub fn version(&self) -> u64 {
        self.version_of(self.reads)
    }

    /// The same of some of its parts alone: what was made of these.
    pub fn version_of(&self, parts: &[PartId]) -> u64 {
        let these = self.world.parts.iter().filter(|part| parts.contains(&part.id));
        these.map(|part| part.since).max().unwrap_or(0)
    }

    /// A part of it.
    ///
    /// # Panics
    /// Where `READS` does not name it: it is asked for once a batch, and found when the application
    /// is first run.
    #[inline]
    pub fn part<P: Part>(&self) -> &'w P {
        assert!(self.reads.contains(&P::ID), "READS has to name the part \"{}\"", P::NAME);
        let part = self.world.find(P::ID).and_then(|part| part.value.downcast_ref());
        part.expect("a part that is read is published, or the start is refused")
    }

    /// Whether a part is another one than it was in `before`.
    pub fn differs<P: Part>(&self, before: View<'_>) -> bool {
        self.world.differs(before.world, P::ID)
    }
}

impl World {
    /// Whether a part is another one than it was in `before`.
    pub(crate) fn differs(&self, before: &World, id: PartId) -> bool {
        match (self.find(id), before.find(id)) {
            (Some(now), Some(then)) => !Arc::ptr_eq(&now.value, &then.value),
            (now, then) => now.is_some() || then.is_some(),
        }
    }
}

#[cfg(test)]
mod tests;
