//! Hosts that move, and how many of them a switch is told about one by one.
//!
//! When a host is seen behind another port, the flows towards its old one are removed at once. To a
//! switch, a removal is a walk over its flows; a loop in the network makes hosts move with every
//! packet. So after [`SINGLY`] of them in a second, the rest wait for its end, and then all flows
//! towards the ports that they left go in one message each.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::ports::{PORTS_MAX, PortSlot};

/// Moves a second of one switch that are told one by one.
const SINGLY: usize = 1000;

/// The moves at one switch since its last second.
#[derive(Debug)]
pub(super) struct Moves {
    count: AtomicUsize,
    // A bit for each port slot.
    left: [AtomicU64; PORTS_MAX.div_ceil(64)],
}

impl Default for Moves {
    fn default() -> Moves {
        Moves { count: AtomicUsize::new(0), left: [const { AtomicU64::new(0) }; _] }
    }
}

impl Moves {
    /// A host left the port of `slot`. Says whether to tell the switch now; if not, the end of the
    /// second will.
    pub(super) fn tell(&self, slot: PortSlot) -> bool {
        if self.count.fetch_add(1, Ordering::Relaxed) < SINGLY {
            return true;
        }
        self.left[usize::from(slot.0 / 64)].fetch_or(1 << (slot.0 % 64), Ordering::Relaxed);
        false
    }

    /// A second passed: the slots of ports whose flows are to go.
    pub(super) fn settle(&self) -> impl Iterator<Item = PortSlot> {
        self.count.store(0, Ordering::Relaxed);
        self.left.iter().enumerate().flat_map(|(at, bits)| {
            let bits = bits.swap(0, Ordering::Relaxed);
            (0..64)
                .filter(move |bit| bits >> bit & 1 == 1)
                .map(move |bit| PortSlot(at as u16 * 64 + bit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_told_by_port_at_the_end_of_the_second() {
        let moves = Moves::default();
        assert!((0..SINGLY).all(|_| moves.tell(PortSlot(3))));
        for slot in [7, 64, 4095, 7] {
            assert!(!moves.tell(PortSlot(slot)));
        }
        assert_eq!(moves.settle().collect::<Vec<_>>(), [7, 64, 4095].map(PortSlot));
        assert_eq!(moves.settle().count(), 0);
        assert!(moves.tell(PortSlot(7)));
    }
}
