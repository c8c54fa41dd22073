//! What happened, for those who watch: logs today, and whatever else serves people.
//!
//! Facts leave the workers through a [`Facts`] that must never wait; nobody on the other side can slow a switch down.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::net::SocketAddr;

use aldis_wire::msg::{PortChange, PortChangeReason};
use aldis_wire::{DatapathId, Version};

use crate::session::{Close, SwitchError};

/// Something that happened. As text, it is a sentence for people.
#[derive(Clone, Debug)]
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
    /// A connection that had said which switch it is ended.
    Down {
        /// Its name.
        dpid: DatapathId,
        /// Where it came from.
        peer: SocketAddr,
        /// Why its connection ended.
        why: Close,
        /// Whether the switch, which was up, is gone with it: it was its main connection.
        main: bool,
    },
    /// A port of a switch came, went or changed.
    Port {
        /// The switch.
        dpid: DatapathId,
        /// What happened to which port.
        change: Box<PortChange>,
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

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::NeverJoined { peer, why } => {
                write!(f, "a connection from {peer} did not become a switch: {why}")
            }
            Fact::Up { dpid, peer, version, ports, auxiliary: false } => {
                write!(f, "switch {dpid} is up: {version}, {ports} ports, from {peer}")
            }
            Fact::Up { dpid, peer, auxiliary: true, .. } => {
                write!(f, "switch {dpid} has another, auxiliary connection from {peer}")
            }
            Fact::Down { dpid, peer, why: why @ Close::Refused(_), .. } => {
                write!(f, "a connection from {peer} as switch {dpid} was turned away: {why}")
            }
            Fact::Down { dpid, peer, why, main: true } => {
                write!(f, "switch {dpid} at {peer} is gone: {why}")
            }
            Fact::Down { dpid, peer, why, main: false } => {
                write!(f, "a connection of switch {dpid} at {peer} is gone: {why}")
            }
            Fact::Port { dpid, change } => {
                let port = &change.port;
                let state = match change.reason {
                    PortChangeReason::Removed => "gone",
                    PortChangeReason::Added if port.is_up() => "new, and up",
                    PortChangeReason::Added => "new, and down",
                    PortChangeReason::Modified if port.is_up() => "up",
                    PortChangeReason::Modified if port.admin_down => "down by configuration",
                    PortChangeReason::Modified => "down: it has no link",
                };
                write!(f, "port {} ({}) of switch {dpid} is {state}", port.number.0, port.name)
            }
            Fact::Refused { error, .. } => write!(f, "{error}"),
            Fact::Noted { words, .. } => f.write_str(words),
            Fact::NoRoom { peer, connections } => {
                write!(f, "turned a connection from {peer} away: there are {connections} already")
            }
        }
    }
}

/// Takes facts from any thread, without ever waiting.
pub trait Facts: Send + Sync {
    /// `fact` happened. What cannot be kept is dropped and counted by the taker.
    fn tell(&self, fact: Fact);
}
