//! The ports of a switch, numbered densely: twelve bits of a word stand for a 32-bit port number.
//!
//! A slot is never handed on while a word may still name it. When its port goes away the slot is
//! *retired*: at once, it stands for no port any more, and so all hosts behind it are forgotten
//! without a look at the table. After two whole passes of the sweep no word names it, and another
//! port may have it.

use std::collections::VecDeque;

use aldis_wire::msg::PortNo;

/// Ports that can be remembered at once, those counted that went away a moment ago: what twelve
/// bits say, less `PortSlot::NONE`. Hosts behind any further port are not learnt.
pub const PORTS_MAX: usize = 4095;

/// Port numbers below this are found by index, the others by search. Switches number their ports
/// from 1.
const INDEXED: u32 = 1024;

/// Passes of the sweep between the retirement of a slot and its next port.
const PASSES: usize = 2;

/// A port's place in [`PortSlots`]: 12 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PortSlot(pub(super) u16);

impl PortSlot {
    /// No port.
    pub(super) const NONE: PortSlot = PortSlot(0);
}

/// Which slot stands for which port. Immutable: a change makes another one.
#[derive(Clone, Debug)]
pub(super) struct PortSlots {
    numbers: Vec<u32>,
    indexed: Vec<PortSlot>,
    others: Vec<(u32, PortSlot)>,
    retired: VecDeque<(PortSlot, usize)>,
}

impl PortSlots {
    /// No port yet.
    pub(super) fn new() -> PortSlots {
        PortSlots { numbers: vec![0], indexed: vec![], others: vec![], retired: VecDeque::new() }
    }

    /// The slot of a port, or [`PortSlot::NONE`].
    #[inline]
    pub(super) fn slot(&self, port: u32) -> PortSlot {
        match self.indexed.get(port as usize) {
            Some(&slot) => slot,
            None => self.slot_among_others(port),
        }
    }

    /// The port of a slot, if it has one.
    #[inline]
    pub(super) fn port(&self, slot: PortSlot) -> Option<u32> {
        Some(self.number(slot)).filter(|&port| port != 0)
    }

    /// The port of a slot; 0, which is no port's number, if it has none.
    #[inline]
    pub(super) fn number(&self, slot: PortSlot) -> u32 {
        self.numbers.get(usize::from(slot.0)).copied().unwrap_or(0)
    }

    /// With a slot for `port`, when the sweep has made `passes` passes. Without one where there is
    /// none left.
    pub(super) fn with(&self, port: u32, passes: usize) -> PortSlots {
        let mut ports = self.clone();
        if !is_learnable(port) || self.slot(port) != PortSlot::NONE {
            return ports;
        }
        if let Some(slot) = ports.vacant(passes) {
            ports.numbers[usize::from(slot.0)] = port;
            ports.assign(port, slot);
        }
        ports
    }

    /// Without `port`, its slot retired when the sweep has made `passes` passes.
    pub(super) fn without(&self, port: u32, passes: usize) -> PortSlots {
        let (mut ports, slot) = (self.clone(), self.slot(port));
        if slot != PortSlot::NONE {
            ports.numbers[usize::from(slot.0)] = 0;
            ports.assign(port, PortSlot::NONE);
            ports.retired.push_back((slot, passes));
        }
        ports
    }

    fn vacant(&mut self, passes: usize) -> Option<PortSlot> {
        let rested = |&(_, since): &(PortSlot, usize)| passes.wrapping_sub(since) > PASSES;
        if self.retired.front().is_some_and(rested) {
            return self.retired.pop_front().map(|(slot, _)| slot);
        }
        let slot = self.numbers.len();
        (slot <= PORTS_MAX).then(|| {
            self.numbers.push(0);
            PortSlot(slot as u16)
        })
    }

    fn assign(&mut self, port: u32, slot: PortSlot) {
        if port < INDEXED {
            let room = self.indexed.len().max(port as usize + 1);
            self.indexed.resize(room, PortSlot::NONE);
            self.indexed[port as usize] = slot;
            return;
        }
        match self.others.binary_search_by_key(&port, |&(other, _)| other) {
            Ok(at) => self.others[at].1 = slot,
            Err(at) => self.others.insert(at, (port, slot)),
        }
        self.others.retain(|&(_, slot)| slot != PortSlot::NONE);
    }

    #[inline(never)]
    fn slot_among_others(&self, port: u32) -> PortSlot {
        let found = self.others.binary_search_by_key(&port, |&(other, _)| other);
        found.map_or(PortSlot::NONE, |at| self.others[at].1)
    }
}

/// Whether hosts can be behind this port: it is a real one, or the switch's own.
pub(super) fn is_learnable(port: u32) -> bool {
    PortNo(port).is_real() || PortNo(port) == PortNo::LOCAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_slots_and_slots_have_ports() {
        let numbers = [1, 48, INDEXED - 1, INDEXED, 0xff00, PortNo::LOCAL.0];
        let ports = numbers.iter().fold(PortSlots::new(), |ports, &port| ports.with(port, 0));
        let ports = ports.with(1, 0);
        for (at, port) in numbers.into_iter().enumerate() {
            assert_eq!(ports.slot(port), PortSlot(at as u16 + 1));
            assert_eq!(ports.port(ports.slot(port)), Some(port));
        }
        assert_eq!(ports.slot(2), PortSlot::NONE);
        assert_eq!(ports.port(PortSlot::NONE), None);
        assert_eq!(ports.port(PortSlot(4095)), None);
    }

    #[test]
    fn reserved_ports_have_none() {
        for port in [0, PortNo::CONTROLLER.0, PortNo::ANY.0, PortNo::FLOOD.0] {
            assert_eq!(PortSlots::new().with(port, 0).slot(port), PortSlot::NONE);
        }
    }

    #[test]
    fn a_slot_rests_for_two_passes_before_another_port_has_it() {
        for port in [7, 70_000] {
            let ports = PortSlots::new().with(port, 0).without(port, 5);
            assert_eq!((ports.slot(port), ports.port(PortSlot(1))), (PortSlot::NONE, None));
            assert_eq!(ports.with(port, 7).slot(port), PortSlot(2));
            assert_eq!(ports.with(port, 8).slot(port), PortSlot(1));
        }
    }

    #[test]
    fn slots_run_out_and_come_back() {
        let ports = (1..5000).fold(PortSlots::new(), |ports, port| ports.with(port, 0));
        assert_eq!(ports.slot(4095), PortSlot(4095));
        assert_eq!(ports.slot(4096), PortSlot::NONE);
        let ports = ports.without(9, 0).with(4096, 1);
        assert_eq!(ports.slot(4096), PortSlot::NONE);
        assert_eq!(ports.with(4096, 3).slot(4096), PortSlot(9));
    }
}
