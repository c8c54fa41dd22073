//! A worker: a step function over connections, which waits only in its poll.
//!
//! ```text
//!   look ──▶ read ──▶ chop ──▶ look … until the batch is large enough, or nothing is left to read
//!    │                           └──▶ run ──▶ write ──▶ look
//!    └──▶ sleep ──▶ look
//! ```
//!
//! Each arrow is the end of a step. The phases are files, named as in Maestro's paper:
//!
//! 1. `read.rs`: begins a visit of a connection, and reads;
//! 2. `chop.rs`: cuts bytes into messages;
//! 3. `parse.rs`: makes requests of PACKET_INs; gives any other message to the session;
//! 4. `batch.rs`: says when the batch is large enough, and hands it on where the design does;
//! 5. `pipeline.rs`: runs the applications over it;
//! 6. `outbox.rs`: sorts the replies by connection;
//! 7. `write.rs`: writes them.
//!
//! The claim of a connection is held from reading to the end of chopping. The receive buffer, the
//! requests and the send buffer belong to the worker and not to the switch: one of each, always the
//! same, so that they stay in the cache.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use aldis_control::batching::Batching;
use aldis_control::controller_event::EventSink;
use aldis_control::session::Close;
use aldis_control::stats::WorkerStats;
use aldis_control::{Event, Output, Pipeline, Switch, Time, World};

use crate::conn::{Conn, ConnId, State};
use crate::design::{self, Design};
use crate::limits::{BATCH_BYTES, LINGER, OUTBOX_PER_READ, READ_MAX, RETRY_AFTER, SECOND};
use crate::messages::{Signal, WorkerMessage};
use crate::net::{Net, Readiness};
use crate::read::Read;
use crate::read::batch_buf::{BatchBuf, in_flight_max, visit_bytes};
use crate::read::shared_queue::handoff::Handoff;
use crate::shared::Shared;
use crate::shared::registry::Registry;
use crate::sync::versioned;
use crate::tap::TapWriter;
use crate::write::{BatchTimes, Write, drain};

mod allowance;
mod batch;
mod chop;
mod commands;
mod home;
mod line_up;
mod outbox;
mod parse;
mod pipeline;
mod read;
mod remote;
mod replay;
mod session_events;
mod shedding;
mod slab;
mod write;

pub(crate) use replay::ReplayWorker;

use allowance::Allowance;
use line_up::Greeting;
use outbox::Span;
use remote::RemoteWrites;
use shedding::Shedder;
use slab::Slab;

/// What a worker is made of, whatever its design.
pub(crate) struct WorkerParts<N: Net> {
    /// Its index among the workers.
    pub(crate) index: usize,
    pub(crate) net: N,
    pub(crate) shared: Arc<Shared<N>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) event_sink: Arc<dyn EventSink>,
    pub(crate) stats: Arc<WorkerStats>,
    pub(crate) pipeline: Pipeline,
    pub(crate) output: Output,
    pub(crate) design: Design,
    /// Where it does not run all that it reads itself.
    pub(crate) handoff: Option<Handoff<N::Socket>>,
    /// Whether it polls without ever sleeping.
    pub(crate) spin: bool,
    /// Whether a publisher makes Worlds.
    pub(crate) has_world: bool,
}

/// One worker.
pub(crate) struct Worker<N: Net, R> {
    index: usize,
    net: N,
    read: R,
    write: Write<N::Socket>,
    shared: Arc<Shared<N>>,
    registry: Arc<Registry>,
    event_sink: Arc<dyn EventSink>,
    stats: Arc<WorkerStats>,
    tap: TapWriter,
    spin: bool,
    stage: Stage<N::Socket>,
    now: Time,

    // Reading and chopping.
    read_max: usize,
    /// Visits of one connection that may be in flight at once.
    in_flight_max: u32,
    /// Room that one visit may need.
    visit_bytes: usize,
    batch: Box<BatchBuf<N::Socket>>,
    batching: Box<dyn Batching + Send>,
    handoff: Option<Handoff<N::Socket>>,
    shedder: Shedder,
    /// Whether it sheds at all: a knob.
    sheds: bool,

