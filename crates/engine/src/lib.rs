//! Threads, sockets and clocks: the workers that serve the switches.
//!
//! ```text
//!   socket ──▶ read ──▶ chop ──▶ run ──▶ write ──▶ socket       (desk: the phases of one visit)
//!                 ╲______________________╱
//!          read/…: who visits whom, in which order; write/…: when replies are sent
//! ```
//!
//! The engine is handed a pipeline of applications and a taker of facts; it knows neither by name.

#![forbid(unsafe_code)]

mod clock;
mod conn;
pub mod design;
mod desk;
mod engine;
mod inbox;
pub mod limits;
mod listen;
pub mod metrics;
pub(crate) mod net;
pub mod pin;
mod read;
mod registry;
mod slab;
mod worker;
mod write;

pub use design::Design;
pub use engine::{Config, Engine, StartError};
