//! The requests of a switch by port, for one that has a hot port.

use super::outstanding::Outstanding;
use super::report::PortCounts;
use super::sequence::{RequestPair, SwitchSequence};

/// The counts of all ports of a switch, port 1 first.
pub(super) struct SwitchPortCounts(Vec<PortCounts>);

impl SwitchPortCounts {
    pub(super) fn new(ports: u32) -> SwitchPortCounts {
        SwitchPortCounts(vec![PortCounts::default(); ports as usize])
    }

    /// These requests were sent.
    pub(super) fn offered(&mut self, hops: impl Iterator<Item = RequestPair>) {
        hops.for_each(|hop| self.0[hop.in_port as usize - 1].offered += 1);
    }

    /// Request `number` was answered; the sequence stands where the numbers do.
    pub(super) fn answered(
        &mut self,
        number: u32,
        outstanding: &Outstanding,
        sequence: &SwitchSequence,
    ) {
        let hop = sequence.passed(Outstanding::between(number, outstanding.next()));
        self.0[hop.in_port as usize - 1].answered += 1;
    }

    pub(super) fn counts(&self) -> &[PortCounts] {
        &self.0
    }
}
