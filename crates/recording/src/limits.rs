//! The bounds of a recording, each with its reason.

/// Bytes of the control channel in one packet: with its headers it is shorter than what an IP
/// packet can say of its own length.
pub const PACKET_BYTES_MAX: usize = 60_000;

/// Bytes of a block that is read: a packet with its options, or a head, which has a line for each
/// application. A longer one was written by no Aldis.
pub const BLOCK_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a head: the design, the versions and the names of the applications.
pub const HEAD_BYTES_MAX: usize = 512 * 1024;

/// The version of the format. A reader refuses a later one.
pub const FORMAT: u16 = 1;
