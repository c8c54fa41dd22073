//! The worker as the home of connections: it polls their sockets, keeps their timers, takes them in and gives them away.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::session::{Close, Session};
use aldis_control::{Event, Time, World};

use super::{Worker, queue};
use crate::claim::Signs;
use crate::conn::Conn;
use crate::inbox::Note;
use crate::limits::{DUE_PER_POLL, NOTES_PER_ROUND, POLL_EVERY, SECOND, TOLD_PER_POLL};
use crate::net::Net;
use crate::outgoing::Outgoing;
use crate::read::Read;
use crate::write::Write;

impl<N: Net, R: Read<N::Socket>, W: Write> Worker<N, R, W> {
    /// Asks for readiness, waiting for it until `until`, and for everything else that may have come up meanwhile.
    pub(super) fn poll(&mut self, until: Time) {
        self.readiness.clear();
        let stats = &self.desk.stats;
        stats.polls.add(1);
        stats.run_time_ns.add(self.desk.now.0.saturating_sub(self.accounted.0));
        self.accounted = self.desk.now;
        let slept = until > self.desk.now;
        stats.wakeups.add(slept.into());
        self.net.poll(until, &mut self.readiness).expect("polling our own descriptors cannot fail");
        self.desk.now = self.net.now();
        if slept {
            self.accounted = self.desk.now;
        }
        self.poll_at = self.desk.now + POLL_EVERY;
        let now = self.desk.now;
        for readiness in self.readiness.drain(..) {
            let Some(conn) = self.conns.get(readiness.token) else { continue };
            if conn.claim.announce(readiness.signs) {
                queue(&mut self.read, &self.post, &mut self.undelivered, now, Arc::clone(conn));
            }
        }
        self.deliver();
        self.take_notes();
        self.take_orders();
        self.fire_timers();
        self.follow_knobs();
        self.read.tick(self.desk.now, &mut self.desk.errands);
        self.run_errands();
    }

    /// What the operator changed counts from now on.
    #[inline]
    pub(super) fn follow_knobs(&mut self) {
        let Some(knobs) = self.post.hall.other_knobs(&mut self.edition) else { return };
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
        let first = first.min(self.desk.next_tick()).min(self.next_deadline());
        if self.conns.is_empty() { first } else { first.min(self.next_second) }
    }

    pub(super) fn take_notes(&mut self) {
        for _ in 0..NOTES_PER_ROUND {
            let Some(note) = self.post.hall.inboxes[self.post.index].take() else { return };
            match note {
                Note::Adopt(socket, peer) => self.adopt(socket, peer),
                Note::Ready(conn) => self.queue(conn),
                Note::Arm(conn) => self.arm(&conn),
                Note::Forget(conn) => self.forget(&conn),
                Note::Take(conn) => self.take_over(&conn),
                Note::Heard(conn, event) => self.tell_later(&conn, event, Note::Heard),
                Note::Second(conn) => {
                    self.tell_later(&conn, Event::Second, |conn, _| Note::Second(conn));
                }
                Note::Published { before, after } => self.act_on(&before, &after),
            }
        }
        // There may be more.
        self.poll_at = self.desk.now;
    }

    pub(super) fn fire_timers(&mut self) {
        let now = self.desk.now;
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
            // What it waits for may be in the socket: it is read first, and the visit sets the timer again.
            if let Some(conn) = self.conns.get(token).filter(|conn| conn.alarm.goes_off(at))
                && conn.claim.announce(Signs::CALLED)
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
        if self.desk.next_tick() <= now {
            self.finish_batch();
            self.desk.tick();
            self.send();
        }
    }

