//! Controller events: what happened, for the log and for the followers of events over HTTP.
//!
//! They leave the workers through an [`EventSink`], which never waits: a slow log cannot slow a
//! switch down. What applications handle is another type, [`crate::Event`].

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::net::SocketAddr;

use aldis_wire::msg::{PortChange, PortChangeReason};
use aldis_wire::{DatapathId, MacAddr, Version};

use crate::session::{Close, SwitchError};
use crate::switch_port::SwitchPort;

/// Something that happened in the controller. As text, it is a sentence for the operator.
#[derive(Clone, Debug)]
pub enum ControllerEvent {
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
    /// An application failed ([`crate::Commands::failed`]).
    Failed {
        /// What happened to it and what follows, in a sentence that begins with its name.
        words: String,
    },
    /// An application tells the operator something ([`crate::Commands::warn`],
    /// [`crate::Commands::info`]).
    Noted {
        /// Its sentence, which begins with its name.
        words: String,
        /// Whether it is a warning.
        warns: bool,
    },
    /// An application found out that the network is another ([`crate::Commands::found`]).
    Found {
        /// The application's name.
        by: &'static str,
        /// What it found.
        found: Found,
    },
    /// Of what applications found out, so much was not told: there was too much at once
    /// ([`crate::Commands::not_told`]).
    NotTold {
        /// How many of [`ControllerEvent::Found`].
        count: u64,
    },
    /// A guest, another controller to which switches are presented, does something else than
    /// before.
    Guest {
        /// Its name.
        name: String,
        /// What it does now, in a word.
        state: &'static str,
        /// Why, where there is more to say.
        reason: Option<String>,
    },
    /// A new connection was turned away, for there is no room for another.
    NoRoom {
        /// Where it came from.
        peer: SocketAddr,
        /// How many connections there are.
        connections: usize,
    },
}

impl fmt::Display for ControllerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerEvent::NeverJoined { peer, why } => {
                write!(f, "a connection from {peer} did not become a switch: {why}")
            }
            ControllerEvent::Up { dpid, peer, version, ports, auxiliary: false } => {
                write!(f, "switch {dpid} is up: {version}, {ports} ports, from {peer}")
            }
            ControllerEvent::Up { dpid, peer, auxiliary: true, .. } => {
                write!(f, "switch {dpid} has another, auxiliary connection from {peer}")
            }
            ControllerEvent::Down { dpid, peer, why: why @ Close::Refused(_), .. } => {
                write!(f, "a connection from {peer} as switch {dpid} was turned away: {why}")
            }
            ControllerEvent::Down { dpid, peer, why, main: true } => {
                write!(f, "switch {dpid} at {peer} is gone: {why}")
            }
            ControllerEvent::Down { dpid, peer, why, main: false } => {
                write!(f, "a connection of switch {dpid} at {peer} is gone: {why}")
            }
            ControllerEvent::Port { dpid, change } => {
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
            ControllerEvent::Refused { error, .. } => write!(f, "{error}"),
            ControllerEvent::Failed { words } | ControllerEvent::Noted { words, .. } => {
                f.write_str(words)
            }
            ControllerEvent::Found { by, found } => write!(f, "{by}: {found}"),
            ControllerEvent::NotTold { count } => {
                write!(
                    f,
                    "{count} changes of hosts and links are not told: there were too many at once"
                )
            }
            ControllerEvent::Guest { name, state, reason: None } => {
                write!(f, "the guest {name} is {state}")
            }
            ControllerEvent::Guest { name, state, reason: Some(why) } => {
                write!(f, "the guest {name} is {state}: {why}")
            }
            ControllerEvent::NoRoom { peer, connections } => {
                write!(f, "turned a connection from {peer} away: there are {connections} already")
            }
        }
    }
}

/// What an application finds out about the network. As text, it is the rest of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Something about a host.
    Host {
        /// Its address.
        mac: MacAddr,
        /// The VLAN that it was seen in; 0 where frames carry none.
        vlan: u16,
        /// Where it is, or was last.
        at: SwitchPort,
        /// What.
        now: HostNow,
    },
    /// Something about a link between two switches.
    Link {
        /// Its ends, the lower one first.
        ends: [SwitchPort; 2],
        /// What.
        now: LinkNow,
    },
}

/// What is new about a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostNow {
    /// It was seen for the first time, or the first time since it was forgotten.
    Seen,
    /// It was elsewhere before.
    Moved {
        /// Where it was before.
        from: SwitchPort,
    },
    /// It is forgotten.
    Gone {
        /// Why, as the end of a sentence.
        why: &'static str,
    },
}

/// What is new about a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkNow {
    /// It carries traffic.
    Up,
    /// Probes come through one way only: it carries no traffic.
    OneWay,
    /// It may be two hosts that hand probes on: it carries no traffic.
    Unproven,
    /// It is there no more.
    Gone,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Found::Host { mac, vlan, at, now } => {
                write!(f, "{mac} vlan {vlan} ")?;
                match now {
                    HostNow::Seen => write!(f, "is at {}", at),
                    HostNow::Moved { from } => {
                        write!(f, "moved from {} to {}", from, at)
                    }
                    HostNow::Gone { why } => write!(f, "at {} is forgotten: {why}", at),
                }
            }
            Found::Link { ends: [a, b], now } => {
                write!(f, "the link {} - {} ", a, b)?;
                f.write_str(match now {
                    LinkNow::Up => "is up",
                    LinkNow::OneWay => "works one way only",
                    LinkNow::Unproven => {
                        "may be hosts that hand on probes, and has to prove itself"
                    }
                    LinkNow::Gone => "is gone",
                })
            }
        }
    }
}

/// Takes facts from any thread, without ever waiting.
pub trait EventSink: Send + Sync {
    /// `fact` happened. What cannot be kept is dropped and counted by the taker.
    fn emit(&self, event: ControllerEvent);
}
