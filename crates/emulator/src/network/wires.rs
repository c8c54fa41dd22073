//! The wires between ports and hosts, and the frames on them.
//!
//! A wire is one direction of a link. A frame put on it arrives after the links' delay, in order;
//! so all frames of the network stand in one queue. It is bounded twice, by frames a wire and by
//! bytes in all: what does not fit is dropped and counted, so that a broadcast storm in a loop
//! keeps a processor busy and never fills the memory.

use crate::topology::{End, Topology, TopologyLink};
use aldis_packet::{Ethernet, ethertype};
use std::collections::VecDeque;
use std::time::Duration;

/// Most frames on one wire: a tenth of what a network card of Linux queues; a storm is one as well
/// with these.
const WIRE_FRAMES_MAX: u16 = 100;
/// Most bytes on all wires.
const BYTES_MAX: usize = 64 << 20;

/// The EtherType of the broadcast kind of LLDP that some controllers send besides.
const BDDP: u16 = 0x8942;

/// Where a wire ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WireEnd {
    /// At a port of a switch.
    Port(End),
    /// At a host, by its number.
    Host(u32),
}

/// A frame that arrives.
pub(super) struct Arrival {
    pub(super) to: WireEnd,
    pub(super) frame: Vec<u8>,
}

/// What became of all frames.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Frames {
    /// They reached the other end of a link.
    pub delivered: u64,
    /// A link had as many frames on it as it takes: a storm.
    pub dropped_full: u64,
    /// A link was down, or nothing is plugged into the port.
    pub dropped_down: u64,
}

struct PortWire {
    to: Option<WireEnd>,
    up: bool,
    queued: u16,
    /// Whether it joins two switches; and whether LLDP has crossed it since the last change of the
    /// network.
    joins: bool,
    crossed: bool,
}

struct Flight {
    wire: usize,
    due: Duration,
    frame: Vec<u8>,
}

pub(super) struct Wires {
    /// The number of the first wire out of each switch; the wires out of hosts follow the last.
    first: Vec<usize>,
    wires: Vec<PortWire>,
    flights: VecDeque<Flight>,
    bytes: usize,
    delay: Duration,
    /// Wires between switches that LLDP has crossed.
    crossed: usize,
    joining: usize,
    pub(super) frames: Frames,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
}

/// Most buffers that are kept for later.
const SPARE_MAX: usize = 1024;

impl Wires {
    /// Those of a topology, all up; `ports` is the ports of each switch, which may be more than
    /// have links.
    pub(super) fn new(topology: &Topology, ports: &[u32], delay: Duration) -> Wires {
        let mut first = vec![0];
        for &ports in ports {
            first.push(first.last().unwrap_or(&0) + ports as usize);
        }
        let outlets = first.last().unwrap_or(&0) + topology.hosts().len();
        let wire = || PortWire { to: None, up: true, queued: 0, joins: false, crossed: false };
        let mut wires = Wires {
            first,
            wires: (0..outlets).map(|_| wire()).collect(),
            flights: VecDeque::new(),
            bytes: 0,
            delay,
            crossed: 0,
            joining: 2 * topology.links().len(),
            frames: Frames::default(),
            spare: Vec::new(),
        };
        for &TopologyLink { a, b } in topology.links() {
            for (from, to) in [(a, b), (b, a)] {
                let wire = wires.wire_mut(WireEnd::Port(from));
                (wire.to, wire.joins) = (Some(WireEnd::Port(to)), true);
            }
        }
        for (host, &end) in (1..).zip(topology.hosts()) {
            wires.plug(host, end);
        }
        wires
    }

    /// Plugs a host into a port that is free.
    pub(super) fn plug(&mut self, host: u32, end: End) {
        self.wire_mut(WireEnd::Port(end)).to = Some(WireEnd::Host(host));
        self.wire_mut(WireEnd::Host(host)).to = Some(WireEnd::Port(end));
    }

    /// Pulls it out again: where it was.
    pub(super) fn pull(&mut self, host: u32) -> Option<End> {
        match self.wire_mut(WireEnd::Host(host)).to.take() {
            Some(WireEnd::Port(end)) => {
                self.wire_mut(WireEnd::Port(end)).to = None;
                Some(end)
            }
            _ => None,
        }
    }

