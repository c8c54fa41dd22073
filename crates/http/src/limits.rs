//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Connections at once. A browser opens six, and a hundred subscribers one each; a descriptor and
/// some 40 KB apiece.
pub const CONNECTIONS_MAX: usize = 512;

/// Of these, connections from one address of another machine, or from one network of IPv6: a client
/// that opens them all keeps no other out.
pub const CONNECTIONS_OF_ONE_MAX: usize = 128;

/// Bytes of a request's line and headers together. Browsers send two kilobytes.
pub const HEAD_MAX: usize = 16 * 1024;

/// Header lines of a request.
pub const HEADERS_MAX: usize = 64;

/// How long a request's line and headers may take, from the first byte or from the end of the last
/// request.
pub const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Bytes of a request's body, where a resource does not say otherwise.
pub const BODY_MAX: usize = 1024 * 1024;

/// Bytes of a body with changes of flows: [`CHANGES_MAX`] of them at 400.
pub const CHANGES_BODY_MAX: usize = 4 * 1024 * 1024;

/// Bytes of the package of an application: twice an interpreter of Python with its library.
pub const PACKAGE_MAX: usize = 64 * 1024 * 1024;

/// Bytes of the body of a request to an application, which its sandbox copies.
pub const APP_BODY_MAX: usize = 64 * 1024;

/// Bytes of the path of such a request, and of its query.
pub const APP_PATH_MAX: usize = 2048;

/// Changes of flows in one request: a hundred for each of a hundred switches.
pub const CHANGES_MAX: usize = 10_000;

/// How long a switch may take to answer what it is asked, and all those of one request. A hardware
/// switch writes some hundred flows a second.
pub const SWITCH_WITHIN: Duration = Duration::from_secs(20);

/// When a switch, or its worker, that has too many commands in hand is asked again.
pub const BUSY_AGAIN: Duration = Duration::from_millis(5);

/// How often it is looked whether a switch has the flows that a script of Ryu's keeps there.
pub const INSTALLED_AGAIN: Duration = Duration::from_millis(50);

/// Bytes that are read of a client that is refused while it sends, so that it reads the answer:
/// eight times the longest body.
pub const LINGER_MAX: usize = 8 * CHANGES_BODY_MAX;

/// How long they are read.
pub const LINGER_WITHIN: Duration = Duration::from_secs(10);

/// Bytes of a body that is read on the thread that serves, a tenth of a millisecond; a longer one
/// is read beside it, and other clients do not wait meanwhile.
pub const READ_HERE_MAX: usize = 16 * 1024;

/// Bytes of a body in a row without a quotation mark: more than the longest frame in Base64, which
/// is the longest string that a request needs.
pub const LITERAL_MAX: usize = 128 * 1024;

/// Characters of the detail of a problem: a page of a screen.
pub const DETAIL_MAX: usize = 2000;

/// Values in a body in the words of others, numbers and texts and what holds them: a group of a
/// hundred buckets has less than two thousand.
pub const VALUES_MAX: usize = 10_000;

/// How deep a body's arrays and objects may be nested. Nothing that is asked for needs more than
/// eight.
pub const DEPTH_MAX: usize = 32;

/// How long a request may take from its headers to the first byte of its answer, the reading of its
/// body included.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The same for a request that brings the package of an application, which is compiled before it is
/// answered: a component of Python takes 17 s on a processor of its own.
pub const PACKAGE_WITHIN: Duration = Duration::from_secs(180);

/// How long a peer may leave an answer unread.
pub const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// How long answers on their way are waited for when the controller stops.
pub const STOP_WITHIN: Duration = Duration::from_millis(500);

/// Items of one page of a list, at most.
pub const PAGE_MAX: usize = 10_000;

/// How long accepting rests when the process has no descriptor to spare.
pub const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Controller events that wait to be published. Ten thousand switches may come and go at once.
pub const EVENTS_MAX: usize = 16_384;

/// Events that are kept, the newest: two megabytes.
pub const EVENTS_KEPT: usize = 4096;

/// Bytes of the lines of the log that are kept, in the two forms in which each is held: some four
/// thousand lines of usual length.
pub const LOG_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes of a line of the log that are kept: longer than any that a person reads to its end.
pub const LINE_MAX: usize = 4096;

/// What a line costs beside its text.
pub const LINE_OVERHEAD: usize = 128;

/// Events of one kind that are kept of one switch, or of all strangers together, within
/// [`EVENTS_PER`].
pub const EVENTS_OF_A_KIND: u32 = 100;

/// See [`EVENTS_OF_A_KIND`].
pub const EVENTS_PER: Duration = Duration::from_secs(10);

/// How soon followers are told that events were left out. A page asks for everything then.
pub const LEFT_OUT_WITHIN: Duration = Duration::from_secs(1);

