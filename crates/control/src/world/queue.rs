//! The way from the applications to the publishers: one bounded queue for each part.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{Part, PartId, View, World};
use crate::growing_queue::GrowingQueue;

/// Reports on their way to the publisher of one part.
pub(super) struct Queue<P: Part>(GrowingQueue<P::Report>);

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

    /// Hands a report over.
    ///
    /// # Errors
    /// The report: the part has no publisher, or [`Part::REPORTS_MAX`] wait already, which is
    /// counted.
    pub fn push<P: Part>(&self, report: P::Report) -> Result<(), P::Report> {
        let queue = self.queues.iter().find(|(id, _)| *id == P::ID);
        match queue.and_then(|(_, queue)| queue.downcast_ref::<Queue<P>>()) {
            Some(Queue(queue)) => queue.push(report).inspect_err(|_| {
                self.refused.fetch_add(1, Ordering::Relaxed);
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
    /// So many reports may be taken.
    pub(super) most: usize,
    pub(super) taken: &'n mut usize,
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
        if *self.taken == self.most {
            return None;
        }
        let report = self.queue.0.pop()?;
        *self.taken += 1;
        Some(report)
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