    /// Where a host is plugged in.
    pub(super) fn port_of(&self, host: u32) -> Option<End> {
        match self.wires[self.number(WireEnd::Host(host))?].to {
            Some(WireEnd::Port(end)) => Some(end),
            _ => None,
        }
    }

    /// Sets whether frames pass from this place; the other direction is another wire.
    pub(super) fn set_up(&mut self, from: WireEnd, up: bool) {
        self.wire_mut(from).up = up;
    }

    fn number(&self, from: WireEnd) -> Option<usize> {
        let switches = self.first.len() - 1;
        match from {
            WireEnd::Host(host) => {
                let number = self.first[switches] + host as usize - 1;
                (number < self.wires.len()).then_some(number)
            }
            WireEnd::Port(End { switch, port }) => {
                let switch = (switch as usize).checked_sub(1).filter(|&index| index < switches)?;
                let number = self.first[switch] + (port as usize).checked_sub(1)?;
                (number < self.first[switch + 1]).then_some(number)
            }
        }
    }

    fn wire_mut(&mut self, from: WireEnd) -> &mut PortWire {
        let number = self.number(from).expect("the place is one of the topology's");
        &mut self.wires[number]
    }

    /// Puts a frame on the wire that begins here.
    pub(super) fn send(&mut self, from: WireEnd, frame: &[u8], now: Duration) {
        let number = self.number(from).filter(|&number| {
            let wire = &self.wires[number];
            wire.up && wire.to.is_some()
        });
        let Some(number) = number else {
            self.frames.dropped_down += 1;
            return;
        };
        let wire = &mut self.wires[number];
        if wire.queued >= WIRE_FRAMES_MAX || self.bytes + frame.len() > BYTES_MAX {
            self.frames.dropped_full += 1;
            return;
        }
        wire.queued += 1;
        self.bytes += frame.len();
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(frame);
        self.flights.push_back(Flight { wire: number, due: now + self.delay, frame: buffer });
    }

    /// When the next frame arrives.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.flights.front().map(|flight| flight.due)
    }

    /// The next frame that has arrived; give its buffer back ([`Wires::recycle`]).
    pub(super) fn arrival(&mut self, now: Duration) -> Option<Arrival> {
        loop {
            let Flight { wire, frame, .. } =
                self.flights.pop_front_if(|flight| flight.due <= now)?;
            self.bytes -= frame.len();
            let wire = &mut self.wires[wire];
            wire.queued -= 1;
            let Some(to) = wire.to.filter(|_| wire.up) else {
                self.frames.dropped_down += 1;
                self.recycle(frame);
                continue;
            };
            self.frames.delivered += 1;
            if wire.joins && !wire.crossed && is_discovery(&frame) {
                wire.crossed = true;
                self.crossed += 1;
            }
            return Some(Arrival { to, frame });
        }
    }

    /// Takes a buffer back.
    pub(super) fn recycle(&mut self, mut frame: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            frame.clear();
            self.spare.push(frame);
        }
    }

    /// How many wires between switches LLDP has crossed, and of how many.
    pub(super) fn crossed(&self) -> (usize, usize) {
        (self.crossed, self.joining)
    }
}

