//! What reaches a worker from other threads: new connections, and what other workers found out.

use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::command::Failure;
use aldis_control::session::Close;
use aldis_control::{Event, World};
use crossbeam_queue::ArrayQueue;

use crate::command::Order;
use crate::conn::Conn;
use crate::limits::{INBOX_MAX, ORDERS_MAX};
use crate::net::{Bell, Net};

/// One thing that a worker is told.
#[derive(Debug)]
pub(crate) enum Note<S> {
    /// A connection was accepted and is yours.
    Adopt(S, SocketAddr),
    /// This connection of yours was queued by another worker.
    Ready(Arc<Conn<S>>),
    /// This connection of yours wants to be looked at sooner than it did.
    Arm(Arc<Conn<S>>),
    /// This connection of yours is gone.
    Forget(Arc<Conn<S>>),
    /// This connection was another worker's and is yours now; you are its claimant.
    Take(Arc<Conn<S>>),
    /// This came for the applications of yours that asked for it.
    Heard(Arc<Conn<S>>, Event),
    /// A second passed at a switch of yours, which somebody was alone with.
    Second(Arc<Conn<S>>),
    /// The World is another one now, and nobody has the old one any more.
    Published {
        /// As it was when this was last told.
        before: Arc<World>,
        /// As it is now, or was a moment ago.
        after: Arc<World>,
    },
}

/// A worker's bounded inbox. Any thread may post.
#[derive(Debug)]
pub(crate) struct Inbox<N: Net> {
    notes: ArrayQueue<Note<N::Socket>>,
    /// Commands from outside, apart from the notes: those that fill it keep nobody else waiting.
    orders: ArrayQueue<Box<Order<N::Socket>>>,
    bell: N::Bell,
}

impl<N: Net> Inbox<N> {
    pub(crate) fn new(bell: N::Bell) -> Self {
        Inbox { notes: ArrayQueue::new(INBOX_MAX), orders: ArrayQueue::new(ORDERS_MAX), bell }
    }

    /// Posts a note and wakes the worker; gives the note back when the inbox is full.
    pub(crate) fn post(&self, note: Note<N::Socket>) -> Result<(), Note<N::Socket>> {
        let posted = self.notes.push(note);
        self.bell.ring();
        posted
    }

    /// Hands a command to the worker and wakes it; gives it back where too many wait.
    pub(crate) fn order(&self, order: Box<Order<N::Socket>>) -> Result<(), Box<Order<N::Socket>>> {
        self.orders.push(order)?;
        self.bell.ring();
        Ok(())
    }

    /// Wakes the worker without a note.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    pub(crate) fn take(&self) -> Option<Note<N::Socket>> {
        self.notes.pop()
    }

    pub(crate) fn take_order(&self) -> Option<Box<Order<N::Socket>>> {
        self.orders.pop()
    }

    /// Whether commands wait.
    pub(crate) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// Answers all commands that wait: their switches are out of reach.
    pub(crate) fn refuse_orders(&self, why: &Close) {
        while let Some(order) = self.take_order() {
            order.asker.tell(Err(Failure::Disconnected(why.clone())));
        }
    }
}
