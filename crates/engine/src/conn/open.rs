//! The commands that a switch has not answered yet: one list for each connection.
//!
//! The worker that sends a command enters it here, whoever serves the switch writes down what it
//! says, and what ends the command takes it out: the last answer, the deadline or the end of the
//! connection, whichever comes first. One lock makes them one after the other, so that each command
//! is answered once. It is taken for these few messages only.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aldis_control::account::Held;
use aldis_control::command::Failure;
use aldis_control::output::Xids;
use aldis_control::session::Close;
use aldis_control::{Account, Time};
use aldis_wire::Raw;
use aldis_wire::header::kind;

use crate::command::answer::AnswerSender;
use crate::limits::COMMANDS_OPEN_MAX;

/// What was said to one message so far: whole messages, as they came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ReplySlot {
    /// Nothing, and nothing has to be.
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
    fn len(&self) -> usize {
        match self {
            ReplySlot::Awaited(bytes) | ReplySlot::Whole(bytes) | ReplySlot::Refused(bytes) => {
                bytes.len()
            }
            ReplySlot::Silent | ReplySlot::TooMuch { .. } => 0,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, ReplySlot::Awaited(_) | ReplySlot::TooMuch { more: true })
    }

    /// The switch said this; `fits` where it may be kept.
    fn hear(&mut self, raw: &Raw<'_>, more: bool, fits: bool) {
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

/// A command that was sent.
#[derive(Debug)]
pub(crate) struct SentCommand {
    /// Those of its messages and, last, of the barrier.
    pub(crate) xids: Xids,
    pub(crate) by: Time,
    pub(crate) slots: Vec<ReplySlot>,
    pub(crate) sender: AnswerSender,
    /// Whether the switch has reached the barrier.
    pub(crate) reached: bool,
}

impl SentCommand {
    fn is_answered(&self) -> bool {
        self.reached && !self.slots.iter().any(ReplySlot::is_open)
    }
}

/// The commands that a switch has not answered yet.
#[derive(Debug, Default)]
pub(crate) struct OpenCommands {
    /// How many they are.
    count: AtomicUsize,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    sent: Vec<SentCommand>,
    /// Their replies, on the account of the switch.
    held: Option<Held>,
    /// When somebody looks next whether one is too late; never where nobody does.
    look_at: Time,
    /// Why there will be no more.
    closed: Option<Close>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { sent: Vec::new(), held: None, look_at: Time::NEVER, closed: None }
    }
}

impl OpenCommands {
    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// A command is about to be sent. Returns when the caller has to call [`OpenCommands::expire`]
    /// for it, if nobody does by then.
    ///
    /// # Errors
    /// Nothing is to be sent, and the sender was told.
    pub(crate) fn enter(&self, sent: SentCommand) -> Result<Option<Time>, ()> {
        let mut kept = self.lock();
        let failure = match &kept.closed {
            Some(why) => Failure::Disconnected(why.clone()),
            None if kept.sent.len() == COMMANDS_OPEN_MAX => Failure::Busy,
            None => {
                let by = sent.by;
                kept.sent.push(sent);
                self.count.store(kept.sent.len(), Ordering::Release);
                let sooner = by < kept.look_at;
                kept.look_at = kept.look_at.min(by);
                return Ok(sooner.then_some(by));
            }
        };
        drop(kept);
        sent.sender.send(Err(failure));
        Err(())
    }

    /// The switch said something with one of our transaction ids; `more` where another part of it
    /// follows. It is kept as far as there is room on the account of the switch. Returns whether a
    /// command is meant.
    pub(crate) fn hear(&self, raw: &Raw<'_>, more: bool, account: &Account) -> bool {
        let mut kept = self.lock();
        let Kept { sent, held, .. } = &mut *kept;
        let meant = sent.iter().enumerate();
        let mut meant = meant.filter_map(|(at, sent)| Some((at, sent.xids.place(raw.header.xid)?)));
        let Some((at, place)) = meant.next() else { return false };
        match sent[at].slots.get_mut(place as usize) {
            // A switch that knows no barriers is as ready as it will ever be.
            None => sent[at].reached = true,
            Some(slot) => {
                let held = held.get_or_insert_with(|| account.hold());
                let before = slot.len();
                let fits = held.more(raw.bytes.len());
                slot.hear(raw, more, fits);
                let taken = before + if fits { raw.bytes.len() } else { 0 };
                held.less(taken.saturating_sub(slot.len()));
            }
        }
        if sent[at].is_answered() {
            let SentCommand { sender, slots, .. } = self.take(&mut kept, at);
            drop(kept);
            sender.send(Ok(slots));
        }
        true
    }

    /// The time `at` has come, which [`OpenCommands::enter`] or this said last: those that are too
    /// late are told so. Returns when to look next.
    pub(crate) fn expire(&self, at: Time) -> Option<Time> {
        let mut kept = self.lock();
        if kept.look_at != at {
            // Somebody else looks, and sooner.
            return None;
        }
        let mut late = Vec::new();
        while let Some(place) = kept.sent.iter().position(|sent| sent.by <= at) {
            late.push(self.take(&mut kept, place));
        }
        kept.look_at = kept.sent.iter().map(|sent| sent.by).min().unwrap_or(Time::NEVER);
        let next = kept.look_at;
        drop(kept);
        late.into_iter().for_each(|sent| sent.sender.send(Err(Failure::TooLate)));
        (next != Time::NEVER).then_some(next)
    }

    /// The connection ended.
    pub(crate) fn close(&self, why: &Close) {
        let mut kept = self.lock();
        kept.closed.get_or_insert_with(|| why.clone());
        let sent = mem::take(&mut kept.sent);
        kept.held = None;
        self.count.store(0, Ordering::Release);
        drop(kept);
        sent.into_iter().for_each(|sent| {
            sent.sender.send(Err(Failure::Disconnected(why.clone())));
        });
    }

    fn take(&self, kept: &mut Kept, at: usize) -> SentCommand {
        let sent = kept.sent.swap_remove(at);
        if let Some(held) = &mut kept.held {
            held.less(sent.slots.iter().map(ReplySlot::len).sum());
        }
        if kept.sent.is_empty() {
            // Thousands of switches are asked nothing most of the time.
            (kept.sent, kept.held) = (Vec::new(), None);
        }
        self.count.store(kept.sent.len(), Ordering::Release);
        sent
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing between lock and unlock panics half-way through a change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