fn is_discovery(frame: &[u8]) -> bool {
    let kind = Ethernet::new(frame).map(|frame| frame.ethertype());
    matches!(kind, Some(ethertype::LLDP | BDDP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Shape;
    use aldis_packet::ethernet;

    fn wires(delay: Duration) -> Wires {
        let topology = Shape::Linear { switches: 2, hosts: 1 }.lay_out(None, 1).unwrap();
        Wires::new(&topology, &[3, 2], delay)
    }

    fn port(switch: u32, port: u32) -> WireEnd {
        WireEnd::Port(End { switch, port })
    }

    fn arrivals(wires: &mut Wires, now: Duration) -> Vec<WireEnd> {
        std::iter::from_fn(|| wires.arrival(now).map(|arrival| arrival.to)).collect()
    }

    const ZERO: Duration = Duration::ZERO;

    #[test]
    fn frames_arrive_at_the_other_end_when_they_are_due() {
        let ms = Duration::from_millis;
        let mut wires = wires(ms(2));
        for from in [port(1, 2), port(2, 2), port(1, 1), WireEnd::Host(2)] {
            wires.send(from, &[0; 60], ms(1));
        }
        assert!(arrivals(&mut wires, ms(2)).is_empty());
        assert_eq!(wires.next_due(), Some(ms(3)));
        let expected = [port(2, 2), port(1, 2), WireEnd::Host(1), port(2, 1)];
        assert_eq!(arrivals(&mut wires, ms(3)), expected);
        assert_eq!(wires.frames.delivered, 4);
    }

    #[test]
    fn what_leads_nowhere_is_dropped() {
        let mut wires = wires(ZERO);
        for from in [port(1, 3), port(1, 4), port(1, 0), port(3, 1), port(0, 1)] {
            wires.send(from, &[0; 60], ZERO);
        }
        wires.set_up(port(1, 2), false);
        wires.send(port(1, 2), &[0; 60], ZERO);
        wires.send(port(2, 2), &[0; 60], ZERO);
        wires.set_up(port(2, 2), false);
        assert!(arrivals(&mut wires, ZERO).is_empty(), "a frame on a wire that breaks is lost");
        assert_eq!(wires.frames.dropped_down, 7);
    }

    #[test]
    fn a_wire_takes_so_many_frames_and_no_more() {
        let mut wires = wires(ZERO);
        for _ in 0..WIRE_FRAMES_MAX + 5 {
            wires.send(port(1, 2), &[0; 60], ZERO);
        }
        wires.send(port(2, 2), &[0; 60], ZERO);
        assert_eq!(wires.frames.dropped_full, 5);
        assert_eq!(arrivals(&mut wires, ZERO).len(), usize::from(WIRE_FRAMES_MAX) + 1);
        wires.send(port(1, 2), &[0; 60], ZERO);
        assert_eq!(arrivals(&mut wires, ZERO).len(), 1);
    }

    #[test]
    fn all_wires_together_hold_so_many_bytes() {
        let topology = Shape::Single { hosts: 4000 }.lay_out(None, 1).unwrap();
        let mut wires = Wires::new(&topology, &[4000], ZERO);
        for host in 1..=4000 {
            wires.send(WireEnd::Host(host), &vec![0; 60_000], ZERO);
        }
        let fits = BYTES_MAX / 60_000;
        assert_eq!(wires.frames.dropped_full, 4000 - fits as u64);
        assert_eq!(arrivals(&mut wires, ZERO).len(), fits);
        assert_eq!(wires.bytes, 0);
    }

    #[test]
    fn a_host_is_moved() {
        let mut wires = wires(ZERO);
        assert_eq!(wires.pull(1), Some(End { switch: 1, port: 1 }));
        wires.send(port(1, 1), &[0; 60], ZERO);
        wires.plug(1, End { switch: 1, port: 3 });
        wires.send(WireEnd::Host(1), &[0; 60], ZERO);
        wires.send(port(1, 3), &[0; 60], ZERO);
        assert_eq!(arrivals(&mut wires, ZERO), [port(1, 3), WireEnd::Host(1)]);
        assert_eq!(
            (wires.port_of(1), wires.frames.dropped_down),
            (Some(End { switch: 1, port: 3 }), 1)
        );
    }

    #[test]
    fn lldp_is_counted_once_a_wire() {
        let mut wires = wires(ZERO);
        let frame = ethernet::header([1; 6], [2; 6], ethertype::LLDP);
        for from in [port(1, 2), port(1, 2), port(1, 1), WireEnd::Host(1)] {
            wires.send(from, &frame, ZERO);
        }
        wires.send(port(2, 2), &ethernet::header([1; 6], [2; 6], ethertype::ARP), ZERO);
        arrivals(&mut wires, ZERO);
        assert_eq!(wires.crossed(), (1, 2));
        wires.send(port(2, 2), &frame, ZERO);
        arrivals(&mut wires, ZERO);
        assert_eq!(wires.crossed(), (2, 2));
    }
}