    /// Tells some of the switches that a second passed; the others are told by later polls, so that nobody's requests wait
    /// for all of them.
    pub(super) fn tell_of_the_second(&mut self) {
        self.finish_batch();
        let now = self.desk.now;
        let (from, to) = (self.told, self.told + TOLD_PER_POLL);
        self.told = to;
        for conn in self.conns.range(from, to) {
            if conn.main_of().is_none() || conn.is_gone() {
                continue;
            }
            match self.desk.tell(&mut self.net, conn, &Event::Second) {
                Some(false) => {}
                Some(true) => {
                    queue(&mut self.read, &self.post, &mut self.undelivered, now, Arc::clone(conn));
                }
                None => self.undelivered.push((self.post.index, Note::Second(Arc::clone(conn)))),
            }
        }
        self.send();
        self.run_errands();
        self.poll_at = now;
    }

    /// Tells the applications here what happened at a switch; where somebody is alone with it now, by a note to ourselves.
    fn tell_later(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        event: Event,
        note: impl FnOnce(Arc<Conn<N::Socket>>, Event) -> Note<N::Socket>,
    ) {
        if conn.is_gone() {
            return;
        }
        self.finish_batch();
        match self.desk.tell(&mut self.net, conn, &event) {
            Some(false) => {}
            Some(true) => self.queue(Arc::clone(conn)),
            None => self.undelivered.push((self.post.index, note(Arc::clone(conn), event))),
        }
        self.send();
        self.run_errands();
    }

    /// The applications act on the publication of a World: nobody has the one before in hand any more.
    fn act_on(&mut self, before: &World, after: &World) {
        self.finish_batch();
        self.desk.published(before, after);
        self.send();
        self.post.hall.newest.set_acted(after);
    }

    pub(super) fn adopt(&mut self, socket: N::Socket, peer: SocketAddr) {
        let hall = &self.post.hall;
        self.desk.stats.connections.add(1);
        let mut hello = Vec::new();
        let config = Arc::clone(&hall.session);
        let session = Session::new(config, self.desk.now, self.post.index as u8, &mut hello);
        let outgoing = Outgoing::new(self.desk.outbox_max(), hall.session.stuck_within);
        let (name, home) = (hall.name(), self.post.index);
        let conn = Arc::new(Conn::new(name, socket, peer, home, session, outgoing));
        hall.directory().insert(conn.id, Arc::clone(&conn));
        let settled = self.settle(&conn);
        match settled.and_then(|()| self.desk.greet(&mut self.net, &conn, &hello)) {
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

    /// The connection gets another home. Its claim goes with it, so that nobody serves it on the way.
    pub(super) fn hand_over(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.finish_batch();
        let mut state = conn.state();
        let home = state.moving_to.take().filter(|home| *home != self.post.index);
        let Some(home) = home.filter(|_| conn.home() == self.post.index) else {
            self.release(conn, state, 1);
            return;
        };
        if !conn.flight.is_clear(0) {
            state.moving_to = Some(home);
            state.parked = true;
            self.release(conn, state, 1);
            return;
        }
        drop(state);
        if self.net.deregister(&conn.socket).is_ok() {
            self.read.leave(conn);
            self.conns.remove(conn.token());
            conn.alarm.forget();
            conn.move_to(home);
            self.post(home, Note::Take(Arc::clone(conn)));
        } else {
            self.end(conn, Close::Failed("the kernel lost the socket".into()));
        }
    }

    pub(super) fn take_over(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.desk.stats.moves.add(1);
        conn.stats.moves.add(1);
        // Whoever had it may have been told of other weights than this worker.
        self.post.hall.weigh(conn);
        match self.settle(conn) {
            Ok(()) => {
                let state = conn.state();
                self.release(conn, state, 1);
            }
            Err(why) => self.end(conn, why),
        }
    }

    /// Sees to it that the connection is looked at by its deadline. Timers that a deadline has moved past are cheap: they
    /// find nothing to do and set the next one.
    pub(super) fn arm(&mut self, conn: &Conn<N::Socket>) {
        self.timers.push(Reverse((conn.alarm.at(), conn.token())));
    }

    /// A connection of this home is gone.
    pub(super) fn forget(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.read.leave(conn);
        self.conns.remove(conn.token());
        self.post.hall.forget(conn.id, conn.number());
    }
}
