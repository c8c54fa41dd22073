//! Switches in memory without workers: for a bare loop, which shows what reading from them and
//! writing to them costs with nothing of the engine around it.

use std::sync::Arc;

use aldis_wire::Header;

use super::script::MemoryScript;
use super::switch::MemorySwitch;
use crate::sim::handshake::BARRIER_REQUEST;

/// Bytes of a message that is its header alone, as the first two that a switch says are.
const HEADER_LEN: usize = 8;

/// Switches that have shaken hands. They tell where their hosts live first, as those of
/// [`InMemory`](super::InMemory) do.
#[derive(Debug)]
pub struct MemoryEnds(Vec<MemorySwitch>);

impl MemoryEnds {
    /// So many switches, 1 to 10,000, of so many hosts each, 2 to 65,536.
    pub fn new(switches: usize, hosts: u32) -> MemoryEnds {
        let script = Arc::new(MemoryScript::new(hosts));
        let shaken = |number| {
            let switch = MemorySwitch::new(number, Arc::clone(&script), u64::MAX);
            let request = Header { version: 1, kind: BARRIER_REQUEST, length: 8, xid: 0 };
            // Its greeting; and its answer, behind which it says requests.
            switch.say(&mut [0; HEADER_LEN]);
            switch.hear(&request.to_bytes());
            switch.say(&mut [0; HEADER_LEN]);
            switch
        };
        MemoryEnds((1..=switches as u64).map(shaken).collect())
    }

    /// Fills `into` with what the `at`th switch says next.
    #[inline]
    pub fn read(&self, at: usize, into: &mut [u8]) {
        self.0[at].say(into);
    }

    /// The `at`th switch is sent whole messages.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        self.0[at].hear(bytes);
    }

    /// Answers that the `at`th switch got.
    pub fn answered(&self, at: usize) -> u64 {
        self.0[at].answered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::Chop;
    use aldis_wire::header::kind::PACKET_IN;

    #[test]
    fn a_bare_switch_says_requests_from_the_first_byte_on() {
        let ends = MemoryEnds::new(2, 10);
        let mut said = vec![0; 82 * 30];
        ends.read(1, &mut said);
        let kinds: Vec<u8> = Chop::new(&said).map(|message| message.unwrap().header.kind).collect();
        assert_eq!(kinds, [PACKET_IN; 30]);
        assert_eq!(ends.answered(1), 0);
    }
}
