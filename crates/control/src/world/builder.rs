//! The world builder: it makes the next version of the World. A step function; its owner says when.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::time::Duration;

use super::queue::{self, PublishCtx, Queue, Reported};
use super::taken::TakenReports;
use super::{Part, PartId, Published, Publisher, World};
use crate::pipeline::{Failures, Guard};
use crate::time::Time;

/// The least time between two versions: what comes in between is published together.
pub const PUBLISH_EVERY: Duration = Duration::from_millis(1);

/// A publisher behind a trait object, without the type of its part.
pub(crate) trait AnyPublisher: Send {
    /// What it makes.
    fn part(&self) -> PartId;
    /// What that is made of.
    fn reads(&self) -> &'static [PartId];
    /// The queue of what is reported to it.
    fn queue(&self) -> Arc<dyn Any + Send + Sync>;
    fn begin(&mut self) -> Arc<dyn Any + Send + Sync>;
    /// Whether something was reported that it has not taken.
    fn has_reports(&self) -> bool;
    /// The next version of the part, made for `world`, which comes after `before`. The senders of
    /// the reports that are taken are added to `senders`; `again` names the senders whose reports
    /// are to be taken, where that is known.
    fn revise(
        &mut self,
        now: Time,
        world: &World,
        before: &World,
        again: Option<&[u16]>,
        senders: &mut Vec<u16>,
    ) -> Option<Arc<dyn Any + Send + Sync>>;
    fn next(&self) -> Time;
}

/// A publisher, and the part as it published it last.
pub(super) struct Erased<P: Publisher> {
    publisher: P,
    queue: Arc<Queue<P::Part>>,
    current: Option<Arc<P::Part>>,
    aside: VecDeque<Reported<P::Part>>,
}

impl<P: Publisher> Erased<P> {
    pub(super) fn new(publisher: P) -> Self {
        let queue = Arc::new(Queue::new());
        Erased { publisher, queue, current: None, aside: VecDeque::new() }
    }
}

impl<P: Publisher> AnyPublisher for Erased<P> {
    fn part(&self) -> PartId {
        P::Part::ID
    }

    fn reads(&self) -> &'static [PartId] {
        P::READS
    }

    fn queue(&self) -> Arc<dyn Any + Send + Sync> {
        queue::shared(&self.queue)
    }

    fn begin(&mut self) -> Arc<dyn Any + Send + Sync> {
        let part = Arc::new(self.publisher.begin());
        self.current = Some(Arc::clone(&part));
        part
    }

    fn has_reports(&self) -> bool {
        !self.queue.is_empty()
    }

    fn revise(
        &mut self,
        now: Time,
        world: &World,
        before: &World,
        again: Option<&[u16]>,
        senders: &mut Vec<u16>,
    ) -> Option<Arc<dyn Any + Send + Sync>> {
        let current = self.current.as_ref()?;
        let (queue, aside, reads) = (&*self.queue, &mut self.aside, P::READS);
        let news = PublishCtx { queue, current, world, before, reads, again, aside, senders };
        let part = Arc::new(self.publisher.revise(now, news)?);
        self.current = Some(Arc::clone(&part));
        Some(part)
    }

    fn next(&self) -> Time {
        self.publisher.next()
    }
}

/// The publishers of all parts, in the order in which one is made of another.
#[derive(Default)]
pub struct WorldBuilder {
    makers: Vec<Box<dyn AnyPublisher>>,
    /// How they are called, where a panic is caught.
    guard: Option<(Guard, Arc<Failures>)>,
    world: Arc<World>,
    /// When the next version may come.
    not_before: Time,
    /// What the last step took.
    taken: TakenReports,
    /// Scratch.
    senders: Vec<u16>,
}

impl Default for World {
    fn default() -> World {
        World::NOTHING
    }
}

impl fmt::Debug for WorldBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "makes {:?}", self.world)
    }
}

