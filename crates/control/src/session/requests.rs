//! Transaction ids, and which replies are awaited.
//!
//! The upper eight bits of an id are the worker that asked, the lower 23 count up; the bit between
//! them is for those that applications take ([`crate::output::Commands::xid`]). A reply that is not
//! awaited, or that comes too late, finds nothing here.

use alloc::vec::Vec;

use crate::limits::REQUESTS_MAX;
use crate::time::Time;

const WORKER_AT: u32 = 24;
const COUNTER_BITS: u32 = 23;

/// What was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pending {
    /// The features, the datapath id among them.
    Features,
    /// Which ports it has.
    Ports,
    /// Whether it is done with what the handshake sent.
    Ready,
    /// A barrier that the engine wanted.
    Barrier,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    xid: u32,
    asked: Pending,
    by: Time,
}

/// The requests of one session.
#[derive(Debug)]
pub(super) struct Requests {
    last: u32,
    open: Vec<Open>,
}

impl Requests {
    pub(super) fn new(worker: u8) -> Self {
        Requests { last: u32::from(worker) << WORKER_AT, open: Vec::new() }
    }

    /// An id that was not used for a long time, never 0 ([`aldis_wire::header::XID_NONE`]).
    pub(super) fn xid(&mut self) -> u32 {
        let worker = self.last >> WORKER_AT << WORKER_AT;
        let count = self.last.wrapping_add(1) & ((1 << COUNTER_BITS) - 1);
        self.last = worker | count.max(1);
        self.last
    }

    /// The id of a new request whose reply is awaited until `by`; `None` where too many are.
    pub(super) fn ask(&mut self, asked: Pending, by: Time) -> Option<u32> {
        if self.open.len() == REQUESTS_MAX {
            return None;
        }
        let xid = self.xid();
        self.open.push(Open { xid, asked, by });
        Some(xid)
    }

    /// What was asked with this id, if the reply is awaited.
    pub(super) fn asked(&self, xid: u32) -> Option<Pending> {
        self.open.iter().find(|open| open.xid == xid).map(|open| open.asked)
    }

    /// Whether a reply to `asked` is awaited.
    pub(super) fn awaits(&self, asked: Pending) -> bool {
        self.open.iter().any(|open| open.asked == asked)
    }

    /// Ends the request, whatever came of it: what was asked.
    pub(super) fn end(&mut self, xid: u32) -> Option<Pending> {
        let place = self.open.iter().position(|open| open.xid == xid)?;
        let asked = self.open.remove(place).asked;
        if self.open.is_empty() {
            // Thousands of switches are idle most of the time: none of them keeps room for what it
            // does not ask.
            self.open = Vec::new();
        }
        Some(asked)
    }

    /// Ends every request.
    pub(super) fn end_all(&mut self) {
        self.open = Vec::new();
    }

    /// A request whose reply is late at `now`.
    pub(super) fn late(&self, now: Time) -> Option<u32> {
        self.open.iter().find(|open| open.by <= now).map(|open| open.xid)
    }

    /// When the next reply will be late.
    pub(super) fn deadline(&self) -> Time {
        self.open.iter().map(|open| open.by).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_carry_the_worker_and_are_never_zero() {
        let mut requests = Requests::new(0);
        requests.last = 0x007f_fffe;
        assert_eq!([requests.xid(), requests.xid(), requests.xid()], [0x007f_ffff, 1, 2]);
        let mut requests = Requests::new(0xff);
        requests.last = 0xffff_ffff;
        assert_eq!(requests.xid(), 0xff00_0001);
    }

    #[test]
    fn a_reply_is_awaited_once() {
        let mut requests = Requests::new(3);
        let xid = requests.ask(Pending::Barrier, Time(7)).unwrap();
        assert_eq!((requests.asked(xid), requests.deadline()), (Some(Pending::Barrier), Time(7)));
        assert_eq!((requests.late(Time(6)), requests.late(Time(7))), (None, Some(xid)));
        assert_eq!((requests.end(xid), requests.end(xid)), (Some(Pending::Barrier), None));
        assert_eq!(requests.deadline(), Time::NEVER);
    }

    #[test]
    fn no_more_are_awaited_than_the_bound() {
        let mut requests = Requests::new(3);
        for _ in 0..REQUESTS_MAX {
            assert!(requests.ask(Pending::Barrier, Time::NEVER).is_some());
        }
        assert_eq!(requests.ask(Pending::Barrier, Time::NEVER), None);
    }
}
