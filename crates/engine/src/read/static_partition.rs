//! Static partition: a switch belongs to one worker for as long as it is connected (Maestro §3.2.2,
//! Beacon §5.2 "run-to-completion").
//!
//! The acceptor deals switches to workers in turn. A worker takes each of its ready switches in
//! turn, reads once, runs the applications over what came, and writes the replies. Nothing is
//! shared, and nothing moves: a worker whose switches are busy is behind while another one rests.

use std::sync::Arc;

use aldis_control::Time;

use super::ready_list::ReadyList;
use super::{Read, Visit};
use crate::conn::Conn;

/// The design.
#[derive(Debug)]
pub(crate) struct StaticPartition<S> {
    own: ReadyList<S>,
}

impl<S> StaticPartition<S> {
    pub(crate) fn new(worker: usize) -> Self {
        StaticPartition { own: ReadyList::new(worker) }
    }
}

impl<S> Read<S> for StaticPartition<S> {
    fn join(&mut self, _: &Arc<Conn<S>>) {}

    fn leave(&mut self, _: &Arc<Conn<S>>) {}

    #[inline]
    fn queue(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>> {
        self.own.push(conn)
    }

    #[inline]
    fn next(&mut self, _: Time) -> Option<Visit<S>> {
        self.own.pop()
    }

    #[inline]
    fn done(&mut self, conn: &Arc<Conn<S>>, _: u32, queued: bool) {
        if queued {
            // Only its home serves it, and so it is at home here.
            let _ = self.own.push(Arc::clone(conn));
        }
    }
}
