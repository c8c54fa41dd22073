//! Messages of a guest on their way to a switch, and what is remembered of them until they are
//! answered.

use std::collections::{HashMap, VecDeque};

use aldis_control::output::Xids;
use aldis_wire::msg::{AggregateStats, EncodeError, Message};
use aldis_wire::{Chop, Version};

use crate::datapath::SessionId;
use crate::limits::{AWAITED_MAX, REMEMBERED_MAX};

/// How the reply to a message is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaits {
    /// There is none.
    Nothing,
    /// It is the switch's.
    Reply,
    /// It sums up the flows that the switch lists: OpenFlow 1.0 cannot be asked for those of one
    /// owner.
    Sum,
}

/// Of each message the transaction id that the guest gave it, and how it is answered.
type Meta = Vec<(u32, Awaits)>;

/// Whole messages for one switch, in its version, and the transaction ids that the guest gave them.
#[derive(Debug, Default)]
pub(crate) struct Relay {
    /// The session in which the guest said them.
    pub(crate) session: Option<SessionId>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) meta: Meta,
}

impl Relay {
    /// A message as it is, up to its transaction id.
    #[inline]
    pub(crate) fn push_raw(&mut self, message: &[u8], xid: u32) {
        self.bytes.extend_from_slice(message);
        self.meta.push((xid, Awaits::Nothing));
    }

    /// A message, as the version says it.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn push(
        &mut self,
        message: &Message,
        version: Version,
        (xid, awaits): (u32, Awaits),
    ) -> Result<(), EncodeError> {
        message.encode(version, 0, &mut self.bytes)?;
        self.meta.push((xid, awaits));
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.meta.is_empty()
    }

    /// The same in parts of at most so many bytes, unless one message is longer.
    pub(crate) fn split(self, most: usize) -> Vec<Relay> {
        if self.bytes.len() <= most {
            return vec![self];
        }
        let empty = || Relay { session: self.session, ..Relay::default() };
        let (mut parts, mut part) = (vec![], empty());
        for (raw, meta) in Chop::new(&self.bytes).map_while(Result::ok).zip(&self.meta) {
            if !part.is_empty() && part.bytes.len() + raw.bytes.len() > most {
                parts.push(std::mem::replace(&mut part, empty()));
            }
            part.bytes.extend_from_slice(raw.bytes);
            part.meta.push(*meta);
        }
        parts.push(part);
        parts
    }

    /// Writes the transaction ids by which the switch gets them.
    pub(crate) fn number(&mut self, xids: Xids) {
        let (mut at, mut place) = (0, 0);
        while let Some(Ok(raw)) = Chop::new(&self.bytes[at..]).next() {
            let len = raw.bytes.len();
            self.bytes[at + 4..at + 8].copy_from_slice(&xids.at(place).to_be_bytes());
            (at, place) = (at + len, place + 1);
        }
    }
}

/// What a guest sent to one switch, by the transaction ids under which the switch has it.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The session in which it did.
    session: Option<SessionId>,
    /// In the order in which they were sent, for errors.
    sent: VecDeque<(Xids, Vec<u32>)>,
    remembered: usize,
    /// Those whose reply is awaited.
    awaited: HashMap<u32, Awaited>,
}

/// A message whose reply is awaited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    /// The transaction id that the guest gave it.
    pub(crate) xid: u32,
    /// What was summed up so far, where it is.
    pub(crate) sum: Option<AggregateStats>,
}

impl Asked {
    /// Whether another reply may be awaited.
    pub(crate) fn may_await(&self) -> bool {
        self.awaited.len() < AWAITED_MAX
    }

    /// Remembers messages that go out under these ids. What was said in a session that is over has
    /// no answer: the messages go out all the same, as those that a switch has received when a
    /// connection ends.
    pub(crate) fn remember(&mut self, xids: Xids, session: Option<SessionId>, meta: Meta) {
        if session.is_none() || session != self.session {
            return;
        }
        for (place, (xid, awaits)) in meta.iter().enumerate() {
            let sum = match awaits {
                Awaits::Nothing => continue,
                Awaits::Reply => None,
                Awaits::Sum => {
                    Some(AggregateStats { packet_count: 0, byte_count: 0, flow_count: 0 })
                }
            };
            self.awaited.insert(xids.at(place as u32), Awaited { xid: *xid, sum });
        }
        self.remembered += meta.len();
        self.sent.push_back((xids, meta.into_iter().map(|(xid, _)| xid).collect()));
        while self.remembered > REMEMBERED_MAX && self.sent.len() > 1 {
            let oldest = self.sent.pop_front();
            self.remembered -= oldest.map_or(0, |(_, of_guest)| of_guest.len());
        }
    }

    /// The message whose reply has this id.
    pub(crate) fn awaited(&mut self, xid: u32) -> Option<&mut Awaited> {
        self.awaited.get_mut(&xid)
    }

    /// Its last reply came.
    pub(crate) fn answered(&mut self, xid: u32) {
        self.awaited.remove(&xid);
    }

    /// The guest's id of the message under this one, whether a reply is awaited or not.
    pub(crate) fn of_guest(&self, xid: u32) -> Option<u32> {
        if let Some(awaited) = self.awaited.get(&xid) {
            return Some(awaited.xid);
        }
        let find =
            |(xids, of_guest): &(Xids, Vec<u32>)| of_guest.get(xids.place(xid)? as usize).copied();
        self.sent.iter().rev().find_map(find)
    }

    /// The session in which replies are delivered.
    pub(crate) fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// A session begins, or none does: what is still answered of those before has no addressee.
    pub(crate) fn begin(&mut self, session: Option<SessionId>) {
        *self = Asked { session, ..Asked::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_in_order() {
        let mut relay = Relay::default();
        for xid in 0..100 {
            relay.push(&Message::BarrierRequest, Version::V13, (xid, Awaits::Reply)).unwrap();
        }
        let (bytes, meta) = (relay.bytes.clone(), relay.meta.clone());
        let parts = relay.split(100);
        assert!(parts.iter().all(|part| part.bytes.len() <= 100));
        assert_eq!(parts.iter().flat_map(|part| part.bytes.clone()).collect::<Vec<_>>(), bytes);
        assert_eq!(parts.iter().flat_map(|part| part.meta.clone()).collect::<Vec<_>>(), meta);
        // One that is longer stays whole.
        let mut relay = Relay::default();
        relay.push(&Message::BarrierRequest, Version::V13, (1, Awaits::Reply)).unwrap();
        assert_eq!(relay.split(4).len(), 1);
    }
}
