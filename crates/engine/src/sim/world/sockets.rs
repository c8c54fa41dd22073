//! What workers ask of their sockets, and of the clock: each call moves the clock of the core that
//! makes it.

use std::sync::atomic::Ordering;

use aldis_control::Time;

use super::{ROOM_OUT, SimWorld, wavering};
use crate::conn::claim::Events;
use crate::limits::EVENTS_PER_POLL;
use crate::net::Readiness;
use crate::sim::costs::{Ps, coldness};
use crate::sim::plan::ReadSpeed;
use crate::sim::stream::REQUEST_LEN;

/// Length of a flow: the answer to one request.
const ANSWER_LEN: usize = 80;

/// What a look takes that finds nothing, before the next one.
const LOOK: Ps = 300_000;

impl SimWorld {
    pub(in crate::sim) fn now(&self, core: usize) -> Time {
        Time(self.cores[core].clock / 1000)
    }

    pub(in crate::sim) fn linger(&mut self, core: usize) {
        self.cores[core].clock += LOOK;
    }

    pub(in crate::sim) fn clock(&self, core: usize) -> Ps {
        self.cores[core].clock
    }

    pub(in crate::sim) fn register(&mut self, core: usize, at: usize, token: u64) {
        self.wires[at].registered = Some((core, token));
        // As the kernel does: what is there already is reported.
        self.edge(at, self.cores[core].clock);
    }

    pub(in crate::sim) fn deregister(&mut self, core: usize, at: usize) {
        self.wires[at].registered = None;
        self.wires[at].is_ready = false;
        self.cores[core].ready.retain(|ready| *ready != at);
    }

    pub(in crate::sim) fn poll(&mut self, core: usize, ready: &mut Vec<Readiness>) {
        self.bells.rung[core].store(false, Ordering::Relaxed);
        self.cores[core].clock += self.prices.poll;
        for _ in 0..EVENTS_PER_POLL {
            let Some(at) = self.cores[core].ready.pop_front() else { return };
            self.wires[at].is_ready = false;
            self.watch(at);
            let wire = &self.wires[at];
            // The kernel looks what is true now, and says nothing where nothing is.
            let readable = wire.incoming.len() > 0;
            let room = wire.has_room();
            let Some((_, token)) = wire.registered.filter(|_| readable || room) else { continue };
            let sign = |is: bool, sign| if is { sign } else { Events::default() };
            let events = sign(readable, Events::READABLE).with(sign(room, Events::WRITABLE));
            ready.push(Readiness { token, events });
            self.cores[core].clock += self.prices.poll_event;
        }
    }

    /// Reads; none where nothing is there.
    pub(in crate::sim) fn read(
        &mut self,
        core: usize,
        at: usize,
        into: &mut [u8],
    ) -> Option<usize> {
        let now = self.cores[core].clock;
        self.ask(at, now);
        let prices = self.prices;
        let wire = &mut self.wires[at];
        let count = wire.incoming.take(into);
        if std::mem::replace(&mut wire.reader, core) != core {
            self.cores[core].clock += prices.moved_visit;
        }
        if count == 0 {
            self.cores[core].clock += prices.empty_read;
            return None;
        }
        // The step that follows takes it apart, and lets go of the connection when it is done.
        let apart = count as Ps * prices.gather / REQUEST_LEN as Ps;
        wire.left = wire.incoming.len() > 0;
        wire.unanswered += 1;
        self.visits += 1;
        let before = std::mem::replace(&mut wire.visited, self.visits);
        wire.cold = coldness(self.visits - before - 1);
        if self.cores[core].hands {
            self.cores[core].clock += prices.hand.visit + count as Ps * prices.hand.byte;
        }
        self.cores[core].clock += apart
            + prices.crowd.read(wire.cold, count)
            + match wire.left {
                true => prices.full_read + count as Ps * prices.full_read_byte,
                false => prices.read + count as Ps * prices.read_byte,
            };
        self.ask(at, now);
        Some(count)
    }

    /// Writes what fits; none where nothing does.
    pub(in crate::sim) fn write(&mut self, core: usize, at: usize, bytes: &[u8]) -> Option<usize> {
        let prices = self.prices;
        let wire = &mut self.wires[at];
        let at_once = wire.switch.reads() == ReadSpeed::AtOnce && wire.outgoing.is_empty();
        let room = if at_once { usize::MAX } else { ROOM_OUT - wire.outgoing.len() };
        let count = bytes.len().min(room);
        wire.starved |= count < bytes.len();
        if count == 0 {
            self.cores[core].clock += prices.empty_read;
            return None;
        }
        if std::mem::replace(&mut wire.writer, core) != core {
            self.cores[core].clock += (count / ANSWER_LEN) as Ps * prices.moved_request;
        }
        let cost = match wire.left {
            true => {
                let further = std::mem::take(&mut wire.unanswered).saturating_sub(1);
                prices.full_write + count as Ps * prices.full_write_byte + further * prices.joined
            }
            false => {
                wire.unanswered = 0;
                prices.write + count as Ps * prices.write_byte
            }
        };
        let cost = cost + prices.send + prices.crowd.write(wire.cold, count);
        // At once: adaptive batching takes the time of a batch up to its last write, within the
        // step.
        let took = wavering(cost, self.jitter.max(prices.waver), &mut self.dice);
        let took = (took as f64 * (1.0 + self.cores[core].slower)) as Ps;
        let before = self.cores[core].clock;
        self.cores[core].clock += took;
        self.interrupt(core, took);
        let core = &mut self.cores[core];
        core.settled += core.clock - before;
        let arrives = core.clock + prices.way;
        let wire = &mut self.wires[at];
        if at_once {
            self.hear(at, arrives, bytes);
        } else {
            wire.outgoing.extend(&bytes[..count]);
            self.sip_later(at, arrives);
        }
        Some(count)
    }
}
