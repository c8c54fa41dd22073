//! Every bound of the engine, with its reason.

use core::time::Duration;

/// The most bytes that one visit reads from a socket: Beacon's and Maestro-Static-Partition's 64
/// KB.
pub const READ_MAX: usize = 64 * 1024;

/// The most bytes that one visit reads from a socket as NOX does it.
pub const READ_MAX_NOX: usize = 512 * 1024;

/// The most bytes that one visit reads as Maestro has it: 2 KB.
pub const READ_MAX_MAESTRO: usize = 2 * 1024;

/// The largest maximum read size that may be chosen.
pub const READ_LARGEST: usize = 1024 * 1024;

/// Requests of a visit, or other messages, from which on a batch of the default design goes on to
/// the next switch: one that asks for less is answered at once.
pub const GATHER_MIN: usize = 32;

/// For how long a batch of the default design gathers visits at most: as long as the kernel takes
/// for a visit of 64 KB, there and back.
pub const GATHER_MAX: Duration = Duration::from_micros(20);

/// Bytes that a batch of several visits gathers at most, beside those of its last: it is closed
/// when they are used up.
pub const BATCH_BYTES: usize = 1024 * 1024;

/// Switches (connections) one engine holds unless told otherwise; the descriptor limit may allow
/// fewer.
pub const CONNECTIONS_MAX: usize = 65_536;

/// Descriptors kept back from connections for listeners, wake-ups, files and logs.
pub const DESCRIPTORS_SPARE: usize = 64;

/// Connections that wait to be accepted. The kernel may cut it to `net.core.somaxconn`, 4096 by
/// default.
pub const BACKLOG: i32 = 4096;

/// Messages that wait for one worker. A connection costs at most a few, and the acceptor retries
/// when it is full.
pub const INBOX_MAX: usize = 16_384;

/// Messages that a worker takes from its inbox in one round, so that work from outside never keeps
/// the switches waiting.
pub const NOTES_PER_ROUND: usize = 256;

/// Commands from outside that wait for one worker; one more is told that the controller is busy.
/// They have an inbox of their own, so that connections never wait behind people.
pub const COMMANDS_QUEUED_MAX: usize = 1024;

/// Commands that one switch may owe answers to. A switch answers a barrier in less than a
/// millisecond, or is busy.
pub const COMMANDS_OPEN_MAX: usize = 64;

/// A worker spends one part in so many of its time on commands from outside.
pub const COMMANDS_SHARE: u32 = 8;

/// Time for commands that an idle worker saves up at most.
pub const COMMANDS_SPARED: Duration = Duration::from_millis(1);

/// Bytes that may wait for a switch which does not read, for each byte of a visit's read: 256 KiB
/// for 64 KB. Reading pauses as long as anything waits, and what was on its way by then
/// ([`IN_FLIGHT_MAX`]) finds room.
pub const OUTBOX_PER_READ: usize = 4;

/// Switches of which the engine remembers that they were dropped because they did not read: what
/// any peer may claim to be costs no more than half a megabyte.
pub const EVICTED_MAX: usize = 10_000;

/// Datapath ids of which the engine remembers that certificates proved them: as many as there may
/// be switches. Only an authority that the operator named can fill it, and what is not remembered
/// any more is protected while its switch is connected.
pub const PROVED_MAX: usize = CONNECTIONS_MAX;

/// Bytes from the batches of other switches that may wait for a switch which does not read, beside
/// its own answers: some hundred flows. More would be a path's worth of flows that are stale when
/// they arrive.
pub const FAR_MAX: usize = 64 * 1024;

// A switch that has read everything takes any command.
const _: () = assert!(aldis_control::limits::COMMAND_BYTES_MAX <= FAR_MAX);

/// What the kernel may hold of the output of one switch, in bytes; it counts twice as many, its own
/// included. Left alone it would hold megabytes of a switch that does not read, and hide for
/// minutes whether one that reads slowly reads at all.
pub const SEND_BUFFER: usize = 128 * 1024;

/// What the kernel may hold of the input of one switch, in bytes; it counts twice as many, and the
/// system's `net.core.rmem_max` may allow less. On one machine segments are 64 KB, and a window
/// that was shut opens again only when a whole one has room: with the kernel's first 128 KiB, half
/// of which is window, that is when the socket is nearly empty, and a switch that always has
/// something to say would be seen idle at every turn of the window.
pub const RECEIVE_BUFFER: usize = 512 * 1024;

/// Connections from which on the kernel holds [`RECEIVE_BUFFER_OF_MANY`] of each. What it may hold
/// of all connections together has a bound (`net.ipv4.tcp_mem`, some 1.5 GB of 24): at it the
/// kernel takes what arrives out of the queues again, throws it away and has it sent once more, and
/// a switch that asks little waits for that too. A thousand switches that always have something to
/// say, or never read, came there with [`RECEIVE_BUFFER`] each.
pub const RECEIVE_BUFFERS: usize = 128;