    // The applications.
    pipeline: Pipeline,
    /// Scratch: the switches of the runs that applications see; empty in between.
    switches: Vec<&'static Switch>,
    /// The World of the batch in hand, or of the last one.
    world: Arc<World>,
    /// Whether it is entered as a reader of that World.
    reads_world: bool,
    has_world: bool,

    // Output.
    output: Output,
    spans: Vec<Span>,
    /// Scratch: spans of one connection, copied together.
    joined: Vec<u8>,
    remote: RemoteWrites<N::Socket>,
    /// The times of the batch that is written next, where it has any requests.
    times: Option<BatchTimes>,
    /// Whether the replies of a batch to one switch are written together.
    together: bool,
    /// Whether what waits for a switch is put in the order of its classes.
    priorities: bool,
    signals: Vec<(ConnId, Signal)>,
    forwards: Vec<Forward<N::Socket>>,
    /// Messages that a full inbox did not take.
    undelivered: Vec<(usize, WorkerMessage<N::Socket>)>,

    // Its connections.
    conns: Slab<Arc<Conn<N::Socket>>>,
    readiness: Vec<Readiness>,
    timers: BinaryHeap<Reverse<(Time, u64)>>,
    /// Deadlines of commands that this worker sent.
    deadlines: BinaryHeap<Reverse<(Time, ConnId)>>,
    allowance: Allowance,
    /// When it polls next, though there is work.
    poll_at: Time,
    /// Since when it has had something to do.
    busy_since: Time,
    /// When it last found something to do.
    found_at: Time,
    /// Whether it found nothing to do, entered itself as parked, and looks for the last time.
    parking: bool,
    /// Whether it entered itself as one that looks again and again.
    lingers: bool,
    next_second: Time,
    /// The slot of `conns` from which on applications are still to get this second's event.
    second_from: usize,
    /// The version of the knobs that it follows.
    knobs_version: u64,
    /// The version of the line-up that it follows.
    line_up_version: u64,
    /// Of which switches applications are told that were started last.
    greeting: Greeting,
    /// Whether some are still to be told of.
    greets: bool,
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
        /// The switch's share, in requests, where what is above it is shed.
        share: Option<u32>,
    },
    /// `drained`: nothing is left to read. `pulled`: another worker read it.
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
    /// One that waits in its poll until then, or until the inbox or a socket wakes it; not at all
    /// where that time is past.
    Until(Time),
}

