//! Lanes: what waits for a switch, in the order of its priority classes (Beacon §5.2.1: several
//! queues of a switch, "each with different priorities").
//!
//! | class | messages | they pass |
//! | --- | --- | --- |
//! | urgent | echo requests and replies | whatever waits but an `OFPT_HELLO` |
//! | usual | flow mods, packet outs, and whatever else changes a switch or a packet | questions |
//! | late | questions: statistics and multipart requests, configurations | nothing |
//! | fence | barrier requests; roles, settings, experimenters' messages | nothing |
//!
//! A fence keeps its place: what came before it stays before it, what comes after stays after. So
//! a barrier means what OpenFlow says it means. Between two fences a switch may execute messages in
//! any order (OpenFlow 1.3.5 §6.2); messages of one class keep theirs. An echo asks for nothing but
//! a sign of life, and changes nothing: where it stands does not matter to any other message.
//!
//! A message of which the socket took the beginning is finished first.

use alloc::vec::Vec;
use core::ops::Range;

use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, EXPERIMENTER, HELLO, SET_CONFIG};
use aldis_wire::{Chop, Header, Version};

/// How urgent a message to a switch is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PriorityClass {
    /// A sign of life.
    Urgent,
    /// It changes something, or sends a packet.
    Usual,
    /// A question about the switch's state.
    Late,
    /// Nothing but what is urgent passes it, and it passes nothing.
    Fence,
    /// Nothing passes it at all.
    Hello,
}

impl PriorityClass {
    /// The class of a message to a switch. What is not known is a fence.
    pub fn of(header: &Header) -> PriorityClass {
        match (Version::from_wire(header.version), header.kind) {
            (_, HELLO) => PriorityClass::Hello,
            (_, ECHO_REQUEST | ECHO_REPLY) => PriorityClass::Urgent,
            (None, _) | (_, EXPERIMENTER | SET_CONFIG) => PriorityClass::Fence,
            // OFPT_GET_CONFIG_REQUEST; OFPT_STATS_REQUEST, OFPT_QUEUE_GET_CONFIG_REQUEST.
            (Some(Version::V10), 7 | 16 | 20) => PriorityClass::Late,
            // The same, and OFPT_GET_ASYNC_REQUEST.
            (Some(Version::V13), 7 | 18 | 22 | 26) => PriorityClass::Late,
            // OFPT_ERROR, OFPT_FEATURES_REQUEST, OFPT_PACKET_OUT, OFPT_FLOW_MOD; OFPT_PORT_MOD.
            (Some(Version::V10), 1 | 5 | 13 | 14 | 15) => PriorityClass::Usual,
            // The same, OFPT_GROUP_MOD, OFPT_TABLE_MOD, OFPT_METER_MOD.
            (Some(Version::V13), 1 | 5 | 13..=17 | 29) => PriorityClass::Usual,
            _ => PriorityClass::Fence,
        }
    }
}

/// Where the classes begin among the bytes that wait: places from the first byte on.
///
/// ```text
///   cut │ urgent │ sealed by fences │ usual │ late
/// ```
#[derive(Clone, Default, Debug)]
pub(super) struct Lanes {
    /// The end of the message of which the socket took the beginning, as far as it is known: a
    /// message begins here, or nothing does any more.
    cut: usize,
    urgent: usize,
    sealed: usize,
    usual: usize,
}

impl Lanes {
    /// Nothing waits but the rest of a message, of so many bytes.
    pub(super) fn begin(cut: usize) -> Lanes {
        Lanes { cut, urgent: cut, sealed: cut, usual: cut }
    }

    /// The socket took the first `taken` of these bytes, and they are forgotten.
    pub(super) fn forget(&mut self, bytes: &[u8], taken: usize) {
        // What waits was encoded here, and can be chopped.
        while self.cut < taken
            && let Some(Ok(message)) = Chop::new(bytes.get(self.cut..).unwrap_or_default()).next()
        {
            self.cut += message.bytes.len();
        }
        self.cut = self.cut.saturating_sub(taken);
        for end in [&mut self.urgent, &mut self.sealed, &mut self.usual] {
            *end = end.saturating_sub(taken).max(self.cut);
        }
    }

    /// Puts messages among those that wait, each behind those of its class.
    pub(super) fn insert(&mut self, waiting: &mut Vec<u8>, fresh: &[u8]) {
        waiting.reserve_exact(fresh.len());
        let mut at = 0;
        while at < fresh.len() {
            let (class, run) = run(fresh, at);
            at = run.end;
            self.insert_run(waiting, &fresh[run], class);
        }
        self.check(waiting);
    }

    fn insert_run(&mut self, waiting: &mut Vec<u8>, run: &[u8], class: PriorityClass) {
        let end = waiting.len();
        let at = match class {
            PriorityClass::Urgent => self.urgent,
            PriorityClass::Usual => self.usual,
            PriorityClass::Late | PriorityClass::Fence | PriorityClass::Hello => end,
        };
        waiting.splice(at..at, run.iter().copied());
        let (len, all) = (run.len(), end + run.len());
        match class {
            PriorityClass::Urgent => {
                self.urgent += len;
                self.sealed += len;
                self.usual += len;
            }
            PriorityClass::Usual => self.usual += len,
            PriorityClass::Late => {}
            PriorityClass::Fence => (self.sealed, self.usual) = (all, all),
            PriorityClass::Hello => (self.urgent, self.sealed, self.usual) = (all, all, all),
        }
    }

    fn check(&self, waiting: &[u8]) {
        let ends = [self.cut, self.urgent, self.sealed, self.usual, waiting.len()];
        debug_assert!(ends.is_sorted(), "{ends:?}");
    }
}

/// The messages of one class that begin in this place of whole messages.
fn run(bytes: &[u8], at: usize) -> (PriorityClass, Range<usize>) {
    let mut messages = Chop::new(&bytes[at..]).map_while(Result::ok);
    let Some(first) = messages.next() else { return (PriorityClass::Fence, at..bytes.len()) };
    let class = PriorityClass::of(&first.header);
    let same = messages.take_while(|message| PriorityClass::of(&message.header) == class);
    let len: usize = same.map(|message| message.bytes.len()).sum();
    (class, at..at + first.bytes.len() + len)
}

/// What is left of the message in which this byte of whole messages stands: 0 where one begins.
pub(super) fn rest_of_message(bytes: &[u8], at: usize) -> usize {
    let mut end = 0;
    for message in Chop::new(bytes).map_while(Result::ok) {
        if end >= at {
            break;
        }
        end += message.bytes.len();
    }
    end.max(at) - at
}

#[cfg(test)]
mod tests;
