//! Shedding at the desk: what floods a switch above its share is dropped before the applications see it.
//!
//! Within one switch the stream is first in, first out, so a port that floods makes all others wait. While a worker has
//! no rest and a switch has had a queue for a while, some of its requests are sampled by port. Where one port seems to
//! ask for more than the others, the next visit counts them all. Where it does, visits read ahead, as far as the share
//! serves the other ports whole, weigh all requests they find, fences or not between them, against what the switch may
//! use, and keep the first of each port, max-min ([`aldis_control::shed`]). What is further behind stays in the socket.
//! Where ports ask alike nothing is dropped: TCP holds the switch back.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use aldis_control::shed::{Flood, Shed, Tally};
use aldis_control::{Request, Time, gather};
use aldis_wire::{Chop, Version};

use super::Desk;
use crate::conn::{Conn, State};
use crate::limits::{ALOFT_MAX, SHED_AFTER, SHED_AHEAD, SHED_REST, SHED_SAMPLE};
use crate::net::Net;
use crate::write::Write;

/// What claimants remember of a connection from visit to visit.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Since when every visit has found a full read.
    full_since: Time,
    /// Whether that is long enough to say that it asks for more than its share.
    is_above_share: bool,
    mood: Mood,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mood {
    /// Its ports ask alike, as far as anybody knows; not looked at for so many visits.
    Calm { rest: u8 },
    /// A sample says that one port asks for more than the others.
    Suspected,
    /// One does: for each request of its share, so many bytes serve the other ports whole; a request has `each`.
    Flooded { depth: usize, each: usize },
}

impl Default for Watch {
    fn default() -> Self {
        Watch { full_since: Time::NEVER, is_above_share: false, mood: Mood::Calm { rest: 0 } }
    }
}

impl Watch {
    /// A read was full, or not.
    #[inline]
    fn read(&mut self, now: Time, full: bool) {
        self.full_since = if full { self.full_since.min(now) } else { Time::NEVER };
        self.is_above_share = full && now.since(self.full_since) >= SHED_AFTER;
    }

    /// What this visit does about it.
    #[inline]
    fn begin(&mut self) -> Doing {
        if !self.is_above_share {
            return Doing::Nothing;
        }
        match &mut self.mood {
            Mood::Calm { rest: 0 } => Doing::Sampling,
            Mood::Calm { rest } => {
                *rest -= 1;
                Doing::Nothing
            }
            Mood::Suspected | Mood::Flooded { .. } => Doing::Shedding,
        }
    }

    /// How many bytes a visit of this share reads; 0 where it does not read ahead. What it keeps is not to exceed what may be
    /// on its way at once: of a larger share, the last part is met by shedding.
    #[inline]
    fn ahead(&self, share: u32) -> usize {
        match self.mood {
            Mood::Flooded { depth, each }
                if self.is_above_share && each.saturating_mul(share as usize) <= ALOFT_MAX =>
            {
                depth.saturating_mul(share as usize).min(SHED_AHEAD)
            }
            _ => 0,
        }
    }

    /// All requests of a visit of so many bytes were counted.
    fn counted(&mut self, bytes: usize, flood: Option<Flood>) {
        self.mood = match flood {
            None => Mood::Calm { rest: SHED_REST },
            Some(Flood { ports, most, others }) => {
                // Of the others, each asks for this part of its height at most when so much is read for a request.
                let depth = bytes * (ports - 1) / (others * ports).max(1);
                let each = bytes / (most + others).max(1);
                Mood::Flooded { depth: (depth - depth / 16).max(1), each }
            }
        };
    }
}

/// What a worker needs for it.
#[derive(Debug)]
pub(super) struct Shedder {
    doing: Doing,
    shed: Shed,
    sample: Sample,
    /// Requests that this visit dropped.
    dropped: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Nothing,
    Sampling,
    Shedding,
}

impl Shedder {
    pub(super) fn new() -> Self {
        // What is dropped does not depend on it: only who could make the search for a port slow does.
        let seed = RandomState::new().build_hasher().finish();
        Shedder {
            doing: Doing::Nothing,
            shed: Shed::new(seed),
            sample: Sample::default(),
            dropped: 0,
        }
    }

    /// Looks at the requests from `first` on, or drops some of them. Returns how many are left.
    #[inline]
    pub(super) fn sift(&mut self, requests: &mut Vec<Request>, first: usize) -> usize {
        match self.doing {
            Doing::Nothing => {}
            Doing::Sampling => self.sample.take(&requests[first..]),
            Doing::Shedding => self.drop_from(requests, first),
        }
        requests.len() - first
    }

    fn drop_from(&mut self, requests: &mut Vec<Request>, first: usize) {
        let mut kept = first;
        for at in first..requests.len() {
            if self.shed.keep(requests[at].in_port) {
                requests[kept] = requests[at];
                kept += 1;
            }
        }
        self.dropped += requests.len() - kept;
        requests.truncate(kept);
    }

    /// Weighs all requests in `bytes` against the share, fences or not between them. Unless a port floods nothing is to be
    /// dropped. `requests` is used as scratch.
    fn weigh(
        &mut self,
        version: Version,
        bytes: &[u8],
        share: usize,
        requests: &mut Vec<Request>,
    ) -> Option<Flood> {
        let (before, mut at) = (requests.len(), 0);
        loop {
            at = gather::gather(version, bytes, at, requests);
            match Chop::new(&bytes[at..]).next() {
                Some(Ok(fence)) => at += fence.bytes.len(),
                _ => break,
            }
        }
        let flood = self.shed.look(requests[before..].iter().map(|request| request.in_port));
        requests.truncate(before);
        if flood.is_none() || self.shed.divide(share) == 0 {
            self.doing = Doing::Nothing;
        }
        flood
    }
}

