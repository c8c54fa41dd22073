//! The worker as the home of connections: it polls their sockets, keeps their timers, takes them in
//! and gives them away.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::session::{Close, Session};
use aldis_control::{Event, Time, World};

use super::{Worker, queue};
use crate::conn::Conn;
use crate::conn::claim::Events;
use crate::conn::outgoing::Outgoing;
use crate::limits::{DUE_PER_POLL, NOTES_PER_ROUND, POLL_EVERY, SECOND, TOLD_PER_POLL};
use crate::messages::WorkerMessage;
use crate::net::Net;
use crate::read::Read;
use crate::write::Write;

impl<N: Net, R: Read<N::Socket>, W: Write> Worker<N, R, W> {
    /// Asks for readiness, waiting for it until `until`, and for everything else that may have come
    /// up meanwhile.
    pub(super) fn poll(&mut self, until: Time) {
        self.readiness.clear();
        let stats = &self.phases.stats;
        stats.polls.add(1);
        stats.run_time_ns.add(self.phases.now.0.saturating_sub(self.accounted.0));
        self.accounted = self.phases.now;
        let slept = until > self.phases.now;
        stats.wakeups.add(slept.into());
        self.net.poll(until, &mut self.readiness).expect("polling our own descriptors cannot fail");
        self.phases.now = self.net.now();
        if slept {
            self.accounted = self.phases.now;
        }
        self.poll_at = self.phases.now + POLL_EVERY;
        let now = self.phases.now;
        for readiness in self.readiness.drain(..) {
            let Some(conn) = self.conns.get(readiness.token) else { continue };
            if conn.claim.announce(readiness.events) {
                queue(&mut self.read, &self.post, &mut self.undelivered, now, Arc::clone(conn));
            }
        }
        self.deliver();
        self.take_notes();
        self.send_commands();
        self.fire_timers();
        self.follow_knobs();
        self.read.tick(self.phases.now, &mut self.phases.signals);
        self.deliver_signals();
    }

    /// What the operator changed counts from now on.
    #[inline]
    pub(super) fn follow_knobs(&mut self) {
        let Some(knobs) = self.post.shared.other_knobs(&mut self.version) else { return };
        knobs.bdu.into_iter().for_each(|bdu| self.batching.set_bdu(bdu));
        knobs.ibt.into_iter().for_each(|ibt| self.batching.set_ibt(ibt));
        for conn in self.conns.iter() {
            if let Some(dpid) = conn.dpid() {
                conn.set_weight(knobs.weights.of(dpid));
                self.read.weigh(conn);
            }
        }
    }

    pub(super) fn next_timer(&self) -> Time {
        let first = self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        if self.told < self.conns.slots() {
            return Time::START;
        }
        let first = first.min(self.phases.next_tick()).min(self.next_deadline());
        if self.conns.is_empty() { first } else { first.min(self.next_second) }
    }

    pub(super) fn take_notes(&mut self) {
        for _ in 0..NOTES_PER_ROUND {
            let Some(note) = self.post.shared.inboxes[self.post.index].take() else { return };
            match note {
                WorkerMessage::Adopt(socket, peer) => self.adopt(socket, peer),
                WorkerMessage::Ready(conn) => self.queue(conn),
                WorkerMessage::Arm(conn) => self.arm(&conn),
                WorkerMessage::Forget(conn) => self.forget(&conn),
                WorkerMessage::Take(conn) => self.take_over(&conn),
                WorkerMessage::Heard(conn, event) => {
                    self.tell_later(&conn, event, WorkerMessage::Heard)
                }
                WorkerMessage::Second(conn) => {
                    self.tell_later(&conn, Event::Second, |conn, _| WorkerMessage::Second(conn));
                }
                WorkerMessage::Published { before, after } => self.act_on(&before, &after),
            }
        }
        // There may be more.
        self.poll_at = self.phases.now;
    }

    pub(super) fn fire_timers(&mut self) {
        let now = self.phases.now;
        let mut queued = 0;
        while let Some(&Reverse((at, token))) = self.timers.peek()
            && at <= now
        {
            if queued == DUE_PER_POLL {
                // The others after the next visit.
                self.poll_at = now;
                break;
            }
            self.timers.pop();
            // What it waits for may be in the socket: it is read first, and the visit sets the
            // timer again.
            if let Some(conn) = self.conns.get(token).filter(|conn| conn.timer.expire(at))
                && conn.claim.announce(Events::SIGNALLED)
            {
                queue(&mut self.read, &self.post, &mut self.undelivered, now, Arc::clone(conn));
                queued += 1;
            }
        }
        if self.next_second <= now {
            self.next_second = now + SECOND;
            self.told = 0;
        }
        if self.told < self.conns.slots() {
            self.tell_of_the_second();
        }
        self.end_late_commands();
        if self.phases.next_tick() <= now {
            self.finish_batch();
            self.phases.tick();
            self.send();
        }
    }

