//! A batch buffer: the bytes that a worker read from one or many connections, and the requests in
//! them.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use aldis_control::{RequestHeader, Run, Time, parse};
use aldis_wire::Version;
use aldis_wire::header::MESSAGE_LEN_MAX;

use crate::conn::Conn;
use crate::conn::switch_lock::SwitchLock;
use crate::limits::{EARLY_MAX, IN_FLIGHT_MAX, READ_MORE};

/// A batch in the making. Its bytes stay where they were read.
#[derive(Debug)]
pub(crate) struct BatchBuf<S> {
    /// The receive buffer.
    pub(crate) received: Box<[u8]>,
    /// So much of it is in use; never more than its length.
    pub(crate) filled: usize,
    /// When its first read was.
    pub(crate) began: Time,
    /// The visits that it comes from, in order. Each is in flight ([`crate::conn::in_flight`]).
    pub(crate) visits: Vec<Arc<Conn<S>>>,
    /// The requests that the applications have not seen yet.
    pub(crate) requests: Vec<RequestHeader>,
    /// Those of each switch. A run's `switch` is its index here.
    pub(crate) runs: Vec<Run>,
    /// The visit of each run, by its index in `visits`.
    pub(crate) visit_of: Vec<usize>,
    /// Flow requests that were chopped, and that the worker which answers them parses: those of
    /// each switch. Only with a shared queue and request binding.
    raw: Vec<RawRun>,
    /// How many of these there are.
    raw_requests: usize,
    /// The switch locks that it holds.
    pub(crate) locks: Vec<Arc<SwitchLock>>,
}

/// Flow requests of one switch, as messages.
#[derive(Debug)]
struct RawRun {
    version: Version,
    /// The visit that they come from, by its index.
    visit: usize,
    /// Where they stand in the receive buffer.
    bytes: Range<usize>,
}

impl<S> BatchBuf<S> {
    /// Empty, with room for so many bytes.
    pub(crate) fn new(room: usize) -> Self {
        BatchBuf {
            received: vec![0; room].into(),
            filled: 0,
            began: Time::START,
            visits: Vec::with_capacity(64),
            requests: Vec::with_capacity(1024),
            runs: Vec::with_capacity(64),
            visit_of: Vec::with_capacity(64),
            raw: Vec::new(),
            raw_requests: 0,
            locks: Vec::new(),
        }
    }

    /// Whether so many more bytes fit.
    #[inline]
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.received.len() - self.filled >= more
    }

    /// Whether there is anything to run or to write.
    #[inline]
    pub(crate) fn holds_something(&self) -> bool {
        !self.visits.is_empty()
    }

    /// Adds requests of the switch of the visit in hand.
    #[inline]
    pub(crate) fn add_run(&mut self, requests: Range<usize>) {
        self.add_run_of(self.visits.len() - 1, requests);
    }

    #[inline]
    fn add_run_of(&mut self, visit: usize, requests: Range<usize>) {
        self.runs.push(Run { switch: self.runs.len(), requests });
        self.visit_of.push(visit);
        self.check_last_run();
    }

    /// Adds flow requests of the switch of the visit in hand that stand in these bytes, unparsed.
    pub(crate) fn add_raw(&mut self, version: Version, bytes: Range<usize>, requests: usize) {
        let visit = self.visits.len() - 1;
        self.raw.push(RawRun { version, visit, bytes });
        self.raw_requests += requests;
    }

    /// Parses what was added unparsed.
    pub(crate) fn parse_raw(&mut self) {
        let mut raw = mem::take(&mut self.raw);
        let before = self.requests.len();
        for RawRun { version, visit, bytes } in raw.drain(..) {
            let first = self.requests.len();
            let received = &self.received[..bytes.end];
            let end = parse::parse(version, received, bytes.start, &mut self.requests);
            debug_assert_eq!(end, bytes.end, "what was chopped is parsed");
            self.add_run_of(visit, first..self.requests.len());
        }
        debug_assert_eq!(self.requests.len() - before, self.raw_requests);
        (self.raw, self.raw_requests) = (raw, 0);
    }

    /// The requests in it, parsed or not.
    pub(crate) fn request_count(&self) -> usize {
        self.requests.len() + self.raw_requests
    }

    /// The connection of its first requests.
    pub(crate) fn first_conn(&self) -> Option<&Arc<Conn<S>>> {
        let visit = self.visit_of.first().copied().or(self.raw.first().map(|run| run.visit))?;
        self.visits.get(visit)
    }

    /// The applications have seen the requests.
    #[inline]
    pub(crate) fn clear_requests(&mut self) {
        self.requests.clear();
        self.runs.clear();
        self.visit_of.clear();
    }

    /// Visits of this connection that are part of it.
    pub(crate) fn visits_of(&self, conn: &Arc<Conn<S>>) -> u32 {
        self.visits.iter().filter(|visit| Arc::ptr_eq(visit, conn)).count() as u32
    }

    /// The invariants of the whole: the buffer is not overrun, and the runs cover the requests.
    #[inline]
    pub(crate) fn check(&self) {
        debug_assert!(self.filled <= self.received.len());
        debug_assert_eq!(self.runs.len(), self.visit_of.len());
        debug_assert!(self.runs.is_empty() == self.requests.is_empty());
    }

    /// The invariants of the run that was added last: it ends with the requests, and begins where
    /// the one before it ends.
    #[inline]
    fn check_last_run(&self) {
        debug_assert_eq!(self.runs.last().map(|run| run.requests.end), Some(self.requests.len()));
        debug_assert!(self.runs.windows(2).next_back().is_none_or(|two| {
            two[0].requests.end == two[1].requests.start && self.runs[0].requests.start == 0
        }));
    }
}

/// Room that one visit may need: what was not handled last time, and one read, or what is read
/// ahead.
pub(crate) fn visit_bytes(read_max: usize) -> usize {
    EARLY_MAX + MESSAGE_LEN_MAX + read_max
}

/// Visits of one connection that may be in flight: one, and as many short ones as fit beside it.
pub(crate) fn in_flight_max(read_max: usize) -> u32 {
    1 + (IN_FLIGHT_MAX.saturating_sub(read_max) / read_max.min(READ_MORE)) as u32
}
