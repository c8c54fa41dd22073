//! Shared queue: I/O threads read, and workers answer (Maestro §3.2.1, Beacon §5.2 "shared queue").
//!
//! An I/O thread takes each of its ready switches in turn, reads once, the same number of bytes
//! from each, and puts what it chopped into the one queue ([`queue`]); any worker that is free
//! pulls from there. While more than the *pending request threshold* waits, nothing is read.
//! Maestro has one such thread, Beacon several, each with its own switches. Every switch has one
//! visit a round, or as many as its weight says: max-min fair, by construction.
//!
//! With *request binding* (earlier Maestro paper §III.E) the queue holds what was chopped, whole
//! messages: the worker that pulls them parses, answers and writes, so that a request is worked on
//! by one core. Without it the I/O thread parses, too, and what it made of each request goes from
//! its core to the other one. It is the I/O thread that reads and chops in either case: pulling is
//! what balances the load, and a socket has one reader.
//!
//! With *priorities* (Beacon §5.2.1: "more than one per switch, each with different priorities") a
//! switch has two classes of messages. Flow requests wait in the queue. Echo requests and replies,
//! and answers to commands from outside, pass those of their switch: the I/O thread sees to them as
//! soon as it has read them. All other messages are fences, as in every design, and none of these
//! passes another: an error stays before the barrier reply that is behind it.

use std::sync::Arc;

use aldis_control::Time;

pub(crate) mod handoff;
pub(crate) mod queue;

use super::ready_list::ReadyList;
use super::{Read, Visit};
use crate::conn::Conn;
use crate::design::Design;

/// The design.
#[derive(Debug)]
pub(crate) struct SharedQueue<S> {
    own: ReadyList<S>,
    /// The switch that was served last, and how many visits it has left of this round.
    last: Option<(Arc<Conn<S>>, u32)>,
    /// Whether a request is parsed by the worker that answers it.
    binds_requests: bool,
    /// Whether what is urgent passes requests that wait.
    priorities: bool,
}

impl<S> SharedQueue<S> {
    pub(crate) fn new(worker: usize, design: &Design) -> Self {
        let Design { request_binding: binds_requests, priorities, .. } = *design;
        SharedQueue { own: ReadyList::new(worker), last: None, binds_requests, priorities }
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
    fn leaves_raw(&self) -> bool {
        self.binds_requests
    }

    #[inline]
    fn passes_requests(&self) -> bool {
        self.priorities
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