    /// Tells some of the switches that a second passed; the others are told by later polls, so that
    /// nobody's requests wait for all of them.
    pub(super) fn tell_of_the_second(&mut self) {
        self.finish_batch();
        let now = self.phases.now;
        let (from, to) = (self.told, self.told + TOLD_PER_POLL);
        self.told = to;
        for conn in self.conns.range(from, to) {
            if conn.main_of().is_none() || conn.is_gone() {
                continue;
            }
            match self.phases.tell(&mut self.net, conn, &Event::Second) {
                Some(false) => {}
                Some(true) => {
                    queue(&mut self.read, &self.post, &mut self.undelivered, now, Arc::clone(conn));
                }
                None => self
                    .undelivered
                    .push((self.post.index, WorkerMessage::Second(Arc::clone(conn)))),
            }
        }
        self.send();
        self.deliver_signals();
        self.poll_at = now;
    }

    /// Tells the applications here what happened at a switch; where somebody is alone with it now,
    /// by a note to ourselves.
    fn tell_later(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        event: Event,
        note: impl FnOnce(Arc<Conn<N::Socket>>, Event) -> WorkerMessage<N::Socket>,
    ) {
        if conn.is_gone() {
            return;
        }
        self.finish_batch();
        match self.phases.tell(&mut self.net, conn, &event) {
            Some(false) => {}
            Some(true) => self.queue(Arc::clone(conn)),
            None => self.undelivered.push((self.post.index, note(Arc::clone(conn), event))),
        }
        self.send();
        self.deliver_signals();
    }

    /// The applications act on the publication of a World: nobody has the one before in hand any
    /// more.
    fn act_on(&mut self, before: &World, after: &World) {
        self.finish_batch();
        self.phases.published(before, after);
        self.send();
        self.post.shared.world.set_acted(after);
    }

    pub(super) fn adopt(&mut self, socket: N::Socket, peer: SocketAddr) {
        let shared = &self.post.shared;
        self.phases.stats.connections.add(1);
        let mut hello = Vec::new();
        let config = Arc::clone(&shared.session);
        let session = Session::new(config, self.phases.now, self.post.index as u8, &mut hello);
        let outgoing = Outgoing::new(self.phases.outbox_max(), shared.session.stuck_within);
        let (name, home) = (shared.name(), self.post.index);
        let conn = Arc::new(Conn::new(name, socket, peer, home, session, outgoing));
        shared.directory().insert(conn.id, Arc::clone(&conn));
        let settled = self.settle(&conn);
        match settled.and_then(|()| self.phases.greet(&mut self.net, &conn, &hello)) {
            Ok(()) => {
                let state = conn.state();
                self.release(&conn, state, 1);
            }
            Err(why) => self.end(&conn, why),
        }
    }

    /// The connection is at home here from now on.
    pub(super) fn settle(&mut self, conn: &Arc<Conn<N::Socket>>) -> Result<(), Close> {
        let settler = self.conns.insert_with(|token| {
            conn.set_token(token);
            Arc::clone(conn)
        });
        self.read.join(settler);
        let registered = self.net.register(&conn.socket, conn.token());
        registered.map_err(|error| Close::Failed(error.to_string()))
    }

    /// The connection gets another home. Its claim goes with it, so that nobody serves it on the
    /// way.
    pub(super) fn hand_over(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.finish_batch();
        let mut state = conn.state();
        let home = state.moving_to.take().filter(|home| *home != self.post.index);
        let Some(home) = home.filter(|_| conn.home() == self.post.index) else {
            self.release(conn, state, 1);
            return;
        };
        if !conn.in_flight.is_clear(0) {
            state.moving_to = Some(home);
            state.parked = true;
            self.release(conn, state, 1);
            return;
        }
        drop(state);
        if self.net.deregister(&conn.socket).is_ok() {
            self.read.leave(conn);
            self.conns.remove(conn.token());
            conn.timer.cancel();
            conn.move_to(home);
            self.post(home, WorkerMessage::Take(Arc::clone(conn)));
        } else {
            self.end(conn, Close::Failed("the kernel lost the socket".into()));
        }
    }

    pub(super) fn take_over(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.phases.stats.moves.add(1);
        conn.stats.moves.add(1);
        // Whoever had it may have been told of other weights than this worker.
        self.post.shared.weigh(conn);
        match self.settle(conn) {
            Ok(()) => {
                let state = conn.state();
                self.release(conn, state, 1);
            }
            Err(why) => self.end(conn, why),
        }
    }

    /// Sees to it that the connection is looked at by its deadline. Timers that a deadline has
    /// moved past are cheap: they find nothing to do and set the next one.
    pub(super) fn arm(&mut self, conn: &Conn<N::Socket>) {
        self.timers.push(Reverse((conn.timer.at(), conn.token())));
    }

    /// A connection of this home is gone.
    pub(super) fn forget(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.read.leave(conn);
        self.conns.remove(conn.token());
        self.post.shared.forget(conn.id, conn.number());
    }
}
