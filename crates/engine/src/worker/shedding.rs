//! Shedding: what floods a switch above its share is dropped before the applications see it.
//!
//! Within one switch the stream is first in, first out, so a port that floods makes all others
//! wait. Shedding begins only while the worker has no rest and the switch has had a queue for a
//! while:
//!
//! 1. A visit samples some requests by port.
//! 2. Where one port seems to ask for more than the others, the next visit counts them all.
//! 3. Where it does, visits read ahead, as far as the share serves the other ports whole. They
//!    weigh all requests, fences or not between them, against the share, and keep the first
//!    requests of each port, max-min ([`aldis_control::shed`]). What is further behind stays in the
//!    socket.
//!
//! Where ports ask alike nothing is dropped: TCP holds the switch back. What is remembered from
//! visit to visit is in `conn/flood.rs`.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use aldis_control::shed::{Flood, Shed, Tally};
use aldis_control::{RequestHeader, parse};
use aldis_wire::{Chop, Version};

use super::Worker;
use crate::conn::flood::FloodAction;
use crate::conn::{Conn, State};
use crate::limits::{REQUEST_BYTES, SHED_SAMPLE};
use crate::net::Net;
use crate::read::Read;

/// What a worker sheds with.
#[derive(Debug)]
pub(super) struct Shedder {
    /// What the visit in hand does.
    action: FloodAction,
    shed: Shed,
    sample: Sample,
    /// Requests that this visit dropped.
    dropped: usize,
}

impl Shedder {
    pub(super) fn new() -> Self {
        // The seed does not change what is dropped. It only keeps a peer from choosing port numbers
        // that make the search for a port slow.
        let seed = RandomState::new().build_hasher().finish();
        Shedder {
            action: FloodAction::Nothing,
            shed: Shed::new(seed),
            sample: Sample::default(),
            dropped: 0,
        }
    }

    /// Samples the requests from `first` on, or drops some of them. Returns how many are left.
    #[inline]
    pub(super) fn filter(&mut self, requests: &mut Vec<RequestHeader>, first: usize) -> usize {
        match self.action {
            FloodAction::Nothing => {}
            FloodAction::Sample => self.sample.take(&requests[first..]),
            FloodAction::Shed => self.drop_from(requests, first),
        }
        requests.len() - first
    }

    fn drop_from(&mut self, requests: &mut Vec<RequestHeader>, first: usize) {
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

    /// Weighs all requests in `bytes` against the share, fences or not between them. Unless a port
    /// floods nothing is to be dropped. `requests` is used as scratch.
    fn weigh(
        &mut self,
        version: Version,
        bytes: &[u8],
        share: usize,
        requests: &mut Vec<RequestHeader>,
    ) -> Option<Flood> {
        let (before, mut at) = (requests.len(), 0);
        loop {
            at = parse::parse(version, bytes, at, requests);
            match Chop::new(&bytes[at..]).next() {
                Some(Ok(fence)) => at += fence.bytes.len(),
                _ => break,
            }
        }
        let flood = self.shed.look(requests[before..].iter().map(|request| request.in_port));
        requests.truncate(before);
        if flood.is_none() || self.shed.divide(share) == 0 {
            self.action = FloodAction::Nothing;
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
    fn take(&mut self, requests: &[RequestHeader]) {
        while self.taken < SHED_SAMPLE {
            let Some(request) = requests.get(self.skip..).and_then(<[RequestHeader]>::first) else {
                break;
            };
            self.ports[self.taken] = request.in_port;
            self.taken += 1;
            self.skip += self.every;
        }
        self.skip = self.skip.saturating_sub(requests.len());
    }

    /// Whether one port seems to ask for more than twice what the others do on average. With so few
    /// requests that may be chance: all are counted before anything is dropped.
    fn is_skewed(&mut self) -> bool {
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

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// The visit's read was full, or not. Where a port floods it reads on, as long as there is
    /// something, and in reads as large as that one. Returns how many bytes there are now.
    #[inline]
    pub(super) fn look_ahead(
        &mut self,
        conn: &Conn<N::Socket>,
        state: &mut State,
        (len, read_max): (usize, usize),
        share: u32,
    ) -> usize {
        state.flood.read(self.now, state.readable && !state.ended);
        let ahead = state.flood.read_ahead(share);
        if len < ahead { self.read_ahead(conn, state, (len, read_max), ahead) } else { len }
    }

    #[cold]
    fn read_ahead(
        &mut self,
        conn: &Conn<N::Socket>,
        state: &mut State,
        (mut len, read_max): (usize, usize),
        ahead: usize,
    ) -> usize {
        while state.readable && !state.ended && len < ahead {
            let step = read_max.min(ahead - len);
            let room = &mut self.batch.received[self.batch.filled + len..][..step];
            let count = match self.net.read(&conn.socket, room) {
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

    /// Decides what this visit does: nothing, as nearly always, or sample, or drop.
    #[inline]
    pub(super) fn begin_shedding(
        &mut self,
        conn: &Conn<N::Socket>,
        state: &mut State,
        bytes: &[u8],
        share: u32,
    ) {
        let Some(switch) = conn.switch().filter(|_| !bytes.is_empty()) else { return };
        let shedder = &mut self.shedder;
        shedder.action = state.flood.begin();
        match shedder.action {
            FloodAction::Nothing => {}
            FloodAction::Sample => shedder.sample.begin(bytes.len() / REQUEST_BYTES),
            FloodAction::Shed => {
                let requests = &mut self.batch.requests;
                let flood = shedder.weigh(switch.info.version, bytes, share as usize, requests);
                state.flood.counted(bytes.len(), flood);
            }
        }
    }

    /// Ends the visit's sampling or dropping. Returns how many requests were dropped.
    #[inline]
    pub(super) fn end_shedding(&mut self, conn: &Conn<N::Socket>, state: &mut State) -> usize {
        match std::mem::replace(&mut self.shedder.action, FloodAction::Nothing) {
            FloodAction::Nothing => 0,
            FloodAction::Sample => {
                if self.shedder.sample.is_skewed() {
                    state.flood.suspect();
                }
                0
            }
            FloodAction::Shed => {
                let dropped = std::mem::take(&mut self.shedder.dropped);
                self.stats.sheds.add(dropped as u64);
                conn.stats.sheds.add(dropped as u64);
                conn.with_shed(|tally: &mut Tally| tally.add(self.shedder.shed.ports()));
                dropped
            }
        }
    }
}

#[cfg(test)]
mod tests;