impl WorldBuilder {
    /// With these, in an order in which none is made of one that comes later.
    pub(crate) fn new(mut makers: Vec<Box<dyn AnyPublisher>>) -> WorldBuilder {
        let version = u64::from(!makers.is_empty());
        let begin = |maker: &mut Box<dyn AnyPublisher>| {
            let (id, value) = (maker.part(), maker.begin());
            Published { id, since: version, value }
        };
        let parts = makers.iter_mut().map(begin).collect();
        let world = Arc::new(World { version, parts });
        WorldBuilder {
            makers,
            guard: None,
            world,
            not_before: Time::START,
            taken: TakenReports::default(),
            senders: Vec::new(),
        }
    }

    /// Publishers are called by this: one that panics fails together with its application.
    pub(crate) fn guarded(&mut self, guard: Guard, failures: Arc<Failures>) {
        self.guard = Some((guard, failures));
    }

    /// Whether there is anything to publish, ever.
    pub fn is_idle(&self) -> bool {
        self.makers.is_empty()
    }

    /// The World as it was published last.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// The next version, if anything changed and [`PUBLISH_EVERY`] has passed since the last one.
    pub fn step(&mut self, now: Time) -> Option<Arc<World>> {
        self.taken.clear();
        if now < self.not_before { None } else { self.revise_all(now, None) }
    }

    /// What the last step took.
    pub fn taken(&self) -> &TakenReports {
        &self.taken
    }

    /// A step of another controller, which took these reports: made again.
    pub fn step_again(&mut self, now: Time, taken: &TakenReports) -> Option<Arc<World>> {
        self.taken.clear();
        self.revise_all(now, Some(taken))
    }

    /// Calls the publishers that have something to do; or those that were called, where it is said.
    fn revise_all(&mut self, now: Time, again: Option<&TakenReports>) -> Option<Arc<World>> {
        let parts = self.world.parts.clone();
        let mut next = World { version: self.world.version + 1, parts };
        let mut changed = false;
        for place in 0..self.makers.len() {
            let maker = &mut self.makers[place];
            let made_of = maker.reads().iter().any(|&id| next.differs(&self.world, id));
            let senders = again.map(|again| again.of(place));
            let is_due = match &senders {
                Some(senders) => senders.is_some(),
                None => made_of || maker.has_reports() || maker.next() <= now,
            };
            if !is_due || !self.runs(place) {
                self.taken.add(None);
                continue;
            }
            let part = self.revise(now, place, &next, senders.flatten());
            self.taken.add(Some(&self.senders));
            if let Some(part) = part {
                (next.parts[place].value, next.parts[place].since) = (part, next.version);
                changed = true;
            }
        }
        if !changed {
            return None;
        }
        self.not_before = now + PUBLISH_EVERY;
        self.world = Arc::new(next);
        Some(Arc::clone(&self.world))
    }

    /// Whether the application of a publisher has not failed.
    fn runs(&self, place: usize) -> bool {
        self.guard.as_ref().is_none_or(|(_, failures)| !failures.has_publisher_failed(place))
    }

    /// The next version of a part; nothing where its publisher panics.
    fn revise(
        &mut self,
        now: Time,
        place: usize,
        next: &World,
        again: Option<&[u16]>,
    ) -> Option<Arc<dyn Any + Send + Sync>> {
        let (maker, senders, mut part) = (&mut self.makers[place], &mut self.senders, None);
        senders.clear();
        let Some((guard, failures)) = &self.guard else {
            return maker.revise(now, next, &self.world, again, senders);
        };
        let revise = &mut || part = maker.revise(now, next, &self.world, again, senders);
        if let Err(reason) = guard(revise) {
            failures.fail_publisher(place, reason);
        }
        part
    }

    /// When the next step has something to do, as far as is known; [`Time::NEVER`] where it depends
    /// on what is reported.
    pub fn next(&self) -> Time {
        let works = self.makers.iter().enumerate().filter(|(place, _)| self.runs(*place));
        let next = works.map(|(_, maker)| match maker.has_reports() {
            true => Time::START,
            false => maker.next(),
        });
        next.min().unwrap_or(Time::NEVER).max(self.not_before)
    }
}
