//! Steps by the record: each does what a worker did then, at the time of then.
//!
//! A worker of a replay never looks for work. Its driver ([`crate::replay`]) says what was read,
//! when the batch was run, and when the applications were told of something.

use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::session::Close;
use aldis_control::{Event, Time, World};

use super::{Stage, Worker, WorkerParts};
use crate::conn::Conn;
use crate::conn::claim::Events;
use crate::messages::{QueuedCommand, WorkerMessage};
use crate::net::Net;
use crate::read::Visit;
use crate::read::as_recorded::AsRecorded;

/// A worker that a recording drives.
pub(crate) type ReplayWorker<N> = Worker<N, AsRecorded<<N as Net>::Socket>>;

impl<N: Net> ReplayWorker<N> {
    /// With the World as it begins.
    pub(crate) fn for_replay(parts: WorkerParts<N>, world: Arc<World>) -> Self {
        // Its driver says which World it reads.
        let parts = WorkerParts { has_world: false, ..parts };
        let mut worker = Worker::new(parts, AsRecorded::new());
        worker.world = world;
        // How many visits were in flight is as it was.
        worker.in_flight_max = u32::MAX;
        worker
    }

    /// It is this time. It never goes back.
    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// The applications read this World from here on.
    pub(crate) fn set_world(&mut self, world: Arc<World>) {
        self.world = world;
    }

    /// A switch connected.
    pub(crate) fn play_opened(&mut self, socket: N::Socket, peer: SocketAddr) {
        self.adopt(socket, peer);
    }

    /// Whole messages were taken from a connection.
    ///
    /// # Errors
    /// There is no room for so many bytes, and nothing was done.
    pub(crate) fn play_read(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        messages: &[u8],
    ) -> Result<(), usize> {
        if conn.is_gone() {
            return Ok(());
        }
        let more = conn.state().kept() + messages.len();
        if !self.batch.has_room(more) {
            return Err(more);
        }
        if conn.claim.is_claimed() {
            return Ok(());
        }
        if !conn.claim.is_queued() && !conn.claim.announce(Events::default()) {
            return Ok(());
        }
        let Some(events) = conn.claim.claim() else { return Ok(()) };
        let mut state = conn.state();
        if !messages.is_empty() {
            state.session.was_read(messages.len());
            state.keep_carry(messages);
            state.whole = true;
        }
        drop(state);
        let visit = Visit { conn: Arc::clone(conn), events, read_max: usize::MAX, share: None };
        self.begin(visit);
        if let Stage::Chop { conn, len, share } = mem::replace(&mut self.stage, Stage::Look) {
            self.chop(&conn, len, share);
        }
        self.stage = Stage::Look;
        Ok(())
    }

    /// Makes room for so many more bytes of the batch in hand, if it is not longer than `most`
    /// then. Returns whether there is.
    pub(crate) fn make_room(&mut self, more: usize, most: usize) -> bool {
        let fits = self.batch.filled + more <= most;
        if fits {
            let mut received = mem::take(&mut self.batch.received).into_vec();
            received.resize(self.batch.filled + more, 0);
            self.batch.received = received.into_boxed_slice();
        }
        fits
    }

    /// The applications ran over the batch.
    pub(crate) fn play_batch(&mut self) {
        self.run_batch();
        self.send();
        self.finish_visits();
    }

    /// Connections of which something is left that could not be taken when it was read: it is taken
    /// now.
    pub(crate) fn play_left_over(&mut self) {
        for conn in self.read.take() {
            let state = conn.state();
            let waits = state.whole && state.again == 0 && !state.parked && state.kept() > 0;
            let left = (waits || state.ending.is_some()) && !conn.is_gone();
            drop(state);
            if left {
                // There is room: it was taken from this connection before, and kept.
                let _ = self.play_read(&conn, &[]);
            }
        }
    }

    /// A second passed at a switch. What is sent to others waits for [`Self::play_sent`].
    pub(crate) fn play_second(&mut self, conn: &Arc<Conn<N::Socket>>) {
        if conn.main_of().is_some() && !conn.is_gone() {
            self.finish_batch();
            let _ = self.tell(conn, &Event::Second);
        }
    }

    /// Another worker read a reply to the applications of this one.
    pub(crate) fn play_heard(&mut self, conn: &Arc<Conn<N::Socket>>, event: &Event) {
        self.finish_batch();
        let _ = self.tell(conn, event);
        self.play_sent();
    }

    /// Sends what waits to be sent.
    pub(crate) fn play_sent(&mut self) {
        self.send();
        self.deliver_signals();
    }

    /// Timers of the applications fired.
    pub(crate) fn play_ticked(&mut self) {
        self.finish_batch();
        self.tick();
        self.send();
    }

    /// The applications were roused.
    pub(crate) fn play_roused(&mut self) {
        self.finish_batch();
        self.roused();
        self.send();
    }

    /// The applications acted on a change of the World.
    pub(crate) fn play_acted(&mut self, before: &World, after: &World) {
        self.finish_batch();
        self.published(before, after);
        self.send();
    }

    /// A command from outside was sent.
    pub(crate) fn play_command(&mut self, command: QueuedCommand<N::Socket>) {
        let _ = self.send_command(command);
    }

    /// A connection ended.
    pub(crate) fn play_closed(&mut self, conn: &Arc<Conn<N::Socket>>) {
        if conn.is_gone() || conn.claim.is_claimed() {
            return;
        }
        if conn.claim.is_queued() || conn.claim.announce(Events::default()) {
            let _ = conn.claim.claim();
            self.end(conn, Close::PeerClosed);
        }
    }

    /// Takes its messages: replies that its applications asked for are handed to `heard`.
    pub(crate) fn take_replies(&mut self, mut heard: impl FnMut(Arc<Conn<N::Socket>>, Event)) {
        self.deliver();
        while let Some(message) = self.shared.inboxes[self.index].take() {
            match message {
                WorkerMessage::Heard(conn, event) => heard(conn, *event),
                WorkerMessage::Forget(conn) => self.forget(&conn),
                WorkerMessage::Ready(conn) => self.queue(conn),
                WorkerMessage::Adopt(..)
                | WorkerMessage::Arm(_)
                | WorkerMessage::Take(_)
                | WorkerMessage::Second(_)
                | WorkerMessage::Published { .. } => {}
            }
        }
    }
}
