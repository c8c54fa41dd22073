//! The read designs: which worker reads which switch (Maestro §3.2). Each design is one file, and
//! all make the same calls in another order:
//!
//! 1. [`static_partition`]: every worker its own switches;
//! 2. [`dynamic_partition`]: the same, and a switch moves when the rates say so;
//! 3. [`shared_queue`]: some read, others work;
//! 4. [`round_robin`]: every worker every switch, a little at a time;
//! 5. [`fair_rounds`]: every worker its own switches first, and the others' in rounds that all keep
//!    together.
//!
//! [`as_recorded`] is none of them: it serves a replay.

use std::sync::Arc;
use std::time::Duration;

use aldis_control::Time;

use crate::conn::claim::Events;
use crate::conn::{Conn, ConnId};
use crate::messages::Signal;

pub(crate) mod as_recorded;
pub(crate) mod batch_buf;
pub(crate) mod dynamic_partition;
pub(crate) mod fair_rounds;
mod ready_list;
pub(crate) mod ready_set;
pub(crate) mod round_robin;
pub(crate) mod shared_queue;
pub(crate) mod static_partition;

/// A worker's side of a read design: it says which connection is served next.
pub(crate) trait Read<S> {
    /// The most bytes that a visit may chop where it reads ahead to shed; 0 where none does.
    const READ_AHEAD: usize = 0;

    /// A connection has its home here from now on.
    fn join(&mut self, conn: &Arc<Conn<S>>);

    /// A connection that had its home here has not any more.
    fn leave(&mut self, conn: &Arc<Conn<S>>);

    /// A connection wants to be served. It is given back where only its home can see to that.
    ///
    /// # Errors
    /// The connection, for its home.
    fn queue(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>>;

    /// Claims the connection that is to be served next; none if nothing is left to do.
    fn next(&mut self, now: Time) -> Option<Visit<S>>;

    /// The claim is let go: so many requests (or other messages) were taken, at least 1. `queued`
    /// says that the connection has to be served again.
    fn done(&mut self, conn: &Arc<Conn<S>>, used: u32, queued: bool);

    /// The same, and the connection cannot be served now, though there may be more: it is queued
    /// when it can.
    #[inline]
    fn park(&mut self, conn: &Arc<Conn<S>>, used: u32) {
        self.done(conn, used, false);
    }

    /// Whether a batch is closed though it has fewer requests than the IBT, after a visit that took
    /// `used` messages. `queued`: the connection has more to say. `gathering`: how long it is since
    /// the batch's first read.
    #[inline]
    fn closes_batch(&self, used: usize, queued: bool, gathering: Duration) -> bool {
        let _ = (used, queued, gathering);
        false
    }

    /// Whether another worker is to be woken for what is queued, when this one has been `busy` for
    /// so long. Never where workers do not serve each other's connections.
    #[inline]
    fn wants_help(&self, busy: Duration) -> bool {
        let _ = busy;
        false
    }

    /// Whether flow requests are only chopped where they are read, and parsed where they are
    /// answered.
    #[inline]
    fn leaves_raw(&self) -> bool {
        false
    }

    /// Whether signs of life and answers to commands pass the switch's requests that wait.
    #[inline]
    fn passes_requests(&self) -> bool {
        false
    }

    /// How many lists of ready connections it looks into when none is ready.
    fn lists(&self) -> usize {
        1
    }

    /// The weight of a connection changed; a design that has none takes no notice.
    fn weigh(&mut self, conn: &Arc<Conn<S>>) {
        let _ = conn;
    }

    /// Time passed; called as often as sockets are polled.
    fn tick(&mut self, now: Time, signals: &mut Vec<(ConnId, Signal)>) {
        let _ = (now, signals);
    }
}

/// A connection whose turn it is, claimed.
#[derive(Debug)]
pub(crate) struct Visit<S> {
    pub(crate) conn: Arc<Conn<S>>,
    /// What was announced since the last visit.
    pub(crate) events: Events,
    /// The most bytes that the visit should read.
    pub(crate) read_max: usize,
    /// The switch's share now, in requests, where the design sheds what is above it.
    pub(crate) share: Option<u32>,
}
