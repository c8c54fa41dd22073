//! Which requests of a switch are dropped when it asks for more than its share.
//!
//! Within one switch the stream is first in, first out: behind a port that floods, all others wait.
//! So a worker that serves a switch above its share chops ahead, sees how much each port asks for,
//! and divides the share among the ports max-min: a port that asks for little keeps all it asks
//! for, and the ports that are cut are cut to the same height. The first requests of a port are
//! kept, in their order; the rest is dropped before the applications see it.
//!
//! Nothing is dropped below the share: of `n` requests, as many as the share allows are kept, or
//! all. What is no independent flow request (LLDP, and every other message) never comes here.

mod tally;

use alloc::vec::Vec;

pub use tally::Tally;

use crate::limits::FLOOD_MARGIN;

/// Decides for one switch at a time; one for each worker, used again for all of its switches.
#[derive(Clone, Debug)]
pub struct Shed {
    /// Spreads ports over `slots`, so that no switch can choose ports that all fall into one.
    seed: u64,
    /// The ports of this decision, in the order in which they were met.
    ports: Vec<ShedPort>,
    /// Where in `ports` a port stands, found by hashing it: its place + 1, or 0. A power of two, at
    /// least twice as long.
    slots: Vec<u32>,
    /// How many ports ask for so many requests, up to the share.
    heights: Vec<u32>,
    /// Where the requests that cannot be divided begin to be handed out, so that they go to another
    /// port each time.
    first: usize,
    /// Requests of this decision.
    request: usize,
}

/// What becomes of one port's requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShedPort {
    /// Its number.
    pub number: u32,
    /// Requests that came from it.
    pub request: u32,
    /// Requests that are kept.
    pub kept: u32,
    /// Requests that [`Shed::keep`] refused so far.
    pub dropped: u32,
    /// Those that are kept and that [`Shed::keep`] was not asked about yet.
    left: u32,
    /// Its place in the table.
    slot: u32,
}

/// One port asks for much more than the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flood {
    /// How many ports ask for anything, from 2.
    pub ports: usize,
    /// Requests of that port.
    pub most: usize,
    /// Requests of all others, at least one each.
    pub others: usize,
}

impl Shed {
    /// With a secret and random `seed`.
    pub fn new(seed: u64) -> Shed {
        let slots = alloc::vec![0; 16];
        Shed { seed: seed | 1, ports: Vec::new(), slots, heights: Vec::new(), first: 0, request: 0 }
    }

    /// Weighs the requests of a switch, given as the port of each, against its share of so many
    /// requests, and returns how many have to be dropped. If any, [`Shed::keep`] says which.
    pub fn weigh(&mut self, ports: impl ExactSizeIterator<Item = u32>, share: usize) -> usize {
        if ports.len() <= share {
            self.clear();
            return 0;
        }
        self.look(ports);
        self.divide(share)
    }

    /// Counts the requests of a switch, given as the port of each, and says whether a port floods
    /// it: whether one asks for more than twice as much as the others do on average, beyond what
    /// chance may bring.
    pub fn look(&mut self, ports: impl Iterator<Item = u32>) -> Option<Flood> {
        self.clear();
        ports.for_each(|port| self.count(port));
        self.request = self.ports.iter().map(|port| port.request as usize).sum();
        let most = self.ports.iter().map(|port| port.request as usize).max().unwrap_or(0);
        let (ports, others) = (self.ports.len(), self.request - most);
        let floods = ports > 1 && most.saturating_sub(FLOOD_MARGIN) * (ports - 1) > 2 * others;
        floods.then_some(Flood { ports, most, others })
    }

    /// Divides a share of so many requests among the ports that were [looked at](Shed::look), and
    /// returns how many have to be dropped. If any, [`Shed::keep`] says which.
    pub fn divide(&mut self, share: usize) -> usize {
        let excess = self.request.saturating_sub(share);
        if excess == 0 {
            self.clear();
        } else {
            self.fill_up(share);
        }
        excess
    }

    /// Whether the next request of this port is kept: to be asked for each of the weighed requests,
    /// once and in order.
    #[inline]
    pub fn keep(&mut self, port: u32) -> bool {
        let Ok(at) = self.find(port) else { return true };
        let left = &mut self.ports[at].left;
        let keep = *left > 0;
        *left = left.saturating_sub(1);
        self.ports[at].dropped += u32::from(!keep);
        keep
    }

    /// The ports of the last decision; none if nothing had to be dropped.
    pub fn ports(&self) -> &[ShedPort] {
        &self.ports
    }

    fn clear(&mut self) {
        for port in self.ports.drain(..) {
            self.slots[port.slot as usize] = 0;
        }
    }

    fn count(&mut self, number: u32) {
        match self.find(number) {
            Ok(at) => self.ports[at].request += 1,
            Err(slot) => {
                self.ports.push(ShedPort {
                    number,
                    request: 1,
                    kept: 0,
                    dropped: 0,
                    left: 0,
                    slot: slot as u32,
                });
                self.slots[slot] = self.ports.len() as u32;
                if 2 * self.ports.len() > self.slots.len() {
                    self.spread();
                }
            }
        }
    }

    /// The place of a port, or the free slot for it.
    #[inline]
    fn find(&self, number: u32) -> Result<usize, usize> {
        let last = self.slots.len() - 1;
        // Multiplication by a secret odd number spreads best into the high bits.
        let hash = (u64::from(number) + 1).wrapping_mul(self.seed) >> 32;
        let mut slot = hash as usize & last;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                place if self.ports[place as usize - 1].number == number => {
                    return Ok(place as usize - 1);
                }
                _ => slot = (slot + 1) & last,
            }
        }
    }

    fn spread(&mut self) {
        let len = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(len, 0);
        for at in 0..self.ports.len() {
            if let Err(slot) = self.find(self.ports[at].number) {
                self.slots[slot] = at as u32 + 1;
                self.ports[at].slot = slot as u32;
            }
        }
    }

    /// Divides the share, which is less than what all ports ask for.
    fn fill_up(&mut self, share: usize) {
        let (height, mut over) = self.fill(share);
        let ports = self.ports.len();
        let first = self.first % ports;
        for at in (first..ports).chain(0..first) {
            let port = &mut self.ports[at];
            let extra = u32::from(port.request > height && over > 0);
            over -= extra;
            port.kept = port.request.min(height) + extra;
            port.left = port.kept;
            if extra > 0 {
                self.first = at + 1;
            }
        }
    }

    /// Fills with water, request by request: how many each port may keep, and how many are then
    /// left over.
    fn fill(&mut self, share: usize) -> (u32, u32) {
        self.heights.clear();
        self.heights.resize(share + 1, 0);
        for port in &self.ports {
            self.heights[(port.request as usize).min(share)] += 1;
        }
        let (mut above, mut left) = (self.ports.len() as u32, share as u32);
        for height in 0..=share as u32 {
            above -= self.heights[height as usize];
            if left < above || above == 0 {
                return (height, left);
            }
            left -= above;
        }
        (share as u32, left)
    }
}

#[cfg(test)]
mod tests;
