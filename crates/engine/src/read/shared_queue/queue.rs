//! The batch queue, between workers that read and workers that answer (Maestro §3.2.1, Beacon §5.2
//! "shared queue").
//!
//! What is queued is the requests of one visit, or of as many as make a batch: an entry for each
//! message would cost more than the message. The queue is bounded twice, by entries and by the
//! *pending request threshold* (PRT): above it reading pauses.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use aldis_control::fair::{Id, Rounds};
use aldis_control::stats::WorkerStats;
use crossbeam_queue::ArrayQueue;

use crate::limits::BATCHES_QUEUED_MAX;
use crate::read::batch_buf::BatchBuf;
use crate::sync::lock;
use crate::sync::{Atomic, Primitives, Std};

/// Batches that wait for a worker.
#[derive(Debug)]
pub(crate) struct BatchQueue<S, M: Primitives = Std> {
    waiting: Waiting<S>,
    count: Count<M::U32>,
    /// Above so many of them reading pauses.
    most: usize,
    /// Emptied ones, to be filled again.
    pool: ArrayQueue<Box<BatchBuf<S>>>,
    /// Requests that wait.
    pending: Count<M::U32>,
    prt: AtomicUsize,
    ibt: AtomicUsize,
}

impl<S> BatchQueue<S> {
    /// Nothing waits, and reading is to pause above `prt` requests.
    pub(crate) fn new(prt: usize, per_switch: bool) -> Self {
        let waiting = match per_switch {
            true => Waiting::InTurn(Box::new(Mutex::new(Queues::new()))),
            false => Waiting::InOrder(Box::new(ArrayQueue::new(BATCHES_QUEUED_MAX))),
        };
        BatchQueue::waiting(waiting, BATCHES_QUEUED_MAX, prt)
    }
}

impl<S, M: Primitives> BatchQueue<S, M> {
    /// Nothing waits, and `room` batches may.
    fn waiting(waiting: Waiting<S>, room: usize, prt: usize) -> Self {
        BatchQueue {
            waiting,
            count: Count::default(),
            most: room - 1,
            pool: ArrayQueue::new(room),
            pending: Count::default(),
            prt: AtomicUsize::new(prt),
            ibt: AtomicUsize::new(0),
        }
    }

    pub(crate) fn set_prt(&self, prt: usize) {
        self.prt.store(prt, Ordering::Relaxed);
    }

    /// Whether more waits than may: nothing is to be read now.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.pending.is_over(self.prt.load(Ordering::Relaxed)) || self.count.is_over(self.most)
    }

    /// The IBT that the workers which run batches found good; 0 before they did.
    #[inline]
    pub(crate) fn ibt(&self) -> usize {
        self.ibt.load(Ordering::Relaxed)
    }

    pub(crate) fn set_ibt(&self, ibt: usize) {
        self.ibt.store(ibt, Ordering::Relaxed);
    }

    /// Hands a batch on, in exchange for an empty one. Returns false where the queue is full: it
    /// stays. A wait for the lock of queues for each switch counts in `stats`.
    pub(crate) fn hand(&self, batch: &mut Box<BatchBuf<S>>, stats: &WorkerStats) -> bool {
        let requests = batch.request_count();
        let empty =
            self.pool.pop().unwrap_or_else(|| Box::new(BatchBuf::new(batch.received.len())));
        match self.waiting.push(std::mem::replace(batch, empty), stats) {
            Ok(()) => {
                self.count.came(1);
                self.pending.came(requests);
                true
            }
            Err(back) => {
                let _ = self.pool.push(std::mem::replace(batch, back));
                false
            }
        }
    }

    /// Takes a batch in exchange for an empty one. Says whether this ended a pause. A wait counts
    /// as in [`BatchQueue::hand`].
    #[inline]
    pub(crate) fn pull(&self, into: &mut Box<BatchBuf<S>>, stats: &WorkerStats) -> Pulled {
        let Some(job) = self.waiting.pop(stats) else { return Pulled::Nothing };
        let was_full = self.count.went(1, self.most);
        let was_over = self.pending.went(job.request_count(), self.prt.load(Ordering::Relaxed));
        let empty = std::mem::replace(into, job);
        // One too many, where several threads made a new one at once, is given back to the system.
        let _ = self.pool.push(empty);
        if was_full || was_over { Pulled::LastOverThreshold } else { Pulled::One }
    }
}

