//! The phases of serving: read, chop, run, write.
//!
//! The receive buffer, the requests and the send buffer belong to the worker and not to the switch:
//! one of each, always the same, so that they stay in the cache. Reading and chopping need the
//! claim of one connection; running and writing are for a whole batch, which may come from many.

use std::io;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

use aldis_control::fact::{Fact, Facts};
use aldis_control::session::{Close, Session};
use aldis_control::stats::WorkerStats;
use aldis_control::world::View;
use aldis_control::{Batch, Event, On, Output, Pipeline, Time, World, gather};
use aldis_wire::header::kind::PACKET_IN;
use aldis_wire::{Chop, Raw, Version};

use crate::conn::claim::Events;
use crate::conn::{Conn, ConnId, State};
use crate::limits::{EARLY_MAX, OUTBOX_PER_READ, READ_MORE, SHED_PER_REQUEST};
use crate::messages::Signal;
use crate::net::{Net, lost};
use crate::read::batch_buf::{BatchBuf, in_flight_max, visit_bytes};
use crate::shared::registry::Registry;
use crate::shared::switch_map::SwitchMap;
use crate::shared::world::WorldCell;
use crate::write::{self, BatchTimes, Write};

use super::remote::RemoteWrites;
use super::shedding::Shedder;

/// A worker's tools.
pub(crate) struct Phases<N: Net, W> {
    pub(crate) now: Time,
    pub(crate) stats: Arc<WorkerStats>,
    pub(crate) signals: Vec<(ConnId, Signal)>,
    /// What switches said to applications of other workers.
    pub(crate) forwards: Vec<Forward<N::Socket>>,
    pub(crate) batch: Box<BatchBuf<N::Socket>>,
    /// The run over the batch that is written next, where it was over any requests.
    pub(crate) ran: Option<BatchTimes>,
    pub(super) output: Output,
    pub(super) mail: RemoteWrites<N::Socket>,
    pub(super) spans: Vec<Span>,
    pub(super) joined: Vec<u8>,
    pub(super) read_max: usize,
    /// Visits of one connection that may be on their way at once.
    pub(super) in_flight_max: u32,
    /// Room that one visit may need.
    pub(super) visit_bytes: usize,
    pub(super) shedder: Shedder,
    /// Whether batches are run here, or handed to whoever is free.
    pub(super) runs_here: bool,
    /// Whether the answers of a batch to one switch are written together.
    pub(super) together: bool,
    pub(super) pipeline: Pipeline,
    /// Its place among the workers.
    pub(super) index: usize,
    /// The World of the batch in hand, or of the last one.
    pub(super) world: Arc<World>,
    /// Whether it sits: it has a World in hand.
    pub(super) sits: bool,
    /// Whether anybody publishes a World.
    pub(super) has_world: bool,
    pub(super) newest: Arc<WorldCell>,
    pub(super) registry: Arc<Registry>,
    pub(super) switches: Arc<SwitchMap<N::Socket>>,
    pub(super) facts: Arc<dyn Facts>,
    pub(super) write: PhantomData<W>,
}

/// Output for the connection of one visit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) visit: usize,
    pub(super) begin: usize,
    pub(super) end: usize,
}

/// What a switch said to the applications of another worker.
#[derive(Debug)]
pub(crate) struct Forward<S> {
    pub(crate) worker: usize,
    pub(crate) conn: Arc<Conn<S>>,
    pub(crate) event: Event,
}

/// What a phases is made of.
pub(crate) struct PhaseParts<S> {
    pub(crate) index: usize,
    pub(crate) pipeline: Pipeline,
    pub(crate) output: Output,
    pub(crate) newest: Arc<WorldCell>,
    pub(crate) switches: Arc<SwitchMap<S>>,
    pub(crate) has_world: bool,
    pub(crate) read_max: usize,
    /// The most bytes that a visit may chop where it reads ahead; 0 where none does.
    pub(crate) ahead: usize,
    /// Bytes that a batch may gather beyond those of one visit.
    pub(crate) batch_bytes: usize,
    pub(crate) runs_here: bool,
    /// Output batching.
    pub(crate) together: bool,
    pub(crate) registry: Arc<Registry>,
    pub(crate) facts: Arc<dyn Facts>,
    pub(crate) stats: Arc<WorkerStats>,
}

