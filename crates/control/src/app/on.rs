//! What applications start on: the kinds of events, each with its own ordered pipeline.

use core::fmt;
use core::str::FromStr;

use alloc::string::String;

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum On {
    /// A switch joins: its initialisers. Nobody sees the switch before they have all run.
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
    /// A switch replied to a message with a transaction id of [`crate::output::Far::xid`].
    Reply,
    /// A second passed at a switch.
    Second,
    /// The application's own timer ([`crate::App::timer`]).
    Timer,
    /// A part of the World that the application reads has changed, and nobody works with the old
    /// one any more.
    Publication,
}

impl On {
    /// All of them.
    pub const ALL: [On; 12] = [
        On::Joining,
        On::Up,
        On::Down,
        On::PortChange,
        On::FlowRequest,
        On::Lldp,
        On::FlowRemoved,
        On::Error,
        On::Reply,
        On::Second,
        On::Timer,
        On::Publication,
    ];

    /// The name by which it is configured and shown.
    pub fn name(self) -> &'static str {
        match self {
            On::Joining => "joining",
            On::Up => "up",
            On::Down => "down",
            On::PortChange => "port-change",
            On::FlowRequest => "flow-request",
            On::Lldp => "lldp",
            On::FlowRemoved => "flow-removed",
            On::Error => "error",
            On::Reply => "reply",
            On::Second => "second",
            On::Timer => "timer",
            On::Publication => "publication",
        }
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No event has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownEvent(pub String);

impl fmt::Display for UnknownEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = On::ALL.map(On::name).join(", ");
        write!(f, "there is no event \"{}\"; the events are: {names}", self.0)
    }
}

impl core::error::Error for UnknownEvent {}

impl FromStr for On {
    type Err = UnknownEvent;

    fn from_str(name: &str) -> Result<On, UnknownEvent> {
        let known = On::ALL.into_iter().find(|on| on.name() == name);
        known.ok_or_else(|| UnknownEvent(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_event_has_its_place_and_is_found_by_its_name() {
        for (place, on) in On::ALL.into_iter().enumerate() {
            assert_eq!((on as usize, on.name().parse()), (place, Ok(on)));
        }
        let error = "packet-in".parse::<On>().unwrap_err().to_string();
        assert!(error.contains("packet-in") && error.contains("flow-request"), "{error}");
    }
}
