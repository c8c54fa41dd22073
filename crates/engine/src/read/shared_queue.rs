//! Shared queue: I/O threads read, and workers answer (Maestro §3.2.1, Beacon §5.2 "shared queue").
//!
//! An I/O thread takes each of its ready switches in turn, reads once, the same number of bytes
//! from each, and puts what it chopped into the one queue ([`queue`]); any worker that is free
//! pulls from there. While more than the *pending request threshold* waits, nothing is read.
//! Maestro has one such thread, Beacon several, each with its own switches. Every switch has one
//! visit a round, or as many as its weight says: max-min fair, by construction.

use std::sync::Arc;

use aldis_control::Time;

pub(crate) mod handoff;
pub(crate) mod queue;

use super::ready_list::ReadyList;
use super::{Read, Visit};
use crate::conn::Conn;

/// The design.
#[derive(Debug)]
pub(crate) struct SharedQueue<S> {
    own: ReadyList<S>,
    /// The switch that was served last, and how many visits it has left of this round.
    last: Option<(Arc<Conn<S>>, u32)>,
}

impl<S> SharedQueue<S> {
    pub(crate) fn new(worker: usize) -> Self {
        SharedQueue { own: ReadyList::new(worker), last: None }
    }
}

impl<S> Read<S> for SharedQueue<S> {
    fn join(&mut self, _: &Arc<Conn<S>>) {}

    fn leave(&mut self, conn: &Arc<Conn<S>>) {
        self.last.take_if(|(last, _)| Arc::ptr_eq(last, conn));
    }

    #[inline]
    fn queue(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>> {
        self.own.push(conn)
    }

    #[inline]
    fn next(&mut self, _: Time) -> Option<Visit<S>> {
        let visit = self.own.pop()?;
        let left = match self.last.take() {
            Some((conn, left)) if Arc::ptr_eq(&conn, &visit.conn) => left,
            _ => visit.conn.weight().number(),
        };
        self.last = Some((Arc::clone(&visit.conn), left - 1));
        Some(visit)
    }

    #[inline]
    fn done(&mut self, conn: &Arc<Conn<S>>, _: u32, queued: bool) {
        if queued && matches!(self.last, Some((_, 1..))) {
            self.own.push_front(Arc::clone(conn));
        } else {
            self.last = None;
            if queued {
                // Only its home reads it, and so it is at home here.
                let _ = self.own.push(Arc::clone(conn));
            }
        }
    }
}
