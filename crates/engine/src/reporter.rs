//! Reporters: the way from a thread that is not a worker into the World, or to an application.
//!
//! For example, a thread that watches a file, or reads a socket of its own, reports what it finds.
//! It never waits for a worker, and no worker for it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aldis_control::app::Inlet;
use aldis_control::world::Part;

use crate::handle::Handle;

/// Hands reports over, from any thread and at any time. Clones count together.
pub struct Reporter<R> {
    shared: Arc<Route<R>>,
}

struct Route<R> {
    hand_over: Box<dyn Fn(R) -> Result<(), R> + Send + Sync>,
    reported: AtomicU64,
    refused: AtomicU64,
}

impl<R> Reporter<R> {
    fn new(hand_over: impl Fn(R) -> Result<(), R> + Send + Sync + 'static) -> Reporter<R> {
        let (reported, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        let hand_over = Box::new(hand_over);
        Reporter { shared: Arc::new(Route { hand_over, reported, refused }) }
    }

    /// Hands a report over.
    ///
    /// # Errors
    /// The report: as many as may wait do, which is counted. The caller reports it again later, or
    /// lets it go.
    pub fn report(&self, report: R) -> Result<(), R> {
        let Route { hand_over, reported, refused } = &*self.shared;
        let handed = hand_over(report);
        let counter = if handed.is_ok() { reported } else { refused };
        counter.fetch_add(1, Ordering::Relaxed);
        handed
    }

    /// Reports that were handed over.
    pub fn reported(&self) -> u64 {
        self.shared.reported.load(Ordering::Relaxed)
    }

    /// Reports that found no room.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }
}

impl<R> Clone for Reporter<R> {
    fn clone(&self) -> Self {
        Reporter { shared: Arc::clone(&self.shared) }
    }
}

impl<R> fmt::Debug for Reporter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reports, {} refused", self.reported(), self.refused())
    }
}

impl Handle {
    /// What reports to the publisher of a part of the World; nothing where the part has none.
    /// [`aldis_control::limits::REPORTS_MAX`] reports of applications and of outside may wait.
    pub fn reporter<P: Part>(&self) -> Option<Reporter<P::Report>> {
        let handle = self.clone();
        self.queues.has::<P>().then(|| Reporter::new(move |report| handle.report::<P>(report)))
    }

    /// What reports to an application by its inlet, and rouses it on this worker, by its number
    /// from 0; nothing where there is no such worker. As many reports may wait as the inlet has
    /// room for.
    pub fn reporter_to<T: Send + 'static>(
        &self,
        inlet: &Inlet<T>,
        worker: usize,
    ) -> Option<Reporter<T>> {
        let (handle, inlet) = (self.clone(), inlet.clone());
        (worker < self.stats.len()).then(|| {
            Reporter::new(move |report| {
                // Also where it is full: the application may not have been roused for what waits.
                let pushed = inlet.push(report);
                handle.rouse(worker);
                pushed
            })
        })
    }
}
