//! What happens, and what is known where it happens.

use alloc::boxed::Box;
use core::time::Duration;

use aldis_wire::msg;

use super::{EventKind, Slot};
use crate::account::Account;
use crate::session::SwitchError;
use crate::switch::SwitchInfo;
use crate::time::Time;
use crate::world::View;

/// What happens at a switch, other than flow requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// It joins, and no other worker has seen it. What is written now is sent to it first.
    Joining,
    /// It joined and can be programmed.
    Up,
    /// It is gone; nothing can be sent to it any more.
    Down,
    /// A port came, went or changed.
    Port(msg::PortChange),
    /// It removed a flow.
    FlowRemoved(Box<msg::FlowRemoved>),
    /// It refused something, or complains. Where the transaction id is one of
    /// [`crate::output::Commands::xid`], the worker is the one that took that.
    Error(Box<SwitchError>),
    /// It replied to a message with a transaction id of [`crate::output::Commands::xid`], on the
    /// worker that took that. A reply in parts comes part by part.
    Reply {
        /// The transaction id.
        xid: u32,
        /// The reply.
        message: Box<msg::Message>,
    },
    /// It sent a message that answers none of the controller's: an experimenter message; or a reply
    /// about statistics, queues, its role, its configuration or which messages it sends
    /// (asynchronous configuration) to a transaction id that was not taken. For example, some
    /// switches send counters every few seconds, and a role reply when another controller takes
    /// over. Each comes as it was sent: of statistics in parts, part by part.
    Unsolicited {
        /// The transaction id, as the switch chose it.
        xid: u32,
        /// The message.
        message: Box<msg::Message>,
    },
    /// A second passed. Comes about once a second for each connected switch.
    Second,
}

impl Event {
    /// Its kind.
    pub fn kind(&self) -> EventKind {
        match self {
            Event::Joining => EventKind::Joining,
            Event::Up => EventKind::Up,
            Event::Down => EventKind::Down,
            Event::Port(_) => EventKind::PortChange,
            Event::FlowRemoved(_) => EventKind::FlowRemoved,
            Event::Error(_) => EventKind::Error,
            Event::Reply { .. } => EventKind::Reply,
            Event::Unsolicited { .. } => EventKind::Unsolicited,
            Event::Second => EventKind::Second,
        }
    }
}

/// Whether the applications that come later see the event too (Beacon's `CONTINUE` and `STOP`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// They do.
    Continue,
    /// They do not.
    Stop,
}

/// Where and when an event happened.
#[derive(Debug)]
pub struct EventCtx<'e, S: Slot> {
    /// When.
    pub now: Time,
    /// At which switch.
    pub switch: &'e SwitchInfo,
    /// What is kept because of it: what an application keeps of what the switch says is held on
    /// this account.
    pub account: &'e Account,
    /// What the application keeps there.
    pub slot: S::Ref<'e>,
    /// The World.
    pub world: View<'e>,
}

/// When something happened that is no switch's.
#[derive(Clone, Copy, Debug)]
pub struct TickCtx<'m> {
    /// When.
    pub now: Time,
    /// The World.
    pub world: View<'m>,
}

/// How often an application's timer fires, and where. Intervals below [`crate::limits::TIMER_MIN`]
/// count as that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timer {
    /// Never.
    Never,
    /// On one worker, always the same: for what is done once for the network.
    OnOne(Duration),
    /// On each worker: for what an instance keeps for itself.
    OnEach(Duration),
}

impl Timer {
    /// The interval on a worker.
    pub(crate) fn interval(self, worker: usize) -> Option<Duration> {
        match self {
            Timer::OnEach(interval) => Some(interval),
            Timer::OnOne(interval) if worker == 0 => Some(interval),
            Timer::OnOne(_) | Timer::Never => None,
        }
    }
}
