//! The bounds of a recording, each with its reason.

use std::time::Duration;

/// Bytes of the control channel in one packet: with its headers it is shorter than what an IP
/// packet can say of its own length.
pub const PACKET_BYTES_MAX: usize = 60_000;

/// Bytes of a block that is read: a packet with its options, or a head, which has a line for each
/// application. A longer one was written by no Aldis.
pub const BLOCK_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a head: the design, the versions and the names of the applications.
pub const HEAD_BYTES_MAX: usize = 512 * 1024;

/// Bytes of a visit, or of a write, that is put together of its pieces for a replay: more than a
/// worker reads or writes at once.
pub const WHOLE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How far a replay looks ahead for what another worker did sooner: longer than a batch takes.
pub const LOOK_AHEAD: Duration = Duration::from_millis(100);

/// Events that a replay looks ahead for at most.
pub const LOOK_AHEAD_EVENTS: usize = 100_000;

/// Bytes of these.
pub const LOOK_AHEAD_BYTES: usize = 2 * WHOLE_BYTES_MAX;

/// The version of the format. A reader refuses any other.
pub const FORMAT: u16 = 2;
