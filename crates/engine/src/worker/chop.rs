//! Phase 2, chop: cuts what was read into messages, and releases the claim.
//!
//! Flow requests go into the batch. Every other message is a *fence*: what came before it is
//! answered first, and it is handled alone.

use std::mem;
use std::sync::Arc;

use aldis_control::EventKind;
use aldis_control::session::{Close, Session};
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST};
use aldis_wire::{Chop, Raw};

use super::{Stage, Worker};
use crate::conn::{Conn, State};
use crate::limits::SHED_PER_REQUEST;
use crate::net::Net;
use crate::read::Read;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Visits one connection: the second half.
    #[inline]
    pub(super) fn chop(&mut self, conn: &Arc<Conn<N::Socket>>, len: usize, share: Option<u32>) {
        let mut state = conn.state();
        let known = conn.dpid().is_some();
        let chopped = self.chop_read(conn, &mut state, len, share);
        if !known && conn.dpid().is_some() {
            self.shared.weigh(conn);
            self.read.weigh(conn);
        }
        let (used, queued) = match chopped {
            Ok(_) if state.moving_to.is_some() => {
                drop(state);
                self.hand_over(conn);
                (0, false)
            }
            Ok(used) => (used, self.release(conn, state, used.max(1))),
            Err(why) => {
                drop(state);
                self.end(conn, why);
                (0, false)
            }
        };
        self.deliver_signals();
        if self.read.passes_requests() && !self.output.is_empty() {
            // What was answered at once does not wait for the batch.
            self.send();
        }
        if self.is_batch_closed(used, queued) || self.only_replies() {
            self.stage = Stage::Run { drained: false, pulled: false };
        }
    }

    /// Chops what the last read brought. Ends with the session's own timers, if their time has
    /// come. Where the switch is above its `share`, in requests, those of ports that flood are
    /// dropped. Returns how many messages were taken, as read designs count them.
    ///
    /// # Errors
    /// The connection has to end.
    #[inline]
    fn chop_read(
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
        let again = mem::take(&mut state.again);
        let chopped = self.chop_bytes(conn, state, &received[..at + len], at);
        let dropped = if share.is_some() { self.end_shedding(conn, state) } else { 0 };
        if self.tap.is_on() {
            self.record_visit(conn, state, &received[at..at + len], again, dropped);
        }
        self.batch.received = received;
        self.batch.filled = at + len;
        self.batch.check();
        let taken = chopped?;
        if state.session.deadline() <= self.now && !conn.outgoing.is_stuck() {
            self.session(conn, state, Session::tick)?;
        }
        Ok(taken + dropped / SHED_PER_REQUEST)
    }

    /// Copies aside what the visit took, where it did anything. The first bytes, so many, were
    /// taken `again`: they are recorded already.
    fn record_visit(
        &mut self,
        conn: &Conn<N::Socket>,
        state: &mut State,
        read: &[u8],
        again: usize,
        dropped: usize,
    ) {
        let left = state.kept().saturating_sub(state.again);
        let taken = read.len().saturating_sub(left);
        state.again += again.saturating_sub(taken);
        let acts = self.tap.take_signalled() || state.session.deadline() <= self.now;
        if taken > 0 || acts {
            self.tap.read(self.now, conn.id, &read[again.min(taken)..taken]);
        }
        if dropped > 0 {
            self.tap.shed(self.now, dropped);
        }
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
                let kept;
                (at, kept) = self.parse_requests(conn, switch, state, bytes, at);
                taken += kept;
            }
            match Chop::new(&bytes[at..]).next() {
                Some(Ok(raw)) => {
                    if self.read.passes_requests() && self.passes(conn, state, raw)? {
                        at += raw.bytes.len();
                        taken += 1;
                        continue;
                    }
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

    /// Handles a message at once, though requests before it wait, if it is urgent: a sign of life,
    /// or an answer to a command. Returns whether it is.
    ///
    /// # Errors
    /// The connection has to end.
    fn passes(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        raw: Raw<'_>,
    ) -> Result<bool, Close> {
        if conn.switch().is_none() {
            return Ok(false);
        }
        match raw.header.kind {
            ECHO_REQUEST | ECHO_REPLY => {
                self.session(conn, state, |session, now, out| session.receive(now, raw, out))?;
                Ok(true)
            }
            _ => Ok(!conn.open_commands.is_empty() && self.answers_command(conn, state, &raw)),
        }
    }

    /// Finishes what came before a fence. Where it is in flight with another worker, the fence
    /// waits, and the connection is announced when the fence may pass.
    fn fence_may_pass(&mut self, conn: &Arc<Conn<N::Socket>>, bytes: &[u8]) -> bool {
        let own = self.batch.visits_of(conn);
        if self.requests_in_hand() == 0 || self.handoff.is_none() {
            self.run_over(EventKind::FlowRequest, bytes);
            conn.in_flight.is_clear(own)
        } else {
            // The requests are about to be handed on, and their visits finish with another worker.
            conn.in_flight.is_clear(0)
        }
    }
}