/// How many wait; or fewer for a moment, for they are counted after they were pushed. Of several
/// workers that take some at the same time exactly one sees the count fall to the bound, and wakes
/// the readers that paused. With the queue's own length none might see it. Modelled with loom.
#[derive(Debug, Default)]
struct Count<A>(A);

impl<A: Atomic> Count<A> {
    fn came(&self, count: usize) {
        self.0.add(count as u32);
    }

    /// Returns whether there were more than `most`, and no longer are.
    fn went(&self, count: usize, most: usize) -> bool {
        let before = self.0.add(0_u32.wrapping_sub(count as u32));
        is_more(before, most) && !is_more(before.wrapping_sub(count as u32), most)
    }

    /// Whether there are more than `most`.
    fn is_over(&self, most: usize) -> bool {
        is_more(self.0.load(), most)
    }
}

/// A taker may count before the pusher does: then there are fewer than none.
fn is_more(count: u32, most: usize) -> bool {
    usize::try_from(count as i32).is_ok_and(|count| count > most)
}

/// In which order they are taken.
#[derive(Debug)]
enum Waiting<S> {
    /// The oldest first.
    InOrder(Box<ArrayQueue<Box<BatchBuf<S>>>>),
    /// From each switch in turn (Beacon §5.2.1: "a queue per switch", "priorities").
    InTurn(Box<Mutex<Queues<S>>>),
}

impl<S> Waiting<S> {
    fn push(&self, job: Box<BatchBuf<S>>, stats: &WorkerStats) -> Result<(), Box<BatchBuf<S>>> {
        match self {
            Waiting::InOrder(queue) => queue.push(job),
            Waiting::InTurn(queues) => lock(&**queues, stats).push(job),
        }
    }

    #[inline]
    fn pop(&self, stats: &WorkerStats) -> Option<Box<BatchBuf<S>>> {
        match self {
            Waiting::InOrder(queue) => queue.pop(),
            Waiting::InTurn(queues) => lock(&**queues, stats).pop(),
        }
    }
}

/// A queue for each switch; of weight *w* a switch has *w* turns a round.
#[derive(Debug)]
struct Queues<S> {
    turns: Rounds,
    by_number: Vec<VecDeque<Box<BatchBuf<S>>>>,
    len: usize,
}

impl<S> Queues<S> {
    fn new() -> Self {
        Queues { turns: Rounds::new(1), by_number: Vec::new(), len: 0 }
    }

    fn push(&mut self, job: Box<BatchBuf<S>>) -> Result<(), Box<BatchBuf<S>>> {
        // With a queue for each switch, all requests of a batch are of one visit.
        let Some(conn) = job.first_conn().filter(|_| self.len < BATCHES_QUEUED_MAX) else {
            return Err(job);
        };
        let (number, weight) = (conn.number(), conn.weight());
        if self.by_number.len() <= number {
            self.by_number.resize_with(number + 1, VecDeque::new);
        }
        let id = Id(number as u32);
        if self.by_number[number].is_empty() {
            // Numbers are given out again: one with nothing waiting may be another switch's.
            self.turns.join(id, weight);
        }
        self.by_number[number].push_back(job);
        self.len += 1;
        self.turns.arrive(id);
        Ok(())
    }

    fn pop(&mut self) -> Option<Box<BatchBuf<S>>> {
        let visit = self.turns.pick_or_turn()?;
        let queue = &mut self.by_number[visit.id.0 as usize];
        let job = queue.pop_front();
        let more = !queue.is_empty();
        self.turns.done(visit.id, 1, more);
        self.len -= usize::from(job.is_some());
        job
    }
}

