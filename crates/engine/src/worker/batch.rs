//! Phase 4, batch: says when the batch is large enough, and what becomes of it.

use aldis_control::Time;
use aldis_control::batching::Ran;

use super::{Stage, Worker, queue};
use crate::conn::claim::Events;
use crate::net::Net;
use crate::read::Read;
use crate::read::shared_queue::queue::Pulled;
use crate::write::BatchTimes;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Whether the batch is large enough, after a visit that took `used` messages.
    #[inline]
    pub(super) fn is_batch_closed(&self, used: usize, queued: bool) -> bool {
        let gathering = self.now.since(self.batch.began);
        let closes = self.read.closes_batch(used, queued, gathering);
        let enough = if closes { 1 } else { self.threshold() };
        let requests = self.requests_in_hand();
        requests >= enough
            || self.batching.is_due(requests, gathering)
            || !self.batch.has_room(self.visit_bytes)
    }

    /// Whether the batch has nothing for the applications, but something to be sent.
    #[inline]
    pub(super) fn only_replies(&self) -> bool {
        let sends = || !self.output.is_empty() || self.output.has_commands();
        self.requests_in_hand() == 0 && sends()
    }

    /// The requests of the batch in hand.
    #[inline]
    pub(super) fn requests_in_hand(&self) -> usize {
        match self.read.leaves_raw() {
            true => self.batch.request_count(),
            false => self.batch.requests.len(),
        }
    }

    /// The input batching threshold (IBT), in requests.
    #[inline]
    fn threshold(&self) -> usize {
        let own = self.batching.threshold();
        self.handoff.as_ref().map_or(own, |handoff| handoff.threshold(own))
    }

    /// Takes a batch that another worker read.
    #[inline]
    pub(super) fn pull(&mut self) -> bool {
        let Some(handoff) = &self.handoff else { return false };
        if self.batch.holds_something() {
            return false;
        }
        match handoff.pull(&mut self.batch, &self.stats) {
            Pulled::Nothing => return false,
            Pulled::One => {}
            Pulled::LastOverThreshold => self.shared.wake_readers(),
        }
        self.batch.parse_raw();
        true
    }

    /// Hands the batch to a worker that is free. What the session replied is sent first. Where the
    /// queue is full the batch stays, parsed.
    fn hand_on(&mut self) -> bool {
        if self.handoff.is_none() || self.requests_in_hand() == 0 {
            return false;
        }
        self.send();
        let Some(handoff) = &self.handoff else { return false };
        let handed = handoff.hand_on(&mut self.batch, &self.stats);
        match handed {
            true => self.shared.wake_one(),
            false => self.batch.parse_raw(),
        }
        handed
    }

    /// Runs the applications over the batch, or hands it on.
    #[inline]
    pub(super) fn run(&mut self, drained: bool, pulled: bool) {
        if !pulled && self.hand_on() {
            return;
        }
        let requests = self.batch.requests.len();
        let began = self.lock_apps_for_batch();
        self.run_batch();
        self.stage = Stage::Write { requests, began, drained };
    }

    /// Writes the replies, finishes the visits of the batch, and records its times.
    #[inline]
    pub(super) fn write(&mut self, requests: usize, began: Time, drained: bool) {
        let ran = self.net.now();
        let handling_ns = ran.0.saturating_sub(began.0);
        let first_read = self.batch.began;
        self.times = (requests > 0).then_some(BatchTimes { first_read, handling_ns, until: ran });
        if self.tap.is_on() {
            self.tap.ran(self.now, began);
        }
        self.send();
        self.finish_visits();
        if requests == 0 {
            return;
        }
        let wrote = self.net.now();
        let (gathered, took) = (began.since(first_read), wrote.since(first_read));
        self.batching.ran(Ran { requests, gathered, took, drained });
        let threshold = self.batching.threshold();
        if let Some(handoff) = &self.handoff {
            handoff.set_threshold(threshold);
        }
        let stats = &self.stats;
        stats.handling_time_ns.record(handling_ns);
        stats.write_time_ns.record(wrote.0.saturating_sub(ran.0));
        stats.batching_delay_ns.record(wrote.0.saturating_sub(first_read.0));
        stats.ibt.record(threshold as u64);
        stats.ibt_now.set(threshold as u64);
    }

    /// Runs the batch and writes its replies at once: something has to happen between two batches.
    pub(super) fn finish_batch(&mut self) {
        if self.batch.holds_something() {
            let began = self.tap.is_on().then(|| self.lock_apps_for_batch());
            if !self.hand_on() {
                self.run_batch();
            }
            began.into_iter().for_each(|began| self.tap.ran(self.now, began));
            self.send();
            self.finish_visits();
        }
    }

    /// The batch is answered: its visits are in flight no more, and its switch locks are released.
    #[inline]
    pub(super) fn finish_visits(&mut self) {
        let Worker { batch, read, shared, undelivered, now, .. } = self;
        for conn in batch.visits.drain(..) {
            if conn.in_flight.finish() && conn.claim.announce(Events::SIGNALLED) {
                queue(read, shared, undelivered, *now, conn);
            }
        }
        batch.filled = 0;
        batch.check();
        if !self.batch.locks.is_empty() {
            self.unlock_switches();
        }
        self.deliver_signals();
    }
}
