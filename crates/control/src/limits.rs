//! Every bound of this crate, by name and with its reason.

use core::time::Duration;

/// Ports that a switch may have. A switch of 1.0 can name 65,280; the largest chassis and the
/// fullest hypervisors have a few thousand. At some 60 bytes each they cost half a megabyte, which
/// one switch cannot be allowed to exceed.
pub const PORTS_MAX: usize = 8192;

/// Requests that may await their reply on one session. What is asked by hand comes one or two at a
/// time; a session that owes more answers than this is not answering.
pub const REQUESTS_MAX: usize = 32;

/// How often the socket of a switch is looked at, and found empty, before the switch is said not to
/// answer that it is there: at equal distances within [`crate::session::Config::probe_within`]. A
/// time without a look counts as one look, however long it is.
pub const PROBE_LOOKS: u32 = 10;

/// Messages of one command from outside. More are sent as several commands, one after the other, so
/// that others have their turn between.
pub const COMMAND_MESSAGES_MAX: usize = 256;

/// Bytes of one command, its barrier included: what may wait for a switch that does not read,
/// beside its own answers.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// Bytes that a switch has to take within [`crate::session::Config::stuck_within`], if it does not
/// take some all the time: the kernels of switches that never read took up to 45 KB in that time,
/// and none at an even pace. At 75 kbit/s it does; what it is sent then waits for a quarter of a
/// minute in the buffers before it.
pub const READ_FOR_CERTAIN: usize = 64 * 1024;

/// A switch for which nothing waits for as long as this takes what it is sent.
pub const CALM: Duration = Duration::from_secs(1);

/// Auxiliary connections of one switch. Switches that open any open one for each of their
/// processors or tables.
pub const AUXILIARIES_MAX: usize = 16;

/// Bytes of a bad message that go back with the error about it: the least that OpenFlow asks for
/// (1.0 §5.4.4).
pub const ERROR_DATA_MAX: usize = 64;

/// Bytes of a switch's own text, in an error, that are kept to be shown to people.
pub const ERROR_TEXT_MAX: usize = 128;

/// Bad messages that a session is forgiven at once. A switch with one message that we do not
/// understand sends it a few times; one that sends nothing else is closed.
pub const FAULTS_MAX: u32 = 100;

/// Requests that a batch may be asked to hold. Maestro's throughput falls from 1200 on (figure 9);
/// machines that take tens of nanoseconds for a request gather some thousands in a millisecond. A
/// worker's scores, one for every ten, are 4 KB.
pub const IBT_MAX: usize = 10_000;

/// The longest that one batch may be allowed to take. A switch that hears nothing for seconds
/// thinks its controller dead.
pub const BDU_MAX: Duration = Duration::from_secs(1);

/// The largest weight of a switch. No operator means to give one switch the place of more than a
/// thousand others, and a round is as long as the sum of the weights.
pub const WEIGHT_MAX: u32 = 1000;

/// Rules about weights. Each connection looks through all of them once.
pub const WEIGHT_RULES_MAX: usize = 1024;

/// Rounds that a switch may be owed, because they began while it was being served. More would be a
/// burst.
pub const ROUNDS_OWED_MAX: i64 = 2;

/// Requests by which a port has to stand out before it is said to flood: of several hundred that a
/// thousand ports share by chance, no port has as many more than another.
pub const FLOOD_MARGIN: usize = 16;

/// Ports of a switch for which shed requests are counted apart; those of all others are counted
/// together. A switch can name four billion ports; people look for the few that storm.
pub const SHED_PORTS_MAX: usize = 256;

/// The greatest value that a histogram tells from others: eighteen minutes of nanoseconds. A switch
/// that waited for as long was given up long ago; each power of two above would cost every
/// histogram 128 bytes.
pub const RECORDED_MAX: u64 = (1 << 40) - 1;

/// Reports that wait for the publisher of one part of the World. With a version a millisecond, and
/// a worker reporting what is new at a million a second, it holds what eight workers have to say
/// until it is taken; 64 bytes each are a megabyte, which exists while they wait.
pub const REPORTS_MAX: usize = 16_384;

/// Reports that a publisher takes in one round, so that the other parts of the World are not kept
/// waiting for it.
pub const REPORTS_PER_ROUND: usize = 4096;

/// The shortest interval of an application's timer. A worker looks at its timers when it polls.
pub const TIMER_MIN: Duration = Duration::from_millis(1);

/// Things that an application counts itself. They are written after each batch; what counts more
/// should count less often.
pub const APP_COUNTS_MAX: usize = 16;

/// Sentences for people that the applications of one worker may say in one batch. The log takes
/// twenty warnings and a hundred others within ten seconds.
pub const NOTES_MAX: usize = 64;

/// Changes of the network that the applications of one worker may tell in one batch: as many as a
/// part of the World remembers, some 64 bytes each. What is above is counted, and that is told.
pub const FOUND_MAX: usize = 16_384;

/// Applications that there may be at once, whether they run or not, beyond those of the start.
pub const APPS_MAX: usize = 64;
