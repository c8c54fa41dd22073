//! The way from the applications to the publishers: one bounded queue for each part.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{Part, PartId, TakenReports, View, World};
use crate::growing_queue::GrowingQueue;
use crate::limits::REPORTS_PER_ROUND;

/// Reports on their way to the publisher of one part.
pub(super) struct Queue<P: Part>(GrowingQueue<Reported<P>>);

/// A report, behind the number of the worker that sent it.
pub(super) type Reported<P> = (u16, <P as Part>::Report);

impl<P: Part> Queue<P> {
    pub(super) fn new() -> Self {
        Queue(GrowingQueue::new(P::REPORTS_MAX))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The queues of all parts that there are.
#[derive(Default)]
pub struct Queues {
    queues: Vec<(PartId, Arc<dyn Any + Send + Sync>)>,
    refused: AtomicU64,
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.queues.iter().map(|(id, _)| id.name)).finish()
    }
}

impl Queues {
    pub(crate) fn new(queues: Vec<(PartId, Arc<dyn Any + Send + Sync>)>) -> Queues {
        Queues { queues, refused: AtomicU64::new(0) }
    }

    /// Hands a report over that comes from outside the workers.
    ///
    /// # Errors
    /// The report: the part has no publisher, or [`Part::REPORTS_MAX`] wait already, which is
    /// counted.
    pub fn push<P: Part>(&self, report: P::Report) -> Result<(), P::Report> {
        self.push_from::<P>(TakenReports::OUTSIDE, report)
    }

    /// Hands a report of a worker over.
    ///
    /// # Errors
    /// As [`Queues::push`].
    pub(crate) fn push_from<P: Part>(
        &self,
        sender: u16,
        report: P::Report,
    ) -> Result<(), P::Report> {
        let queue = self.queues.iter().find(|(id, _)| *id == P::ID);
        match queue.and_then(|(_, queue)| queue.downcast_ref::<Queue<P>>()) {
            Some(Queue(queue)) => queue.push((sender, report)).map_err(|(_, report)| {
                self.refused.fetch_add(1, Ordering::Relaxed);
                report
            }),
            None => Err(report),
        }
    }

    /// Whether the part has a publisher.
    pub fn has<P: Part>(&self) -> bool {
        self.queues.iter().any(|(id, _)| *id == P::ID)
    }

    /// Reports that found their queue full.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// What a publisher is given: the reports, the part as it was, and the parts that it is made of.
pub struct PublishCtx<'n, P: Part> {
    pub(super) queue: &'n Queue<P>,
    pub(super) current: &'n P,
    /// The World that is being made: the parts before this one are done.
    pub(super) world: &'n World,
    pub(super) before: &'n World,
    pub(super) reads: &'static [PartId],
    /// The senders of the reports that are to be taken, where the step of another controller is
    /// made again.
    pub(super) again: Option<&'n [u16]>,
    /// Reports that were put aside for that.
    pub(super) aside: &'n mut VecDeque<Reported<P>>,
    /// The senders of those that were taken.
    pub(super) senders: &'n mut Vec<u16>,
}

impl<P: Part> fmt::Debug for PublishCtx<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "news of {}", P::NAME)
    }
}

impl<'n, P: Part> PublishCtx<'n, P> {
    /// The next report. After some thousands there is none until the next round, so that a flood of
    /// them does not keep the others waiting.
    pub fn report(&mut self) -> Option<P::Report> {
        let taken = self.senders.len();
        let (sender, report) = match self.again {
            Some(senders) => self.next_of(*senders.get(taken)?)?,
            None if taken == REPORTS_PER_ROUND => return None,
            None => self.queue.0.pop()?,
        };
        self.senders.push(sender);
        Some(report)
    }

    /// The next report of this sender. Those of others before it are put aside.
    fn next_of(&mut self, sender: u16) -> Option<Reported<P>> {
        let is_its = |(of, _): &Reported<P>| *of == sender;
        if let Some(at) = self.aside.iter().position(is_its) {
            return self.aside.remove(at);
        }
        while self.aside.len() < P::REPORTS_MAX {
            let next = self.queue.0.pop()?;
            if is_its(&next) {
                return Some(next);
            }
            self.aside.push_back(next);
        }
        None
    }

    /// The part as it was published last.
    pub fn current(&self) -> &'n P {
        self.current
    }

    /// The parts that this one is made of, as they will be published together with it.
    pub fn world(&self) -> View<'n> {
        View::of(self.world, self.reads)
    }

    /// Whether a part that this one is made of has changed.
    pub fn changed<Q: Part>(&self) -> bool {
        self.world.differs(self.before, Q::ID)
    }
}

/// A queue without its type.
pub(super) fn shared<P: Part>(queue: &Arc<Queue<P>>) -> Arc<dyn Any + Send + Sync> {
    let queue: Arc<Queue<P>> = Arc::clone(queue);
    queue
}

impl<P: Part> fmt::Debug for Queue<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reports of {}", self.0.len(), P::NAME)
    }
}
