//! Commands from outside: what people and scripts have a switch do, and the one answer to each.
//!
//! ```text
//!   any thread              the switch's home worker                  whoever serves the switch
//!   encode ──▶ its inbox ──▶ ids, barrier, room ──▶ the switch ──▶ errors, replies, barrier ──▶ answer
//!      └ not connected, busy     └ busy, too late                   gone, or the deadline ──▶ answer
//! ```
//!
//! A command passes the applications by. Each of its messages has a transaction id of its own and a barrier follows the last,
//! so that the answer says of each what became of it. The worker copies bytes and no more: messages are encoded, and
//! replies decoded, by whoever asks. What a worker spends on commands is an eighth of its time.

pub(crate) mod allowance;
mod answer;
pub(crate) mod open;

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use aldis_control::bounds::{COMMAND_BYTES_MAX, COMMAND_MESSAGES_MAX};
use aldis_control::command::Failure;
use aldis_control::session::Close;
use aldis_control::{Switch, Time};
use aldis_wire::msg::Message;
use aldis_wire::{DatapathId, Version};

use crate::clock::Clock;
use crate::conn::Conn;
use crate::hall::Hall;
use crate::net::epoll::{Epoll, Stream};
pub use answer::Answer;
use answer::Asker;
use open::Slot;

/// Takes commands for switches, from any thread.
#[derive(Clone, Debug)]
pub struct Commander {
    hall: Arc<Hall<Epoll>>,
    clock: Clock,
}

/// A command on its way to the home worker of its switch.
#[derive(Debug)]
pub(crate) struct Order<S> {
    pub(crate) conn: Arc<Conn<S>>,
    /// The messages and the barrier, whose transaction ids are still to be filled in.
    pub(crate) bytes: Vec<u8>,
    /// One for each message but the barrier.
    pub(crate) slots: Vec<Slot>,
    pub(crate) by: Time,
    pub(crate) asker: Asker,
}

impl Commander {
    pub(crate) fn new(hall: Arc<Hall<Epoll>>, clock: Clock) -> Self {
        Commander { hall, clock }
    }

    /// What the handshake found out about a switch, if it is connected.
    pub fn switch(&self, name: DatapathId) -> Option<Arc<Switch>> {
        self.hall.roster.find(name).and_then(|conn| conn.main_of().cloned())
    }

    /// Says whether these messages could be sent as one command, and sends nothing.
    ///
    /// # Errors
    /// [`Failure::NotConnected`], [`Failure::Unsayable`] or [`Failure::TooLong`].
    pub fn check(&self, to: DatapathId, messages: &[Message]) -> Result<(), Failure> {
        let switch = self.switch(to).ok_or(Failure::NotConnected)?;
        encode(messages, switch.info.version).map(drop)
    }

    /// Has a switch do this, and finish it: a barrier follows by itself. The messages are those that a controller may send,
    /// HELLO excepted, and take effect in their order, unless the switch refuses one; the others do all the same. The answer comes `within`
    /// this time; it is there already where nothing is sent.
    pub fn command(&self, to: DatapathId, messages: &[Message], within: Duration) -> Answer {
        let Some(conn) = self.hall.roster.find(to) else {
            return Answer::failed(Failure::NotConnected);
        };
        let Some(version) = conn.main_of().map(|switch| switch.info.version) else {
            return Answer::failed(Failure::NotConnected);
        };
        let bytes = match encode(messages, version) {
            Ok(bytes) => bytes,
            Err(failure) => return Answer::failed(failure),
        };
        let (asker, answer) = answer::ask(to, version);
        let slots = messages.iter().map(|message| Slot::new(awaits_reply(message))).collect();
        let by = self.clock.now() + within;
        self.post(Box::new(Order { conn, bytes, slots, by, asker }));
        answer
    }

    fn post(&self, order: Box<Order<Stream>>) {
        let inbox = &self.hall.inboxes[order.conn.home()];
        if let Err(order) = inbox.order(order) {
            return order.asker.tell(Err(Failure::Busy));
        }
        // Either who closes sees the order, or it is seen here that it is closed.
        fence(Ordering::SeqCst);
        if self.hall.is_closed() {
            inbox.refuse_orders(&Close::Stopping);
        }
    }
}

/// The messages and a barrier behind them.
fn encode(messages: &[Message], version: Version) -> Result<Vec<u8>, Failure> {
    if messages.len() > COMMAND_MESSAGES_MAX {
        return Err(Failure::TooLong);
    }
    let mut bytes = Vec::new();
    for (place, message) in messages.iter().chain([&Message::BarrierRequest]).enumerate() {
        let encoded = message.encode(version, 0, &mut bytes);
        encoded.map_err(|why| Failure::Unsayable { place, why })?;
    }
    if bytes.len() > COMMAND_BYTES_MAX { Err(Failure::TooLong) } else { Ok(bytes) }
}

/// Whether the switch says something to this where all is well.
fn awaits_reply(message: &Message) -> bool {
    matches!(
        message,
        Message::StatsRequest(_)
            | Message::GetConfigRequest
            | Message::QueueGetConfigRequest(_)
            | Message::RoleRequest(_)
            | Message::GetAsyncRequest
            | Message::FeaturesRequest
            | Message::EchoRequest(_)
            | Message::BarrierRequest
    )
}
