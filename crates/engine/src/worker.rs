//! A worker: a step function over its connections, which never waits anywhere but in its poll.
//!
//! ```text
//!   look ──▶ read ──▶ chop ──▶ look … until the batch is large enough, or nothing is left to read
//!    │                           └──▶ run ──▶ write ──▶ look
//!    └──▶ sleep ──▶ look
//! ```
//!
//! Each arrow is the end of a step. The claim of a connection is held from reading to the end of
//! chopping; whoever finds it claimed does something else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use aldis_control::Time;
use aldis_control::batching::Batching;
use aldis_control::session::Close;

use crate::conn::{Conn, ConnId, State};
use crate::limits::{GATHER_MAX, GATHER_MIN, HELP_AFTER, RETRY_AFTER, SECOND, SHED_AFTER};
use crate::messages::WorkerMessage;
use crate::net::{Net, Readiness};
use crate::read::shared_queue::queue::Pulled;
use crate::read::{Read, Visit};
use crate::shared::Shared;
use crate::sync::versioned;
use crate::worker::allowance::Allowance;
use crate::worker::slab::Slab;
use crate::write::{self, BatchTimes, Write};
use phases::{Forward, Phases};

mod allowance;
mod command_io;
mod commands;
mod home;
pub(crate) mod phases;
mod pipeline;
mod remote;
mod session_events;
mod shedding;
mod slab;

/// What a worker is told when it is made.
pub(crate) struct Post<N: Net> {
    /// Its own place among the workers.
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared<N>>,
    pub(crate) role: Role,
    /// Whether it polls without ever sleeping.
    pub(crate) spin: bool,
}

/// What a worker does with requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It reads them, and answers what it read.
    Both,
    /// It reads them and hands them on (an I/O thread).
    Read,
    /// It answers what others read (a pipeline thread).
    Work,
    /// It reads them and hands them on, and answers what anyone read (requests are not bound to
    /// their reader).
    Share,
}

/// One worker.
pub(crate) struct Worker<N: Net, R, W> {
    post: Post<N>,
    net: N,
    phases: Phases<N, W>,
    read: R,
    batching: Box<dyn Batching + Send>,
    conns: Slab<Arc<Conn<N::Socket>>>,
    readiness: Vec<Readiness>,
    timers: BinaryHeap<Reverse<(Time, u64)>>,
    /// When commands that this worker sent may be too late, and to whom.
    deadlines: BinaryHeap<Reverse<(Time, ConnId)>>,
    /// What it may spend on commands.
    allowance: Allowance,
    /// What a full inbox did not take.
    undelivered: Vec<(usize, WorkerMessage<N::Socket>)>,
    stage: Stage<N::Socket>,
    /// When readiness has to be asked for again.
    poll_at: Time,
    /// Since when it has had something to do.
    busy_since: Time,
    /// Whether it found nothing to do, said so, and looks for the last time.
    parking: bool,
    next_second: Time,
    /// Slots of `conns` whose switches were told that a second passed.
    told: usize,
    /// The knobs that it follows.
    version: u64,
    /// Until here its time is accounted for.
    accounted: Time,
}

/// What the next step does.
#[derive(Debug)]
enum Stage<S> {
    Look,
    Chop {
        conn: Arc<Conn<S>>,
        len: usize,
        /// What the switch may use, in requests, where it sheds what is above.
        share: Option<u32>,
    },
    /// `drained`: nothing is left to read. `pulled`: somebody else read it.
    Run {
        drained: bool,
        pulled: bool,
    },
    Write {
        requests: usize,
        began: Time,
        drained: bool,
    },
    Sleep {
        until: Time,
    },
}

/// What comes after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Another one, at once.
    Ready,
    /// One that waits in its poll until then, or until something comes up; not at all where that is
    /// past.
    Until(Time),
}

impl<N: Net, R: Read<N::Socket>, W: Write> Worker<N, R, W> {
    pub(crate) fn new(
        post: Post<N>,
        net: N,
        phases: Phases<N, W>,
        read: R,
        batching: Box<dyn Batching + Send>,
    ) -> Self {
        Worker {
            post,
            net,
            phases,
            read,
            batching,
            conns: Slab::default(),
            readiness: Vec::new(),
            timers: BinaryHeap::new(),
            deadlines: BinaryHeap::new(),
            allowance: Allowance::new(),
            undelivered: Vec::new(),
            stage: Stage::Look,
            poll_at: Time::START,
            busy_since: Time::START,
            parking: false,
            next_second: Time::START + SECOND,
            told: usize::MAX,
            version: versioned::UNSEEN,
            accounted: Time::START,
        }
    }

