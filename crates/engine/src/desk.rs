//! The phases of serving: read, chop, run, write.
//!
//! The receive buffer, the requests and the send buffer belong to the worker and not to the switch: one of each, always
//! the same, so that they stay in the cache. Reading and chopping need the claim of one connection; running and writing
//! are for a whole batch, which may come from many.

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

use crate::claim::Signs;
use crate::conn::{Call, Conn, State};
use crate::gathered::{Gathered, aloft_max, visit_bytes};
use crate::limits::{EARLY_MAX, OUTBOX_PER_READ, READ_MORE, SHED_PER_REQUEST};
use crate::net::{Net, lost};
use crate::newest::Newest;
use crate::registry::{Errand, Registry};
use crate::roster::Roster;
use crate::write::{self, Ran, Write};

mod affairs;
mod far;
mod orders;
pub(crate) mod shedding;
mod world;

use far::Mail;
use shedding::Shedder;

/// A worker's tools.
pub(crate) struct Desk<N: Net, W> {
    pub(crate) now: Time,
    pub(crate) stats: Arc<WorkerStats>,
    pub(crate) errands: Vec<Errand>,
    /// What switches said to applications of other workers.
    pub(crate) forwards: Vec<Forward<N::Socket>>,
    pub(crate) gathered: Box<Gathered<N::Socket>>,
    /// The run over the batch that is written next, where it was over any requests.
    pub(crate) ran: Option<Ran>,
    output: Output,
    mail: Mail<N::Socket>,
    stretches: Vec<Stretch>,
    joined: Vec<u8>,
    read_max: usize,
    /// Visits of one connection that may be on their way at once.
    aloft_max: u32,
    /// Room that one visit may need.
    visit_bytes: usize,
    shedder: Shedder,
    /// Whether batches are run here, or handed to whoever is free.
    runs_here: bool,
    /// Whether the answers of a batch to one switch are written together.
    together: bool,
    pipeline: Pipeline,
    /// Its place among the workers.
    index: usize,
    /// The World of the batch in hand, or of the last one.
    world: Arc<World>,
    /// Whether it sits: it has a World in hand.
    sits: bool,
    /// Whether anybody publishes a World.
    has_world: bool,
    newest: Arc<Newest>,
    registry: Arc<Registry>,
    roster: Arc<Roster<N::Socket>>,
    facts: Arc<dyn Facts>,
    write: PhantomData<W>,
}

/// Output for the connection of one visit.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    visit: usize,
    begin: usize,
    end: usize,
}

/// What a switch said to the applications of another worker.
#[derive(Debug)]
pub(crate) struct Forward<S> {
    pub(crate) worker: usize,
    pub(crate) conn: Arc<Conn<S>>,
    pub(crate) event: Event,
}