impl<N: Net, W: Write> Phases<N, W> {
    pub(crate) fn new(parts: PhaseParts<N::Socket>) -> Self {
        let PhaseParts {
            index,
            pipeline,
            output,
            newest,
            switches,
            has_world,
            read_max,
            ahead,
            batch_bytes,
            runs_here,
            registry,
            facts,
            stats,
            together,
        } = parts;
        let visit_bytes = visit_bytes(read_max.max(ahead));
        Phases {
            now: Time::START,
            stats,
            together,
            signals: Vec::new(),
            forwards: Vec::new(),
            batch: Box::new(BatchBuf::new(visit_bytes + batch_bytes)),
            ran: None,
            output,
            mail: RemoteWrites::new(),
            spans: Vec::with_capacity(64),
            joined: Vec::new(),
            read_max,
            in_flight_max: in_flight_max(read_max),
            visit_bytes,
            shedder: Shedder::new(),
            runs_here,
            pipeline,
            index,
            world: Arc::default(),
            sits: false,
            has_world,
            newest,
            registry,
            switches,
            facts,
            write: PhantomData,
        }
    }

    /// Bytes that may wait for a switch that does not read.
    pub(crate) fn outbox_max(&self) -> usize {
        self.read_max.max(crate::limits::READ_MAX) * OUTBOX_PER_READ
    }

