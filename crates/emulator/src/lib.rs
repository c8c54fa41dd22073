//! Emulated switches, load, and the null controller.
//!
//! [`load`] is switches that offer flow requests as fast as they are told to; [`null`] is the least
//! that a controller can do, and so this machine's limit. Both run the same loop: level-triggered
//! `epoll`, large reads into one buffer a thread, one write a visit. [`network`] is switches that
//! forward, with links and hosts, in a [`topology`]. [`peer`] is one end of a connection as a
//! script, for tests.

#![forbid(unsafe_code)]

pub mod datapath;
mod descriptors;
pub mod load;
pub mod network;
pub mod null;
pub mod peer;
mod poll;
mod replies;
mod secure;
mod stream;
pub mod topology;
mod wire;

pub use secure::SwitchTls;
