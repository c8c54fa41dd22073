//! Phase 7, write: writes what there is to send, once for each connection.

use std::sync::Arc;

use aldis_control::controller_event::ControllerEvent;
use aldis_control::session::Close;

use super::outbox::{Span, join};
use super::{Worker, queue};
use crate::conn::Conn;
use crate::conn::claim::Events;
use crate::messages::Signal;
use crate::net::Net;
use crate::read::Read;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Writes the output. A connection that cannot take it is signalled to end.
    #[inline]
    pub(super) fn send(&mut self) {
        let has_commands = self.output.has_commands();
        if !has_commands {
            self.tap.unlock_apps();
        }
        self.write_spans();
        if has_commands {
            // Which switches there are stays as it is until then.
            self.write_remote();
            self.tap.unlock_apps();
        }
        self.emit_events();
        self.exit_world();
    }

    #[inline]
    fn write_spans(&mut self) {
        let mut times = self.times.take();
        let Worker { batch, spans, output, joined, stats, net, write, read, shared, tap, .. } =
            self;
        let (visits, together, now) = (&batch.visits, self.together, self.now);
        let conn_of = |span: &Span| visits[span.visit].id;
        if together && !spans.is_sorted_by_key(conn_of) {
            spans.sort_unstable_by_key(|span| (conn_of(span), span.begin));
        }
        for group in spans.chunk_by(|a, b| together && conn_of(a) == conn_of(b)) {
            let conn = &visits[group[0].visit];
            if conn.is_gone() {
                continue;
            }
            let bytes = join(group, output.bytes(), joined);
            stats.writes.add(1);
            stats.bytes_out.add(bytes.len() as u64);
            tap.wrote(now, conn.id, bytes);
            let flushed = write.flush(net, conn, now, bytes, times.as_mut());
            if must_queue(conn, flushed) {
                queue(read, shared, &mut self.undelivered, now, Arc::clone(conn));
            }
        }
        spans.clear();
        output.clear();
    }

    /// Passes on what the applications found and noted.
    #[inline]
    fn emit_events(&mut self) {
        for words in self.output.commands().take_failures() {
            self.event_sink.emit(ControllerEvent::Failed { words });
        }
        for words in self.output.commands().take_warnings() {
            self.event_sink.emit(ControllerEvent::Noted { words, warns: true });
        }
        for words in self.output.commands().take_infos() {
            self.event_sink.emit(ControllerEvent::Noted { words, warns: false });
        }
        for (by, found) in self.output.commands().take_found() {
            self.event_sink.emit(ControllerEvent::Found { by, found });
        }
        let count = self.output.commands().take_not_told();
        if count > 0 {
            self.event_sink.emit(ControllerEvent::NotTold { count });
        }
    }
}

/// Whether a connection has to be queued after output was sent to it: it has to end, or its output
/// waits and so a deadline has to be watched.
#[inline]
pub(super) fn must_queue<S>(conn: &Conn<S>, flushed: Result<(), Close>) -> bool {
    match flushed {
        Ok(()) => conn.outgoing.is_stuck() && conn.claim.announce(Events::SIGNALLED),
        Err(why) => conn.signal(Signal::Close(why)),
    }
}
