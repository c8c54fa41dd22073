//! Test support: what the tests of several crates share, so that each helper exists once.
//!
//! Without features it needs nothing but the standard library, so that the tests of the innermost
//! crates wait for no other crate. The feature `command` adds what the tests of the `aldis` command
//! need: the running command, a client of its HTTP interface, and an emulated network.
//!
//! A helper of one test file only stays in that file.

pub mod counting;
mod folder;
pub mod golden;

#[cfg(feature = "command")]
pub mod client;
#[cfg(feature = "command")]
pub mod network;
#[cfg(feature = "command")]
pub mod running;
#[cfg(feature = "command")]
pub mod sdk;
#[cfg(feature = "command")]
pub mod websocket;

pub use folder::Folder;
