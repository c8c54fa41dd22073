//! The ready list: a worker's own ready connections, first in, first out.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Visit;
use crate::conn::Conn;

/// The list.
#[derive(Debug)]
pub(crate) struct ReadyList<S> {
    worker: usize,
    ready: VecDeque<Arc<Conn<S>>>,
}

impl<S> ReadyList<S> {
    pub(crate) fn new(worker: usize) -> Self {
        ReadyList { worker, ready: VecDeque::with_capacity(64) }
    }

    /// Puts a connection at the end; gives it back if its home is elsewhere.
    #[inline]
    pub(crate) fn push(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>> {
        if conn.home() != self.worker {
            return Err(conn);
        }
        self.ready.push_back(conn);
        Ok(())
    }

    /// Puts a connection of this home in front of all others.
    #[inline]
    pub(crate) fn push_front(&mut self, conn: Arc<Conn<S>>) {
        self.ready.push_front(conn);
    }

    /// Claims the first.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Visit<S>> {
        loop {
            let conn = self.ready.pop_front()?;
            // What is queued can only be claimed from this list, unless it came to its end
            // meanwhile.
            if let Some(events) = conn.claim.claim() {
                return Some(Visit { conn, events, read_max: usize::MAX, share: None });
            }
        }
    }
}