/// A reply for the applications of another worker.
#[derive(Debug)]
struct Forward<S> {
    worker: usize,
    conn: Arc<Conn<S>>,
    event: Event,
}

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    pub(crate) fn new(parts: WorkerParts<N>, read: R) -> Self {
        let design = parts.design;
        let per_read = design.batching == design::Batching::PerRead;
        let visit_bytes = visit_bytes(design.read_max.max(R::READ_AHEAD));
        let batch_bytes = visit_bytes + if per_read { 0 } else { BATCH_BYTES };
        let mut worker = Worker {
            index: parts.index,
            tap: TapWriter::new(Arc::clone(&parts.shared.tap), parts.index),
            net: parts.net,
            read,
            write: Write::new(design.write),
            shared: parts.shared,
            registry: parts.registry,
            event_sink: parts.event_sink,
            stats: parts.stats,
            spin: parts.spin,
            stage: Stage::Look,
            now: Time::START,
            read_max: design.read_max,
            in_flight_max: in_flight_max(design.read_max),
            visit_bytes,
            batch: Box::new(BatchBuf::new(batch_bytes)),
            batching: design.batching.start(),
            handoff: parts.handoff,
            shedder: Shedder::new(),
            sheds: design.shed,
            pipeline: parts.pipeline,
            switches: Vec::with_capacity(64),
            world: Arc::default(),
            reads_world: false,
            has_world: parts.has_world,
            output: parts.output,
            spans: Vec::with_capacity(64),
            joined: Vec::new(),
            remote: RemoteWrites::new(),
            times: None,
            together: design.output_batching,
            priorities: design.priorities,
            signals: Vec::new(),
            forwards: Vec::new(),
            undelivered: Vec::new(),
            conns: Slab::default(),
            readiness: Vec::new(),
            timers: BinaryHeap::new(),
            deadlines: BinaryHeap::new(),
            allowance: Allowance::new(),
            poll_at: Time::START,
            busy_since: Time::START,
            found_at: Time::START,
            parking: false,
            lingers: false,
            next_second: Time::START + SECOND,
            second_from: usize::MAX,
            knobs_version: versioned::UNSEEN,
            line_up_version: versioned::UNSEEN,
            greeting: Greeting::default(),
            greets: false,
            accounted: Time::START,
        };
        worker.follow_line_up();
        worker
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

    /// How many lists of ready connections it looks into when none is ready.
    pub(crate) fn lists(&self) -> usize {
        self.read.lists()
    }

    /// Visits in the batch in hand.
    pub(crate) fn gathered(&self) -> usize {
        self.batch.visits.len()
    }

    /// Finds something to do, or goes to sleep.
    #[inline]
    fn look(&mut self) {
        self.now = self.net.now();
        if self.poll_at <= self.now {
            self.poll(Time::START);
            if self.parking {
                // The poll may have consumed the ring of a worker that found this one parked, and
                // no worker would find it again.
                self.shared.prepare_parking(self.index);
            }
        }
        if self.pull() {
            self.found_work();
            self.stage = Stage::Run { drained: false, pulled: true };
        } else if let Some(visit) = self.next_visit() {
            self.found_work();
            self.begin(visit);
        } else if self.batch.holds_something() {
            self.stage = Stage::Run { drained: true, pulled: false };
        } else if self.may_linger() {
            self.lingers = true;
            self.shared.linger(self.index);
            self.net.linger();
        } else if !self.parking && !self.spin {
            (self.parking, self.lingers) = (true, false);
            self.shared.prepare_parking(self.index);
        } else {
            self.stage = Stage::Sleep { until: self.sleep_until() };
        }
    }

    /// It is neither parked nor about to be.
    #[inline]
    fn found_work(&mut self) {
        self.found_at = self.now;
        if self.parking || self.lingers {
            (self.parking, self.lingers) = (false, false);
            self.shared.cancel_parking(self.index);
        }
    }

    /// Whether it looks again before it sleeps: it can only wait for the queue between workers,
    /// where another one is about to put something or to make room.
    fn may_linger(&self) -> bool {
        let waits = self.handoff.as_ref().is_some_and(|handoff| handoff.pauses_reading());
        waits && !self.parking && !self.spin && self.now.since(self.found_at) < LINGER
    }

    /// How long it may sleep. Not at all where it is to poll at once, since the inbox holds
    /// messages that no worker rings for again.
    #[cold]
    fn sleep_until(&self) -> Time {
        match (self.spin, self.undelivered.is_empty()) {
            _ if self.poll_at <= self.now => Time::START,
            _ if self.shared.inboxes[self.index].has_commands() => Time::START,
            (true, _) => Time::START,
            (false, true) => self.next_timer(),
            (false, false) => self.next_timer().min(self.now + RETRY_AFTER),
        }
    }

    /// Waits for something to do.
    #[cold]
    fn sleep(&mut self, until: Time) {
        self.poll(until);
        if std::mem::take(&mut self.parking) {
            self.shared.cancel_parking(self.index);
        }
        self.busy_since = self.now;
    }

    /// Releases the claim of a connection after a visit. Returns whether the connection is queued
    /// again, as there is more to do.
    #[inline]
    fn release(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: MutexGuard<'_, State>,
        used: usize,
    ) -> bool {
        let deadline = state.deadline(&conn.outgoing);
        if conn.timer.set(deadline) {
            if conn.home() == self.index {
                self.arm(conn);
            } else {
                self.post(conn.home(), WorkerMessage::Arm(Arc::clone(conn)));
            }
        }
        let (more, parked) = (state.is_ready(conn.outgoing.is_stuck()), state.parked);
        drop(state);
        conn.set_queued_at(self.now);
        let queued = conn.claim.release(more);
        match parked && !queued {
            true => self.read.park(conn, used as u32),
            false => self.read.done(conn, used as u32, queued),
        }
        if queued && self.read.wants_help(self.now.since(self.busy_since)) {
            self.shared.wake_one();
        }
        queued
    }

    /// Ends a connection that this worker claims. Replies that are in flight are still written.
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
        if !self.write.finish(&mut self.net, conn, self.now) {
            // It is visited again for this signal.
            if conn.signal(Signal::Close(why)) {
                self.queue(Arc::clone(conn));
            }
            self.release(conn, state, 1);
            return;
        }
        self.close(conn, why);
        self.send();
        self.net.close(&conn.socket);
        drop(state);
        self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        if conn.home() == self.index {
            self.forget(conn);
        } else {
            self.post(conn.home(), WorkerMessage::Forget(Arc::clone(conn)));
        }
        self.deliver_signals();
    }

    /// Ends all connections of this home, after every worker has done its last step. Output that
    /// waits is offered to the sockets once more.
    pub(crate) fn stop(&mut self) {
        self.finish_batch();
        let conns: Vec<_> = self.conns.iter().map(Arc::clone).collect();
        for conn in conns.iter().filter(|conn| !conn.is_gone()) {
            // Nothing more can be done for one that fails now.
            self.write.finish(&mut self.net, conn, self.now);
            let _ = drain(&mut self.net, conn, self.now);
            self.close(conn, Close::Stopping);
            self.tap.unlock_apps();
        }
    }

    /// Bytes that may wait for a switch that does not read.
    fn outbox_max(&self) -> usize {
        self.read_max.max(READ_MAX) * OUTBOX_PER_READ
    }

    fn queue(&mut self, conn: Arc<Conn<N::Socket>>) {
        queue(&mut self.read, &self.shared, &mut self.undelivered, self.now, conn);
    }

    /// Sends the signals that came up, and the replies for other workers.
    #[inline]
    fn deliver_signals(&mut self) {
        if !self.forwards.is_empty() {
            self.forward();
        }
        while let Some((id, signal)) = self.signals.pop() {
            let conn = self.shared.directory().get(&id).map(Arc::clone);
            if let Some(conn) = conn
                && conn.signal(signal)
            {
                self.queue(conn);
            }
        }
    }

    /// Posts replies to the workers whose applications asked.
    #[cold]
    fn forward(&mut self) {
        let workers = self.shared.inboxes.len();
        for Forward { worker, conn, event } in std::mem::take(&mut self.forwards) {
            // A switch may make up the index of a worker that does not exist.
            if worker < workers {
                self.post(worker, WorkerMessage::Heard(conn, Box::new(event)));
            }
        }
    }

    fn post(&mut self, worker: usize, message: WorkerMessage<N::Socket>) {
        if let Err(message) = self.shared.inboxes[worker].post(message) {
            self.undelivered.push((worker, message));
        }
    }

    /// Posts again what a full inbox did not take.
    fn deliver(&mut self) {
        for (worker, message) in std::mem::take(&mut self.undelivered) {
            self.post(worker, message);
        }
    }
}

/// Queues a connection where it will be served, which may be with its home.
fn queue<N: Net, R: Read<N::Socket>>(
    read: &mut R,
    shared: &Shared<N>,
    undelivered: &mut Vec<(usize, WorkerMessage<N::Socket>)>,
    now: Time,
    conn: Arc<Conn<N::Socket>>,
) {
    conn.set_queued_at(now);
    if let Err(conn) = read.queue(conn) {
        let home = conn.home();
        if let Err(message) = shared.inboxes[home].post(WorkerMessage::Ready(conn)) {
            undelivered.push((home, message));
        }
    }
}