    /// Whether another visit fits into the batch.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.batch.has_room(self.visit_bytes)
    }

    /// Whether there is anything to run or to write.
    #[inline]
    pub(crate) fn holds_something(&self) -> bool {
        !self.batch.visits.is_empty()
    }

    /// Requests gathered so far.
    #[inline]
    pub(crate) fn requests(&self) -> usize {
        self.batch.requests.len()
    }

    /// Whether a visit brought nothing for the applications, but something to be sent.
    #[inline]
    pub(crate) fn only_answers(&self) -> bool {
        self.batch.requests.is_empty() && (!self.output.is_empty() || self.has_far())
    }

    /// Begins a visit: acts on the word that was left, lets waiting output go on, and reads, at
    /// most `read_max` bytes; more where there is a `share`, in requests, and a port floods. What
    /// comes of it stands at the end of the receive buffer, behind `filled`; its length is
    /// returned.
    ///
    /// # Errors
    /// The connection has to end.
    #[inline]
    pub(crate) fn read(
        &mut self,
        net: &mut N,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        (read_max, share): (usize, Option<u32>),
    ) -> Result<usize, Close> {
        self.batch.visits.push(Arc::clone(conn));
        let in_flight = conn.in_flight.start();
        if !self.lock_switch(conn, state) {
            return Ok(0);
        }
        if state.signalled {
            state.signalled = false;
            self.receive_signals(conn, state)?;
        }
        if conn.outgoing.is_stuck() {
            // The kernel reports room when there is much of it; a slow reader may have made a little.
            if state.writable || conn.outgoing.deadline() <= self.now {
                state.writable = false;
                write::drain(net, conn, self.now)?;
            }
            if conn.outgoing.is_stuck() {
                self.stats.pauses.add(1);
                conn.stats.pauses.add(1);
                let late = conn.outgoing.deadline() <= self.now;
                return if late { Err(Close::NotReading) } else { Ok(0) };
            }
        }
        if state.parked || state.fenced {
            // This visit has taken off itself; and what this worker says is in order.
            let own = self.batch.visits_of(conn);
            state.parked = !conn.in_flight.is_clear(own);
            if state.parked {
                return Ok(0);
            }
            state.fenced = own > 1;
        }
        if let Some(why) = state.ending.take() {
            return Err(why);
        }
        if in_flight > self.in_flight_max || conn.outgoing.is_behind() {
            // It is announced when all of them have landed, this visit too.
            state.parked = !conn.in_flight.is_clear(0);
            return Ok(0);
        }
        let room = &mut self.batch.received[self.batch.filled..];
        if mem::take(&mut state.whole) {
            return Ok(state.restore_carry(room));
        }
        if !state.readable && !state.session.wants_a_look(self.now) {
            return Ok(0);
        }
        let carried = state.restore_carry(room);
        let read_max =
            read_max.min(self.read_max).min(if in_flight > 1 { READ_MORE } else { usize::MAX });
        let count = match net.read(&conn.socket, &mut room[carried..carried + read_max]) {
            Ok(0) => return Err(Close::PeerClosed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(lost(&error)),
        };
        // Less than was asked for: the socket is empty, and the next byte will be announced. The
        // end is announced once, and perhaps it was together with these bytes.
        state.readable = count == read_max || state.ended;
        state.session.was_read(count);
        self.count_read(conn, count);
        let look = |share| self.look_ahead(net, conn, state, (carried + count, read_max), share);
        Ok(share.filter(|_| in_flight == 1).map_or(carried + count, look))
    }

    /// Takes what [`Phases::read`] brought apart: flow requests are gathered; every other message
    /// is a fence and goes to the session. Ends with the session's own affairs, if their time has
    /// come. Where the switch is above its `share`, in requests, those of ports that flood are
    /// dropped. Returns how many messages were taken, as designs count them.
    ///
    /// # Errors
    /// The connection has to end.
    #[inline]
    pub(crate) fn chop(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        len: usize,
        share: Option<u32>,
    ) -> Result<usize, Close> {
        let received = mem::take(&mut self.batch.received);
        let at = self.batch.filled;
        if let Some(share) = share {
            self.begin_shedding(conn, state, &received[at..at + len], share);
        }
        let chopped = self.chop_bytes(conn, state, &received[..at + len], at);
        let dropped = if share.is_some() { self.end_shedding(conn, state) } else { 0 };
        self.batch.received = received;
        self.batch.filled = at + len;
        let taken = chopped?;
        if state.session.deadline() <= self.now && !conn.outgoing.is_stuck() {
            self.session(conn, state, Session::tick)?;
        }
        Ok(taken + dropped / SHED_PER_REQUEST)
    }

    #[inline]
    fn chop_bytes(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        bytes: &[u8],
        mut at: usize,
    ) -> Result<usize, Close> {
        let mut taken = 0;
        loop {
            if let Some(switch) = conn.switch() {
                let first = self.batch.requests.len();
                at = gather::gather(switch.info.version, bytes, at, &mut self.batch.requests);
                if self.batch.requests.len() > first {
                    state.session.alive(self.now);
                }
                let kept = self.shedder.filter(&mut self.batch.requests, first);
                if kept > 0 {
                    taken += kept;
                    conn.stats.requests.add(kept as u64);
                    conn.stats.batches.add(1);
                    conn.spreads().into_iter().for_each(|it| it.batch_size.record(kept as u64));
                    self.batch.add_run(switch, first..first + kept);
                }
            }
            match Chop::new(&bytes[at..]).next() {
                Some(Ok(raw)) => {
                    if !self.fence_may_pass(conn, bytes) {
                        state.parked = true;
                        state.whole = true;
                        break;
                    }
                    self.fence(conn, state, bytes, at, raw)?;
                    state.fenced = true;
                    at += raw.bytes.len();
                    taken += 1;
                    if state.whole {
                        break;
                    }
                }
                Some(Err(malformed)) => return Err(Close::Framing(malformed)),
                None => {
                    if conn.switch().is_none() {
                        state.session.begun(&bytes[at..])?;
                    }
                    break;
                }
            }
        }
        state.keep_carry(&bytes[at..]);
        Ok(taken)
    }

    /// Sees to it that what came before a fence is finished. Where it is still on its way with
    /// another worker, the fence has to wait, and the connection is announced when it may pass.
    fn fence_may_pass(&mut self, conn: &Arc<Conn<N::Socket>>, bytes: &[u8]) -> bool {
        let own = self.batch.visits_of(conn);
        if self.batch.requests.is_empty() || self.runs_here {
            self.run_over(On::FlowRequest, bytes);
            conn.in_flight.is_clear(own)
        } else {
            // They are about to be handed on, and land elsewhere.
            conn.in_flight.is_clear(0)
        }
    }

    /// Runs the applications over what was batch.
    #[inline]
    pub(crate) fn run(&mut self) {
        let received = mem::take(&mut self.batch.received);
        self.run_over(On::FlowRequest, &received);
        self.batch.received = received;
    }

    #[inline]
    fn run_over(&mut self, on: On, bytes: &[u8]) {
        if self.batch.requests.is_empty() {
            return;
        }
        self.enter();
        let BatchBuf { requests, runs, switches, visit_of, .. } = &mut *self.batch;
        self.stats.batches.add(1);
        self.stats.batch_size.record(requests.len() as u64);
        self.stats.requests.add(requests.len() as u64);
        let world = View::of(&self.world, &[]);
        let mut batch = Batch { on, now: self.now, world, bytes, switches, runs, requests };
        self.pipeline.packet_ins(&mut batch, &mut self.output);
        let mut begin = self.spans.last().map_or(0, |span| span.end);
        for segment in self.output.take_segments() {
            let (visit, end) = (visit_of[segment.run], segment.end);
            self.spans.push(Span { visit, begin, end });
            begin = end;
        }
        self.batch.clear_requests();
    }

    /// Writes what there is to send, once for each connection. Those that cannot take it are told
    /// to end, and those that have to be queued are given to `queue`.
    #[inline]
    pub(crate) fn write(&mut self, net: &mut N, mut queue: impl FnMut(Arc<Conn<N::Socket>>)) {
        let visits = &self.batch.visits;
        let whose = |span: &Span| visits[span.visit].id;
        if self.together && !self.spans.is_sorted_by_key(whose) {
            self.spans.sort_unstable_by_key(|span| (whose(span), span.begin));
        }
        for group in self.spans.chunk_by(|a, b| self.together && whose(a) == whose(b)) {
            let conn = &visits[group[0].visit];
            if conn.is_gone() {
                continue;
            }
            let bytes = put_together(group, self.output.bytes(), &mut self.joined);
            self.stats.writes.add(1);
            self.stats.bytes_out.add(bytes.len() as u64);
            let flushed = W::flush(net, conn, self.now, bytes, self.ran.as_mut());
            if must_queue(conn, flushed) {
                queue(Arc::clone(conn));
            }
        }
        self.ran = None;
        self.spans.clear();
        self.output.clear();
        if self.has_far() {
            self.send_far(net, &mut queue);
        }
        for words in self.output.far().take_notes() {
            self.facts.tell(Fact::Noted { words, warns: true });
        }
        for words in self.output.far().take_news() {
            self.facts.tell(Fact::Noted { words, warns: false });
        }
        for (by, found) in self.output.far().take_found() {
            self.facts.tell(Fact::Found { by, found });
        }
        let count = self.output.far().take_not_told();
        if count > 0 {
            self.facts.tell(Fact::NotTold { count });
        }
        self.exit();
    }

    /// The batch is answered: its visits land.
    #[inline]
    pub(crate) fn land(&mut self, mut queue: impl FnMut(Arc<Conn<N::Socket>>)) {
        for conn in self.batch.visits.drain(..) {
            if conn.in_flight.finish() && conn.claim.announce(Events::SIGNALLED) {
                queue(conn);
            }
        }
        self.batch.filled = 0;
        if !self.batch.locks.is_empty() {
            self.unlock_switches();
        }
    }

    /// A message that has to be alone: a PACKET_IN with LLDP is a batch of one, the rest is the
    /// session's.
    fn fence(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        bytes: &[u8],
        at: usize,
        raw: Raw<'_>,
    ) -> Result<(), Close> {
        if let Some(switch) = conn.switch().filter(|_| raw.header.kind == PACKET_IN)
            && raw.header.version == switch.info.version.wire()
            && let Ok(request) = gather::request(switch.info.version, bytes, at, raw.bytes.len())
        {
            state.session.alive(self.now);
            conn.stats.requests.add(1);
            conn.stats.batches.add(1);
            conn.spreads().into_iter().for_each(|it| it.batch_size.record(1));
            self.batch.requests.push(request);
            self.batch.add_run(switch, 0..1);
            self.run_over(On::Lldp, bytes);
            return Ok(());
        }
        if !conn.open_commands.is_empty() && self.answers_command(conn, state, &raw) {
            return Ok(());
        }
        if is_early(conn, state, &raw) {
            state.early.extend_from_slice(raw.bytes);
            return Ok(());
        }
        self.session(conn, state, |session, now, out| session.receive(now, raw, out))
    }

    /// What was said since the last batch or fence goes to the connection in hand.
    pub(super) fn seal(&mut self) {
        let visit = self.batch.visits.len() - 1;
        let mut begin = self.spans.last().map_or(0, |span| span.end);
        for segment in self.output.take_segments() {
            self.spans.push(Span { visit, begin, end: segment.end });
            begin = segment.end;
        }
    }
}

