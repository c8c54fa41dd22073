//! Every bound of this crate, by name and with its reason.

use std::time::Duration;

/// Bytes of a package. A Python component is 18 MB; this leaves room for its pages.
pub const PACKAGE_BYTES_MAX: usize = 128 << 20;

/// Bytes of a manifest: a page of settings.
pub const MANIFEST_BYTES_MAX: usize = 64 << 10;

/// Files of a package: a component, its manifest, and a small web page with its parts.
pub const PACKAGE_FILES_MAX: usize = 256;

/// Letters of an application's name: it stands in each line of the log, and in paths.
pub const NAME_LEN_MAX: usize = 64;

/// Bytes of one batch of events. What does not fit follows in the next call.
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// Bytes of commands that one call may return for each byte of its events, and those that it may
/// return in any case.
pub const COMMAND_BYTES: (usize, usize) = (16, 1 << 20);

/// Commands that one call may return for each event, and those that it may return in any case: an
/// answer to a switch that joins may be a thousand flows.
pub const COMMANDS: (usize, usize) = (16, 4096);

/// Bytes that one call hands to the host, and that the host therefore allocates: the commands that
/// answer a full batch ([`COMMAND_BYTES`]), or a large value.
pub const HANDED_BYTES_MAX: usize = 20 << 20;

/// Handles of resources that an instance has at a time: streams and pollables of WASI. The tools of
/// Python have ten.
pub const HANDLES_MAX: usize = 1024;

/// Bytes of one line of an application's log.
pub const LINE_LEN_MAX: usize = 512;

/// Lines of an application's log that are kept to be shown.
pub const LINES_MAX: usize = 256;

/// Lines that one call of an application may write. Further ones are counted as dropped.
pub const LINES_PER_CALL_MAX: usize = 32;

/// Warnings about refused commands: one in this time for each application.
pub const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// Names that an application may count under, as many as a native one
/// ([`aldis_control::limits::APP_COUNTS_MAX`]).
pub const COUNTS_MAX: usize = aldis_control::limits::APP_COUNTS_MAX;

/// Linear memory of an instance, in bytes: the default, and the most that a manifest may ask for.
pub const MEMORY_BYTES: (usize, usize) = (64 << 20, 2 << 30);

/// Elements of the tables of an instance: the default, and the most that a manifest may ask for. A
/// Python component has some 30,000 functions.
pub const TABLE_ELEMENTS: (usize, usize) = (100_000, 1_000_000);

/// What of its time a batch has after a failure, for as long as the failure counts: half as much
/// after each further one. The others would wait for each try of an application that loops.
pub const TRIAL_SHARE: u64 = 16;

/// Milliseconds that such a batch has at the least: two looks at it.
pub const TRIAL_MS_MIN: u64 = 2;

/// Requests of such a batch, so that an application that is only slow has done with it in time: an
/// eighth of a millisecond in Python.
pub const TRIAL_REQUESTS_MAX: u32 = 32;

/// How many times its time a call may take where its thread waits for a processor.
pub const WAITING_FACTOR: u32 = 20;

/// Milliseconds of one batch: the default, and the most that a manifest may ask for. Other
/// applications of the same worker wait for as long.
pub const BATCH_MS: (u64, u64) = (50, 1000);

/// Milliseconds of the first call, which runs beside the workers: the default, and the most.
pub const START_MS: (u64, u64) = (2000, 30_000);

/// Messages to switches in a second: the default, and the most.
pub const MESSAGES_PER_SECOND: (u64, u64) = (20_000_000, 1_000_000_000);

/// Bytes of an application's key–value space: the default, and the most.
pub const KV_BYTES: (usize, usize) = (1 << 20, 64 << 20);

/// Bytes of one key.
pub const KEY_LEN_MAX: usize = 256;

/// Component instances, core instances, memories and tables of one application. A component of
/// Python's tools has twenty modules.
pub const PARTS_MAX: usize = 128;

/// Bytes of the stack of a component.
pub const STACK_BYTES: usize = 512 << 10;

/// The longest time between two looks at a call that is being made, in milliseconds.
pub const EPOCH_MS_MAX: u64 = 100;

/// How long a failed application waits before it runs again, the first time; twice as long after
/// each further failure, up to the second number.
pub const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Failures within [`FAILURE_WINDOW`] after which an application is quarantined, where its manifest
/// says nothing else.
pub const FAILURES: u32 = 3;

/// Failures that are further apart than this do not count together.
pub const FAILURE_WINDOW: Duration = Duration::from_secs(10);

/// Transaction ids of an application whose replies are awaited. The oldest is forgotten.
pub const XIDS_MAX: usize = 1024;

/// Templates of flows that are kept. An application that installs flows installs few kinds of them.
pub const TEMPLATES_MAX: usize = 8;

/// Bytes of the body of a request over HTTP that an application is handed.
pub const HTTP_BODY_MAX: usize = 64 << 10;

/// Bytes of the path, and of the query, of such a request.
pub const HTTP_PATH_MAX: usize = 2048;

/// Bytes of an application's answer to it: a table of some thousand rows.
pub const HTTP_ANSWER_MAX: usize = 1 << 20;

/// How long such a request waits for the instance, which a worker may hold. A worker holds it for
/// one call at a time.
pub const HTTP_WAIT: Duration = Duration::from_secs(2);

/// Requests that wait for one application at a time. Further ones are told to come later.
pub const HTTP_WAITING_MAX: usize = 8;

/// Bytes of a snapshot of the network that an application reads: the length of its answers, and
/// some thousand hosts.
pub const SNAPSHOT_BYTES_MAX: usize = 1 << 20;
