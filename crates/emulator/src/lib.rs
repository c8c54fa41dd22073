//! Emulated switches, load, and the null controller.
//!
//! [`load`] is switches that offer flow requests as fast as they are told to; [`null`] is the least that a controller can do, and so this machine's limit. Both sides run the same loop: level-triggered
//! `epoll` ([`poll`]), large reads into one buffer a thread ([`stream`]), one write a visit.

#![forbid(unsafe_code)]

pub mod load;
pub mod null;
mod persona;
mod poll;
mod stream;