/// What the kernel may hold of the input of a switch that is one of many: two segments of 64 KB, as
/// it counts. One of many is seen idle at the turns of its window, but that is made up for over the
/// rounds of so many.
pub const RECEIVE_BUFFER_OF_MANY: usize = 128 * 1024;

/// What the kernel may hold of the input of all switches, if each had what the next one gets:
/// beyond 2,500 each that comes has less, down to [`RECEIVE_BUFFER_MIN`]. Ten thousand then have
/// 850 MiB together, and twice as much as it counts.
pub const RECEIVE_BUFFER_OF_ALL: usize = 2_500 * RECEIVE_BUFFER_OF_MANY;

/// The least that the kernel may hold of the input of a switch: one segment of 64 KB, as it counts.
/// With less it throws away what came in smaller ones, each of which it counts as more than its
/// bytes, and has it sent again.
pub const RECEIVE_BUFFER_MIN: usize = 64 * 1024;

/// Bytes of one switch that may be on their way at once: taken from its socket, and not yet
/// answered. What they are answered with has to find room if the switch does not read, and a frame
/// that is not buffered is answered by 2.2 times the bytes of its PACKET_IN.
pub const IN_FLIGHT_MAX: usize = 96 * 1024;

/// The most bytes that a visit reads from a switch of which something is on its way already, so
/// that several workers may serve one switch within [`IN_FLIGHT_MAX`].
pub const READ_MORE: usize = 16 * 1024;

/// Room kept for the beginning of a message still to come; above it the room is given back after
/// use, so that idle switches stay small.
pub const CARRY_KEPT: usize = 2 * 1024;

/// Bytes that one switch may have put off until a worker's next loop, where the write design puts
/// any off; more is written at once. A read of 64 KB holds some 800 requests, whose answers take
/// as much.
pub const PUT_OFF_MAX: usize = 256 * 1024;

/// Bytes of PACKET_INs that are kept while the handshake goes on. A switch that carries traffic
/// when it connects asks before the last reply of the handshake is out; more than this it has to
/// ask again.
pub const EARLY_MAX: usize = 64 * 1024;

/// Ready connections fetched by one poll.
pub const EVENTS_PER_POLL: usize = 1024;

/// Switches whose applications are told so after one poll: the ageing of their tables takes
/// microseconds.
pub const TOLD_PER_POLL: usize = 2;

/// The same after a poll that found nothing ready: a system call for every two of a thousand idle
/// switches is a quarter of what their second costs.
pub const TOLD_PER_QUIET_POLL: usize = 8;

/// Switches that one poll queues because their time has come. A thousand that never read are
/// dropped in the same moment; one that asks stands behind so many of them, and not behind all.
pub const DUE_PER_POLL: usize = 1;

/// How often a switch's applications are told that time passed.
pub const SECOND: Duration = Duration::from_secs(1);

/// How long a stopping engine waits for output that is still queued.
pub const STOP_WITHIN: Duration = Duration::from_millis(500);

/// How long a worker that has enough to do may go without asking its sockets for more. An empty
/// poll costs half a microsecond.
pub const POLL_EVERY: Duration = Duration::from_micros(40);

/// How long a worker has to be busy before it wakes another to help: waking costs both of them
/// microseconds.
pub const HELP_AFTER: Duration = Duration::from_micros(50);

/// How long a worker that waits for batches of another, or for room in the queue between them,
/// looks on before it sleeps. To wake it takes 20 to 40 microseconds and its waker 7 to 9; two
/// workers that sleep in turn spend half of their time so.
pub const LINGER: Duration = Duration::from_micros(50);

/// When a message that a full inbox did not take is posted again.
pub const RETRY_AFTER: Duration = Duration::from_millis(1);

/// How often the publisher looks whether the last batch that read an old World has ended. Batches
/// take less.
pub const PASSED_LOOK_EVERY: Duration = Duration::from_micros(100);

/// Batches that wait in the queue between I/O threads and workers: 25 MB of received bytes at most.
pub const BATCHES_QUEUED_MAX: usize = 128;

/// What a switch of weight 1 may use of a round, in requests: what one read of 64 KB brings of the
/// commonest PACKET_IN.
pub const QUANTUM: u32 = 800;

/// The most that it may use, where a worker has a crowd of switches and rounds allow it
/// ([`ROUND_LONG`]): two reads. In a round of one read each those that ask for less than their
/// share have as many visits as the others, and bring less with each.
pub const QUANTUM_MAX: u32 = 2 * QUANTUM;

