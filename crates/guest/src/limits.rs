//! Bounds of what a guest costs.

use std::time::Duration;

/// Most guests at a time.
pub const GUESTS_MAX: usize = 64;

/// Characters of a guest's name.
pub const NAME_MAX: usize = 64;

/// Ranges of numbers that one grant may list.
pub const RANGES_MAX: usize = 64;

/// Ports of one switch into which a flow without an incoming port is taken apart.
pub const PORTS_SPLIT_MAX: usize = 64;

/// Bytes that wait for a guest at one switch, where its settings say nothing: a request that finds
/// no room is shed.
pub const QUEUE_DEFAULT: usize = 1 << 20;

/// The most that waits at one switch for a guest that floods, in bytes. It is served ten times a
/// second, and has all of it each time: at sixteen switches 2.5 MB a second, which a worker copies
/// and the guest's thread writes.
pub(crate) const FLOODS_QUEUE: usize = 16 << 10;

/// The largest queue that the settings may ask for, in bytes.
pub const QUEUE_MAX: usize = 64 << 20;

/// Bytes of a guest that wait for a worker, or for room at the switch, at one switch: above it
/// nothing is read of its socket.
pub(crate) const INBOUND_MAX: usize = 256 << 10;

/// How often it is tried again whether a switch has room for what a guest said: some 10 MB/s pass
/// so to one that reads at once.
pub(crate) const HELD_RETRY: Duration = Duration::from_millis(5);

/// Bytes of answers to a guest that are made here and that it has not read: above it nothing is
/// read of its socket.
pub(crate) const ANSWERS_MAX: usize = 256 << 10;

/// What the kernel may hold for a guest at one switch, in bytes; it counts twice as many. Left
/// alone it would hold megabytes for a guest that does not read, each copied beside the work for
/// others, and hide that it does not.
pub(crate) const SEND_BUFFER: usize = 256 << 10;

/// Bytes that are read of a socket of a guest at once.
pub(crate) const READ_MAX: usize = 64 << 10;

/// Bytes of it that a worker reads itself at once: forty messages or so. Where more wait, the
/// guest's thread goes on, and the worker with its switches.
pub(crate) const READ_LITTLE: usize = 4 << 10;

/// For how long a guest that says more at once is read by its thread.
pub(crate) const MUCH_FOR: Duration = Duration::from_millis(100);

/// Bytes that a worker takes at each poll of all guests together, by their weights: some 600
/// messages. What is overdrawn of it fits the room that a switch has for commands.
pub(crate) const POLL_SHARE: u64 = 48 << 10;

/// Bytes of a guest that are passed on at once, unless one message is longer.
pub(crate) const RELAY_MAX: usize = 8 << 10;

/// The largest weight of a guest, as of a switch.
pub const WEIGHT_MAX: u16 = 1000;

/// Experimenters that one grant may name.
pub const EXPERIMENTERS_MAX: usize = 64;

/// Replies that a guest awaits from one switch at a time.
pub(crate) const AWAITED_MAX: usize = 1024;

/// Messages of a guest at one switch that errors are still attributed to.
pub(crate) const REMEMBERED_MAX: usize = 16 << 10;

/// Flows of a guest on a switch of OpenFlow 1.0, which has no removal by cookie.
pub(crate) const FLOWS_KEPT_MAX: usize = 64 << 10;

/// Groups, and meters, of a guest on one switch.
pub(crate) const NUMBERS_KEPT_MAX: usize = 64 << 10;

/// Cookies that do not fit the bits that a guest has, at one guest.
pub(crate) const COOKIES_KEPT_MAX: usize = 64 << 10;

/// The time that a connection of a guest may take to open, and its handshake after that.
pub(crate) const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);

/// Messages that a guest may send for each request that it is handed; an observer has none to
/// answer.
pub(crate) const MESSAGES_PER_REQUEST: f64 = 4.0;

/// Messages that it may send a second besides, at all switches together.
pub(crate) const MESSAGES_PER_SECOND: f64 = 4_000.0;

/// Most messages that it may save up: a controller that begins fills the tables of its switches.
pub(crate) const MESSAGES_AT_ONCE: f64 = 50_000.0;

/// The first pause before a guest is connected to again; each further one is twice as long.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(250);

/// A connection that was open for so long is followed by the shortest pause again.
pub(crate) const SERVED_WELL: Duration = Duration::from_secs(5);

/// A guest that closed soon is tried at one switch for so long before it has the others again.
pub(crate) const TRIED_FOR: Duration = Duration::from_secs(1);

/// The longest of them.
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(15);

/// A guest that reads nothing for so long while something waits for it is handed nothing more until
/// it reads.
pub(crate) const STALLED_AFTER: Duration = Duration::from_millis(200);

/// A guest that reads nothing for so long while something waits for it is disconnected.
pub(crate) const UNREAD_MAX: Duration = Duration::from_secs(10);

/// A guest is asked for an echo after so long a silence.
pub(crate) const ECHO_EVERY: Duration = Duration::from_secs(15);

/// Faults of a guest within [`FAULTS_WITHIN`] that quarantine it: messages that cannot be read, and
/// connections that end because of one.
pub(crate) const FAULTS_MAX: u32 = 16;

/// See [`FAULTS_MAX`].
pub(crate) const FAULTS_WITHIN: Duration = Duration::from_secs(60);
