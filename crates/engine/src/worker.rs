//! A worker: a step function over its connections, which never waits anywhere but in its poll.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aldis_control::Time;
use aldis_control::session::{self, Admission, Close, Session, Step};

use crate::clock::Clock;
use crate::conn::Conn;
use crate::desk::Desk;
use crate::inbox::{Inbox, Note, Place};
use crate::limits::{NOTES_PER_ROUND, SECOND};
use crate::net::{Net, Readiness};
use crate::read::Read;
use crate::slab::Slab;
use crate::write::Write;

/// What a worker is made of, besides its network and its desk.
#[derive(Clone)]
pub(crate) struct Post {
    /// Its own place among the workers.
    pub(crate) index: usize,
    pub(crate) clock: Clock,
    /// The inboxes of all workers, its own included.
    pub(crate) inboxes: Arc<[Inbox]>,
    /// Connections of all workers.
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) session: Arc<session::Config>,
    /// Whether it polls without ever sleeping.
    pub(crate) spin: bool,
}

/// One worker.
pub(crate) struct Worker<N: Net, W> {
    post: Post,
    net: N,
    desk: Desk<W>,
    conns: Slab<Conn<N::Socket>>,
    ready: VecDeque<u64>,
    readiness: Vec<Readiness>,
    timers: BinaryHeap<Reverse<(Time, u64)>>,
    next_second: Time,
}

impl<N: Net<Socket = std::net::TcpStream>, W: Write> Worker<N, W> {
    /// One turn: wait for something to do, and do it once.
    #[inline]
    pub(crate) fn step<R: Read>(&mut self) {
        self.poll();
        self.take_notes();
        self.fire_timers();
        R::round(self);
        self.run_errands();
    }

    fn take_notes(&mut self) {
        for _ in 0..NOTES_PER_ROUND {
            let Some(note) = self.post.inboxes[self.post.index].take() else { return };
            match note {
                Note::Adopt(socket, peer) => self.adopt(socket, peer),
                note => self.act_on(note),
            }
        }
    }
}

impl<N: Net, W: Write> Worker<N, W> {
    pub(crate) fn new(post: Post, net: N, desk: Desk<W>) -> Self {
        Worker {
            post,
            net,
            desk,
            conns: Slab::default(),
            ready: VecDeque::new(),
            readiness: Vec::new(),
            timers: BinaryHeap::new(),
            next_second: Time::START + SECOND,
        }
    }

    /// How many connections are ready.
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Takes the connection that has been ready for longest.
    #[inline]
    pub(crate) fn next_ready(&mut self) -> Option<u64> {
        self.ready.pop_front()
    }

    /// Serves one connection, once: what waits for it first, then one read and everything that follows from it.
    #[inline]
    pub(crate) fn visit(&mut self, token: u64) {
        let Some(conn) = self.conns.get_mut(token) else { return };
        conn.queued = false;
        let served = serve(&mut self.desk, &mut self.net, conn);
        self.release(token, served);
    }

    /// Ends all connections; what is queued is offered to the sockets once more.
    pub(crate) fn stop(&mut self) {
        let tokens: Vec<u64> = self.conns.iter_mut().map(|conn| conn.place.token).collect();
        for token in tokens {
            if let Some(conn) = self.conns.get_mut(token)
                && !conn.outbox.is_empty()
            {
                let _ = self.desk.drain(&mut self.net, conn);
            }
            self.close(token, Close::Stopping);
        }
    }

    fn poll(&mut self) {
        let inbox = &self.post.inboxes[self.post.index];
        let waiting = !self.ready.is_empty() || !inbox.is_empty() || !self.desk.errands.is_empty();
        let busy = self.post.spin || waiting;
        let until = if busy { Time::START } else { self.next_timer() };
        let now = if until == Time::START { Time::START } else { self.post.clock.now() };
        self.readiness.clear();
        self.net
            .poll(now, until, &mut self.readiness)
            .expect("polling our own descriptors cannot fail");
        self.desk.now = self.post.clock.now();
        for readiness in self.readiness.drain(..) {
            if let Some(conn) = self.conns.get_mut(readiness.token) {
                conn.readable |= readiness.readable;
                conn.writable |= readiness.writable;
                conn.ended |= readiness.ended;
                enqueue(&mut self.ready, conn);
            }
        }
    }

    fn next_timer(&self) -> Time {
        let first = self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        if self.conns.is_empty() { first } else { first.min(self.next_second) }
    }

    pub(crate) fn adopt(&mut self, socket: N::Socket, peer: SocketAddr) {
        let (desk, post) = (&mut self.desk, &self.post);
        desk.counters.connections.add(1);
        let mut hello = Vec::new();
        let session =
            Session::new(Arc::clone(&post.session), desk.now, post.index as u8, &mut hello);
        let (index, outbox_max) = (post.index, desk.outbox_max());
        let conn = self.conns.insert_with(|token| {
            Conn::new(socket, Place { worker: index, token }, peer, session, outbox_max)
        });
        let token = conn.place.token;
        let greeted = match self.net.register(&conn.socket, token) {
            Ok(()) => W::flush(&mut self.net, conn, desk.now, &hello),
            Err(error) => Err(Close::Failed(error.to_string())),
        };
        self.release(token, greeted);
    }

