//! Open commands: those that a switch has not answered yet, one list for each connection.
//!
//! The worker that sends a command adds it here. The claimant of the switch's connection adds the
//! replies. The last reply, the deadline or the end of the connection removes it, whichever comes
//! first. One lock puts these in order, so each command is answered once. The lock is taken for
//! commands only.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aldis_control::account::Held;
use aldis_control::command::Failure;
use aldis_control::output::Xids;
use aldis_control::session::Close;
use aldis_control::{Account, Time};
use aldis_wire::Raw;

use crate::command::answer::AnswerSender;
use crate::command::reply_slot::ReplySlot;
use crate::limits::COMMANDS_OPEN_MAX;

/// A command that was sent.
#[derive(Debug)]
pub(crate) struct SentCommand {
    /// The transaction ids of its messages and, last, of the barrier.
    pub(crate) xids: Xids,
    /// The deadline of its answer.
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
    /// The length of the list, read without the lock.
    count: AtomicUsize,
    list: Mutex<List>,
}

#[derive(Debug)]
struct List {
    sent: Vec<SentCommand>,
    /// Their replies, on the memory account of the switch.
    held: Option<Held>,
    /// When a worker looks next for commands that are too late; never where none does.
    look_at: Time,
    /// Why no more commands are taken.
    closed: Option<Close>,
}

impl Default for List {
    fn default() -> Self {
        List { sent: Vec::new(), held: None, look_at: Time::NEVER, closed: None }
    }
}

impl List {
    /// A worker looks no later than the earliest deadline, and a closed list is empty.
    fn check(&self) {
        debug_assert!(self.sent.len() <= COMMANDS_OPEN_MAX);
        debug_assert!(self.sent.iter().all(|sent| self.look_at <= sent.by));
        debug_assert!(self.sent.iter().all(|sent| !sent.is_answered()));
        debug_assert!(self.closed.is_none() || self.sent.is_empty());
    }
}

impl OpenCommands {
    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Adds a command that is about to be sent. Returns when the caller has to call
    /// [`OpenCommands::expire`]; none where another worker does so early enough.
    ///
    /// # Errors
    /// Nothing is to be sent, and the command was answered.
    pub(crate) fn enter(&self, sent: SentCommand) -> Result<Option<Time>, ()> {
        let mut list = self.lock();
        let failure = match &list.closed {
            Some(why) => Failure::Disconnected(why.clone()),
            None if list.sent.len() == COMMANDS_OPEN_MAX => Failure::Busy,
            None => {
                let by = sent.by;
                list.sent.push(sent);
                self.count.store(list.sent.len(), Ordering::Release);
                let sooner = by < list.look_at;
                list.look_at = list.look_at.min(by);
                list.check();
                return Ok(sooner.then_some(by));
            }
        };
        drop(list);
        sent.sender.send(Err(failure));
        Err(())
    }

    /// The switch sent a message with one of our transaction ids; `more` where another part of it
    /// follows. It is kept as far as there is room on the account of the switch. Returns whether it
    /// belongs to a command.
    pub(crate) fn receive(&self, raw: &Raw<'_>, more: bool, account: &Account) -> bool {
        let mut list = self.lock();
        let List { sent, held, .. } = &mut *list;
        let meant = sent.iter().enumerate();
        let mut meant = meant.filter_map(|(at, sent)| Some((at, sent.xids.place(raw.header.xid)?)));
        let Some((at, place)) = meant.next() else { return false };
        match sent[at].slots.get_mut(place as usize) {
            // An error to the barrier too: a switch without barriers will never be more ready.
            None => sent[at].reached = true,
            Some(slot) => {
                let held = held.get_or_insert_with(|| account.hold());
                let before = slot.len();
                let fits = held.more(raw.bytes.len());
                slot.receive(raw, more, fits);
                let taken = before + if fits { raw.bytes.len() } else { 0 };
                held.less(taken.saturating_sub(slot.len()));
            }
        }
        if sent[at].is_answered() {
            let SentCommand { sender, slots, .. } = self.take(&mut list, at);
            list.check();
            drop(list);
            sender.send(Ok(slots));
        }
        true
    }

    /// The time `at` has come, which [`OpenCommands::enter`] or this returned last. Commands that
    /// are too late are answered so. Returns when to look next.
    pub(crate) fn expire(&self, at: Time) -> Option<Time> {
        let mut list = self.lock();
        if list.look_at != at {
            // Another worker looks, and sooner.
            return None;
        }
        let mut late = Vec::new();
        while let Some(place) = list.sent.iter().position(|sent| sent.by <= at) {
            late.push(self.take(&mut list, place));
        }
        list.look_at = list.sent.iter().map(|sent| sent.by).min().unwrap_or(Time::NEVER);
        let next = list.look_at;
        list.check();
        drop(list);
        late.into_iter().for_each(|sent| sent.sender.send(Err(Failure::TooLate)));
        (next != Time::NEVER).then_some(next)
    }

    /// The connection ended.
    pub(crate) fn close(&self, why: &Close) {
        let mut list = self.lock();
        list.closed.get_or_insert_with(|| why.clone());
        let sent = mem::take(&mut list.sent);
        list.held = None;
        self.count.store(0, Ordering::Release);
        list.check();
        drop(list);
        sent.into_iter().for_each(|sent| {
            sent.sender.send(Err(Failure::Disconnected(why.clone())));
        });
    }

    fn take(&self, list: &mut List, at: usize) -> SentCommand {
        let sent = list.sent.swap_remove(at);
        if let Some(held) = &mut list.held {
            held.less(sent.slots.iter().map(ReplySlot::len).sum());
        }
        if list.sent.is_empty() {
            // Thousands of switches are asked nothing most of the time.
            (list.sent, list.held) = (Vec::new(), None);
        }
        self.count.store(list.sent.len(), Ordering::Release);
        sent
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        // Nothing between lock and unlock panics half-way through a change.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
