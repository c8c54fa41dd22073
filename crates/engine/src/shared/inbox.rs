//! The inbox of a worker: messages from other threads, and commands from outside.

use std::sync::atomic::{AtomicBool, Ordering};

use aldis_control::GrowingQueue;
use aldis_control::command::Failure;
use aldis_control::session::Close;

use crate::limits::{COMMANDS_QUEUED_MAX, INBOX_MAX};
use crate::messages::{QueuedCommand, WorkerMessage};
use crate::net::{Bell, Net};

/// A worker's bounded inbox. Any thread may post.
#[derive(Debug)]
pub(crate) struct Inbox<N: Net> {
    notes: GrowingQueue<WorkerMessage<N::Socket>>,
    /// Commands from outside have a queue of their own: a full one delays no message.
    commands: GrowingQueue<Box<QueuedCommand<N::Socket>>>,
    /// Whether another thread has something for the applications.
    roused: AtomicBool,
    bell: N::Bell,
}

impl<N: Net> Inbox<N> {
    pub(crate) fn new(bell: N::Bell) -> Self {
        Inbox {
            notes: GrowingQueue::new(INBOX_MAX),
            commands: GrowingQueue::new(COMMANDS_QUEUED_MAX),
            roused: AtomicBool::new(false),
            bell,
        }
    }

    /// Posts a message and wakes the worker; gives the message back when the inbox is full.
    pub(crate) fn post(
        &self,
        note: WorkerMessage<N::Socket>,
    ) -> Result<(), WorkerMessage<N::Socket>> {
        let posted = self.notes.push(note);
        self.bell.ring();
        posted
    }

    /// Hands a command to the worker and wakes it; gives it back where too many wait.
    pub(crate) fn push_command(
        &self,
        command: Box<QueuedCommand<N::Socket>>,
    ) -> Result<(), Box<QueuedCommand<N::Socket>>> {
        self.commands.push(command)?;
        self.bell.ring();
        Ok(())
    }

    /// Has the worker rouse its applications, and wakes it.
    pub(crate) fn rouse(&self) {
        if !self.roused.swap(true, Ordering::AcqRel) {
            self.bell.ring();
        }
    }

    /// Whether the applications are to be roused, since this was last asked.
    #[inline]
    pub(crate) fn take_roused(&self) -> bool {
        // A store only where there is something to take: the line stays with all workers.
        self.roused.load(Ordering::Relaxed) && self.roused.swap(false, Ordering::AcqRel)
    }

    /// What wakes the worker.
    pub(crate) fn bell(&self) -> &N::Bell {
        &self.bell
    }

    /// Wakes the worker without a message.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    pub(crate) fn take(&self) -> Option<WorkerMessage<N::Socket>> {
        self.notes.pop()
    }

    pub(crate) fn take_command(&self) -> Option<Box<QueuedCommand<N::Socket>>> {
        self.commands.pop()
    }

    /// Whether commands wait.
    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Answers all commands that wait: their switches are out of reach.
    pub(crate) fn refuse_commands(&self, why: &Close) {
        while let Some(command) = self.take_command() {
            command.sender.send(Err(Failure::Disconnected(why.clone())));
        }
    }
}
