//! What a worker has gathered for its next batch: bytes from one or many connections, and the
//! requests in them.

use std::ops::Range;
use std::sync::Arc;

use aldis_control::{Request, Run, Switch, Time};
use aldis_wire::header::MESSAGE_LEN_MAX;

use crate::conn::Conn;
use crate::conn::switch_lock::SwitchLock;
use crate::limits::{EARLY_MAX, IN_FLIGHT_MAX, READ_MORE};

/// A batch in the making. Its bytes stay where they were read.
#[derive(Debug)]
pub(crate) struct BatchBuf<S> {
    /// What was read; `filled` of it is in use.
    pub(crate) received: Box<[u8]>,
    pub(crate) filled: usize,
    /// When its first read was.
    pub(crate) began: Time,
    /// The visits that it comes from, in order. Each took off ([`crate::conn::in_flight`]).
    pub(crate) visits: Vec<Arc<Conn<S>>>,
    /// The requests that the applications have not seen yet.
    pub(crate) requests: Vec<Request>,
    /// Those of each switch; a run's `switch` is its place here and in `switches`.
    pub(crate) runs: Vec<Run>,
    pub(crate) switches: Vec<Arc<Switch>>,
    /// The visit of each run.
    pub(crate) visit_of: Vec<usize>,
    /// The switch locks that it holds, of switches with an exclusive application.
    pub(crate) locks: Vec<Arc<SwitchLock>>,
}

impl<S> BatchBuf<S> {
    /// Nothing yet, and room for so many bytes.
    pub(crate) fn new(room: usize) -> Self {
        BatchBuf {
            received: vec![0; room].into(),
            filled: 0,
            began: Time::START,
            visits: Vec::with_capacity(64),
            requests: Vec::with_capacity(1024),
            runs: Vec::with_capacity(64),
            switches: Vec::with_capacity(64),
            visit_of: Vec::with_capacity(64),
            locks: Vec::new(),
        }
    }

    /// Whether so many more bytes fit.
    #[inline]
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.received.len() - self.filled >= more
    }

    /// These requests came from that switch, in the visit in hand.
    #[inline]
    pub(crate) fn add_run(&mut self, switch: &Arc<Switch>, requests: Range<usize>) {
        self.runs.push(Run { switch: self.switches.len(), requests });
        self.switches.push(Arc::clone(switch));
        self.visit_of.push(self.visits.len() - 1);
    }

    /// The applications have seen the requests.
    #[inline]
    pub(crate) fn clear_requests(&mut self) {
        self.requests.clear();
        self.runs.clear();
        self.switches.clear();
        self.visit_of.clear();
    }

    /// Visits of this connection that are part of it.
    pub(crate) fn visits_of(&self, conn: &Arc<Conn<S>>) -> u32 {
        self.visits.iter().filter(|visit| Arc::ptr_eq(visit, conn)).count() as u32
    }
}

/// Room that one visit may need: what was not handled last time, and one read, or what is read
/// ahead.
pub(crate) fn visit_bytes(read_max: usize) -> usize {
    EARLY_MAX + MESSAGE_LEN_MAX + read_max
}

/// Visits of one connection that may be on their way: one, and as many short ones as fit beside it.
pub(crate) fn in_flight_max(read_max: usize) -> u32 {
    1 + (IN_FLIGHT_MAX.saturating_sub(read_max) / read_max.min(READ_MORE)) as u32
}
