//! What a recording holds: what came from switches and went to them, and when, in the order in
//! which the workers of the controller saw it.

use std::net::SocketAddr;

/// Names a connection within a recording.
pub type ConnKey = u64;

/// Both ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoints {
    /// The switch's.
    pub peer: SocketAddr,
    /// The controller's.
    pub local: SocketAddr,
}

/// An event, with its time and its worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedEvent<'b> {
    /// Nanoseconds since the controller's start.
    pub at_ns: u64,
    /// The worker that saw it, from 0; the publisher comes behind the last one.
    pub worker: u16,
    /// What happened.
    pub event: RecordedEvent<'b>,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordedEvent<'b> {
    /// A switch connected.
    Opened {
        /// The connection.
        conn: ConnKey,
        /// Its ends.
        ends: Endpoints,
    },
    /// A switch was connected already when the recording began.
    Known {
        /// The connection.
        conn: ConnKey,
        /// Its ends.
        ends: Endpoints,
        /// Its datapath id.
        dpid: u64,
    },
    /// Whole messages that a worker took from a connection in one visit.
    Read {
        /// The connection.
        conn: ConnKey,
        /// The messages. A long visit is in several pieces.
        bytes: &'b [u8],
        /// Whether the next piece belongs to the same visit.
        more: bool,
    },
    /// Messages that were given to a connection at once.
    Written {
        /// The connection.
        conn: ConnKey,
        /// The messages, as with [`RecordedEvent::Read`].
        bytes: &'b [u8],
        /// Whether the next piece was given together with this one.
        more: bool,
        /// Whether they are a command from outside, and no answer of the applications.
        outside: bool,
    },
    /// A connection ended.
    Closed {
        /// The connection.
        conn: ConnKey,
    },
    /// Something is missing here.
    Gap {
        /// Visits and writes that are missing.
        events: u64,
        /// Bytes that are missing.
        bytes: u64,
    },
    /// The publisher made a step.
    Published {
        /// When the step began, in nanoseconds since the controller's start.
        began_ns: u64,
        /// The version of the World behind it.
        version: u64,
        /// Which reports it took, in the controller's own form.
        taken: &'b [u8],
    },
    /// What a worker did between visits, for programs that play it back.
    Marked(Mark),
}

/// What a worker did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The applications ran over the batch gathered before.
    Batch {
        /// When they began, in nanoseconds since the controller's start.
        ran_ns: u64,
    },
    /// The worker runs applications from here on, or changes which switches they find, before a
    /// batch or between two.
    Apps {
        /// Since when, in nanoseconds since the controller's start.
        ran_ns: u64,
        /// Whether no other worker runs applications until this one's output is sent.
        alone: bool,
    },
    /// From here on the worker reads this version of the World.
    Entered {
        /// The version.
        version: u64,
    },
    /// The applications were told of something at a switch that it did not say just now.
    Told {
        /// The switch's connection.
        conn: ConnKey,
        /// Whether it is that a second passed; else it is a reply that another worker read.
        second: bool,
    },
    /// Timers of the applications fired.
    Ticked,
    /// Another thread roused the applications.
    Roused,
    /// The applications acted on a change of the World.
    Acted {
        /// The version before.
        before: u64,
        /// The version behind.
        after: u64,
    },
    /// The worker took another line-up of the applications.
    LineUp {
        /// Its version.
        version: u64,
    },
    /// So many requests were shed in the visit before.
    Shed {
        /// How many.
        requests: u64,
    },
}
