//! Every bound of the engine, with its reason.

use core::time::Duration;

/// The most bytes that one visit reads from a socket: Beacon's and Maestro-Static-Partition's 64 KB.
pub const READ_MAX: usize = 64 * 1024;

/// The most bytes that one visit reads from a socket as NOX does it.
pub const READ_MAX_NOX: usize = 512 * 1024;

/// Switches (connections) one engine holds unless told otherwise; the descriptor limit may allow fewer.
pub const CONNECTIONS_MAX: usize = 65_536;

/// Descriptors kept back from connections for listeners, wake-ups, files and logs.
pub const DESCRIPTORS_SPARE: usize = 64;

/// Connections that wait to be accepted. The kernel may cut it to `net.core.somaxconn`, 4096 by default.
pub const BACKLOG: i32 = 4096;

/// Notes that wait for one worker. A connection costs at most a few, and the acceptor retries when it is full.
pub const INBOX_MAX: usize = 16_384;

/// Notes that a worker takes from its inbox in one round, so that work from outside never keeps the switches waiting.
pub const NOTES_PER_ROUND: usize = 256;

/// Bytes that may wait for a switch which does not read, for each byte of a visit's read: 256 KiB for 64 KB. A visit
/// cannot produce more, for the shortest PACKET_IN, of 32 bytes, is answered by 118, and reading pauses as long as
/// anything waits.
pub const OUTBOX_PER_READ: usize = 4;

/// How long output may wait without a byte of it being taken, before the switch is dropped.
pub const OUTBOX_WITHIN: Duration = Duration::from_secs(10);

/// Room kept for the beginning of a message still to come; above it the room is given back after use, so that idle
/// switches stay small.
pub const CARRY_KEPT: usize = 2 * 1024;

/// Bytes of PACKET_INs that are kept while the handshake goes on. A switch that carries traffic when it connects asks
/// before the last reply of the handshake is out; more than this it has to ask again.
pub const EARLY_MAX: usize = 64 * 1024;

/// Ready connections fetched by one poll.
pub const EVENTS_PER_POLL: usize = 256;

/// How often a switch's applications are told that time passed.
pub const SECOND: Duration = Duration::from_secs(1);

/// How long a stopping engine waits for output that is still queued.
pub const STOP_WITHIN: Duration = Duration::from_millis(500);