    fn act_on(&mut self, note: Note) {
        let (token, admission) = match note {
            Note::Adopt(..) => unreachable!("adopted where it was taken"),
            Note::Probe(token) => {
                return self.with_session(token, |session, now, out| {
                    session.probe(now, out);
                    Ok(Step::Nothing)
                });
            }
            Note::Close(token, why) => return self.close(token, why),
            Note::AdmitMain(token) => (token, Admission::Main),
            Note::Refuse(token, refusal) => (token, Admission::Refused(refusal)),
            Note::AdmitAuxiliary(token, switch) => {
                if let Some(conn) = self.conns.get_mut(token) {
                    conn.switch = Some(switch);
                }
                (token, Admission::Auxiliary)
            }
        };
        self.with_session(token, |session, now, out| session.admit(now, admission, out));
    }

    fn with_session(
        &mut self,
        token: u64,
        act: impl FnOnce(&mut Session, Time, &mut Vec<u8>) -> Result<Step, Close>,
    ) {
        let Some(conn) = self.conns.get_mut(token) else { return };
        let acted = self.desk.session(conn, act);
        let written = self.desk.write(&mut self.net, conn);
        self.release(token, acted.and(written));
    }

    fn fire_timers(&mut self) {
        let now = self.desk.now;
        while let Some(&Reverse((at, token))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let Some(conn) = self.conns.get_mut(token).filter(|conn| conn.timer == at) else {
                continue;
            };
            conn.timer = Time::NEVER;
            match conn.deadline() {
                deadline if deadline > now => arm(&mut self.timers, conn),
                // What it waits for may be in the socket: it is read first, and the visit sets the timer again.
                _ if conn.queued => {}
                _ if !conn.outbox.is_empty() => self.close(token, Close::NotReading),
                _ => self.with_session(token, Session::tick),
            }
        }
        if self.next_second <= now {
            self.next_second = now + SECOND;
            self.every_second();
        }
    }

    fn every_second(&mut self) {
        let mut closing = Vec::new();
        for conn in self.conns.iter_mut().filter(|conn| conn.switch.is_some() && !conn.auxiliary) {
            self.desk.second(conn);
            if let Err(why) = self.desk.write(&mut self.net, conn) {
                closing.push((conn.place.token, why));
            }
        }
        for (token, why) in closing {
            self.close(token, why);
        }
    }

    /// Puts a connection back after a visit: in the list if there is more to do, away if it ended.
    #[inline]
    fn release(&mut self, token: u64, served: Result<(), Close>) {
        match (served, self.conns.get_mut(token)) {
            (Ok(()), Some(conn)) => {
                if conn.is_ready() {
                    enqueue(&mut self.ready, conn);
                }
                arm(&mut self.timers, conn);
            }
            (Err(why), _) => self.close(token, why),
            (Ok(()), None) => {}
        }
    }

    #[cold]
    fn close(&mut self, token: u64, why: Close) {
        let Some(conn) = self.conns.remove(token) else { return };
        self.desk.farewell(&conn, why);
        self.post.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Tells other workers (and this one) what came up; what a full inbox does not take is told next time.
    fn run_errands(&mut self) {
        while let Some((worker, note)) = self.desk.errands.pop() {
            if worker == self.post.index {
                self.act_on(note);
            } else if let Err(note) = self.post.inboxes[worker].post(note) {
                self.desk.errands.push((worker, note));
                return;
            }
        }
    }
}

/// One visit. Replies made before a connection came to its end are still written.
#[inline]
fn serve<N: Net, W: Write>(
    desk: &mut Desk<W>,
    net: &mut N,
    conn: &mut Conn<N::Socket>,
) -> Result<(), Close> {
    if !conn.outbox.is_empty() {
        if conn.writable {
            desk.drain(net, conn)?;
        }
        if !conn.outbox.is_empty() {
            return Ok(());
        }
    }
    if !conn.readable {
        return Ok(());
    }
    let filled = desk.read(net, conn)?;
    let handled = desk.handle(conn, filled);
    let written = desk.write(net, conn);
    handled.and(written)
}

#[inline]
fn enqueue<S>(ready: &mut VecDeque<u64>, conn: &mut Conn<S>) {
    if !conn.queued {
        conn.queued = true;
        ready.push_back(conn.place.token);
    }
}

/// Sees to it that the connection is looked at by its deadline. Timers that a deadline has moved past are cheap: they
/// find nothing to do and set the next one.
#[inline]
fn arm<S>(timers: &mut BinaryHeap<Reverse<(Time, u64)>>, conn: &mut Conn<S>) {
    let at = conn.deadline();
    if at < conn.timer {
        conn.timer = at;
        timers.push(Reverse((at, conn.place.token)));
    }
}
