//! A controller with applications of your own.
//!
//! [`Controller`] starts one; [`prelude`] holds what an application is written with. `docs/writing-applications.md` walks
//! from nothing to a working one, and `examples/` holds four.
//!
//! The `aldis` command is a controller with the applications that Aldis brings along; it is another crate of this package.

mod controller;

pub use aldis_apps as apps;
pub use aldis_control as control;
pub use aldis_engine as engine;
pub use aldis_packet as packet;
pub use aldis_wire as wire;

pub use controller::{Controller, Refused, Running};

/// What an application is written with.
pub mod prelude {
    pub use aldis_control::app::{At, Exclusive, Moment, Next, Parallel, Slots, State, Timer};
    pub use aldis_control::switch::Info;
    pub use aldis_control::world::{News, PartId, Publishers, Shards, View};
    pub use aldis_control::{App, Asked, Batch, Cookie, Event, Far, On, Output, Part, Publisher};
    pub use aldis_control::{Request, Time};
    pub use aldis_wire::msg::{Action, FlowMod, Match, Message, PacketOut, PortNo};
    pub use aldis_wire::{DatapathId, MacAddr, Version};
}

/// The walk of `docs/writing-applications.md`: its code is compiled and run with the tests.
#[doc = include_str!("../docs/writing-applications.md")]
#[cfg(doctest)]
pub struct WritingApplications;
