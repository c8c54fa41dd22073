//! What is kept on account of one switch: a budget of bytes for everything that a switch can make
//! the controller keep, as answers to what it was asked and the ports that it announces. Where the
//! budget is used up, more is refused and counted. Each keeper says what it does then.
//!
//! Bytes are estimates of what lies in memory, not what came over the wire. Tables of the network
//! as a whole (hosts, paths) have bounds of their own.

use alloc::sync::Arc;
use core::mem::size_of;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use aldis_wire::msg::{Action, Field, FlowStats, Instruction};

/// Bytes that are kept on account of one switch, unless told otherwise: eighty thousand flows that
/// are asked for at once, or more than five thousand ports.
pub const SWITCH_BYTES: usize = 16 * 1024 * 1024;

/// What a port takes in all that is kept of it: in the session, the search for links, the map and
/// what is made of that. Measured: 60 switches with 8,192 ports each took 1.4 GB.
pub const PORT_BYTES: usize = 3 * 1024;

/// The account of a switch, shared by all components that keep something because of it.
#[derive(Clone, Debug)]
pub struct Account(Arc<Books>);

#[derive(Debug)]
struct Books {
    max: usize,
    used: AtomicUsize,
    refused: AtomicU64,
}

impl Default for Account {
    fn default() -> Self {
        Account::new(SWITCH_BYTES)
    }
}

impl Account {
    /// One with room for so many bytes.
    pub fn new(max: usize) -> Account {
        let (used, refused) = (AtomicUsize::new(0), AtomicU64::new(0));
        Account(Arc::new(Books { max, used, refused }))
    }

    /// The most that is kept.
    pub fn max(&self) -> usize {
        self.0.max
    }

    /// What is kept now.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// How often something was not kept for want of room.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// Nothing yet.
    pub fn hold(&self) -> Held {
        Held { account: self.clone(), bytes: 0 }
    }

    fn take(&self, bytes: usize) -> bool {
        let within = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.0.max);
        let taken = self.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        if taken.is_err() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        taken.is_ok()
    }
}

/// Something that is kept on an account, until this is dropped.
#[derive(Debug)]
pub struct Held {
    account: Account,
    bytes: usize,
}

impl Held {
    /// It becomes larger by so much; false where there is no room, and then it is as it was.
    #[must_use]
    pub fn more(&mut self, bytes: usize) -> bool {
        let taken = self.account.take(bytes);
        self.bytes += if taken { bytes } else { 0 };
        taken
    }

    /// It becomes smaller by so much, or empty.
    pub fn less(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.account.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.less(self.bytes);
    }
}

/// What a flow takes, in bytes.
pub fn flow_bytes(flow: &FlowStats) -> usize {
    let action = |action: &Action| match action {
        Action::Unknown { body, .. } => size_of::<Action>() + body.len(),
        _ => size_of::<Action>(),
    };
    let does = |instruction: &Instruction| match instruction {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
            size_of::<Instruction>() + actions.iter().map(action).sum::<usize>()
        }
        // No longer than its message.
        _ => size_of::<Instruction>(),
    };
    size_of::<FlowStats>()
        + flow.match_.fields.len() * size_of::<Field>()
        + flow.instructions.iter().map(does).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_there_is_room_for_and_what_goes_makes_room() {
        let account = Account::new(100);
        let (mut one, mut other) = (account.hold(), account.hold());
        assert!(one.more(60) && !other.more(41) && other.more(40));
        assert_eq!((account.used(), account.refused()), (100, 1));
        assert!(!one.more(usize::MAX), "no sum that is too large");
        one.less(10);
        assert!(other.more(10) && !other.more(1));
        drop(one);
        assert_eq!((account.used(), other.bytes()), (50, 50));
        drop(other);
        assert_eq!((account.used(), account.refused()), (0, 3));
    }
}
