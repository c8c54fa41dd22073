//! Phase 3, parse: makes requests of PACKET_INs, and handles the messages between them.

use std::sync::Arc;

use aldis_control::session::Close;
use aldis_control::{EventKind, Switch, parse};
use aldis_wire::header::kind::PACKET_IN;
use aldis_wire::{Raw, Version};

use super::Worker;
use crate::conn::{Conn, State};
use crate::limits::EARLY_MAX;
use crate::net::Net;
use crate::read::Read;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Parses the flow requests from `at` up to the next fence into the batch. Returns where they
    /// end, and how many of them were kept.
    #[inline]
    pub(super) fn parse_requests(
        &mut self,
        conn: &Conn<N::Socket>,
        switch: &Arc<Switch>,
        state: &mut State,
        bytes: &[u8],
        at: usize,
    ) -> (usize, usize) {
        if self.read.leaves_raw() {
            return self.chop_requests(conn, switch, state, bytes, at);
        }
        let first = self.batch.requests.len();
        let at = parse::parse(switch.info.version, bytes, at, &mut self.batch.requests);
        if self.batch.requests.len() > first {
            state.session.alive(self.now);
        }
        let kept = self.shedder.filter(&mut self.batch.requests, first);
        if kept > 0 {
            count(conn, kept);
            self.batch.add_run(first..first + kept);
        }
        (at, kept)
    }

    /// The same where the worker that answers them parses them.
    fn chop_requests(
        &mut self,
        conn: &Conn<N::Socket>,
        switch: &Arc<Switch>,
        state: &mut State,
        bytes: &[u8],
        begin: usize,
    ) -> (usize, usize) {
        let (end, requests) = parse::chop(switch.info.version, bytes, begin);
        if requests > 0 {
            state.session.alive(self.now);
            count(conn, requests);
            self.batch.add_raw(switch.info.version, begin..end, requests);
        }
        (end, requests)
    }

    /// Handles a message that has to be alone. A PACKET_IN with LLDP is a batch of one; a reply to
    /// a command goes to that; the rest is the session's.
    pub(super) fn fence(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        bytes: &[u8],
        at: usize,
        raw: Raw<'_>,
    ) -> Result<(), Close> {
        if let Some(switch) = conn.switch().filter(|_| raw.header.kind == PACKET_IN)
            && raw.header.version == switch.info.version.wire()
            && let Ok(request) = parse::request(switch.info.version, bytes, at, raw.bytes.len())
        {
            state.session.alive(self.now);
            count(conn, 1);
            self.batch.requests.push(request);
            self.batch.add_run(0..1);
            self.run_over(EventKind::Lldp, bytes);
            return Ok(());
        }
        if !conn.open_commands.is_empty() && self.answers_command(conn, state, &raw) {
            return Ok(());
        }
        if is_early(conn, state, &raw) {
            state.early.extend_from_slice(raw.bytes);
            return Ok(());
        }
        state.session.deliver_unsolicited(self.pipeline.starts_on(EventKind::Unsolicited));
        self.session(conn, state, |session, now, out| session.receive(now, raw, out))
    }
}

/// A visit brought so many requests to a batch.
#[inline]
fn count<S>(conn: &Conn<S>, requests: usize) {
    conn.stats.requests.add(requests as u64);
    conn.stats.batches.add(1);
    conn.spreads().into_iter().for_each(|it| it.batch_size.record(requests as u64));
}

/// Whether a message is a request that came before the handshake was done, and there is room for
/// it.
fn is_early<S>(conn: &Conn<S>, state: &State, raw: &Raw<'_>) -> bool {
    let version = state.session.version().map(Version::wire);
    raw.header.kind == PACKET_IN
        && conn.switch().is_none()
        && version == Some(raw.header.version)
        && state.early.len() + raw.bytes.len() <= EARLY_MAX
}