/// The ports of a few requests, evenly spread over a visit.
#[derive(Debug)]
struct Sample {
    ports: [u32; SHED_SAMPLE],
    taken: usize,
    /// One in so many is taken.
    every: usize,
    /// So many are passed over before the next.
    skip: usize,
}

impl Default for Sample {
    fn default() -> Self {
        Sample { ports: [0; SHED_SAMPLE], taken: 0, every: 1, skip: 0 }
    }
}

impl Sample {
    /// Begins anew, for about so many requests.
    #[inline]
    fn begin(&mut self, requests: usize) {
        (self.taken, self.every, self.skip) = (0, (requests / SHED_SAMPLE).max(1), 0);
    }

    #[inline]
    fn take(&mut self, requests: &[Request]) {
        while self.taken < SHED_SAMPLE {
            let Some(request) = requests.get(self.skip..).and_then(<[Request]>::first) else {
                break;
            };
            self.ports[self.taken] = request.in_port;
            self.taken += 1;
            self.skip += self.every;
        }
        self.skip = self.skip.saturating_sub(requests.len());
    }

    /// Whether one port seems to ask for more than twice what the others do on average. With so few that may be chance: all
    /// are counted before anything is dropped.
    fn smells(&mut self) -> bool {
        let ports = &mut self.ports[..self.taken];
        ports.sort_unstable();
        let (mut most, mut distinct) = (0, 0);
        for same in ports.chunk_by(|a, b| a == b) {
            most = most.max(same.len());
            distinct += 1;
        }
        distinct > 1 && most.saturating_sub(2) * (distinct - 1) > 2 * (ports.len() - most)
    }
}

impl<N: Net, W: Write> Desk<N, W> {
    /// The visit's read was full, or not. Where a port floods it reads on, as long as there is something, and in reads as
    /// large as that one. Returns how many bytes there are now.
    #[inline]
    pub(super) fn look_ahead(
        &mut self,
        net: &mut N,
        conn: &Conn<N::Socket>,
        state: &mut State,
        (len, read_max): (usize, usize),
        share: u32,
    ) -> usize {
        state.watch.read(self.now, state.readable && !state.ended);
        let ahead = state.watch.ahead(share);
        if len < ahead { self.read_ahead(net, conn, state, (len, read_max), ahead) } else { len }
    }

    #[cold]
    fn read_ahead(
        &mut self,
        net: &mut N,
        conn: &Conn<N::Socket>,
        state: &mut State,
        (mut len, read_max): (usize, usize),
        ahead: usize,
    ) -> usize {
        while state.readable && !state.ended && len < ahead {
            let step = read_max.min(ahead - len);
            let room = &mut self.gathered.received[self.gathered.filled + len..][..step];
            let count = match net.read(&conn.socket, room) {
                Ok(count @ 1..) => count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => 0,
                // What was read is served first; the next visit meets the end.
                Ok(0) | Err(_) => {
                    state.ended = true;
                    0
                }
            };
            state.readable = count == step || state.ended;
            self.count_read(conn, count);
            len += count;
        }
        len
    }

    #[inline]
    pub(super) fn count_read(&self, conn: &Conn<N::Socket>, count: usize) {
        self.stats.reads.add(1);
        self.stats.bytes_in.add(count as u64);
        conn.stats.bytes_in.add(count as u64);
    }

    /// Decides what this visit does: nothing, as nearly always, or look at its ports, or drop what is above their share.
    #[inline]
    pub(super) fn begin_shedding(
        &mut self,
        conn: &Conn<N::Socket>,
        state: &mut State,
        bytes: &[u8],
        share: u32,
    ) {
        let Some(switch) = conn.switch().filter(|_| !bytes.is_empty()) else { return };
        let it = &mut self.shedder;
        it.doing = state.watch.begin();
        match it.doing {
            Doing::Nothing => {}
            Doing::Sampling => it.sample.begin(bytes.len() / crate::limits::REQUEST_BYTES),
            Doing::Shedding => {
                let requests = &mut self.gathered.requests;
                let flood = it.weigh(switch.info.version, bytes, share as usize, requests);
                state.watch.counted(bytes.len(), flood);
            }
        }
    }

    /// Draws the conclusions, and counts what was dropped. Returns how much.
    #[inline]
    pub(super) fn end_shedding(&mut self, conn: &Arc<Conn<N::Socket>>, state: &mut State) -> usize {
        match std::mem::replace(&mut self.shedder.doing, Doing::Nothing) {
            Doing::Nothing => 0,
            Doing::Sampling => {
                if self.shedder.sample.smells() {
                    state.watch.mood = Mood::Suspected;
                }
                0
            }
            Doing::Shedding => {
                let dropped = std::mem::take(&mut self.shedder.dropped);
                self.stats.sheds.add(dropped as u64);
                conn.stats.sheds.add(dropped as u64);
                conn.with_tally(|tally: &mut Tally| tally.add(self.shedder.shed.ports()));
                dropped
            }
        }
    }
}

#[cfg(test)]
mod tests;
