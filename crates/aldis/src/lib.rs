//! The author's door: a controller with applications of your own.
//!
//! [`Controller`] starts one; [`prelude`] holds what an application is written with.
//! `docs/writing-applications.md` walks from nothing to a working one, and `examples/` holds four.
//!
//! Such a controller has all that `aldis run` has, which is no more than
//! `Controller::from_args().with_default_apps().run()`. Each part that needs more packages is a
//! feature, on by default:
//!
//! | feature | what |
//! | --- | --- |
//! | `config` | the configuration file: [`Controller::from_file`] |
//! | `http` | REST, events and metrics: [`Controller::http`]; `aldis switches` asks there |
//! | `store` | what is set over HTTP outlives the controller: [`Controller::store`] |
//! | `cli` | the arguments of `aldis run`: [`Controller::from_args`] |

mod added;
mod address;
mod admin;
pub mod app_registry;
#[cfg(feature = "cli")]
mod args;
#[cfg(feature = "http")]
mod background;
mod banner;
mod c_calls;
mod config;
mod controller;
mod counters;
mod give_back;
mod guests;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "sandbox")]
mod installed;
mod knobs;
mod outlet;
mod own_flows;
mod persisted;
#[cfg(feature = "http")]
mod recorder;
mod refused;
mod reload;
#[cfg(feature = "config")]
pub mod replay;
mod report;
mod room;
mod running;
mod secure;
mod service_manager;
mod settings;
mod signals;
pub mod tls;
mod weights;

pub use aldis_apps as apps;
pub use aldis_control as control;
pub use aldis_engine as engine;
pub use aldis_guest as guest;
pub use aldis_packet as packet;
pub use aldis_wire as wire;

#[cfg(feature = "cli")]
pub use args::Args;
pub use controller::Controller;
pub use refused::Refused;
pub use running::Running;

/// What an application is written with.
pub mod prelude {
    pub use aldis_control::app::{
        EventCtx, Exclusive, Inlet, Next, Parallel, Slots, State, TickCtx, Timer,
    };
    pub use aldis_control::switch::SwitchInfo;
    pub use aldis_control::world::{PartId, PublishCtx, Publishers, Shards, View};
    pub use aldis_control::{
        App, Batch, Commands, Cookie, Event, EventKind, Output, Part, Publisher, Request,
    };
    pub use aldis_control::{RequestHeader, Time};
    pub use aldis_wire::msg::{Action, FlowMod, Match, Message, PacketOut, PortNo};
    pub use aldis_wire::{DatapathId, MacAddr, Version};
}

/// The walk of `docs/writing-applications.md`: its code is compiled and run with the tests.
#[doc = include_str!("../../../docs/writing-applications.md")]
#[cfg(doctest)]
pub struct WritingApplications;
