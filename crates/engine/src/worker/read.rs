//! Phase 1, read: begins the visit of a claimed connection, and reads from its socket.

use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use aldis_control::session::Close;

use super::{Stage, Worker};
use crate::conn::{Conn, State};
use crate::limits::{READ_MORE, SHED_AFTER};
use crate::net::{Net, lost};
use crate::read::{Read, Visit};
use crate::write::drain;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// The next connection to visit, claimed.
    #[inline]
    pub(super) fn next_visit(&mut self) -> Option<Visit<N::Socket>> {
        let pauses = self.handoff.as_ref().is_some_and(|handoff| handoff.pauses_reading());
        if pauses || !self.batch.has_room(self.visit_bytes) {
            None
        } else {
            self.read.next(self.now)
        }
    }

    /// Visits one connection: the first half, which ends when something was read.
    #[inline]
    pub(super) fn begin(&mut self, visit: Visit<N::Socket>) {
        let conn = &visit.conn;
        self.make_way(conn);
        let mut state = conn.state();
        state.note(visit.events);
        if self.tap.is_on() {
            self.come_behind(conn, &mut state);
        }
        let waited = self.now.0.saturating_sub(conn.queued_at().0);
        self.stats.visits.add(1);
        self.stats.queue_wait_ns.record(waited);
        conn.stats.visits.add(1);
        conn.stats.queue_wait_ns.add(waited);
        conn.stats.queue_wait_ns_max.raise(waited);
        if let Some(spreads) = conn.spreads() {
            spreads.queue_waits_ns.record(waited);
        }
        if !self.batch.holds_something() {
            self.batch.began = self.now;
        }
        let rests = self.now.since(self.busy_since) <= SHED_AFTER;
        let share = visit.share.filter(|_| self.sheds && !rests);
        match self.read(conn, &mut state, (visit.read_max, share)) {
            Ok(len) => {
                drop(state);
                self.stage = Stage::Chop { conn: visit.conn, len, share };
            }
            Err(why) => {
                drop(state);
                self.end(conn, why);
            }
        }
    }

    /// What is in hand is handed on before the visit of a connection whose fence waits: with
    /// requests of other switches in hand that would wait again, and under load always.
    #[inline]
    fn make_way(&mut self, conn: &Conn<N::Socket>) {
        if self.handoff.is_some() && self.requests_in_hand() > 0 && conn.state().whole {
            self.finish_batch();
        }
    }

    /// A recording has the visits of a connection by their times, whichever workers make them. So
    /// this one is later than the one before, and than what the connection was queued for, though
    /// the worker may have looked at the clock before that.
    fn come_behind(&mut self, conn: &Conn<N::Socket>, state: &mut State) {
        let before = conn.queued_at().max(state.visited_at);
        if before >= self.now {
            self.now = self.net.now().max(before + Duration::from_nanos(1));
        }
        state.visited_at = self.now;
    }

    /// Receives the signals, lets waiting output go on, and reads at most `read_max` bytes; more
    /// where there is a `share`, in requests, and a port floods. The bytes stand at the end of the
    /// receive buffer, behind `filled`. Returns their length.
    ///
    /// # Errors
    /// The connection has to end.
    #[inline]
    fn read(
        &mut self,
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
            self.tap.note_signals();
            self.receive_signals(conn, state)?;
        }
        if conn.outgoing.is_stuck() && !self.unstick(conn, state)? {
            return Ok(0);
        }
        if state.parked || state.fenced {
            // This visit has started; and the output of this worker is in order.
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
            // It is announced when all visits have finished, this one too.
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
        let count = match self.net.read(&conn.socket, &mut room[carried..carried + read_max]) {
            Ok(0) => return Err(Close::PeerClosed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(lost(&error)),
        };
        // Less than was asked for: the socket is empty, and the next byte will be announced. The
        // end is announced once, and perhaps it was together with these bytes.
        let is_full = count == read_max;
        conn.stats.full_visits.add(u64::from(is_full));
        state.readable = is_full || state.ended;
        state.session.was_read(count);
        self.count_read(conn, count);
        let look = |share| self.look_ahead(conn, state, (carried + count, read_max), share);
        Ok(share.filter(|_| in_flight == 1).map_or(carried + count, look))
    }

    /// Output waits: offers it to the socket, if it may have room. Returns whether none waits any
    /// more.
    #[inline]
    fn unstick(&mut self, conn: &Conn<N::Socket>, state: &mut State) -> Result<bool, Close> {
        // The kernel reports room when there is much of it; a slow reader may have made a little.
        if state.writable || conn.outgoing.deadline() <= self.now {
            state.writable = false;
            drain(&mut self.net, conn, self.now)?;
        }
        if !conn.outgoing.is_stuck() {
            return Ok(true);
        }
        self.stats.pauses.add(1);
        conn.stats.pauses.add(1);
        let late = conn.outgoing.deadline() <= self.now;
        if late { Err(Close::NotReading) } else { Ok(false) }
    }

    #[inline]
    pub(super) fn count_read(&self, conn: &Conn<N::Socket>, count: usize) {
        self.stats.reads.add(1);
        self.stats.bytes_in.add(count as u64);
        conn.stats.bytes_in.add(count as u64);
    }
}
