//! Every message from one thread to another.
//!
//! | message | from | to | way |
//! | --- | --- | --- | --- |
//! | [`WorkerMessage`] | acceptor, publisher, another worker | a worker | its inbox, bounded |
//! | [`QueuedCommand`] | any thread, by `Handle::command` | a worker | its inbox, a queue apart |
//! | `rouse` | any thread, by `Handle::rouse` | the applications of a worker | a flag in its inbox |
//! | the same | a descriptor, by `Handle::rouse_when_readable` | the same | the worker's poll |
//! | [`Signal`] | any worker | the next claimant of a connection | a list in the connection |
//! | `Events` | the home, any worker | the next claimant | the claim's word (`conn/claim.rs`) |
//! | a batch | a worker that reads | a worker that answers | `read/shared_queue/queue.rs` |
//! | the World | the publisher | all workers | `shared/world.rs` |
//! | reports, `unpark` | workers, `Handle::report` | the publisher | queues of the World's parts |
//! | `Answer` | the claimant that gets the last reply | the calling thread | `command/answer.rs` |
//!
//! For example, a second connection that claims a known datapath id makes its claimant send
//! [`Signal::Probe`] to the first one. The claimant of the first asks the switch whether it is
//! there.

use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::session::{Close, Refusal};
use aldis_control::{Event, Time, World};

use crate::command::answer::AnswerSender;
use crate::command::reply_slot::ReplySlot;
use crate::conn::{Conn, Member};

/// A message to a worker.
#[derive(Debug)]
pub(crate) enum WorkerMessage<S> {
    /// An accepted connection, whose home the worker becomes.
    Adopt(S, SocketAddr),
    /// A connection of this home was queued by another worker.
    Ready(Arc<Conn<S>>),
    /// A connection of this home needs a timer that fires sooner.
    Arm(Arc<Conn<S>>),
    /// A connection of this home has ended.
    Forget(Arc<Conn<S>>),
    /// A connection moves here from another home. Its claim comes with it.
    Take(Arc<Conn<S>>),
    /// A reply to a request of an application on this worker. Boxed: the inbox has room for 16,384
    /// of the longest message.
    Heard(Arc<Conn<S>>, Box<Event>),
    /// A second passed at a switch of this home. It is a message where the switch was locked.
    Second(Arc<Conn<S>>),
    /// A new World is published, and no worker reads an older one any more.
    Published {
        /// The World of the last such message.
        before: Arc<World>,
        /// The World now, or one that has been replaced since.
        after: Arc<World>,
    },
}

/// A command on its way to the home worker of its switch.
#[derive(Debug)]
pub(crate) struct QueuedCommand<S> {
    pub(crate) conn: Arc<Conn<S>>,
    /// The messages and the barrier. The worker fills in their transaction ids.
    pub(crate) bytes: Vec<u8>,
    /// One for each message but the barrier.
    pub(crate) slots: Vec<ReplySlot>,
    /// The deadline of the answer.
    pub(crate) by: Time,
    pub(crate) sender: AnswerSender,
}

/// A message to the next claimant of a connection.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Another connection claims the same switch: probe whether this one is alive.
    Probe,
    /// The switch is free: continue as its main connection.
    AdmitMain,
    /// The main connection is known: continue as an auxiliary one.
    AdmitAuxiliary(Member),
    /// No application holds the switch back any more: serve it.
    Released,
    /// The switch lock is free: try again.
    SwitchUnlocked,
    /// The connection is refused.
    Refuse(Refusal),
    /// The connection has to end.
    Close(Close),
    /// The connection moves to the home of this worker.
    Move(usize),
}