/// So many switches a worker are a crowd. Of fewer, a switch that is read twice in a round may have
/// nothing yet the second time.
pub const CROWD: usize = 256;

/// The least that it may use of a round, however long a request takes.
pub const QUANTUM_MIN: u32 = 200;

/// Bytes to read for each request that a switch may use.
pub const REQUEST_BYTES: usize = 96;

/// The most bytes that a visit of a flooded switch chops: about four times the quantum.
pub const SHED_AHEAD: usize = 256 * 1024;

/// How long a worker has to be busy, and a switch to have a queue at every visit, before anything
/// of it is shed: a burst that passes is served.
pub const SHED_AFTER: Duration = Duration::from_millis(20);

/// Visits after which a switch whose ports were counted, and found to ask alike, is sampled again.
pub const SHED_REST: u8 = 16;

/// Requests of a visit that are sampled: a port that asks for ten times as much as each of 40
/// others stands out.
pub const SHED_SAMPLE: usize = 32;

/// Requests that are dropped for the price of one that is served, at least: to read and chop one is
/// about a tenth of serving it.
pub const SHED_PER_REQUEST: usize = 10;

/// For each time that is so long a switch that asks for little may come first though it had a turn
/// in this round. Its visit costs some 5 µs of it.
pub const AGAIN_EVERY: Duration = Duration::from_micros(100);

/// A round that takes longer lets those that ask for much wait: the quantum shrinks to one read,
/// and below that as far as turns are long. Those that ask for little do not wait for rounds. In a
/// crowd one of less than half of it has room for two reads.
pub const ROUND_LONG: Duration = Duration::from_millis(250);

/// A round that takes less leaves room for a larger quantum, up to one read.
pub const ROUND_SHORT: Duration = Duration::from_millis(60);

/// A switch's part of a round, on average, that is worth cutting. Of less, what a visit costs
/// however little is asked is so large a part that the round would be as long: 9,980 full switches
/// had half of the throughput.
pub const TURN_LONG: Duration = Duration::from_micros(100);

/// Turns that are shorter leave room for a larger quantum, too, up to one read.
pub const TURN_SHORT: Duration = Duration::from_micros(25);

/// How often switches are divided among workers anew, under dynamic partition. Rates waver within
/// less, and the divided switches should outlast the move.
pub const DIVIDE_EVERY: Duration = Duration::from_secs(1);

/// What the busiest worker has to get rid of before a switch moves, in percent: a move costs more
/// than it brings where rates merely waver.
pub const DIVIDE_GAIN: u32 = 5;

/// Threads that an engine may have.
pub const WORKERS_MAX: usize = 256;

/// Bytes that are read at once from a socket with TLS: four of its records.
pub(crate) const TLS_READ: usize = 64 * 1024;

/// Bytes that are encrypted before they are offered to a socket: no more than the session keeps of
/// its own.
pub(crate) const TLS_WRITE: usize = 32 * 1024;

/// Reads of so many bytes after another that may bring nothing for us. A handshake is some
/// kilobytes.
pub(crate) const TLS_READS_IN_VAIN: usize = 16;

/// How long the workers may take to follow a change of the applications.
pub const LINE_UP_WITHIN: Duration = Duration::from_secs(10);

/// Bytes of a chunk of the tap: one long visit, or hundreds of short ones.
pub const TAP_CHUNK: usize = 64 * 1024;

/// The same for the publisher, which has a mark for each World and nothing else: one that took as
/// many reports as it may of some parts, with the sender of each.
pub const TAP_CHUNK_SMALL: usize = 32 * 1024;

/// Chunks of a worker that are free or wait for the recorder: 4 MB, 20 ms of a worker that has
/// enough to do.
pub const TAP_CHUNKS: usize = 64;

/// How long a worker waits to run applications alone, for a recording that is to be played back:
/// the batch of another worker takes some milliseconds at most, unless an application hangs.
pub const APP_LOCK_WITHIN: Duration = Duration::from_millis(100);

/// Bytes of a batch in a replay: more than any worker gathers.
pub(crate) const REPLAY_BATCH_MAX: usize = 128 * 1024 * 1024;

/// Worlds that a replay keeps: a worker acts on those of a moment ago.
pub(crate) const REPLAY_WORLDS: usize = 1024;

/// Replies that wait for the worker of an application in a replay: as many as an inbox holds.
pub(crate) const REPLAY_REPLIES_MAX: usize = INBOX_MAX;

/// The shortest piece of a record that is cut where a chunk ends.
pub(crate) const TAP_PIECE_MIN: usize = 1024;

/// How long a record may stay with a worker that is never idle.
pub(crate) const TAP_FLUSH_EVERY: Duration = Duration::from_millis(10);