/// The output of one connection: where it is in several pieces, they are copied together.
#[inline]
fn put_together<'a>(pieces: &[Span], output: &'a [u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
    let (first, last) = (pieces[0].begin, pieces[pieces.len() - 1].end);
    if pieces.windows(2).all(|pair| pair[0].end == pair[1].begin) {
        return &output[first..last];
    }
    joined.clear();
    for piece in pieces {
        joined.extend_from_slice(&output[piece.begin..piece.end]);
    }
    joined
}

/// Whether a connection has to be queued after output was sent to it: it is to end, or its output
/// waits and so a deadline has to be models.
#[inline]
pub(super) fn must_queue<S>(conn: &Conn<S>, flushed: Result<(), Close>) -> bool {
    match flushed {
        Ok(()) => conn.outgoing.is_stuck() && conn.claim.announce(Events::SIGNALLED),
        Err(why) => conn.signal(Signal::Close(why)),
    }
}

/// Whether a message is a request that came before it could be served, and there is room to keep
/// it.
fn is_early<S>(conn: &Conn<S>, state: &State, raw: &Raw<'_>) -> bool {
    let version = state.session.version().map(Version::wire);
    raw.header.kind == PACKET_IN
        && conn.switch().is_none()
        && version == Some(raw.header.version)
        && state.early.len() + raw.bytes.len() <= EARLY_MAX
}