/// Followers of events and of the log at once: half of [`CONNECTIONS_MAX`], so that there is room
/// to ask for something else.
pub const FOLLOWERS_MAX: usize = 256;

/// Events that a follower is handed at once.
pub const EVENTS_AT_ONCE: usize = 64;

/// How often a follower hears something though nothing happened, so that either side notices when
/// the other is gone.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// Static entries that are kept for scripts of Floodlight's.
pub const ENTRIES_MAX: usize = 10_000;

/// How often the network is looked at while there are followers in Ryu's way.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Changes of the network that wait for a follower in Ryu's way: a network of a thousand switches
/// and links comes up at once.
pub const CHANGES_WAITING: usize = 16_384;

/// Bytes of a message that a follower may send over a WebSocket. There is nothing to say there.
pub const HEARD_MAX: usize = 4096;

/// How long a follower may take to read the end, once its key is not valid any more.
pub const LEAVE_WITHIN: Duration = Duration::from_millis(500);

/// Seconds' worth of requests that one address may send at once, where keys are needed.
pub const AT_ONCE_S: u32 = 5;

/// Wrong tokens and passwords that an address may send at once. A person mistypes twice.
pub const FAILURES_AT_ONCE: u32 = 5;

/// How often an address may send one more.
pub const FAILURES_EVERY: Duration = Duration::from_secs(10);

/// How often the key of a follower is checked, whether or not keys were read again: clocks are set.
pub const PASS_AGAIN: Duration = Duration::from_secs(60);

/// Tokens and passwords that are looked at at once, 20 ms each, one after the other: as long as a
/// person would wait.
pub const VERIFYING_MAX: usize = 32;

/// Bytes of a name that people give something.
pub const NAME_MAX: usize = 200;

/// Ways of equal cost that are shown, where it is not said how many: as many as links between two
/// switches have, at most, in most networks.
pub const PATHS: usize = 16;

/// Ways of equal cost that are shown at most. A fat tree of 1,280 switches has 256 between two of
/// its edges.
pub const PATHS_MAX: usize = 256;

/// Links of all ways that are shown together: two megabytes. The first way is shown however long it
/// is.
pub const PATHS_HOPS_MAX: usize = 16_384;

/// Switches that a packet is followed through, copies of it counted apart: a network of a thousand,
/// flooded once.
pub const HOPS_MAX: usize = 2048;

/// Ports whose counters `/metrics` shows, eight lines each: four megabytes. Those of the highest
/// datapath ids are left out, always the same, and their number is said.
pub const METRICS_PORTS_MAX: usize = 5_000;

/// Lists of flows that are made at once. Each holds what the switch said and what becomes of it,
/// some hundred megabytes of the longest; others wait.
pub const LISTS_MAX: usize = 2;

/// Bytes of what switches said about their flows and groups that one trace holds. A thousand
/// switches with three hundred flows each have that much.
pub const TRACE_HELD_MAX: usize = 32 * 1024 * 1024;

/// Traces at once. Each holds [`TRACE_HELD_MAX`] and takes a core for as long as it looks.
pub const TRACES_MAX: usize = 2;

/// How long a trace waits for its turn: others take some seconds at most.
pub const TRACE_TURN_WITHIN: Duration = Duration::from_secs(10);

/// Hosts of one port that a trace names; of more it says how many there are.
pub const HOSTS_NAMED_MAX: usize = 32;

/// Memory that one trace may need, in bytes: [`TRACE_HELD_MAX`], the groups of one switch, and the
/// answer in its two forms.
pub const TRACE_ROOM: usize = 2 * TRACE_HELD_MAX;

/// Memory that a request needs at most where no more is asked for, in bytes: a body of
/// [`CHANGES_BODY_MAX`] takes four times as much when it is read.
pub const REQUEST_ROOM: usize = 4 * CHANGES_BODY_MAX;

/// Bytes of a host in an answer, as it is held and as it is written.
pub const HOST_BYTES: usize = 768;

/// By how much a reply of a switch is larger when all of it is read: flows take ten times what they
/// are on the wire.
pub const READ_FACTOR: usize = 10;

/// By how much a list of flows is larger than what the switch said.
pub const LISTED_FACTOR: usize = 4;

/// Pieces of a recording that wait for its client: some megabytes. Then the recorder keeps some
/// more, and counts what it cannot keep.
pub(crate) const RECORDING_PIECES_MAX: usize = 16;

/// Switches that one recording may name; all can be recorded without naming any.
pub(crate) const RECORDED_SWITCHES_MAX: usize = 1000;

/// The longest time before now that can be asked for: a day.
pub(crate) const RECORDING_LAST_MAX_S: u64 = 86_400;
