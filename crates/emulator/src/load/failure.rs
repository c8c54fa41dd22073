//! Why a run of load ended without a report, said so that a person knows what to do.

use aldis_wire::{Malformed, Version};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a run could not be finished. Switches are named by their number, which is their datapath id
/// as well.
#[derive(Debug)]
pub enum LoadFailure {
    /// A field of [`super::Load`] is out of its range.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// What it accepts.
        accepted: &'static str,
    },
    /// There are fewer descriptors than switches.
    Descriptors {
        /// Descriptors the run needs.
        needed: u64,
        /// Descriptors the system allows.
        allowed: u64,
    },
    /// A switch could not connect.
    Connect {
        /// The switch.
        switch: u32,
        /// The controller.
        controller: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The connection of a switch broke, or the controller closed it.
    Closed {
        /// The switch.
        switch: u32,
        /// What the switch was doing.
        during: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// The handshake was not over in time.
    Handshake {
        /// The first switch that waits.
        switch: u32,
        /// What it waits for.
        awaits: &'static str,
        /// How long it was given.
        after: Duration,
    },
    /// The controller answered none of the packets that tell where the addresses live.
    Unanswered {
        /// The first switch that gave up.
        switch: u32,
        /// How long it waited.
        after: Duration,
    },
    /// The controller speaks only lower versions.
    Version {
        /// The switch.
        switch: u32,
        /// The version it speaks.
        ours: Version,
        /// The highest the controller speaks, as the byte on the wire.
        theirs: u8,
    },
    /// The controller sent bytes that are no OpenFlow message.
    Garbage {
        /// The switch.
        switch: u32,
        /// What was wrong with them.
        malformed: Malformed,
    },
    /// The controller answered with an OpenFlow error.
    Refused {
        /// The switch.
        switch: u32,
        /// The error's type and code by name.
        error: String,
    },
    /// It was told to end.
    Stopped,
    /// The other parts of the run could not be waited for.
    Parts(String),
    /// The system refused something that is no switch's fault.
    System(io::Error),
}

impl fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadFailure::OutOfRange { field, accepted } => write!(f, "{field} must be {accepted}"),
            LoadFailure::Descriptors { needed, allowed } => write!(
                f,
                "{needed} file descriptors are needed and the system allows {allowed}; raise the limit with ulimit -n \
                 or take fewer switches"
            ),
            LoadFailure::Connect { switch, controller, error } => write!(
                f,
                "switch {switch} could not connect to {controller}: {error}; is a controller listening there?"
            ),
            LoadFailure::Closed { switch, during, error } => match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    write!(
                        f,
                        "the controller closed the connection of switch {switch} during {during}"
                    )
                }
                _ => write!(f, "the connection of switch {switch} broke during {during}: {error}"),
            },
            LoadFailure::Handshake { switch, awaits, after } => write!(
                f,
                "switch {switch} still waits for {awaits} after {} ms; does the controller speak OpenFlow?",
                after.as_millis()
            ),
            LoadFailure::Unanswered { switch, after } => write!(
                f,
                "the controller answered none of the ARP packets that tell where the addresses of switch {switch} live, \
                 for {} ms; is a switch application running in it?",
                after.as_millis()
            ),
            LoadFailure::Version { switch, ours, theirs } => write!(
                f,
                "switch {switch} speaks {ours} and the controller at most version byte {theirs:#04x}; choose a lower one"
            ),
            LoadFailure::Garbage { switch, malformed } => {
                write!(
                    f,
                    "the controller sent switch {switch} bytes that are no OpenFlow message: {malformed}"
                )
            }
            LoadFailure::Refused { switch, error } => {
                write!(f, "the controller answered switch {switch} with an OpenFlow error: {error}")
            }
            LoadFailure::Stopped => f.write_str("it was told to stop"),
            LoadFailure::Parts(what) => f.write_str(what),
            LoadFailure::System(error) => write!(f, "the system refused: {error}"),
        }
    }
}

impl std::error::Error for LoadFailure {}

impl From<io::Error> for LoadFailure {
    fn from(error: io::Error) -> Self {
        LoadFailure::System(error)
    }
}
