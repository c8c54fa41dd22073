//! What a switch has replied to one message of a command so far.

use std::mem;

use aldis_wire::Raw;
use aldis_wire::header::kind;

/// The reply to one message: whole OpenFlow messages, as they came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ReplySlot {
    /// No reply, and none is needed.
    Silent,
    /// The parts of a reply of which more has to come.
    Awaited(Vec<u8>),
    /// A reply.
    Whole(Vec<u8>),
    /// An error.
    Refused(Vec<u8>),
    /// More than is kept; `more` where not all of it came yet.
    TooMuch { more: bool },
}

impl ReplySlot {
    pub(crate) fn new(awaits_reply: bool) -> ReplySlot {
        if awaits_reply { ReplySlot::Awaited(Vec::new()) } else { ReplySlot::Silent }
    }

    /// Bytes that it keeps.
    pub(crate) fn len(&self) -> usize {
        match self {
            ReplySlot::Awaited(bytes) | ReplySlot::Whole(bytes) | ReplySlot::Refused(bytes) => {
                bytes.len()
            }
            ReplySlot::Silent | ReplySlot::TooMuch { .. } => 0,
        }
    }

    /// Whether more has to come.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, ReplySlot::Awaited(_) | ReplySlot::TooMuch { more: true })
    }

    /// The switch replied; `more` where another part follows, `fits` where it may be kept.
    pub(crate) fn receive(&mut self, raw: &Raw<'_>, more: bool, fits: bool) {
        *self = match mem::replace(self, ReplySlot::Silent) {
            _ if raw.header.kind == kind::ERROR => ReplySlot::Refused(raw.bytes.to_vec()),
            ReplySlot::TooMuch { .. } => ReplySlot::TooMuch { more },
            _ if !fits => ReplySlot::TooMuch { more },
            ReplySlot::Awaited(mut bytes) => {
                bytes.extend_from_slice(raw.bytes);
                if more { ReplySlot::Awaited(bytes) } else { ReplySlot::Whole(bytes) }
            }
            ReplySlot::Silent if more => ReplySlot::Awaited(raw.bytes.to_vec()),
            ReplySlot::Silent => ReplySlot::Whole(raw.bytes.to_vec()),
            said @ (ReplySlot::Whole(_) | ReplySlot::Refused(_)) => said,
        };
    }
}
