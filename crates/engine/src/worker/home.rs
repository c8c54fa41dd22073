//! The home of connections: a worker polls their sockets, keeps their timers, adopts them and moves
//! them.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::session::{Close, Session};
use aldis_control::{Event, Time, World};
use aldis_recording::Endpoints;

use super::{Worker, queue};
use crate::conn::Conn;
use crate::conn::claim::Events;
use crate::conn::outgoing::Outgoing;
use crate::limits::{
    DUE_PER_POLL, NOTES_PER_ROUND, POLL_EVERY, SECOND, TOLD_PER_POLL, TOLD_PER_QUIET_POLL,
};
use crate::messages::{Signal, WorkerMessage};
use crate::net::Net;
use crate::read::Read;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Polls its sockets, waiting until `until`, and takes everything else that may have come
    /// meanwhile.
    pub(super) fn poll(&mut self, until: Time) {
        let until = self.begin_loop(until);
        self.readiness.clear();
        let stats = &self.stats;
        stats.polls.add(1);
        stats.run_time_ns.add(self.now.0.saturating_sub(self.accounted.0));
        self.accounted = self.now;
        let until = until.min(self.tap.flush(self.now));
        let slept = until > self.now;
        stats.wakeups.add(slept.into());
        self.net.poll(until, &mut self.readiness).expect("polling our own descriptors cannot fail");
        self.tap.wake();
        self.now = self.net.now();
        self.tap.woke(self.now);
        if slept {
            self.accounted = self.now;
        }
        self.poll_at = self.now + POLL_EVERY;
        let (now, is_quiet) = (self.now, self.readiness.is_empty());
        for readiness in self.readiness.drain(..) {
            let Some(conn) = self.conns.get(readiness.token) else { continue };
            if conn.claim.announce(readiness.events) {
                queue(&mut self.read, &self.shared, &mut self.undelivered, now, Arc::clone(conn));
            }
        }
        self.deliver();
        self.take_messages();
        self.send_commands();
        self.fire_timers(is_quiet);
        self.follow_knobs();
        self.follow_line_up();
        self.read.tick(self.now, &mut self.signals);
        self.deliver_signals();
    }

    /// Follows the knobs, where the operator changed them.
    #[inline]
    pub(super) fn follow_knobs(&mut self) {
        let Some(knobs) = self.shared.changed_knobs(&mut self.knobs_version) else { return };
        knobs.bdu.into_iter().for_each(|bdu| self.batching.set_bdu(bdu));
        knobs.ibt.into_iter().for_each(|ibt| self.batching.set_ibt(ibt));
        self.sheds = knobs.shed.unwrap_or(self.sheds);
        for conn in self.conns.iter() {
            if let Some(dpid) = conn.dpid() {
                conn.set_weight(knobs.weights.of(dpid));
                self.read.weigh(conn);
            }
        }
    }

    pub(super) fn next_timer(&self) -> Time {
        let first = self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        if self.greets || self.second_from < self.conns.slots() {
            return Time::START;
        }
        let first = first.min(self.pipeline.next_tick()).min(self.next_deadline());
        if self.conns.is_empty() { first } else { first.min(self.next_second) }
    }

    pub(super) fn take_messages(&mut self) {
        for _ in 0..NOTES_PER_ROUND {
            let Some(note) = self.shared.inboxes[self.index].take() else { return };
            match note {
                WorkerMessage::Adopt(socket, peer) => self.adopt(socket, peer),
                WorkerMessage::Ready(conn) => self.queue(conn),
                WorkerMessage::Arm(conn) => self.arm(&conn),
                WorkerMessage::Forget(conn) => self.forget(&conn),
                WorkerMessage::Take(conn) => self.take_over(&conn),
                WorkerMessage::Heard(conn, event) => {
                    self.tell_later(&conn, *event, |conn, event| {
                        WorkerMessage::Heard(conn, Box::new(event))
                    });
                }
                WorkerMessage::Second(conn) => {
                    self.tell_later(&conn, Event::Second, |conn, _| WorkerMessage::Second(conn));
                }
                WorkerMessage::Published { before, after } => self.act_on(&before, &after),
            }
        }
        // There may be more.
        self.poll_at = self.now;
    }

    pub(super) fn fire_timers(&mut self, is_quiet: bool) {
        let now = self.now;
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
                queue(&mut self.read, &self.shared, &mut self.undelivered, now, Arc::clone(conn));
                queued += 1;
            }
        }
        if self.next_second <= now {
            self.next_second = now + SECOND;
            self.second_from = 0;
        }
        if self.second_from < self.conns.slots() {
            self.tell_second(if is_quiet { TOLD_PER_QUIET_POLL } else { TOLD_PER_POLL });
        }
        self.expire_commands();
        if self.pipeline.next_tick() <= now {
            self.finish_batch();
            self.tick();
            self.send();
        }
        if self.shared.inboxes[self.index].take_roused() | self.net.take_roused() {
            self.finish_batch();
            self.roused();
            self.send();
        }
    }

    /// Runs the event of this second at so many of the switches. Later polls do so at the others,
    /// so that no request waits for all of them.
    pub(super) fn tell_second(&mut self, count: usize) {
        self.finish_batch();
        let now = self.now;
        let (from, to) = (self.second_from, self.second_from + count);
        self.second_from = to;
        for slot in from..to {
            let conn = self.conns.range(slot, slot + 1).next().map(Arc::clone);
            if let Some(conn) = conn.filter(|conn| conn.main_of().is_some() && !conn.is_gone()) {
                match self.tell(&conn, &Event::Second) {
                    Some(false) => {}
                    Some(true) => self.queue(conn),
                    None => self.undelivered.push((self.index, WorkerMessage::Second(conn))),
                }
            }
        }
        self.send();
        self.deliver_signals();
        self.poll_at = now;
    }

    /// Runs an event of a switch. Where another worker holds the switch lock, the worker posts it
    /// to itself.
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
        match self.tell(conn, &event) {
            Some(false) => {}
            Some(true) => self.queue(Arc::clone(conn)),
            None => self.undelivered.push((self.index, note(Arc::clone(conn), event))),
        }
        self.send();
        self.deliver_signals();
    }

    /// The applications act on a new World, after the last reader of the one before has exited.
    fn act_on(&mut self, before: &World, after: &World) {
        self.finish_batch();
        self.published(before, after);
        self.send();
        self.shared.world.set_acted(after);
    }

    pub(super) fn adopt(&mut self, socket: N::Socket, peer: SocketAddr) {
        self.stats.connections.add(1);
        let mut hello = Vec::new();
        let config = Arc::clone(&self.shared.session);
        let session = Session::new(config, self.now, self.index as u8, &mut hello);
        let (max, within) = (self.outbox_max(), self.shared.session.stuck_within);
        let outgoing = match self.priorities {
            true => Outgoing::by_priority(max, within),
            false => Outgoing::new(max, within),
        };
        let (name, home) = (self.shared.new_id(), self.index);
        let conn = Arc::new(Conn::new(name, socket, peer, home, session, outgoing));
        self.shared.directory().insert(conn.id, Arc::clone(&conn));
        if self.tap.is_on()
            && let Some(local) = N::local(&conn.socket)
        {
            self.tap.opened(self.now, conn.id, &Endpoints { peer, local });
        }
        let settled = self.settle(&conn);
        match settled.and_then(|()| self.greet(&conn, &hello)) {
            Ok(()) => {
                let state = conn.state();
                self.release(&conn, state, 1);
            }
            Err(why) => self.end(&conn, why),
        }
    }

    /// Sends the HELLO of a new connection.
    fn greet(&mut self, conn: &Arc<Conn<N::Socket>>, hello: &[u8]) -> Result<(), Close> {
        self.tap.wrote(self.now, conn.id, hello);
        self.write.flush(&mut self.net, conn, self.now, hello, None)
    }

    /// An I/O loop begins: the write design writes what it put off. Returns until when the worker
    /// may wait in its poll.
    #[inline]
    fn begin_loop(&mut self, until: Time) -> Time {
        let mut lost = Vec::new();
        let may_wait = self.write.begin_loop(&mut self.net, self.now, &mut lost);
        for (conn, why) in lost {
            if conn.signal(Signal::Close(why)) {
                self.queue(conn);
            }
        }
        if may_wait { until } else { Time::START }
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

    /// Moves the connection to another home. Its claim goes with it, so that no worker serves it on
    /// the way.
    pub(super) fn hand_over(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.finish_batch();
        let mut state = conn.state();
        let home = state.moving_to.take().filter(|home| *home != self.index);
        let Some(home) = home.filter(|_| conn.home() == self.index) else {
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
        self.stats.moves.add(1);
        conn.stats.moves.add(1);
        // The home before may follow another version of the weights.
        self.shared.weigh(conn);
        match self.settle(conn) {
            Ok(()) => {
                let state = conn.state();
                self.release(conn, state, 1);
                // The home before may not have come to it.
                self.greets |= !self.greet_apps(conn);
            }
            Err(why) => self.end(conn, why),
        }
    }

    /// Adds a heap entry for the connection.s timer. Entries that a deadline has moved past are
    /// cheap: their visit finds nothing to do and sets the next one.
    pub(super) fn arm(&mut self, conn: &Conn<N::Socket>) {
        self.timers.push(Reverse((conn.timer.at(), conn.token())));
    }

    /// A connection of this home is gone.
    pub(super) fn forget(&mut self, conn: &Arc<Conn<N::Socket>>) {
        self.read.leave(conn);
        self.conns.remove(conn.token());
        self.shared.forget(conn.id, conn.number());
    }
}
