//! OpenFlow bytes to messages and back.
//!
//! Three floors: [`header`] and [`chop`] cut a byte stream into whole messages without looking
//! inside; [`v10`] and [`v13`] hold the exact types of each version, one message a file, the same
//! file names in both; [`msg`] is the version-neutral vocabulary that applications speak. Magic
//! numbers stop at the second floor.
//!
//! Every byte here comes from a stranger: each length is checked before it is trusted, an unknown
//! value survives a round trip, and a bad message is a [`Malformed`] value that names the field and
//! its offset. Nothing here knows a socket, a clock or a thread.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod chop;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod header;
pub mod msg;
mod open;
pub mod reader;
pub mod types;
pub mod v10;
pub mod v13;
pub mod writer;

pub use chop::{Chop, Raw};
pub use header::{Header, Version};
pub use reader::{Malformed, Reader, Reason};
pub use types::{DatapathId, FixedText, L2FlowSpec, L2Hit, MacAddr, NO_BUFFER, PacketInView};
pub use writer::Writer;
