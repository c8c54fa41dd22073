//! The kinds of events, each with its own ordered pipeline of applications.

use core::fmt;
use core::str::FromStr;

use alloc::string::String;

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum EventKind {
    /// A switch joins: the initialisers run, before any other event of the switch.
    Joining,
    /// A switch joined and can be programmed.
    Up,
    /// A switch is gone.
    Down,
    /// A port of a switch came, went or changed.
    PortChange,
    /// Flow requests: PACKET_INs that are independent of each other.
    FlowRequest,
    /// A PACKET_IN with LLDP or BDDP, which is about links: a fence, and so a batch of one.
    Lldp,
    /// A switch removed a flow that was to be told about.
    FlowRemoved,
    /// A switch refused something, or complains.
    Error,
    /// A switch replied to a message with a transaction id of [`crate::output::Commands::xid`].
    Reply,
    /// A switch sent a message that answers none of the controller's: an experimenter message, or a
    /// reply that was not asked for.
    Unsolicited,
    /// A second passed at a switch.
    Second,
    /// The application's own timer ([`crate::App::timer`]).
    Timer,
    /// A part of the World that the application reads has changed, and no worker reads the old one
    /// any more.
    Publication,
}

impl EventKind {
    /// All of them.
    pub const ALL: [EventKind; 13] = [
        EventKind::Joining,
        EventKind::Up,
        EventKind::Down,
        EventKind::PortChange,
        EventKind::FlowRequest,
        EventKind::Lldp,
        EventKind::FlowRemoved,
        EventKind::Error,
        EventKind::Reply,
        EventKind::Unsolicited,
        EventKind::Second,
        EventKind::Timer,
        EventKind::Publication,
    ];

    /// The name by which it is configured and shown.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Joining => "joining",
            EventKind::Up => "up",
            EventKind::Down => "down",
            EventKind::PortChange => "port-change",
            EventKind::FlowRequest => "flow-request",
            EventKind::Lldp => "lldp",
            EventKind::FlowRemoved => "flow-removed",
            EventKind::Error => "error",
            EventKind::Reply => "reply",
            EventKind::Unsolicited => "unsolicited",
            EventKind::Second => "second",
            EventKind::Timer => "timer",
            EventKind::Publication => "publication",
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No event has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownEvent(pub String);

impl fmt::Display for UnknownEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = EventKind::ALL.map(EventKind::name).join(", ");
        write!(f, "there is no event \"{}\"; the events are: {names}", self.0)
    }
}

impl core::error::Error for UnknownEvent {}

impl FromStr for EventKind {
    type Err = UnknownEvent;

    fn from_str(name: &str) -> Result<EventKind, UnknownEvent> {
        let known = EventKind::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownEvent(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_event_has_its_place_and_is_found_by_its_name() {
        for (place, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, kind.name().parse()), (place, Ok(kind)));
        }
        let error = "packet-in".parse::<EventKind>().unwrap_err().to_string();
        assert!(error.contains("packet-in") && error.contains("flow-request"), "{error}");
    }
}