/// What came of pulling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pulled {
    /// Nothing waits.
    Nothing,
    /// A batch.
    One,
    /// A batch, and reading may go on.
    LastOverThreshold,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::parking::Parking;
    use crate::sync::models::Loom;
    use aldis_control::RequestHeader;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Watched;

    fn job(requests: usize) -> Box<BatchBuf<()>> {
        let mut job = BatchBuf::new(8);
        let request = RequestHeader {
            frame_at: 0,
            head_len: 0,
            frame_len: 0,
            total_len: 0,
            reason: 0,
            stopped: false,
            in_port: 1,
            buffer_id: 0,
            xid: 0,
        };
        job.requests.resize(requests, request);
        Box::new(job)
    }

    #[test]
    fn reading_pauses_above_the_threshold_and_resumes_at_it() {
        let (batches, stats) = (BatchQueue::new(5, false), WorkerStats::default());
        for _ in 0..3 {
            assert!(batches.hand(&mut job(3), &stats));
        }
        assert!(batches.is_over());
        let mut batch = job(0);
        assert_eq!(batches.pull(&mut batch, &stats), Pulled::One);
        assert_eq!(batch.requests.len(), 3);
        batch.clear_requests();
        assert_eq!(batches.pull(&mut batch, &stats), Pulled::LastOverThreshold);
        assert!(!batches.is_over());
    }

    #[test]
    fn a_full_queue_takes_nothing() {
        let (batches, stats) = (BatchQueue::new(usize::MAX, false), WorkerStats::default());
        for _ in 0..BATCHES_QUEUED_MAX {
            assert!(batches.hand(&mut job(1), &stats));
        }
        assert!(batches.is_over());
        let mut batch = job(2);
        assert!(!batches.hand(&mut batch, &stats));
        assert_eq!(batch.requests.len(), 2);
        assert_eq!(batches.pull(&mut job(0), &stats), Pulled::LastOverThreshold);
    }

    /// A reader that pauses because the queue is full is woken when it is not, by one of several
    /// takers.
    #[test]
    fn no_reader_pauses_beside_a_queue_with_room() {
        const MOST: usize = 1;
        loom::model(|| {
            let shared = Arc::new((Count::<Watched>::default(), Parking::<Watched>::new(1)));
            shared.0.came(MOST + 2);
            let takers: Vec<_> = (0..2)
                .map(|_| {
                    let shared = Arc::clone(&shared);
                    let take = move || shared.0.went(1, MOST) && shared.1.unpark(0);
                    loom::thread::spawn(take)
                })
                .collect();
            shared.1.prepare(0);
            let pauses = shared.0.is_over(MOST);
            let woken =
                takers.into_iter().filter_map(|taker| taker.join().ok().filter(|woke| *woke));
            assert!(woken.count() == 1 || !pauses);
        });
    }

    /// A reader that pauses above the threshold is woken at it, also while a batch is handed on in
    /// vain.
    #[test]
    fn no_reader_pauses_below_the_threshold() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        let stats = std::sync::Arc::<WorkerStats>::default();
        model.check(move || {
            let queue = Waiting::InOrder(Box::new(ArrayQueue::new(1)));
            let batches = Arc::new(BatchQueue::<(), Loom>::waiting(queue, 1, 2));
            assert!(batches.hand(&mut job(1), &stats));
            let parking = Arc::new(Parking::<Watched>::new(1));
            let hands = (Arc::clone(&batches), stats.clone());
            let hands = loom::thread::spawn(move || hands.0.hand(&mut job(3), &hands.1));
            let takes = (Arc::clone(&batches), stats.clone(), Arc::clone(&parking));
            let takes = loom::thread::spawn(move || {
                let (batches, stats, parking) = takes;
                batches.pull(&mut job(0), &stats) == Pulled::LastOverThreshold && parking.unpark(0)
            });
            parking.prepare(0);
            let pauses = batches.is_over();
            hands.join().unwrap();
            assert!(takes.join().unwrap() || !pauses || batches.is_over(), "no worker wakes it");
        });
    }
}
