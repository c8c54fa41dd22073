//! Threads, sockets and clocks: the workers that serve the switches.
//!
//! ```text
//!   socket ──▶ read ──▶ chop ──▶ run ──▶ write ──▶ socket       (desk: the phases; worker: the steps)
//!               ╲_________╱               │
//!          read/…: whose turn it is       write/…: when replies are sent
//! ```
//!
//! The engine is handed a recipe of applications and a taker of facts; it knows neither by name. Beside the workers one
//! thread makes the World that the applications read (publisher, newest).

#![forbid(unsafe_code)]

mod alarm;
mod claim;
mod clock;
pub mod command;
mod conn;
mod crew;
pub mod design;
mod desk;
mod dials;
mod edition;
mod engine;
mod flight;
mod gathered;
mod hall;
mod inbox;
mod jobs;
pub mod limits;
mod listen;
mod locked;
mod machine;
pub mod metrics;
pub(crate) mod net;
mod newest;
mod outgoing;
pub mod pin;
mod publisher;
mod read;
mod registry;
mod roster;
mod slab;
mod sleepers;
mod teller;
mod threads;
mod turn;
mod watch;
mod worker;
mod write;

pub use command::Commander;
pub use design::Design;
pub use dials::Dials;
pub use engine::{Config, Engine, Secure, StartError};
pub use net::canned;
pub use net::sim;
pub use net::tls::Identity;
pub use teller::Teller;
pub use watch::Watch;
