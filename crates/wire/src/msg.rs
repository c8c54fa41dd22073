//! The version-neutral vocabulary that applications speak.
//!
//! Port numbers are those of OpenFlow 1.3 (32 bits, reserved ones from `0xffff_ff00` up) whatever the switch speaks.

mod port;

pub use port::{Port, PortChange, PortChangeReason, PortNo};
