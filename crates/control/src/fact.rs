//! What happened, for those who watch: logs today, and whatever else serves people.
//!
//! Facts leave the workers through a [`Facts`] that must never wait; nobody on the other side can slow a switch down.

use alloc::boxed::Box;
use alloc::string::String;
use core::net::SocketAddr;

use aldis_wire::{DatapathId, Version};

use crate::session::{Close, SwitchError};

/// Something that happened.
#[derive(Debug)]
pub enum Fact {
    /// A connection ended before it had said which switch it is.
    NeverJoined {
        /// Where it came from.
        peer: SocketAddr,
        /// Why it ended.
        why: Close,
    },
    /// A switch finished its handshake.
    Up {
        /// Its name.
        dpid: DatapathId,
        /// Where it came from.
        peer: SocketAddr,
        /// The version agreed on.
        version: Version,
        /// How many ports it has.
        ports: usize,
        /// Whether this is an auxiliary connection of a switch that is up already.
        auxiliary: bool,
    },
    /// A switch is gone.
    Down {
        /// Its name.
        dpid: DatapathId,
        /// Where it came from.
        peer: SocketAddr,
        /// Why its connection ended.
        why: Close,
    },
    /// A switch refused something.
    Refused {
        /// Its name.
        dpid: DatapathId,
        /// What it refused, and why.
        error: Box<SwitchError>,
    },
    /// An application has something to tell people ([`crate::Far::note`], [`crate::Far::news`]).
    Noted {
        /// Its sentence, which begins with its name.
        words: String,
        /// Whether it is a warning.
        warns: bool,
    },
    /// A new connection was turned away, for there is no room for another.
    NoRoom {
        /// Where it came from.
        peer: SocketAddr,
        /// How many connections there are.
        connections: usize,
    },
}

/// Takes facts from any thread, without ever waiting.
pub trait Facts: Send + Sync {
    /// `fact` happened. What cannot be kept is dropped and counted by the taker.
    fn tell(&self, fact: Fact);
}
