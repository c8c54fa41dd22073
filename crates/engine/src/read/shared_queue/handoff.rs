//! The handoff: where batches go from the workers that read to the workers that answer.
//!
//! A shared queue has one: an I/O thread reads, a pipeline thread answers. With request binding
//! what is handed on are whole messages, and the thread that pulls them parses them; without it the
//! I/O thread does. So has any other design without request binding: there each worker does both,
//! but may answer what another one read.

use std::sync::Arc;

use aldis_control::stats::WorkerStats;

use super::queue::{BatchQueue, Pulled};
use crate::read::batch_buf::BatchBuf;

/// What a worker does with requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It reads them and hands them on (an I/O thread).
    Read,
    /// It answers what others read (a pipeline thread).
    Answer,
    /// It reads them and hands them on, and answers what any worker read.
    Both,
}

/// A worker's end of the queue.
#[derive(Debug)]
pub(crate) struct Handoff<S> {
    role: Role,
    queue: Arc<BatchQueue<S>>,
}

impl<S> Handoff<S> {
    pub(crate) fn new(role: Role, queue: Arc<BatchQueue<S>>) -> Self {
        Handoff { role, queue }
    }

    /// Whether nothing is to be read now.
    #[inline]
    pub(crate) fn pauses_reading(&self) -> bool {
        self.role == Role::Answer || self.queue.is_over()
    }

    /// Takes a batch that another worker read, in exchange for an empty one.
    #[inline]
    pub(crate) fn pull(&self, into: &mut Box<BatchBuf<S>>, stats: &WorkerStats) -> Pulled {
        match self.role {
            Role::Read => Pulled::Nothing,
            Role::Answer | Role::Both => self.queue.pull(into, stats),
        }
    }

    /// Hands a batch on. Returns false where the queue is full: the batch stays.
    pub(crate) fn hand_on(&self, batch: &mut Box<BatchBuf<S>>, stats: &WorkerStats) -> bool {
        self.queue.hand(batch, stats)
    }

    /// The IBT: a worker that hands on gathers as many as those that answer found good.
    #[inline]
    pub(crate) fn threshold(&self, own: usize) -> usize {
        own.max(self.queue.ibt())
    }

    /// The worker ran a batch, and its IBT is this now.
    pub(crate) fn set_threshold(&self, ibt: usize) {
        self.queue.set_ibt(ibt);
    }
}
