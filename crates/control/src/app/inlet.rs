//! The way from outside of the engine to an application.

use alloc::sync::Arc;
use core::fmt;

use crate::growing_queue::GrowingQueue;
use crate::limits::REPORTS_MAX;

/// A bounded queue to an application, from a thread that is not a worker: the thread's side is a
/// reporter of the engine, which rouses the application ([`crate::App::roused`]).
///
/// Clones are the same queue: one goes into what makes the application's instances. Of several
/// instances each takes what the others have not taken; only that of the worker which the reporter
/// rouses is called for it.
pub struct Inlet<T>(Arc<GrowingQueue<T>>);

impl<T> Inlet<T> {
    /// Empty, with room for so many reports; 1 to [`REPORTS_MAX`], the nearest of these where it is
    /// neither.
    pub fn new(capacity: usize) -> Inlet<T> {
        Inlet(Arc::new(GrowingQueue::new(capacity.clamp(1, REPORTS_MAX))))
    }

    /// The oldest report. An application takes no more at once than it can handle in a millisecond
    /// or so: meanwhile its worker serves no switch.
    pub fn take(&self) -> Option<T> {
        self.0.pop()
    }

    /// Adds a report, without rousing the application.
    ///
    /// # Errors
    /// The report: there is no room.
    pub fn push(&self, report: T) -> Result<(), T> {
        self.0.push(report)
    }

    /// How many reports wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        Inlet(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Inlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} reports", self.0.len(), self.0.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inlet_gives_reports_in_their_order_and_takes_no_more_than_its_bound() {
        let inlet = Inlet::new(2);
        let other = inlet.clone();
        assert_eq!([inlet.push(1), other.push(2), inlet.push(3)], [Ok(()), Ok(()), Err(3)]);
        assert_eq!([other.take(), inlet.take(), other.take()], [Some(1), Some(2), None]);
        assert!(inlet.is_empty() && Inlet::<u8>::new(0).push(1).is_ok());
    }
}