    /// Does one thing. Says whether the next one waits.
    #[inline]
    pub(crate) fn step(&mut self) -> Next {
        match std::mem::replace(&mut self.stage, Stage::Look) {
            Stage::Look => self.look(),
            Stage::Chop { conn, len, share } => self.chop(&conn, len, share),
            Stage::Run { drained, pulled } => self.run(drained, pulled),
            Stage::Write { requests, began, drained } => self.write(requests, began, drained),
            Stage::Sleep { until } => self.sleep(until),
        }
        match self.stage {
            Stage::Sleep { until } => Next::Until(until),
            _ => Next::Ready,
        }
    }

    /// Finds something to do, or goes to sleep.
    #[inline]
    fn look(&mut self) {
        self.phases.now = self.net.now();
        if self.poll_at <= self.phases.now {
            self.poll(Time::START);
            if self.parking {
                // The poll may have taken the ring of somebody who found it asleep: from here on it
                // would not be found again.
                self.post.shared.prepare(self.post.index);
            }
        }
        if self.pull() {
            self.parking = false;
            self.stage = Stage::Run { drained: false, pulled: true };
        } else if let Some(visit) = self.next() {
            self.parking = false;
            self.begin(&visit);
        } else if self.phases.holds_something() {
            self.stage = Stage::Run { drained: true, pulled: false };
        } else if !self.parking && !self.post.spin {
            self.parking = true;
            self.post.shared.prepare(self.post.index);
        } else {
            self.stage = Stage::Sleep { until: self.rest_until() };
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Visit<N::Socket>> {
        let pauses = match self.post.role {
            Role::Both => false,
            Role::Work => true,
            Role::Read | Role::Share => self.post.shared.batches.is_over(),
        };
        if pauses || !self.phases.has_room() { None } else { self.read.next(self.phases.now) }
    }

    /// Takes a batch that somebody else read.
    #[inline]
    fn pull(&mut self) -> bool {
        if !matches!(self.post.role, Role::Work | Role::Share) || self.phases.holds_something() {
            return false;
        }
        match self.post.shared.batches.pull(&mut self.phases.batch, &self.phases.stats) {
            Pulled::Nothing => false,
            Pulled::One => true,
            Pulled::LastOverThreshold => {
                self.post.shared.wake_readers();
                true
            }
        }
    }

    /// Serves one connection: the first half, which ends when something was read.
    #[inline]
    fn begin(&mut self, visit: &Visit<N::Socket>) {
        let conn = &visit.conn;
        let mut state = conn.state();
        state.note(visit.events);
        let waited = self.phases.now.0.saturating_sub(conn.queued_at().0);
        self.phases.stats.visits.add(1);
        self.phases.stats.queue_wait_ns.record(waited);
        conn.stats.visits.add(1);
        conn.stats.queue_wait_ns.add(waited);
        conn.stats.queue_wait_ns_max.raise(waited);
        if let Some(spreads) = conn.spreads() {
            spreads.queue_waits_ns.record(waited);
        }
        if visit.skipped > 0 {
            conn.stats.skips.add(visit.skipped.into());
            conn.stats.revisits.add(1);
        }
        if !self.phases.holds_something() {
            self.phases.batch.began = self.phases.now;
        }
        let rests = self.phases.now.since(self.busy_since) <= SHED_AFTER;
        let share = visit.share.filter(|_| !rests);
        let read_max = (visit.read_max, share);
        match self.phases.read(&mut self.net, conn, &mut state, read_max) {
            Ok(len) => self.stage = Stage::Chop { conn: Arc::clone(conn), len, share },
            Err(why) => {
                drop(state);
                self.end(conn, why);
            }
        }
    }

    /// The second half: takes apart what was read, and lets go.
    #[inline]
    fn chop(&mut self, conn: &Arc<Conn<N::Socket>>, len: usize, share: Option<u32>) {
        let mut state = conn.state();
        let known = conn.dpid().is_some();
        let chopped = self.phases.chop(conn, &mut state, len, share);
        if !known && conn.dpid().is_some() {
            self.post.shared.weigh(conn);
            self.read.weigh(conn);
        }
        let goes_on = match chopped {
            Ok(_) if state.moving_to.is_some() => {
                drop(state);
                self.hand_over(conn);
                false
            }
            Ok(used) => !self.release(conn, state, used.max(1)) && used >= GATHER_MIN,
            Err(why) => {
                drop(state);
                self.end(conn, why);
                false
            }
        };
        self.deliver_signals();
        let is_over = R::IS_BRIEF
            && (!goes_on || self.phases.now.since(self.phases.batch.began) >= GATHER_MAX);
        let enough = if is_over { 1 } else { self.threshold() };
        let full = self.phases.requests() >= enough || !self.phases.has_room();
        if full || self.phases.only_answers() {
            self.stage = Stage::Run { drained: false, pulled: false };
        }
    }

    /// The IBT. Who hands batches on gathers as many as those who run them found good.
    #[inline]
    fn threshold(&self) -> usize {
        let own = self.batching.threshold();
        if self.post.role == Role::Both { own } else { own.max(self.post.shared.batches.ibt()) }
    }

    /// Runs the applications over the batch, or hands it on.
    #[inline]
    fn run(&mut self, drained: bool, pulled: bool) {
        if self.post.role != Role::Both && !pulled && self.hand_on() {
            return;
        }
        let requests = self.phases.requests();
        let began = self.net.now();
        self.phases.run();
        self.stage = Stage::Write { requests, began, drained };
    }

    /// Gives the batch to whoever is free. What is to be said without the applications is said
    /// first.
    fn hand_on(&mut self) -> bool {
        let requests = self.phases.requests();
        if requests == 0 {
            return false;
        }
        self.send();
        let handed = self.post.shared.batches.hand(&mut self.phases.batch, &self.phases.stats);
        if handed {
            self.post.shared.wake_one();
        }
        handed
    }

    /// Writes the answers, and lets those who waited for them know.
    #[inline]
    fn write(&mut self, requests: usize, began: Time, drained: bool) {
        let ran = self.net.now();
        let handling_ns = ran.0.saturating_sub(began.0);
        let first_read = self.phases.batch.began;
        self.phases.ran =
            (requests > 0).then_some(BatchTimes { first_read, handling_ns, until: ran });
        self.send();
        self.finish();
        if requests == 0 {
            return;
        }
        let wrote = self.net.now();
        self.batching.ran(requests, wrote.since(began), drained);
        if self.post.role != Role::Both {
            self.post.shared.batches.set_ibt(self.batching.threshold());
        }
        let stats = &self.phases.stats;
        stats.handling_time_ns.record(handling_ns);
        stats.write_time_ns.record(wrote.0.saturating_sub(ran.0));
        stats.batching_delay_ns.record(wrote.0.saturating_sub(first_read.0));
        stats.ibt.record(self.batching.threshold() as u64);
        stats.ibt_now.set(self.batching.threshold() as u64);
    }

    fn send(&mut self) {
        let Worker { phases, net, read, undelivered, post, .. } = self;
        let now = phases.now;
        phases.write(net, |conn| queue(read, post, undelivered, now, conn));
    }

    fn finish(&mut self) {
        let Worker { phases, read, undelivered, post, .. } = self;
        let now = phases.now;
        phases.land(|conn| queue(read, post, undelivered, now, conn));
        self.deliver_signals();
    }

    /// Runs and answers what is batch, at once: something has to happen between two batches.
    fn finish_batch(&mut self) {
        if self.phases.holds_something() {
            if self.post.role == Role::Both || !self.hand_on() {
                self.phases.run();
            }
            self.send();
            self.finish();
        }
    }

    /// How long it may sleep. Not at all where it is to poll at once, since notes are left that
    /// nobody rings for again.
    #[cold]
    fn rest_until(&self) -> Time {
        match (self.post.spin, self.undelivered.is_empty()) {
            _ if self.poll_at <= self.phases.now => Time::START,
            _ if self.post.shared.inboxes[self.post.index].has_commands() => Time::START,
            (true, _) => Time::START,
            (false, true) => self.next_timer(),
            (false, false) => self.next_timer().min(self.phases.now + RETRY_AFTER),
        }
    }

    /// Waits for something to do.
    #[cold]
    fn sleep(&mut self, until: Time) {
        self.poll(until);
        if std::mem::take(&mut self.parking) {
            self.post.shared.cancel(self.post.index);
        }
        self.busy_since = self.phases.now;
    }

    /// Lets go of a connection after a visit. Says whether it is queued again, as there is more to
    /// do.
    #[inline]
    fn release(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: MutexGuard<'_, State>,
        used: usize,
    ) -> bool {
        let deadline = state.deadline(&conn.outgoing);
        if conn.timer.set(deadline) {
            if conn.home() == self.post.index {
                self.arm(conn);
            } else {
                self.post(conn.home(), WorkerMessage::Arm(Arc::clone(conn)));
            }
        }
        let (more, parked) = (state.is_ready(conn.outgoing.is_stuck()), state.parked);
        drop(state);
        conn.set_queued_at(self.phases.now);
        let queued = conn.claim.release(more);
        match parked && !queued {
            true => self.read.park(conn, used as u32),
            false => self.read.done(conn, used as u32, queued),
        }
        if R::HELPS && queued && self.phases.now.since(self.busy_since) > HELP_AFTER {
            self.post.shared.wake_one();
        }
        queued
    }

    /// Ends a connection that this worker claims. Replies made before it came to its end are still
    /// written.
    #[cold]
    fn end(&mut self, conn: &Arc<Conn<N::Socket>>, why: Close) {
        self.finish_batch();
        let mut state = conn.state();
        if !conn.in_flight.is_clear(0) {
            state.ending = Some(why);
            state.parked = true;
            self.release(conn, state, 1);
            return;
        }
        self.phases.close(conn, why);
        self.send();
        self.net.close(&conn.socket);
        drop(state);
        let shared = &self.post.shared;
        shared.connections.fetch_sub(1, Ordering::Relaxed);
        if conn.home() == self.post.index {
            self.forget(conn);
        } else {
            self.post(conn.home(), WorkerMessage::Forget(Arc::clone(conn)));
        }
        self.deliver_signals();
    }

    /// Ends all connections of this home; what is queued is offered to the sockets once more. Every
    /// worker has done its last step.
    pub(crate) fn stop(&mut self) {
        self.finish_batch();
        let conns: Vec<_> = self.conns.iter().map(Arc::clone).collect();
        for conn in conns.iter().filter(|conn| !conn.is_gone()) {
            // Nothing more can be done for one that fails now.
            let _ = write::drain(&mut self.net, conn, self.phases.now);
            self.phases.close(conn, Close::Stopping);
        }
    }

    fn queue(&mut self, conn: Arc<Conn<N::Socket>>) {
        queue(&mut self.read, &self.post, &mut self.undelivered, self.phases.now, conn);
    }

    /// Leaves word with the connections that something came up for.
    #[inline]
    fn deliver_signals(&mut self) {
        if !self.phases.forwards.is_empty() {
            self.forward();
        }
        while let Some((id, signal)) = self.phases.signals.pop() {
            let conn = self.post.shared.directory().get(&id).map(Arc::clone);
            if let Some(conn) = conn
                && conn.signal(signal)
            {
                self.queue(conn);
            }
        }
    }

    /// Posts what switches said to the applications of other workers.
    #[cold]
    fn forward(&mut self) {
        let workers = self.post.shared.inboxes.len();
        for Forward { worker, conn, event } in std::mem::take(&mut self.phases.forwards) {
            // A switch may make up the id of a worker that is not there.
            if worker < workers {
                self.post(worker, WorkerMessage::Heard(conn, event));
            }
        }
    }

    fn post(&mut self, worker: usize, note: WorkerMessage<N::Socket>) {
        if let Err(note) = self.post.shared.inboxes[worker].post(note) {
            self.undelivered.push((worker, note));
        }
    }

    /// Tries again what a full inbox did not take.
    fn deliver(&mut self) {
        for (worker, note) in std::mem::take(&mut self.undelivered) {
            self.post(worker, note);
        }
    }
}

/// Puts a connection where it will be served, which may be with another worker.
fn queue<N: Net, R: Read<N::Socket>>(
    read: &mut R,
    post: &Post<N>,
    undelivered: &mut Vec<(usize, WorkerMessage<N::Socket>)>,
    now: Time,
    conn: Arc<Conn<N::Socket>>,
) {
    conn.set_queued_at(now);
    if let Err(conn) = read.queue(conn) {
        let home = conn.home();
        if let Err(note) = post.shared.inboxes[home].post(WorkerMessage::Ready(conn)) {
            undelivered.push((home, note));
        }
    }
}