/// What a desk is made of.
pub(crate) struct Supplies<S> {
    pub(crate) index: usize,
    pub(crate) pipeline: Pipeline,
    pub(crate) output: Output,
    pub(crate) newest: Arc<Newest>,
    pub(crate) roster: Arc<Roster<S>>,
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

impl<N: Net, W: Write> Desk<N, W> {
    pub(crate) fn new(supplies: Supplies<N::Socket>) -> Self {
        let Supplies {
            index,
            pipeline,
            output,
            newest,
            roster,
            has_world,
            read_max,
            ahead,
            batch_bytes,
            runs_here,
            registry,
            facts,
            stats,
            together,
        } = supplies;
        let visit_bytes = visit_bytes(read_max.max(ahead));
        Desk {
            now: Time::START,
            stats,
            together,
            errands: Vec::new(),
            forwards: Vec::new(),
            gathered: Box::new(Gathered::new(visit_bytes + batch_bytes)),
            ran: None,
            output,
            mail: Mail::new(),
            stretches: Vec::with_capacity(64),
            joined: Vec::new(),
            read_max,
            aloft_max: aloft_max(read_max),
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
            roster,
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
        self.gathered.has_room(self.visit_bytes)
    }

    /// Whether there is anything to run or to write.
    #[inline]
    pub(crate) fn holds_something(&self) -> bool {
        !self.gathered.visits.is_empty()
    }

    /// Requests gathered so far.
    #[inline]
    pub(crate) fn requests(&self) -> usize {
        self.gathered.requests.len()
    }

    /// Whether a visit brought nothing for the applications, but something to be sent.
    #[inline]
    pub(crate) fn only_answers(&self) -> bool {
        self.gathered.requests.is_empty() && (!self.output.is_empty() || self.has_far())
    }

    /// Begins a visit: acts on the word that was left, lets waiting output go on, and reads, at most `read_max` bytes; more
    /// where there is a `share`, in requests, and a port floods. What comes of it stands at the end of the receive buffer,
    /// behind `filled`; its length is returned.
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
        self.gathered.visits.push(Arc::clone(conn));
        let aloft = conn.flight.take_off();
        if !self.take_turn(conn, state) {
            return Ok(0);
        }
        if state.called {
            state.called = false;
            self.answer_calls(conn, state)?;
        }
        if conn.outgoing.is_stuck() {
            // The kernel says that there is room when there is much of it; who reads slowly may have made a little.
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
            let own = self.gathered.visits_of(conn);
            state.parked = !conn.flight.is_clear(own);
            if state.parked {
                return Ok(0);
            }
            state.fenced = own > 1;
        }
        if let Some(why) = state.ending.take() {
            return Err(why);
        }
        if aloft > self.aloft_max || conn.outgoing.is_behind() {
            // It is announced when all of them have landed, this visit too.
            state.parked = !conn.flight.is_clear(0);
            return Ok(0);
        }
        let room = &mut self.gathered.received[self.gathered.filled..];
        if mem::take(&mut state.whole) {
            return Ok(state.restore_carry(room));
        }
        if !state.readable && !state.session.wants_a_look(self.now) {
            return Ok(0);
        }
        let carried = state.restore_carry(room);
        let read_max =
            read_max.min(self.read_max).min(if aloft > 1 { READ_MORE } else { usize::MAX });
        let count = match net.read(&conn.socket, &mut room[carried..carried + read_max]) {
            Ok(0) => return Err(Close::PeerClosed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(lost(&error)),
        };
        // Less than was asked for: the socket is empty, and the next byte will be announced. The end is announced once, and
        // perhaps it was together with these bytes.
        state.readable = count == read_max || state.ended;
        state.session.was_read(count);
        self.count_read(conn, count);
        let look = |share| self.look_ahead(net, conn, state, (carried + count, read_max), share);
        Ok(share.filter(|_| aloft == 1).map_or(carried + count, look))
    }

    /// Takes what [`Desk::read`] brought apart: flow requests are gathered; every other message is a fence and goes to the
    /// session. Ends with the session's own affairs, if their time has come. Where the switch is above its `share`, in
    /// requests, those of ports that flood are dropped. Returns how many messages were taken, as designs count them.
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
        let received = mem::take(&mut self.gathered.received);
        let at = self.gathered.filled;
        if let Some(share) = share {
            self.begin_shedding(conn, state, &received[at..at + len], share);
        }
        let chopped = self.chop_bytes(conn, state, &received[..at + len], at);
        let dropped = if share.is_some() { self.end_shedding(conn, state) } else { 0 };
        self.gathered.received = received;
        self.gathered.filled = at + len;
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
                let first = self.gathered.requests.len();
                at = gather::gather(switch.info.version, bytes, at, &mut self.gathered.requests);
                if self.gathered.requests.len() > first {
                    state.session.alive(self.now);
                }
                let kept = self.shedder.sift(&mut self.gathered.requests, first);
                if kept > 0 {
                    taken += kept;
                    conn.stats.requests.add(kept as u64);
                    conn.stats.batches.add(1);
                    conn.spreads().into_iter().for_each(|it| it.batch_size.record(kept as u64));
                    self.gathered.add_run(switch, first..first + kept);
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

    /// Sees to it that what came before a fence is finished. Where it is still on its way with another worker, the fence
    /// has to wait, and the connection is announced when it may pass.
    fn fence_may_pass(&mut self, conn: &Arc<Conn<N::Socket>>, bytes: &[u8]) -> bool {
        let own = self.gathered.visits_of(conn);
        if self.gathered.requests.is_empty() || self.runs_here {
            self.run_over(On::FlowRequest, bytes);
            conn.flight.is_clear(own)
        } else {
            // They are about to be handed on, and land elsewhere.
            conn.flight.is_clear(0)
        }
    }

    /// Runs the applications over what was gathered.
    #[inline]
    pub(crate) fn run(&mut self) {
        let received = mem::take(&mut self.gathered.received);
        self.run_over(On::FlowRequest, &received);
        self.gathered.received = received;
    }

    #[inline]
    fn run_over(&mut self, on: On, bytes: &[u8]) {
        if self.gathered.requests.is_empty() {
            return;
        }
        self.sit_down();
        let Gathered { requests, runs, switches, visit_of, .. } = &mut *self.gathered;
        self.stats.batches.add(1);
        self.stats.batch_size.record(requests.len() as u64);
        self.stats.requests.add(requests.len() as u64);
        let world = View::of(&self.world, &[]);
        let mut batch = Batch { on, now: self.now, world, bytes, switches, runs, requests };
        self.pipeline.packet_ins(&mut batch, &mut self.output);
        let mut begin = self.stretches.last().map_or(0, |stretch| stretch.end);
        for segment in self.output.take_segments() {
            let (visit, end) = (visit_of[segment.run], segment.end);
            self.stretches.push(Stretch { visit, begin, end });
            begin = end;
        }
        self.gathered.clear_requests();
    }

    /// Writes what there is to send, once for each connection. Those that cannot take it are told to end, and those that
    /// have to be queued are given to `queue`.
    #[inline]
    pub(crate) fn write(&mut self, net: &mut N, mut queue: impl FnMut(Arc<Conn<N::Socket>>)) {
        let visits = &self.gathered.visits;
        let whose = |stretch: &Stretch| visits[stretch.visit].id;
        if self.together && !self.stretches.is_sorted_by_key(whose) {
            self.stretches.sort_unstable_by_key(|stretch| (whose(stretch), stretch.begin));
        }
        for group in self.stretches.chunk_by(|a, b| self.together && whose(a) == whose(b)) {
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
        self.stretches.clear();
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
        self.stand_up();
    }

    /// The batch is answered: its visits land.
    #[inline]
    pub(crate) fn land(&mut self, mut queue: impl FnMut(Arc<Conn<N::Socket>>)) {
        for conn in self.gathered.visits.drain(..) {
            if conn.flight.land() && conn.claim.announce(Signs::CALLED) {
                queue(conn);
            }
        }
        self.gathered.filled = 0;
        if !self.gathered.turns.is_empty() {
            self.give_turns_back();
        }
    }

    /// A message that has to be alone: a PACKET_IN with LLDP is a batch of one, the rest is the session's.
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
            self.gathered.requests.push(request);
            self.gathered.add_run(switch, 0..1);
            self.run_over(On::Lldp, bytes);
            return Ok(());
        }
        if !conn.open.is_empty() && self.answers_command(conn, state, &raw) {
            return Ok(());
        }
        if is_early(conn, state, &raw) {
            state.early.extend_from_slice(raw.bytes);
            return Ok(());
        }
        self.session(conn, state, |session, now, out| session.receive(now, raw, out))
    }

    /// What was said since the last batch or fence goes to the connection in hand.
    fn seal(&mut self) {
        let visit = self.gathered.visits.len() - 1;
        let mut begin = self.stretches.last().map_or(0, |stretch| stretch.end);
        for segment in self.output.take_segments() {
            self.stretches.push(Stretch { visit, begin, end: segment.end });
            begin = segment.end;
        }
    }
}

/// The output of one connection: where it is in several pieces, they are copied together.
#[inline]
fn put_together<'a>(pieces: &[Stretch], output: &'a [u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
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

/// Whether a connection has to be queued after output was sent to it: it is to end, or its output waits and so a deadline has
/// to be watched.
#[inline]
fn must_queue<S>(conn: &Conn<S>, flushed: Result<(), Close>) -> bool {
    match flushed {
        Ok(()) => conn.outgoing.is_stuck() && conn.claim.announce(Signs::CALLED),
        Err(why) => conn.call(Call::Close(why)),
    }
}

/// Whether a message is a request that came before it could be served, and there is room to keep it.
fn is_early<S>(conn: &Conn<S>, state: &State, raw: &Raw<'_>) -> bool {
    let version = state.session.version().map(Version::wire);
    raw.header.kind == PACKET_IN
        && conn.switch().is_none()
        && version == Some(raw.header.version)
        && state.early.len() + raw.bytes.len() <= EARLY_MAX
}
